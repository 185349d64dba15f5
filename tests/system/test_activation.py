#!/usr/bin/python3
"""The daemon under a service manager: sockets handed over, READY only when it can prove, more time
asked for only while something moves, the watchdog fed by the main loop, and children that cannot
talk to the manager. The manager is played by the test."""

import os
import shutil
import signal
import socket
import subprocess
import time

import rpc
from harness import BUILD, CUZKCTL, Circuit, PATIENCE, Suite, expect, expect_equal, marked_processes, \
    wait_until
from manager import Managed


def sockets_are_taken_over(daemon, circuit):
    daemon.add(circuit, "c")
    daemon.prove("c", [circuit.witnesses[0]])
    admin = subprocess.run([CUZKCTL, "--socket", daemon.path_of("admin"), "status", "--json"],
                           stdout=subprocess.PIPE)
    expect_equal(admin.returncode, 0, "exit code of status over the admin socket")
    expect("the service manager listens on" not in daemon.log(), "a warning about paths")


def ready_comes_after_the_known_answer(daemon):
    status = daemon.status()
    expect_equal(status["phase"], "serving", "phase")
    expect(all(w["state"] in ("idle", "busy") for w in status["workers"]), "workers at READY")
    texts = daemon.heard("STATUS")
    expect(any("slabs" in t for t in texts) and any("ready" in t for t in texts), f"{texts}")
    expect_equal(len(daemon.heard("READY")), 1, "READY messages")


def children_cannot_talk_to_the_manager(daemon):
    processes = marked_processes(daemon.mark)
    processes.pop(daemon.process.pid, None)
    expect(len(processes) >= 3, f"workers: {processes}")
    for pid in processes:
        words = open(f"/proc/{pid}/environ", "rb").read()
        for name in (b"NOTIFY_SOCKET", b"LISTEN_", b"WATCHDOG_"):
            expect(name not in words, f"{name} in the environment of {processes[pid]}")
    with daemon.lock:
        senders = {m["pid"] for m in daemon.messages if "pid" in m}
    expect_equal(senders, {daemon.process.pid}, "who talked to the manager")


def stop_leaves_the_sockets(daemon):
    daemon.stop()
    expect_equal(daemon.heard("STOPPING"), ["1"], "STOPPING messages")


def requests_wait_for_the_start(daemon, circuit):
    """Between two runs the sockets are there: what is submitted then is served by the next run."""
    waiting = subprocess.Popen([CUZKCTL, "--socket", daemon.socket, "prove", "--circuit", "c",
                                "--witness", circuit.witnesses[0], "--proof",
                                daemon.folder / "late.proof", "--public",
                                daemon.folder / "late.public"])
    time.sleep(0.3)
    daemon.start()
    expect_equal(waiting.wait(60 * PATIENCE), 0, "exit code of the proof that waited")


def catch_a_maker(daemon):
    """Starts the daemon and stops a process that makes a slab for it; returns its pid."""
    for _ in range(20):
        daemon.launch()
        path = f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children"
        while daemon.process.poll() is None and not daemon.heard("READY"):
            try:
                for child in open(path).read().split():
                    words = open(f"/proc/{child}/cmdline").read()
                    os.kill(int(child), signal.SIGSTOP)
                    state = open(f"/proc/{child}/stat").read().rsplit(")")[1].split()[0]
                    if "cuzkd" in words and state == "T" and "--config" in words:
                        return int(child)
                    os.kill(int(child), signal.SIGCONT)
            except (OSError, IndexError):
                pass
        daemon.stop()
    raise AssertionError("no process that makes a slab was caught")


def status_answers_while_slabs_are_made(circuit):
    with Managed({"Ring": {"Slabs": 48, "SlabSize": "2M"}}, start=False) as daemon:
        maker = catch_a_maker(daemon)
        status = daemon.status()
        expect_equal(status["phase"], "starting", "phase")
        wait_until(lambda: "of 48 slabs" in daemon.status()["doing"], 10, "status says how far")
        adding = subprocess.Popen([CUZKCTL, "--socket", daemon.socket, "circuit", "add",
                                   "c", "--zkey", circuit.zkey], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        expect_equal(adding.poll(), None, "circuit add while slabs are made")
        before = len(daemon.heard("EXTEND_TIMEOUT_USEC"))
        time.sleep(1.5)
        expect_equal(len(daemon.heard("EXTEND_TIMEOUT_USEC")), before, "asked while nothing moved")
        expect_equal(daemon.heard("READY"), [], "READY messages")
        os.kill(maker, signal.SIGCONT)
        wait_until(daemon.said_ready, 30, "READY is heard")
        expect_equal(adding.wait(30 * PATIENCE), 0, "exit code of circuit add")
        expect(len(daemon.heard("EXTEND_TIMEOUT_USEC")) > before, "more time was never asked for")
        daemon.prove("c", [circuit.witnesses[0]])


def a_stop_while_slabs_are_made():
    with Managed({"Ring": {"Slabs": 48, "SlabSize": "2M"}}, start=False) as daemon:
        catch_a_maker(daemon)
        daemon.process.send_signal(signal.SIGTERM)
        expect_equal(daemon.process.wait(10 * PATIENCE), 0, "exit code")
        daemon.process = None
        daemon.expect_nothing_left()


def one_socket_may_be_missing(circuit):
    with Managed(sockets=("submit",)) as daemon:
        expect(os.path.exists(daemon.path_of("admin")), "no admin socket was opened")
        daemon.add(circuit, "c")
        daemon.stop()
        expect(not os.path.exists(daemon.path_of("admin")), "the daemon's own socket is left")


def a_wrong_socket_is_refused():
    daemon = Managed(sockets=(), start=False)
    try:
        wrong = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        daemon.listening.append(("submit", wrong))
        daemon.launch()
        expect_equal(daemon.process.wait(20 * PATIENCE), 1, "exit code")
        expect("no listening Unix stream socket" in daemon.log(), daemon.log()[-1000:])
    finally:
        daemon.discard()


def not_ready_while_nothing_can_prove():
    """A GPU worker that cannot start: status answers and READY does not come, until it can."""
    daemon = Managed(start=False)
    folder = daemon.folder / "programs"
    folder.mkdir()
    for program in ("supervisor/cuzkd", "synth-worker/cuzk-synth", "finalizer/cuzk-finalizer",
                    "intake/cuzk-intake"):
        shutil.copy(BUILD / program, folder)
    (folder / "cuzk-gpu").write_text("#!/bin/sh\nexit 1\n")
    (folder / "cuzk-gpu").chmod(0o755)
    daemon.program = folder / "cuzkd"
    try:
        daemon.launch()
        wait_until(lambda: any("not ready" in t for t in daemon.heard("STATUS")), 30,
                   "the text says what is missing")
        expect_equal(daemon.heard("READY"), [], "READY messages")
        expect_equal(daemon.status()["phase"], "starting", "phase")
        shutil.copy(BUILD / "gpu-worker/cuzk-gpu", folder / "new")
        (folder / "new").rename(folder / "cuzk-gpu")
        wait_until(daemon.said_ready, 30, "READY once the worker can start")
        daemon.stop()
    finally:
        daemon.discard()


def watchdog_is_fed_by_the_loop():
    with Managed(watchdog_s=1) as daemon:
        time.sleep(2)
        before = len(daemon.heard("WATCHDOG"))
        expect(before >= 3, f"fed {before} times in two seconds of a period of one")
        expect(before <= 20, f"fed {before} times: too often")
        daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        stopped = len(daemon.heard("WATCHDOG"))
        time.sleep(1.5)
        expect_equal(len(daemon.heard("WATCHDOG")), stopped, "messages of a stopped loop")
        daemon.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(daemon.heard("WATCHDOG")) > stopped, 5, "it is fed again")


