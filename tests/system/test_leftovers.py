#!/usr/bin/python3
"""What an earlier process left is waited for, bounded; and each worker has a cgroup of its own where
one is delegated. Cgroups need a hierarchy of version 2 that may be written (root)."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness import CUZKD, Circuit, Daemon, PATIENCE, Suite, expect, expect_equal, wait_until

ENTER = "import os, sys; open(sys.argv[1], 'w').write('0'); os.execv(sys.argv[2], sys.argv[2:])"


def former_workers_are_waited_for():
    with Daemon(start=False) as daemon:
        state = daemon.folder / "state"
        state.mkdir(mode=0o700)
        with open(state / "members", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            timer = threading.Timer(1.5, lambda: fcntl.flock(held, fcntl.LOCK_UN))
            timer.start()
            begin = time.monotonic()
            daemon.start()
            expect(time.monotonic() - begin >= 1.4, "it did not wait")
        expect("waiting up to 30 s for the workers of an earlier process" in daemon.log(),
               daemon.log()[-1000:])


def begin_to_wait(daemon):
    with open(daemon.log_path, "ab") as log:
        daemon.process = subprocess.Popen([CUZKD, "--config", daemon.config], stdout=log,
                                          stderr=log, env=daemon.environment)
    wait_until(lambda: "waiting up to" in daemon.log(), 10, "it waits")


def a_stop_ends_the_waiting():
    with Daemon(start=False) as daemon:
        state = daemon.folder / "state"
        state.mkdir(mode=0o700)
        with open(state / "members", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            begin_to_wait(daemon)
            process, daemon.process = daemon.process, None
            process.send_signal(signal.SIGTERM)
            process.wait(5 * PATIENCE)


def a_reload_asked_for_at_the_start_comes_after_it():
    with Daemon(start=False) as daemon:
        state = daemon.folder / "state"
        state.mkdir(mode=0o700)
        with open(state / "members", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            begin_to_wait(daemon)
            daemon.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)  # several looks at what is waited for
            fcntl.flock(held, fcntl.LOCK_UN)
        wait_until(daemon.is_ready, 60, "the daemon is ready")
        wait_until(lambda: "the configuration was read again" in daemon.log(), 10, "it is read")
        expect("reload refused" not in daemon.log(), daemon.log()[-1000:])


def workers_hold_the_lock(circuit):
    """The supervisor is killed while a worker is stopped: the next start waits for nobody, since the
    worker dies with it; the lock is free at once."""
    with Daemon() as daemon:
        worker = [w for w in daemon.workers() if w["name"] == "synth-0"][0]["pid"]
        os.kill(worker, signal.SIGSTOP)
        daemon.process.kill()
        daemon.process.wait()
        daemon.start()
        daemon.add(circuit, "c")
        daemon.prove("c", [circuit.witnesses[0]])


def memory_short_ends_synthesis_first():
    with Daemon() as daemon:
        score = {w["name"]: int(Path(f"/proc/{w['pid']}/oom_score_adj").read_text())
                 for w in daemon.workers()}
        own = int(Path(f"/proc/{daemon.process.pid}/oom_score_adj").read_text())
        expect(score["synth-0"] > score["gpu-0"] > own and score["finalizer-0"] > own,
               f"scores: {score}, supervisor {own}")


def make_branch():
    for point in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if not os.access(f"{point}/cgroup.procs", os.W_OK):
            continue
        branch = Path(point) / f"cuzk-test-{os.getpid()}"
        try:
            branch.mkdir()
            os.setxattr(branch, "user.delegate", b"1")
            return branch
        except OSError:
            if branch.exists():
                branch.rmdir()
    return None


def members(cgroup):
    return [int(pid) for pid in (cgroup / "cgroup.procs").read_text().split()]


def each_worker_has_a_cgroup(daemon, branch, circuit):
    daemon.add(circuit, "c")
    daemon.prove("c", [circuit.witnesses[0]])
    for worker in daemon.workers():
        expect_equal(members(branch / worker["name"]), [worker["pid"]], worker["name"])
    expect_equal(members(branch / "supervisor"), [daemon.process.pid], "supervisor")


def death_is_certain_when_the_cgroup_is_empty(daemon, branch, circuit):
    """Somebody else lives in the worker's cgroup when it dies: killed, and only then is the worker
    replaced."""
    other = subprocess.Popen([sys.executable, "-c", ENTER, branch / "synth-0" / "cgroup.procs",
                              "/bin/sleep", "1000"])
    try:
        wait_until(lambda: other.pid in members(branch / "synth-0"), 5, "the other is in")
        before = [w for w in daemon.workers() if w["name"] == "synth-0"][0]["pid"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: [w for w in daemon.workers() if w["name"] == "synth-0"
                            and w["state"] == "idle" and w["pid"] != before], 20, "it is replaced")
        expect_equal(other.wait(5), -signal.SIGKILL, "what became of the other")
        daemon.prove("c", [circuit.witnesses[0]])
    finally:
        other.kill()
        other.wait()


def stop_leaves_no_cgroup(daemon, branch):
    daemon.stop()
    left = [p.name for p in branch.iterdir() if p.is_dir()]
    expect_equal(left, ["supervisor"], "cgroups left behind")


def with_cgroups(suite, circuit):
    branch = make_branch()
    if branch is None:
        suite.skip("cgroups", "no cgroup of version 2 can be made here")
        return
    daemon = Daemon(start=False)
    try:
        with open(daemon.log_path, "ab") as log:
            daemon.process = subprocess.Popen(
                [sys.executable, "-c", ENTER, branch / "cgroup.procs", CUZKD, "--config",
                 daemon.config], env=daemon.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        wait_until(daemon.is_ready, 60, "the daemon is ready")
        suite.case("each_worker_has_a_cgroup", each_worker_has_a_cgroup, daemon, branch, circuit)
        suite.case("death_is_certain_when_the_cgroup_is_empty",
                   death_is_certain_when_the_cgroup_is_empty, daemon, branch, circuit)
        suite.case("stop_leaves_no_cgroup", stop_leaves_no_cgroup, daemon, branch)
    finally:
        daemon.discard()
        for leaf in [p for p in branch.iterdir() if p.is_dir()]:
            leaf.rmdir()
        branch.rmdir()


def main():
    suite = Suite("leftovers")
    circuit = Circuit("mul", "bn128")
    suite.case("former_workers_are_waited_for", former_workers_are_waited_for)
    suite.case("a_stop_ends_the_waiting", a_stop_ends_the_waiting)
    suite.case("a_reload_asked_for_at_the_start_comes_after_it",
               a_reload_asked_for_at_the_start_comes_after_it)
    suite.case("workers_hold_the_lock", workers_hold_the_lock, circuit)
    suite.case("memory_short_ends_synthesis_first", memory_short_ends_synthesis_first)
    with_cgroups(suite, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
