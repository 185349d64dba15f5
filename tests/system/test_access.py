#!/usr/bin/python3
"""Who may do what: modes and groups of the sockets, two users who do not see each other, and one who
takes every connection that he can get. Needs root, to become those users."""

import json
import os
import signal
import stat
import traceback

from harness import CUZKD, Circuit, Daemon, Failure, Suite, expect, expect_equal, run, wait_until
from rpc import Client, RemoteError

ALICE, BOB = 61001, 61002
GROUP = 61100


def as_user(uid, groups, function, *arguments):
    """What function returns in a process of that user."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            os.setgroups(groups)
            os.setgid(uid)
            os.setuid(uid)
            answer = {"value": function(*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        with os.fdopen(writing, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        answer = json.loads(file.read() or '{"error": "it died"}')
    os.waitpid(pid, 0)
    if "error" in answer:
        raise Failure(f"as user {uid}: {answer['error']}\n{answer.get('trace', '')}")
    return answer["value"]


def open_daemon(sections, **more):
    """Other users reach its sockets."""
    daemon = Daemon({"Supervisor": sections}, start=False, **more)
    os.chmod(daemon.folder, 0o711)
    daemon.start()
    return daemon


def mode_of(path):
    status = os.stat(path)
    return oct(stat.S_IMODE(status.st_mode)), status.st_gid


def try_connect(path):
    try:
        with Client(path, timeout=20) as client:
            return client.call("hello")["admin"]
    except PermissionError:
        return "refused"


def check_modes():
    with open_daemon({}) as daemon:
        admin = daemon.socket.replace(".sock", "-admin.sock")
        expect_equal(mode_of(daemon.socket)[0], "0o660", "mode of the submit socket")
        expect_equal(mode_of(admin)[0], "0o600", "mode of the admin socket")
        for path in (daemon.socket, admin):
            expect_equal(as_user(ALICE, [], try_connect, path), "refused", path)
    with open_daemon({"SocketGroup": GROUP, "AdminSocketGroup": GROUP + 1,
                      "AdminSocketMode": "0660"}) as daemon:
        admin = daemon.socket.replace(".sock", "-admin.sock")
        expect_equal(mode_of(daemon.socket), ("0o660", GROUP), "the submit socket")
        expect_equal(mode_of(admin), ("0o660", GROUP + 1), "the admin socket")
        expect_equal(as_user(ALICE, [GROUP], try_connect, daemon.socket), False, "in the group")
        expect_equal(as_user(BOB, [], try_connect, daemon.socket), "refused", "not in the group")
        expect_equal(as_user(ALICE, [GROUP], try_connect, admin), "refused", "no operator")
        expect_equal(as_user(BOB, [GROUP + 1], try_connect, admin), True, "an operator")


def check_bad_options():
    for key, value, words in (("SocketMode", "rw", "file mode such as 0660"),
                              ("SocketMode", "1777", "0000 to 0777"),
                              ("AdminSocketMode", "0689", "file mode"),
                              ("SocketGroup", "a b", "name or number of a group")):
        daemon = Daemon({"Supervisor": {key: value}}, start=False)
        try:
            result = run(CUZKD, "--config", daemon.config, "--check-config")
            expect(result.code == 2 and words in result.err, str(result))
        finally:
            daemon.discard()
    daemon = Daemon({"Supervisor": {"SocketGroup": "no-such-group"}}, start=False)
    try:
        result = run(CUZKD, "--config", daemon.config, timeout=60)
        expect(result.code == 1 and "no-such-group" in result.err and "groupadd" in result.err,
               str(result))
    finally:
        daemon.discard()


def submit_as(path, circuit, witness):
    with Client(path) as client:
        return client.submit(circuit, [witness])


def ask_all(path, job):
    """All that a user may ask; what each answers about a job of somebody else."""
    answers = {}
    with Client(path) as client:
        for method, params in (("status", {}), ("workers", {}), ("jobs", {"limit": 1000}),
                               ("wait", {"job": job, "timeout_ms": 0}), ("result", {"job": job}),
                               ("public", {"job": job, "partition": 0, "first": 0}),
                               ("cancel", {"job": job})):
            try:
                answers[method] = client.call(method, params)
            except RemoteError as error:
                answers[method] = error.code
    return answers


def check_privacy(circuit):
    """Alice's job is in a worker's hands (a stopped one's); Bob asks."""
    with open_daemon({"SocketMode": "0666"}) as daemon:
        daemon.add(circuit)
        witness = circuit.witnesses[0].read_bytes()
        daemon.prove(circuit.label, [circuit.witnesses[0]])  # loads the key
        gpu = next(w for w in daemon.workers() if w["kind"] == "gpu")
        os.kill(gpu["pid"], signal.SIGSTOP)
        job = as_user(ALICE, [], submit_as, daemon.socket, circuit.label, witness)
        wait_until(lambda: any(w.get("job") == job for w in daemon.workers()), 20,
                   "an operator sees the job in the worker")
        hers = as_user(ALICE, [], ask_worker_jobs, daemon.socket)
        expect(job in hers, f"she sees {hers}, not her job {job}")
        his = as_user(BOB, [], ask_all, daemon.socket, job)
        for method in ("wait", "result", "public", "cancel"):
            expect_equal(his[method], "not_found", method)
        expect_equal(his["jobs"], {"jobs": []}, "his jobs")
        for workers in (his["workers"]["workers"], his["status"]["workers"]):
            busy = [w for w in workers if w["kind"] == "gpu"]
            expect(busy and busy[0]["state"] == "busy", f"{busy}")
            for worker in workers:
                named = {"job", "partition", "slot"} & set(worker)
                expect(not named, f"{worker['name']} names {named}")
        os.kill(gpu["pid"], signal.SIGCONT)
        as_user(ALICE, [], wait_done, daemon.socket, job)


def ask_worker_jobs(path):
    with Client(path) as client:
        return [w.get("job") for w in client.call("workers")["workers"]]


def wait_done(path, job):
    with Client(path) as client:
        answer = client.wait(job)
    assert answer["state"] == "done", answer
    return True


def take_all(path, held):
    """Connects until refused; returns how many were served."""
    clients = []
    for _ in range(600):
        client = Client(path, timeout=20)
        try:
            client.call("hello")
        except (ConnectionError, BrokenPipeError):
            break
        clients.append(client)
    if held:
        with open(held, "w") as file:
            file.write(str(len(clients)))
        signal.pause()  # until the parent kills it
    return len(clients)


def check_shares():
    """One user gets half of the places and leaves the rest; the next half of that; an operator and
    a user with few connections get in."""
    with open_daemon({"SocketMode": "0666"}) as daemon:
        told = daemon.folder / "told"
        told.touch()
        os.chmod(told, 0o666)
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setuid(ALICE)
                take_all(daemon.socket, told)
            finally:
                os._exit(0)
        try:
            count = int(wait_until(told.read_text, 60, "the first user has what he can get"))
            expect(200 <= count <= 256, f"the first user holds {count} connections")
            more = as_user(BOB, [], take_all, daemon.socket, None)
            expect(90 <= more <= count // 2 + 8, f"the second gets {more}")
            expect_equal(daemon.ctl("status").code, 0, "an operator's status")
            expect(f"user {ALICE} has as many open" in daemon.log(), "the log does not say who")
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        wait_until(lambda: as_user(ALICE, [], try_connect, daemon.socket) is False, 20,
                   "places are free again")


def main():
    suite = Suite("access")
    if os.geteuid() != 0:
        for name in ("modes_and_groups_decide_who_connects", "jobs_of_others_are_not_named",
                     "one_user_leaves_places_for_others"):
            suite.skip(name, "needs root, to become other users")
        suite.case("unusable_modes_and_groups_are_refused", check_bad_options)
        suite.exit()
    circuit = Circuit("mul", "bn128")
    suite.case("unusable_modes_and_groups_are_refused", check_bad_options)
    suite.case("modes_and_groups_decide_who_connects", check_modes)
    suite.case("jobs_of_others_are_not_named", check_privacy, circuit)
    suite.case("one_user_leaves_places_for_others", check_shares)
    suite.exit()


if __name__ == "__main__":
    main()
