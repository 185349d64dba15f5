#!/usr/bin/python3
"""The daemon as process 1 of a container: another user, no privilege, and a system-call filter like those
of container engines, which know no io_uring. It proves, reaps what is orphaned to it, and stops."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import (CUZKD, PATIENCE, Circuit, Daemon, Failure, Suite, expect, expect_equal, run,
                     split_arrays, verify, wait_until)

UID = 54321
CONFINE = Path(__file__).resolve().parent / "confine.py"


def children(pid):
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def namespace_pid(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("NSpid:")[1].splitlines()[0].split()[-1])


class Contained(Daemon):
    """cuzkd as process 1 of a PID namespace. `process` is unshare, which ends as it does."""

    def __init__(self):
        super().__init__(start=False)
        self.folder.chmod(0o755)
        # What an image and its volumes bring.
        for path in (Path(self.socket).parent, self.folder / "state", self.folder / "cache"):
            path.mkdir()
            os.chown(path, UID, UID)
        self.start()

    def start(self, timeout=60):
        def limits():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (8 << 20, 8 << 20))
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", sys.executable,
                 CONFINE, str(UID), CUZKD, "--config", self.config],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=limits)
        wait_until(self.is_ready, timeout, "the daemon is ready")

    @property
    def first(self):
        """Process 1 as seen from here."""
        return children(self.process.pid)[0]

    def end(self, number, code):
        """Sends a signal to process 1; the container ends with this code and leaves nothing."""
        process, first = self.process, self.first
        self.process = None
        os.kill(first, number)
        try:
            found = process.wait(40 * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"does not end:\n{self.log()[-3000:]}") from None
        expect_equal(found, code, "exit code of the container")
        self.expect_nothing_left()


def runs_unprivileged(daemon):
    for pid in [daemon.first, *children(daemon.first)]:
        status = Path(f"/proc/{pid}/status").read_text()
        expect(f"Uid:\t{UID}\t{UID}" in status, f"process {pid} runs as another user")
        expect("CapEff:\t0000000000000000" in status, f"process {pid} has capabilities")
    expect_equal(namespace_pid(daemon.first), 1, "number of the first process")


def does_without_io_uring(daemon):
    status = daemon.status()
    expect_equal(status["event_loop"], "ppoll", "event_loop")
    expect("io_uring_refused" in status["flags"], f"flags are {status['flags']}")
    expect("error" not in daemon.log(), lambda: daemon.log()[-2000:])


def proves(daemon, circuit):
    proof, public = daemon.prove(circuit.label, [circuit.witnesses[i % 2] for i in range(4)])
    for one, signals in split_arrays(proof, public, daemon.folder):
        expect_equal(verify(circuit.vkey, one, signals).code, 0, "verify")


def reaps_orphans(daemon):
    """As when a health check is killed whose own children live on."""
    before, gate = children(daemon.first), daemon.folder / "gate"
    os.mkfifo(gate)
    run("nsenter", "-t", str(daemon.first), "-p", "sh", "-c",
        f"for i in $(seq 20); do (exec >/dev/null 2>&1; cat < {gate}) & done; exit 0")
    orphans = set(children(daemon.first)) - set(before)
    expect_equal(len(orphans), 20, "processes orphaned to process 1")

    def are_reaped():
        try:
            os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))  # whoever reads finds its end
        except OSError:
            pass  # nobody reads (any more, or yet)
        return not set(children(daemon.first)) & orphans
    wait_until(are_reaped, 20, "all orphans are reaped")
    expect_equal(children(daemon.first), before, "children of process 1")


def stops(daemon):
    daemon.end(signal.SIGTERM, 0)


def tells_of_a_crash():
    daemon = Contained()
    try:
        process, service = daemon.process, children(daemon.first)[0]
        expect_equal(Path(f"/proc/{service}/comm").read_text().strip(), "cuzkd", "child of process 1")
        daemon.process = None
        os.kill(service, signal.SIGKILL)
        expect_equal(process.wait(20 * PATIENCE), 128 + signal.SIGKILL, "exit code of the container")
        time.sleep(0.1)
    finally:
        daemon.discard()


def main():
    suite, circuit = Suite("container"), Circuit("chain12", "bn128")
    why = None
    if os.geteuid() != 0:
        why = "not root"
    elif not shutil.which("unshare") or run("unshare", "--pid", "--fork", "--mount", "--mount-proc",
                                             "true").code != 0:
        why = "no new PID namespace can be made here"
    if why:
        suite.skip("container", why)
        suite.exit()
    with Contained() as daemon:
        daemon.add(circuit)
        suite.case("runs_unprivileged", runs_unprivileged, daemon)
        suite.case("does_without_io_uring", does_without_io_uring, daemon)
        suite.case("proves", proves, daemon, circuit)
        suite.case("process_1_reaps_orphans", reaps_orphans, daemon)
        suite.case("stops_on_SIGTERM_and_leaves_nothing", stops, daemon)
    suite.case("process_1_tells_of_a_crash", tells_of_a_crash)
    suite.exit()


if __name__ == "__main__":
    main()
