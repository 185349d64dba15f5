#!/usr/bin/python3
"""Jobs outlive the daemon: kill -9 and restarts in mid-job, client keys, deadlines, caps, retention,
a damaged journal. Every proof that comes out of it is verified."""

import os
import signal
import subprocess
import tempfile
import threading
import time

from harness import (CUZKCTL, CUZKD, Circuit, Daemon, Suite, expect, expect_equal, marked_processes,
                     seeded_random, split_arrays, verify, wait_until, write_config)
import rpc

PARTITIONS = 6
KILLS = 5


def kill(daemon):
    """The supervisor alone, as the kernel or an operator's mistake would."""
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    wait_until(lambda: set(marked_processes(daemon.mark).values()) <= {"cuzkctl"}, 10,
               "the workers have died with the supervisor")


def restart(daemon, how):
    if how == "kill":
        kill(daemon)
    else:
        daemon.process.send_signal(signal.SIGTERM)
        expect_equal(daemon.process.wait(40), 0, "exit code after SIGTERM")
    daemon.start()


def witnesses(circuit, count):
    return [circuit.witnesses[i % len(circuit.witnesses)] for i in range(count)]


def fails(code, call, *arguments, **named):
    try:
        found = call(*arguments, **named)
    except rpc.RemoteError as error:
        expect_equal(error.code, code, "error code")
        return error.message
    raise AssertionError(f"no error but {found}")


def check_results(daemon, circuit, job, count):
    proof, public = daemon.folder / f"{job}.proof", daemon.folder / f"{job}.public"
    daemon.ctl_ok("result", job, "--proof", proof, "--public", public)
    pairs = split_arrays(proof, public, daemon.folder) if count > 1 else [(proof, public)]
    expect_equal(len(pairs), count, "proofs")
    for one, signals in pairs:
        expect_equal(verify(circuit.vkey, one, signals).code, 0, f"verify of job {job}")


def killed_in_mid_job(daemon, circuits, rng):
    """Jobs of small inputs (in the journal) and large ones (in the spool) over several kills."""
    jobs = {}
    for i in range(KILLS):
        with rpc.Client(daemon.socket) as client:
            for circuit in circuits:
                inputs = [w.read_bytes() if w.stat().st_size < 60000 else w
                          for w in witnesses(circuit, PARTITIONS)]
                key = f"kill-{i}-{circuit.label}"
                jobs[key] = circuit, client.submit(circuit.label, inputs, client_key=key)
        delay = rng.random() * 0.4
        time.sleep(delay)
        kill(daemon)
        print(f"  killed after {delay * 1000:.0f} ms", flush=True)
        daemon.start()
    with rpc.Client(daemon.socket) as client:
        for key, (circuit, job) in jobs.items():
            answer = client.wait(job)
            expect_equal((answer["state"], answer["client_key"]), ("done", key), f"job {job}")
            found = client.call("wait", {"client_key": key, "timeout_ms": 0})
            expect_equal(found["job"], job, f"job of client key {key}")
            check_results(daemon, circuit, job, PARTITIONS)
    numbers = [job for _, job in jobs.values()]
    expect_equal(len(set(numbers)), len(numbers), "different job numbers")
    expect_equal(list((daemon.folder / "state" / "spool").glob("*")), [], "files left in the spool")


def stopped_in_mid_job(daemon, circuit):
    """SIGTERM keeps what does not end in time, and fails nothing."""
    with rpc.Client(daemon.socket) as client:
        jobs = [client.submit(circuit.label, witnesses(circuit, 12)) for _ in range(8)]
    restart(daemon, "term")
    with rpc.Client(daemon.socket) as client:
        for job in jobs:
            expect_equal(client.wait(job)["state"], "done", f"job {job}")
    check_results(daemon, circuit, jobs[-1], 12)


