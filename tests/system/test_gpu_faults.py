#!/usr/bin/python3
"""The daemon when its GPU fails, on the stand-in device (tests/gpu-worker/stub/stub.h says what CUZK_STUB
means): contexts that die, wrong results, lost bells, a card that another holds, a card that is small.
Counts of CUZK_STUB begin anew with each worker process."""

import fcntl
import os
import signal
import tempfile
from pathlib import Path

from harness import (Circuit, Failure, Snark, Suite, expect, expect_equal, split_arrays, verify,
                     wait_until)
from test_device import STUB, Device

# Sums of a proof, and of the known-answer proofs that a worker makes before it is ready: on each curve
# from the slab's evaluations and from the witness alone.
PROOF_SUMS = 5
KNOWN_PROOFS = 4
KNOWN_SUMS = KNOWN_PROOFS * PROOF_SUMS
PARTITIONS = 12


def verified(daemon, circuit, proof, public, count):
    pairs = split_arrays(proof, public, daemon.folder)
    expect_equal(len(pairs), count, "proofs")
    for index, (one, signals) in enumerate(pairs):
        expect_equal(verify(circuit.vkey, one, signals).code, 0, f"verify of partition {index}")


def gpu(daemon):
    return [w for w in daemon.workers() if w["name"] == "gpu-0"][0]


def context_dies(circuit, fault, word):
    """Each worker process loses its device in the middle of its third proof or so; the job's partitions
    are put back and proved by the next."""
    with Device(fault) as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        witnesses = [circuit.witnesses[i % 2] for i in range(PARTITIONS)]
        proof, public = daemon.prove(circuit.label, witnesses)
        verified(daemon, circuit, proof, public, PARTITIONS)
        worker = wait_until(lambda: gpu(daemon) if gpu(daemon)["state"] == "idle" else None, 20,
                            "gpu-0 is back")
        expect(worker["restarts"] >= 1, f"no restart: {worker}")
        expect("sticky device error" in worker["last_error"] and word in worker["last_error"],
               f"last error: {worker}")
        log = daemon.log()
        expect("Stub GPU 0" in log and "put back" in log, "the log says too little")
        lost = [l for l in log.splitlines() if "device is lost" in l]
        expect_equal(len(lost), worker["restarts"], "lines of a lost device, one a process")
        daemon.expect_back_to(before)


def result_is_wrong(circuit):
    """A card that computes wrongly: the pairing check catches the one proof, says who made it, and the
    other jobs go on. (The known answer was right.)"""
    with Device(f"wrong=msm_sum:{KNOWN_SUMS + PROOF_SUMS + 3}") as daemon:
        daemon.add(circuit)
        jobs = [daemon.ctl_json("submit", "--circuit", circuit.label, "--witness",
                                circuit.witnesses[i % 2])["job"] for i in range(5)]
        codes, failed = [], None
        for job in jobs:
            result = daemon.ctl("wait", str(job))
            codes.append(result.code)
            failed = failed or (result if result.code else None)
        expect_equal(sorted(codes), [0, 0, 0, 0, 1], "exit codes of wait")
        expect("the proof does not verify" in failed.err + failed.out, lambda: f"{failed}")
        evidence = [l for l in daemon.log().splitlines() if "does not verify on" in l]
        expect_equal(len(evidence), 1, "lines of evidence")
        expect("the proof by gpu-0" in evidence[0] and "key " in evidence[0], evidence[0])
        expect_equal(gpu(daemon)["restarts"], 0, "restarts")
        proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify of the next")


def known_answer_is_wrong():
    """A card that computes wrongly from the start proves nothing."""
    Device("wrong=msm_sum:4", start=False).refuses_to_start(
        "known-answer proof on bn254", "the sum", "is wrong", "do not prove on it")


def bells_are_lost(circuit):
    with Device("lose=1+") as daemon:
        daemon.add(circuit)
        proof, public = daemon.prove(circuit.label, circuit.witnesses * 3)
        verified(daemon, circuit, proof, public, 3 * len(circuit.witnesses))
        expect_equal(gpu(daemon)["restarts"], 0, "restarts")


