#!/usr/bin/python3
"""The daemon dies, as by kill -9, instead of each single call that writes to a disk or answers a
client, from before a submit arrives until its job has ended, and instead of one of those of the
start that follows. After these deaths the client sends the same submit again: it is one job, its
proof verifies, and nothing is left of the others.

CUZK_TEST_CRASH_POINTS=all takes every point (minutes); else some of them, by the printed seed."""

import os
import subprocess
import tempfile
from pathlib import Path

import rpc
from harness import (Circuit, Daemon, Failure, Suite, expect, expect_equal, marked_processes, seeded_random,
                     verify, wait_until)

SOURCE = Path(__file__).parent / "hooks" / "crash_at.c"
POINTS = 9  # of each kind of input
POINTS_MAX = 400
START_POINTS = 12


def build(folder):
    library = Path(folder) / "crash_at.so"
    subprocess.run([os.environ.get("CC", "cc").split()[-1], "-shared", "-fPIC", "-O1", "-o",
                    library, SOURCE, "-ldl"], check=True)
    return library


class Crashing:
    """A daemon that is to die at a point, again and again on the same state."""

    def __init__(self, daemon, library, circuit, inputs, rng):
        self.daemon, self.library, self.circuit, self.inputs = daemon, library, circuit, inputs
        self.rng, self.start_deaths = rng, 0
        self.plain = dict(daemon.environment)
        self.arm = daemon.folder / "arm"
        self.count = 0

    def crashes_at(self, point):
        """One submit with the daemon's end at that point. False: there are fewer."""
        self.count += 1
        key = f"point-{point}-{self.count}"
        self.restart(self.with_crash(point))
        first = None
        self.arm.touch()
        try:
            with rpc.Client(self.daemon.socket) as client:
                first = client.submit(self.circuit.label, self.inputs, client_key=key)
                client.wait(first)
                client.call("result", {"job": first})
        except OSError:
            pass
        has_died = self.has_ended()
        self.crash_at_start(self.rng.randint(1, START_POINTS))
        self.arm.unlink()
        self.restart()
        with rpc.Client(self.daemon.socket) as client:
            job = client.submit(self.circuit.label, self.inputs, client_key=key)
            expect(first in (None, job), f"point {point}: job {first} was taken, and {job} again")
            expect_equal(client.wait(job)["state"], "done", f"point {point}: the job")
            jobs = [j for j in client.call("jobs")["jobs"] if j.get("client_key") == key]
            expect_equal(len(jobs), 1, f"point {point}: jobs of the key")
        proof, public = self.daemon.folder / "proof", self.daemon.folder / "public"
        self.daemon.ctl_ok("result", job, "--proof", proof, "--public", public)
        expect_equal(verify(self.circuit.vkey, proof, public).code, 0, f"point {point}: verify")
        spool = self.daemon.folder / "state" / "spool"
        wait_until(lambda: not list(spool.glob("*")), 10, f"point {point}: the spool is empty")
        return has_died

    def crash_at_start(self, point):
        """The next start, which takes up what is there, dies too; or is killed once it serves."""
        self.end()
        self.daemon.environment = self.with_crash(point)
        try:
            self.daemon.start()
        except Failure:  # it has ended
            expect_equal(self.daemon.process.wait(), -9, f"start with point {point}")
            self.start_deaths += 1

    def with_crash(self, point):
        return dict(self.plain, LD_PRELOAD=str(self.library), CRASH_AT=str(point),
                    CRASH_ARM=str(self.arm))

    def has_ended(self):
        """It may be on its way out: the client sees its connection end first."""
        try:
            return self.daemon.process.wait(0.3) == -9
        except subprocess.TimeoutExpired:
            return False

    def end(self):
        self.daemon.process.kill()
        self.daemon.process.wait()
        wait_until(lambda: not marked_processes(self.daemon.mark), 10, "all of it has ended")

    def restart(self, environment=None):
        self.end()
        self.daemon.environment = environment or self.plain
        self.daemon.start()


def points(crashing, rng):
    """Every one, or some of those there are: the last is found by halves."""
    if os.environ.get("CUZK_TEST_CRASH_POINTS") == "all":
        point = 1
        while point < POINTS_MAX and crashing.crashes_at(point):
            point += 1
        return point - 1
    low, high = 1, 64
    for _ in range(POINTS):
        point = rng.randint(low, high)
        if not crashing.crashes_at(point):
            high = max(low, point - 1)
    return high


def crash_points(library, circuit, inputs, rng):
    with Daemon({"Supervisor": {"StopTimeout": "300ms"}}) as daemon:
        daemon.add(circuit)
        crashing = Crashing(daemon, library, circuit, inputs, rng)
        print(f"  up to point {points(crashing, rng)}, {crashing.count} deaths, and "
              f"{crashing.start_deaths} at the start that followed", flush=True)


def main():
    suite = Suite("crash_points")
    circuit = Circuit("mul", "bn128")
    rng = seeded_random()
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        witness = circuit.witnesses[0]
        suite.case("inline_input", crash_points, library, circuit, [witness.read_bytes()], rng)
        suite.case("file_in_the_spool", crash_points, library, circuit, [witness], rng)
    suite.exit()


if __name__ == "__main__":
    main()
