#!/usr/bin/python3
"""kill -9 of any one worker at a random moment of a 12-partition job: the job completes, every proof
verifies, nothing is left behind. Odd moments are random in time and victim; even ones wait, from a
random time on, until the victim holds a partition, since synthesis and finalizing take little of
a job's time."""

import os
import signal
import time

from harness import (Circuit, Daemon, Snark, Suite, expect, expect_equal, seeded_random,
                     split_arrays, verify, wait_until)
import rpc

PARTITIONS = 12
MOMENTS = 20
KINDS = ("synth", "gpu", "finalizer")


def submit(daemon, circuit):
    witnesses = [circuit.witnesses[i % 2] for i in range(PARTITIONS)]
    options = [x for w in witnesses for x in ("--witness", w)]
    return str(daemon.ctl_json("submit", "--circuit", circuit.label, *options)["job"])


def fetch(daemon, job, tag):
    proof, public = daemon.folder / f"{tag}.proof", daemon.folder / f"{tag}.public"
    daemon.ctl_ok("result", job, "--proof", proof, "--public", public)
    return proof, public


def choose(client, pick, busy_s):
    """The worker to kill; with busy_s, one of a kind seen busy within that time, else any of it."""
    workers = [w for w in client.call("workers")["workers"] if w["pid"]]
    if not busy_s:
        return workers[int(pick * len(workers))]
    kind = KINDS[int(pick * len(KINDS))]
    deadline = time.monotonic() + busy_s
    while time.monotonic() < deadline:
        workers = [w for w in client.call("workers")["workers"] if w["pid"] and w["kind"] == kind]
        for worker in workers:
            if worker["state"] == "busy":
                return worker
    return workers[0]


def survives_kill(daemon, circuit, moment, delay_s, pick, busy_s, snark_jobs):
    with rpc.Client(daemon.socket) as client:
        job = submit(daemon, circuit)
        time.sleep(delay_s)
        victim = choose(client, pick, busy_s)
    print(f"  after {delay_s * 1000:.0f} ms: kill -9 {victim['name']} ({victim['state']}"
          f" {victim.get('stage', '')})", flush=True)
    try:
        os.kill(victim["pid"], signal.SIGKILL)
    except ProcessLookupError:
        pass
    daemon.ctl_ok("wait", job, timeout=120)
    proof, public = fetch(daemon, job, f"kill{moment}")
    pairs = split_arrays(proof, public, daemon.folder)
    expect_equal(len(pairs), PARTITIONS, "proofs")
    for index, (one, signals) in enumerate(pairs):
        expect_equal(verify(circuit.vkey, one, signals).code, 0, f"verify of partition {index}")
        snark_jobs.append({"name": f"kill{moment}.{index}", "vkey": circuit.vkey, "proof": one,
                           "public": signals})

    def replaced():
        found = {w["name"]: w for w in daemon.workers()}.get(victim["name"])
        return found and found["state"] in ("idle", "busy") and found["pid"] != victim["pid"]

    wait_until(replaced, 60, f"{victim['name']} is replaced")


def killed_between_jobs(daemon, circuit):
    """Every worker at once, while nothing is in flight."""
    pids = [w["pid"] for w in daemon.workers()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]], "between", timeout=60)
    expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
    wait_until(lambda: all(w["state"] == "idle" for w in daemon.workers()), 60, "all are back")
    expect(not set(pids) & {w["pid"] for w in daemon.workers()}, "a dead worker is still listed")


def main():
    suite, rng, snark_jobs = Suite("kill"), seeded_random(), []
    circuit = Circuit("chain12", "bn128")
    with Daemon({"Synthesis": {"Workers": 2, "Threads": 1}}) as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        begin = time.monotonic()
        daemon.ctl_ok("wait", submit(daemon, circuit))
        whole = time.monotonic() - begin
        for moment in range(MOMENTS):
            busy_s = 0 if moment % 2 else whole / 2
            suite.case(f"moment_{moment}", survives_kill, daemon, circuit, moment,
                       rng.random() * (whole - busy_s), rng.random(), busy_s, snark_jobs)
        suite.case("all_workers_between_jobs", killed_between_jobs, daemon, circuit)
        suite.case("nothing_is_left_behind", daemon.expect_back_to, before)
        snark = Snark()
        if snark.why:
            suite.skip("snarkjs_accepts_every_proof", snark.why)
        else:
            suite.case("snarkjs_accepts_every_proof",
                       lambda: expect_equal(snark.verify(snark_jobs), [], "refused"))
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