def jobs_wait_for_their_circuit(circuit):
    """The circuit's record and key are gone at a start that finds jobs of it: it is prepared again
    and the jobs go on; a job that is cancelled meanwhile stays so."""
    with Daemon({"Supervisor": {"StopTimeout": "100ms"}}, start=False) as daemon:
        daemon.sections[f'Circuit "{circuit.label}"'] = {"Zkey": str(circuit.zkey),
                                                         "R1cs": str(circuit.r1cs)}
        write_config(daemon.config, daemon.sections)
        daemon.start()
        wait_until(lambda: daemon.ctl_json("circuit", "list")["circuits"][0]["state"]
                   in ("ready", "loaded"), 60, "the circuit is prepared")
        with rpc.Client(daemon.socket) as client:
            jobs = [client.submit(circuit.label, witnesses(circuit, 40)) for _ in range(4)]
        kill(daemon)
        for folder in ("circuits", "keys"):
            for path in daemon.folder.glob(f"*/{folder}/*"):
                path.unlink()
        daemon.start()
        with rpc.Client(daemon.socket) as client:
            state = client.call("cancel", {"job": jobs[3]})
            for job in jobs[:3]:
                expect_equal(client.wait(job)["state"], "done", f"job {job}")
            expect(client.wait(jobs[3])["state"] in ("cancelled", "done"), state)
        check_results(daemon, circuit, jobs[1], 40)
        daemon.stop()


def one_key_is_one_job(daemon, circuit):
    found, errors = [], []

    def submit():
        try:
            with rpc.Client(daemon.socket) as client:
                found.append(client.submit(circuit.label, witnesses(circuit, 2), client_key="one"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=submit) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect_equal(errors, [], "errors")
    expect_equal((len(found), len(set(found))), (50, 1), "answers, jobs")
    with rpc.Client(daemon.socket) as client:
        client.wait(found[0])
        other = list(reversed(witnesses(circuit, 2)))
        expect(str(found[0]) in fails("key_conflict", client.submit, circuit.label, other,
                                      client_key="one"), "the message names the job")
        fails("key_conflict", client.submit, circuit.label, witnesses(circuit, 1), client_key="one")
    restart(daemon, "kill")
    with rpc.Client(daemon.socket) as client:
        again = client.submit(circuit.label, witnesses(circuit, 2), client_key="one")
        expect_equal(again, found[0], "the job after a restart")
        fails("key_conflict", client.submit, circuit.label, other, client_key="one")
    check_results(daemon, circuit, "@one", 2)


def what_may_be_tried_again(daemon, circuit):
    bad = circuit.witnesses[0].read_bytes()[:-1]
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, [bad], client_key="bad")
        expect_equal(client.wait(job)["error"]["code"], "bad_input", "a cut witness")
        expect_equal(client.submit(circuit.label, [bad], client_key="bad"), job,
                     "a bad input submitted again")
        job = client.submit(circuit.label, witnesses(circuit, 40), client_key="late", deadline_ms=1)
        expect_equal(client.wait(job)["error"]["code"], "deadline", "a deadline of 1 ms")
        fails("deadline", client.call, "result", {"job": job})
        again = client.submit(circuit.label, witnesses(circuit, 40), client_key="late")
        expect(again != job, "a new job after a deadline")
        expect_equal(client.call("cancel", {"job": again})["outcome"], "cancelled", "cancel")
        third = client.submit(circuit.label, witnesses(circuit, 40), client_key="late")
        expect(third not in (job, again), "a new job after a cancel")
        expect_equal(client.wait(third)["state"], "done", "the third")
        fails("usage", client.submit, circuit.label, [bad], client_key="x", durable=False)
        fails("usage", client.submit, circuit.label, [bad], client_key="two words")
        fails("not_found", client.call, "wait", {"client_key": "never", "timeout_ms": 0})