def card_is_held(circuit):
    """The lock of a killed worker goes with it; one that another process holds is refused."""
    with tempfile.TemporaryDirectory(prefix="cuzk-") as folder:
        with Device(f"lock={folder}") as daemon:
            daemon.add(circuit)
            for _ in range(3):
                pid = gpu(daemon)["pid"]
                expect(pid > 0, "gpu-0 has a process")
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda: gpu(daemon)["state"] == "idle"
                           and gpu(daemon)["pid"] not in (0, pid), 20, "gpu-0 is replaced")
            proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
            expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        with open(Path(folder) / "gpu0", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            daemon = Device(f"lock={folder}", start=False)
            try:
                daemon.start()
                raise Failure("it starts")
            except Failure as failure:
                expect(f"held by another GPU worker (process {os.getpid()})" in str(failure),
                       f"{failure}")
            finally:
                daemon.discard()


def counts_stay(circuit):
    """What the driver was asked for in a worker's whole life: registrations of slabs and key, a handful
    of allocations, whatever the number of proofs."""
    with tempfile.NamedTemporaryFile(prefix="cuzk-") as report:
        with Device(f"report={report.name}") as daemon:
            daemon.add(circuit)
            for i in range(6):
                daemon.prove(circuit.label, circuit.witnesses * 4, tag=f"out{i}")
        calls = {}
        for line in report.read().decode().splitlines():
            name, count = line.rsplit(" ", 1)
            calls[name] = int(count)
    proofs = 6 * 4 * len(circuit.witnesses)
    expect(calls["msm_sum"] >= KNOWN_SUMS + PROOF_SUMS * proofs, f"sums: {calls}")
    # Slabs (4), the key, and a slab for the known answer on each curve.
    expect_equal(calls["host_register"], 7, "registrations")
    expect_equal(calls["host_unregister"], 7, "let go of at the end")
    expect_equal(calls["registered"], 0, "left registered")
    expect(calls["malloc"] <= 4, f"device allocations: {calls}")


def limited_card(circuit, limit):
    """A card, or a limit, that the key does not fit: streamed, and the same proofs."""
    with Device(sections={"GPU": {"VramLimit": limit}}) as daemon:
        daemon.add(circuit)
        proof, public = daemon.prove(circuit.label, circuit.witnesses * 3)
        verified(daemon, circuit, proof, public, 3 * len(circuit.witnesses))
        plan = daemon.ctl_json("circuit", "list")["circuits"][0]["plan"]
        expect("stream" in plan, f"plan: {plan}")


def snark_accepts(circuits):
    snark, jobs = Snark(), []
    if snark.why:
        raise Failure(snark.why)
    with Device("order=7") as daemon:
        for circuit in circuits:
            daemon.add(circuit)
            for i, witness in enumerate(circuit.witnesses):
                proof, public = daemon.prove(circuit.label, [witness], tag=f"{circuit.label}.{i}")
                jobs.append({"name": f"{circuit.label}.{i}", "vkey": circuit.vkey, "proof": proof,
                             "public": public})
        expect_equal(snark.verify(jobs), [], "refused by snarkjs")


def main():
    suite = Suite("gpu_faults")
    mul, chain = Circuit("mul", "bn128"), Circuit("chain12", "bls12381")
    third = KNOWN_SUMS + 2 * PROOF_SUMS + 2
    cases = (
        ("illegal_access_in_a_kernel_ends_the_worker_and_the_job_completes", context_dies, mul,
         f"die=msm_sum:{third}:700", "cudaErrorIllegalAddress"),
        ("memory_error_in_a_launch_ends_the_worker_and_the_job_completes", context_dies, mul,
         f"fail=msm_sum:{third}:214", "cudaErrorECCUncorrectable"),
        ("lost_card_ends_the_worker_and_the_job_completes", context_dies, chain,
         f"die=transform_quotient:{KNOWN_PROOFS + 3}:999", "cudaErrorUnknown"),
        ("wrong_result_is_caught_and_other_jobs_go_on", result_is_wrong, mul),
        ("card_that_computes_wrongly_is_refused_at_start", known_answer_is_wrong),
        ("lost_bells_are_made_up_for", bells_are_lost, mul),
        ("card_is_held_by_one_worker", card_is_held, mul),
        ("nothing_is_allocated_or_registered_by_proofs", counts_stay, mul),
        ("key_is_streamed_where_memory_is_short", limited_card, chain, "5M"),
        ("snarkjs_accepts_every_proof", snark_accepts,
         [Circuit(n, c) for n in ("mul", "nopub", "sha256_bits", "chain12")
          for c in ("bn128", "bls12381")] + [Circuit("merkle20", "bn128")]))
    for name, *what in cases:
        if STUB.exists():
            suite.case(name, *what)
        else:
            suite.skip(name, "the stand-in device is not built")
    suite.exit()


if __name__ == "__main__":
    main()
