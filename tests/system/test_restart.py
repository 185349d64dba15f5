#!/usr/bin/python3
"""The supervisor is killed with SIGKILL in the middle of jobs and started again, many times: every job
that was accepted is done, failed by rule or cancelled by its client, no client key yields two jobs,
every proof verifies, and everything is back afterwards.

--kills=N (default 8; a full run has 50), CUZK_TEST_SEED=N repeats a run's choices."""

import os
import random
import signal
import sys
import time

from chaos import USERS, Accounts, Stream, connect
from harness import (Circuit, Daemon, Snark, Suite, expect, expect_equal, marked_processes,
                     seeded_random, wait_until)
from pathlib import Path

KILLS = next((int(a[8:]) for a in sys.argv[1:] if a.startswith("--kills=")), 8)
sys.argv = [a for a in sys.argv if not a.startswith("--kills=")]


def open_to_all(daemon):
    for path in (daemon.folder, Path(daemon.socket).parent):
        path.chmod(0o755)
    os.chmod(daemon.socket, 0o666)


def kill_and_start(daemon):
    """Returns the seconds from the kill to the next start's readiness."""
    process, begin = daemon.process, time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not marked_processes(daemon.mark), 20, "the workers die with it")
    daemon.start()
    open_to_all(daemon)
    return time.monotonic() - begin


def killed_again_and_again(daemon, rng, streams, kills):
    seconds = []
    for _ in range(kills):
        time.sleep(rng.expovariate(1 / 0.4))
        expect(any(stream.open for stream in streams), "no job is under way")
        seconds.append(kill_and_start(daemon))
        daemon.expect_sound()
    for stream in streams:
        stream.is_ending = True
    deadline = time.monotonic() + 120
    for stream in streams:
        stream.join(max(0.1, deadline - time.monotonic()))
    expect_equal([job.number for stream in streams for job in stream.open], [],
                 "jobs that do not end")
    print(f"  {kills} kills; ready again after {min(seconds) * 1000:.0f} to "
          f"{max(seconds) * 1000:.0f} ms", flush=True)


def everything_is_back(daemon, circuits, before):
    for circuit in circuits:  # its key is in memory again
        daemon.prove(circuit.label, [circuit.witnesses[0]])
    daemon.expect_sound(idle=True)
    daemon.expect_back_to(before)


def main():
    suite, rng = Suite("restart"), seeded_random()
    circuits = [Circuit("mul", "bn128"), Circuit("chain12", "bn128")]
    users = USERS if os.geteuid() == 0 else (os.geteuid(),) * 3
    with Daemon({"Supervisor": {"LogLevel": "info"}, "Synthesis": {"Workers": 2, "Threads": 1}}) \
            as daemon:
        open_to_all(daemon)
        for circuit in circuits:
            daemon.add(circuit)
        expected = Accounts([]).expected_signals(daemon, circuits)
        before = daemon.idle_state()
        streams = [Stream(daemon.socket, uid, random.Random(rng.random()), circuits)
                   for uid in users]
        for stream in streams:
            stream.start()
        suite.case("every_job_ends_though_the_daemon_is_killed", killed_again_and_again, daemon, rng,
                   streams, KILLS)
        accounts = Accounts(streams)
        print(f"  {accounts.summary()}", flush=True)
        for job in accounts.of("failed"):
            print(f"  by rule: job {job.number}: {job.answer['error']['message']}", flush=True)
        suite.case("nothing_is_lost", accounts.nothing_is_lost)
        with connect(daemon.socket.replace(".sock", "-admin.sock")) as admin:
            suite.case("no_client_key_has_two_jobs", accounts.no_key_has_two_jobs, admin)
        suite.case("everything_is_back", everything_is_back, daemon, circuits, before)
        count = suite.case("every_proof_verifies", accounts.every_proof_verifies, daemon, expected,
                           Snark())
        print(f"  {count} proofs", flush=True)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