def prove_waits_over_a_restart(daemon, circuit):
    proof, public = daemon.folder / "over.proof", daemon.folder / "over.public"
    options = [x for w in witnesses(circuit, 40) for x in ("--witness", w)]
    process = subprocess.Popen([CUZKCTL, "--socket", daemon.socket, "prove", "--circuit",
                                circuit.label, *options, "--proof", proof, "--public", public,
                                "--client-key", "over"], env=daemon.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with rpc.Client(daemon.socket) as client:
        wait_until(lambda: client.call("jobs")["jobs"][0].get("client_key") == "over", 20,
                   "the job is there")
    restart(daemon, "kill")
    out = process.communicate(timeout=120)[0].decode()
    expect_equal(process.returncode, 0, f"exit code of prove; {out}")
    for one, signals in split_arrays(proof, public, daemon.folder):
        expect_equal(verify(circuit.vkey, one, signals).code, 0, "verify")


def prove_begun_while_it_stops(circuit):
    """The daemon finishes a job and takes no other: prove and submit wait for the next start."""
    with Daemon({"Supervisor": {"StopTimeout": "20s"}}) as daemon:
        daemon.add(circuit)
        proof, public = daemon.folder / "late.proof", daemon.folder / "late.public"
        environment = {k: v for k, v in daemon.environment.items() if k != "CUZK_TEST_RUN"}
        synth = next(w for w in daemon.workers() if w["kind"] == "synth")["pid"]
        os.kill(synth, signal.SIGSTOP)  # a job under way, for as long as the test likes
        late, one = [], ["--circuit", circuit.label, "--witness", circuit.witnesses[0]]
        try:
            daemon.ctl_ok("submit", *one)
            daemon.process.send_signal(signal.SIGTERM)
            wait_until(lambda: daemon.status()["phase"] == "stopping", 20, "it stops")
            for command in (["prove", *one, "--proof", proof, "--public", public],
                            ["submit", *one, "--client-key", "late"],
                            ["prove", *one, "--proof", proof, "--public", public,
                             "--timeout", "1s"]):
                late.append(subprocess.Popen(
                    [CUZKCTL, "--socket", daemon.socket, *command], env=environment,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            bounded = late.pop()
            errors = bounded.communicate(timeout=20)[1]
            expect_equal(bounded.returncode, 7, f"exit code beyond --timeout: {errors}")
            expect("is stopping; waiting up to" in errors, errors)
            expect_equal([client.poll() for client in late], [None, None], "those that wait")
        finally:
            os.kill(synth, signal.SIGCONT)
        expect_equal(daemon.process.wait(40), 0, "exit code after SIGTERM")
        daemon.start()
        for client in late:
            errors = client.communicate(timeout=60)[1]
            expect_equal(client.returncode, 0, f"exit code: {errors}")
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")


def not_durable_is_failed_by_a_restart(daemon, circuit):
    with rpc.Client(daemon.socket) as client:
        done = client.submit(circuit.label, witnesses(circuit, 1), durable=False)
        expect_equal(client.wait(done)["state"], "done", "without a restart")
        job = client.submit(circuit.label, witnesses(circuit, 60), durable=False)
        wait_until(lambda: client.call("status")["journal"]["queued"] == 0, 10, "it is on record")
        time.sleep(0.05)
    restart(daemon, "kill")
    with rpc.Client(daemon.socket) as client:
        answer = client.wait(job)
        expect_equal(answer["state"], "failed", "after the restart")
        expect("not durable" in answer["error"]["message"], answer["error"]["message"])
        expect_equal(len(client.call("result", {"job": done})["proofs"]), 1, "the earlier one")


def results_are_kept_and_go_with_age(circuit, large):
    options = {"Supervisor": {"ResultsAge": "3s", "ResultsMax": 4, "UserJobsMax": 3}}
    with Daemon(options) as daemon:
        daemon.add(circuit)
        daemon.add(large)
        with rpc.Client(daemon.socket) as client:
            jobs = [client.submit(circuit.label, witnesses(circuit, 1)) for _ in range(3)]
            for job in jobs:
                client.wait(job)
            job = client.submit(circuit.label, witnesses(circuit, 1))
            client.wait(job)
            expect("ResultsMax" in fails("busy", client.submit, circuit.label,
                                         witnesses(circuit, 1)), "what is full is named")
            expect_equal(len(client.call("result", {"job": jobs[0]})["proofs"]), 1,
                         "a result within its age")

            def has_expired():
                try:
                    client.call("result", {"job": jobs[0]})
                    return False
                except rpc.RemoteError as error:
                    return error.code == "expired"

            wait_until(has_expired, 20, "the result has expired")
            wait_until(lambda: client.call("status")["journal"]["kept"] == 0, 20, "all have")
            fails("not_found", client.call, "result", {"job": job + 100000})
            # Long enough to be there while the fourth is sent.
            burst = [client.submit(large.label, witnesses(large, 128)) for _ in range(3)]
            expect("UserJobsMax" in fails("busy", client.submit, circuit.label,
                                          witnesses(circuit, 1)), "the user's cap is named")
            for job in burst:
                expect_equal(client.call("cancel", {"job": job})["outcome"], "cancelled", "cancel")


def rows_that_do_not_fit(circuit):
    """What somebody's hand did to the journal between two starts: such jobs fail and say so."""
    import sqlite3
    edits = {"publics=2": "does not fit its circuit", "curve=2": "does not fit its circuit",
             "publics=65536": "does not fit its circuit", "partitions=1000000": "damaged",
             "key_digest=printf('%064d', 1)": "another key",
             "circuit='other'": "is not there"}
    with Daemon({"Supervisor": {"StopTimeout": "100ms"}}) as daemon:
        daemon.add(circuit)
        with rpc.Client(daemon.socket) as client:
            jobs = [client.submit(circuit.label, witnesses(circuit, 100)) for _ in range(8)]
        kill(daemon)
        with sqlite3.connect(daemon.folder / "state" / "journal.db") as handle:
            left = [n for n, in handle.execute("SELECT number FROM job WHERE state<2")]
            expect(len(left) > len(edits), f"too few jobs are left: {left}")
            left = left[-len(edits) - 1:]  # of these nothing is proved
            for job, edit in zip(left, edits):
                handle.execute(f"UPDATE job SET {edit} WHERE number={job}")
        handle.close()
        daemon.start()
        with rpc.Client(daemon.socket) as client:
            for job, why in zip(left, edits.values()):
                if why == "damaged":  # the record itself is not given out
                    expect(why in fails("failed", client.call, "result", {"job": job}), why)
                    continue
                answer = client.wait(job)
                expect_equal(answer["state"], "failed", f"job {job}")
                expect(why in answer["error"]["message"], answer["error"]["message"])
            expect_equal(client.wait(jobs[-1])["state"], "done", "a job that was left alone")


def looked_up_by_many_at_once(circuit):
    """Jobs that are in the journal alone: each question is answered, or may be asked again. None is
    told that there is no such job."""
    import msgpack
    clients, asked = 20, 30
    with Daemon() as daemon:
        daemon.add(circuit)
        with rpc.Client(daemon.socket) as client:
            jobs = [client.submit(circuit.label, witnesses(circuit, 1)) for _ in range(asked)]
            for job in jobs:
                client.wait(job)
        restart(daemon, "term")
        connections = [rpc.Client(daemon.socket) for _ in range(clients)]
        os.kill(daemon.process.pid, signal.SIGSTOP)  # all of it is there in one turn
        try:
            for connection in connections:
                for message, job in enumerate(jobs):
                    connection.send(msgpack.packb([0, message, "result", [{"job": job}]]))
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
        codes = {}
        for connection in connections:
            for _ in jobs:
                error = connection.receive()[2]
                code = error["code"] if error else "ok"
                codes[code] = codes.get(code, 0) + 1
            connection.socket.close()
        print(f"  answers: {codes}", flush=True)
        expect(set(codes) <= {"ok", "busy"} and codes["ok"] > 0, f"answers: {codes}")
        with rpc.Client(daemon.socket) as client:
            for job in jobs:
                expect_equal(len(client.call("result", {"job": job})["proofs"]), 1, "a result")


def clock_set_between_end_and_start(circuit):
    """As if the host's clock had been set two days ahead: by as much what is on disk lies back."""
    import sqlite3
    two_days = 2 * 24 * 3600 * 1000
    with Daemon({"Supervisor": {"ResultsAge": "1h"}}) as daemon:
        daemon.add(circuit)
        state = daemon.folder / "state"
        with rpc.Client(daemon.socket) as client:
            job = client.submit(circuit.label, witnesses(circuit, 1))
            client.wait(job)
        wait_until((state / "clock").exists, 20, "the clock is noted")
        daemon.stop()
        words = (state / "clock").read_text().split()
        (state / "clock").write_text(" ".join([str(int(words[0]) - two_days)] + words[1:]))
        with sqlite3.connect(state / "journal.db") as handle:
            handle.execute(f"UPDATE job SET finished_ms=finished_ms-{two_days}")
        handle.close()
        for _ in range(2):
            daemon.start()
            wait_until(lambda: "clock was set ahead by 17" in daemon.log(), 20, "it is noticed")
            time.sleep(1.5)  # a tick ends results
            check_results(daemon, circuit, job, 1)
            restart(daemon, "kill")
            daemon.stop()


def damaged_journal_is_set_aside(circuit):
    with Daemon() as daemon:
        daemon.add(circuit)
        with rpc.Client(daemon.socket) as client:
            old = client.submit(circuit.label, witnesses(circuit, 1))
            client.wait(old)
        daemon.stop()
        path = daemon.folder / "state" / "journal.db"
        expect_equal(path.stat().st_mode & 0o777, 0o600, "mode of the journal")
        with open(path, "r+b") as file:
            file.write(b"\xff" * 4096)
        daemon.start()
        expect("set aside" in daemon.log(), "the log says so")
        expect_equal(len(list(path.parent.glob("journal.db.damaged-*"))), 1, "files set aside")
        with rpc.Client(daemon.socket) as client:
            job = client.submit(circuit.label, witnesses(circuit, 1))
            expect(job > old, "numbers go on")
            expect_equal(client.wait(job)["state"], "done", "a job after it")
        check_results(daemon, circuit, job, 1)


def mount(folder):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", folder],
                          stderr=subprocess.DEVNULL).returncode == 0


def can_mount():
    with tempfile.TemporaryDirectory() as folder:
        return mount(folder) and subprocess.run(["umount", folder]).returncode == 0


def fill(path):
    """To the last byte of the disk."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 20))
        except OSError:
            pass


def full_disk_stops_admission_and_recovers(circuit, large):
    """The state folder on a disk of its own, which is filled to the last byte while a job runs, and
    again before a start."""
    with Daemon(start=False) as daemon:
        state = daemon.folder / "state"
        spool = daemon.folder / "spool"
        state.mkdir(mode=0o700)
        expect(mount(state), "the disk is mounted")
        try:
            daemon.sections["Supervisor"]["SpoolDirectory"] = str(spool)
            write_config(daemon.config, daemon.sections)
            daemon.start()
            daemon.add(circuit)
            daemon.add(large)
            with rpc.Client(daemon.socket) as client:
                job = client.submit(large.label, witnesses(large, 100))
                fill(state / "fill")
                wait_until(lambda: "journal_unwritable" in daemon.status()["flags"], 20, "the flag")
                message = fails("busy", client.submit, circuit.label, witnesses(circuit, 1))
                expect("disk" in message, message)
                expect_equal(client.wait(job)["state"], "done", "a job that was there")
                (state / "fill").unlink()
                wait_until(lambda: not daemon.status()["flags"].count("journal_unwritable"), 20,
                           "the flag goes")
                after = client.submit(circuit.label, witnesses(circuit, 1))
                expect_equal(client.wait(after)["state"], "done", "a job afterwards")
            restart(daemon, "kill")
            check_results(daemon, large, job, 100)
            fill(state / "fill")
            restart(daemon, "kill")
            with rpc.Client(daemon.socket) as client:
                fails("busy", client.submit, circuit.label, witnesses(circuit, 1))
                check_results(daemon, large, job, 100)
                (state / "fill").unlink()
                wait_until(lambda: not daemon.status()["flags"].count("journal_unwritable"), 20,
                           "the flag goes")
                after = client.submit(circuit.label, witnesses(circuit, 1))
                expect_equal(client.wait(after)["state"], "done", "a job afterwards")
            daemon.stop()
        finally:
            if daemon.process is not None:
                kill(daemon)
                daemon.process = None
            subprocess.run(["umount", state])


def tear_index(path):
    """A page that every start reads; rows can still be read all the same."""
    import sqlite3
    with sqlite3.connect(path) as handle:
        page, = handle.execute("SELECT rootpage FROM sqlite_schema WHERE name='job_finished'")
    handle.close()
    with open(path, "r+b") as file:
        file.seek((page[0] - 1) * 4096)
        file.write(b"\xff" * 4096)


def start_on_a_full_disk(circuit):
    """No byte is free when the daemon starts: first without a journal, then with a damaged one, of
    which a new one is to be made."""
    with Daemon(start=False) as daemon:
        state = daemon.folder / "state"
        state.mkdir(mode=0o700)
        expect(mount(state), "the disk is mounted")
        job = None
        try:
            daemon.sections["Supervisor"]["SpoolDirectory"] = str(daemon.folder / "spool")
            write_config(daemon.config, daemon.sections)
            for _ in range(2):
                fill(state / "fill")
                daemon.start()
                expect("journal_unwritable" in daemon.status()["flags"], "the flag")
                expect_equal(daemon.status()["journal"], {"state": "closed"}, "the journal")
                expect("closed" in daemon.ctl_ok("status").out, "status for people")
                expect_equal(list(state.glob("*damaged*")), [], "files set aside")
                with rpc.Client(daemon.socket) as client:
                    if job is not None:
                        fails("busy", client.call, "result", {"job": job})
                        message = fails("busy", client.submit, circuit.label, witnesses(circuit, 1))
                        expect("disk of the state folder is full" in message, message)
                    (state / "fill").unlink()
                    wait_until(lambda: "journal_unwritable" not in daemon.status()["flags"], 20,
                               "the flag goes")
                    if job is None:
                        daemon.add(circuit)
                        job = client.submit(circuit.label, witnesses(circuit, 1))
                        expect_equal(client.wait(job)["state"], "done", "a job afterwards")
                        daemon.stop()
                        tear_index(state / "journal.db")
                    else:
                        check_results(daemon, circuit, job, 1)
                        expect_equal(len(list(state.glob("*damaged*"))), 1, "files set aside")
                        daemon.stop()
        finally:
            if daemon.process is not None:
                kill(daemon)
                daemon.process = None
            subprocess.run(["umount", state])


def newer_journal_ends_the_start(circuit):
    import sqlite3
    with Daemon() as daemon:
        daemon.stop()
        path = daemon.folder / "state" / "journal.db"
        with sqlite3.connect(path) as handle:
            handle.execute("PRAGMA user_version=99")
        handle.close()
        before = path.read_bytes()
        process = subprocess.run([str(CUZKD), "--config",
                                  str(daemon.config)], env=daemon.environment,
                                 stderr=subprocess.PIPE, timeout=60)
        expect_equal(process.returncode, 1, "exit code")
        expect(b"newer cuzkd" in process.stderr, process.stderr.decode())
        expect_equal(path.read_bytes(), before, "the file")


def main():
    suite = Suite("journal")
    small, large = Circuit("mul", "bn128"), Circuit("chain12", "bn128")
    rng = seeded_random()
    with Daemon({"Supervisor": {"StopTimeout": "300ms"}}) as daemon:
        for circuit in (small, large):
            daemon.add(circuit)
        suite.case("killed_in_mid_job_and_all_is_done", killed_in_mid_job, daemon, [small, large],
                   rng)
        suite.case("stopped_in_mid_job_and_all_is_done", stopped_in_mid_job, daemon, large)
        suite.case("fifty_submits_of_one_key_are_one_job", one_key_is_one_job, daemon, small)
        suite.case("only_what_is_not_the_inputs_fault_is_tried_again", what_may_be_tried_again,
                   daemon, small)
        suite.case("prove_waits_over_a_restart", prove_waits_over_a_restart, daemon, large)
        suite.case("not_durable_is_failed_by_a_restart", not_durable_is_failed_by_a_restart, daemon,
                   large)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.case("prove_begun_while_it_stops_waits_for_the_start", prove_begun_while_it_stops, small)
    suite.case("results_are_kept_and_go_with_age", results_are_kept_and_go_with_age, small, large)
    suite.case("clock_set_between_end_and_start", clock_set_between_end_and_start, small)
    suite.case("rows_that_do_not_fit", rows_that_do_not_fit, large)
    suite.case("looked_up_by_many_at_once", looked_up_by_many_at_once, small)
    suite.case("jobs_wait_for_their_circuit", jobs_wait_for_their_circuit, large)
    suite.case("damaged_journal_is_set_aside", damaged_journal_is_set_aside, small)
    if can_mount():
        suite.case("full_disk_stops_admission_and_recovers", full_disk_stops_admission_and_recovers,
                   small, large)
        suite.case("start_on_a_full_disk", start_on_a_full_disk, small)
    else:
        for name in "full_disk_stops_admission_and_recovers", "start_on_a_full_disk":
            suite.skip(name, "a small disk cannot be mounted here")
    suite.case("newer_journal_ends_the_start", newer_journal_ends_the_start, small)
    suite.exit()


if __name__ == "__main__":
    main()
