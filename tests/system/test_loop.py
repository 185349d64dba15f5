#!/usr/bin/python3
"""The two event loops mean the same: everything works under EventLoop=ppoll, and status says so."""

import os
import signal

from harness import (Circuit, Daemon, Suite, expect, expect_equal, split_arrays, verify, wait_until)


def shows_loop(daemon, wanted):
    expect_equal(daemon.status()["event_loop"], wanted, "event_loop in status")
    expect(wanted in daemon.ctl_ok("status").out, "event loop in the human status")


def rings_open(pid):
    """Number of io_uring instances a process holds."""
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{name}") == "anon_inode:[io_uring]"
        except FileNotFoundError:
            pass
    return count


def every_process_uses(daemon, uring):
    pids = {w["name"]: w["pid"] for w in daemon.workers()}
    pids["cuzkd"] = daemon.process.pid
    for name, pid in pids.items():
        expect_equal(rings_open(pid) > 0, uring, f"{name} holds an io_uring")


def proves_a_job(daemon, circuit):
    proof, public = daemon.prove(circuit.label, [circuit.witnesses[i % 2] for i in range(6)])
    for one, signals in split_arrays(proof, public, daemon.folder):
        expect_equal(verify(circuit.vkey, one, signals).code, 0, "verify")


def survives_kills(daemon, circuit):
    for kind in ("synth", "gpu", "finalizer"):
        options = [x for i in range(6) for x in ("--witness", circuit.witnesses[i % 2])]
        job = str(daemon.ctl_json("submit", "--circuit", circuit.label, *options)["job"])
        victim = next(w for w in daemon.workers() if w["kind"] == kind)
        os.kill(victim["pid"], signal.SIGKILL)
        daemon.ctl_ok("wait", job)
        wait_until(lambda: all(w["state"] == "idle" for w in daemon.workers()), 60, "all are back")


def main():
    suite, circuit = Suite("loop"), Circuit("chain12", "bn128")
    for name in ("ppoll", "io_uring"):
        with Daemon({"Supervisor": {"EventLoop": name}}) as daemon:
            daemon.add(circuit)
            daemon.prove(circuit.label, [circuit.witnesses[0]])
            before = daemon.idle_state()
            suite.case(f"{name}_is_shown", shows_loop, daemon, name)
            suite.case(f"{name}_is_used_by_every_process", every_process_uses, daemon,
                       name == "io_uring")
            suite.case(f"{name}_proves_a_job", proves_a_job, daemon, circuit)
            suite.case(f"{name}_survives_kills", survives_kills, daemon, circuit)
            suite.case(f"{name}_holds_nothing_afterwards", daemon.expect_back_to, before)
            suite.case(f"{name}_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