def more_time_only_while_jobs_finish(circuit):
    with Managed({"Supervisor": {"StopTimeout": "20s"}}) as daemon:
        daemon.add(circuit, "c")
        worker = [w for w in daemon.workers() if w["name"] == "gpu-0"][0]["pid"]
        os.kill(worker, signal.SIGSTOP)  # before there is a job, which may be done in no time
        daemon.ctl_ok("submit", "--circuit", "c",
                      *[x for _ in range(8) for x in ("--witness", circuit.witnesses[0])])
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: daemon.heard("STOPPING"), 5, "STOPPING is heard")
        expect_equal(daemon.status()["phase"], "stopping", "phase")
        with rpc.Client(daemon.socket) as client:  # cuzkctl would wait for the next start
            try:
                client.submit("c", circuit.witnesses[:1])
            except rpc.RemoteError as error:
                expect_equal(error.code, "shutting_down", "error code")
            else:
                raise AssertionError("a job was taken")
        time.sleep(2.5)
        before = len(daemon.heard("EXTEND_TIMEOUT_USEC"))
        time.sleep(2.5)
        expect_equal(len(daemon.heard("EXTEND_TIMEOUT_USEC")), before, "asked while nothing moved")
        os.kill(worker, signal.SIGCONT)
        expect_equal(daemon.process.wait(40 * PATIENCE), 0, "exit code")
        daemon.process = None
        expect(len(daemon.heard("EXTEND_TIMEOUT_USEC")) > 1, "never asked for more time")


def second_sigterm_stops_at_once(circuit):
    with Managed({"Supervisor": {"StopTimeout": "10min"}}) as daemon:
        daemon.add(circuit, "c")
        daemon.ctl_ok("submit", "--circuit", "c", "--witness", circuit.witnesses[0])
        worker = [w for w in daemon.workers() if w["name"] == "gpu-0"][0]["pid"]
        os.kill(worker, signal.SIGSTOP)
        daemon.ctl_ok("submit", "--circuit", "c", "--witness", circuit.witnesses[0])
        for _ in range(2):
            daemon.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        expect_equal(daemon.process.wait(10 * PATIENCE), 0, "exit code")
        daemon.process = None
        daemon.expect_nothing_left()


def main():
    suite = Suite("activation")
    circuit = Circuit("mul", "bn128")
    with Managed() as daemon:
        suite.case("sockets_are_taken_over", sockets_are_taken_over, daemon, circuit)
        suite.case("ready_comes_after_the_known_answer", ready_comes_after_the_known_answer, daemon)
        suite.case("children_cannot_talk_to_the_manager", children_cannot_talk_to_the_manager,
                   daemon)
        suite.case("stop_leaves_the_sockets", stop_leaves_the_sockets, daemon)
        suite.case("requests_wait_for_the_start", requests_wait_for_the_start, daemon, circuit)
    suite.case("status_answers_while_slabs_are_made", status_answers_while_slabs_are_made, circuit)
    suite.case("a_stop_while_slabs_are_made", a_stop_while_slabs_are_made)
    suite.case("one_socket_may_be_missing", one_socket_may_be_missing, circuit)
    suite.case("a_wrong_socket_is_refused", a_wrong_socket_is_refused)
    suite.case("not_ready_while_nothing_can_prove", not_ready_while_nothing_can_prove)
    suite.case("watchdog_is_fed_by_the_loop", watchdog_is_fed_by_the_loop)
    suite.case("more_time_only_while_jobs_finish", more_time_only_while_jobs_finish, circuit)
    suite.case("second_sigterm_stops_at_once", second_sigterm_stops_at_once, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
