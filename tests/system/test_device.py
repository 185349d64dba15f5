#!/usr/bin/python3
"""The daemon on a device: a stand-in in host memory (tests/gpu-worker/stub), which test builds load as
the CUDA backend, and where the machine has one, a real card."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from harness import (BUILD, Circuit, Daemon, Failure, Suite, expect, expect_equal, verify,
                     wait_until)

STUB = BUILD / "tests" / "gpu-worker" / "stub" / "libcuzk-stub.so"
CUDA = BUILD / "gpu-worker" / "cuda" / "libcuzk-cuda.so"
# Registrations before the first slab of the daemon: a slab for the known answer on each curve.
KNOWN = 2
SLABS = 4


class Device(Daemon):
    """A daemon with Backend=cuda on the stand-in; `stub` is its CUZK_STUB (stub.h)."""

    def __init__(self, stub="", sections=None, start=True):
        sections = dict(sections or {})
        sections["GPU"] = {"Backend": "cuda", **sections.get("GPU", {})}
        super().__init__(sections, environment={"CUZK_TEST_PLUGIN": str(STUB), "CUZK_STUB": stub},
                         start=start)


def proves(circuit, evaluate, slab_bytes):
    """One job, verified; the slab holds what the mode says."""
    with Device(sections={"Synthesis": {"Evaluate": evaluate}}) as daemon:
        daemon.add(circuit)
        for i, witness in enumerate(circuit.witnesses):
            proof, public = daemon.prove(circuit.label, [witness], tag=f"out{i}")
            expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        listed = daemon.ctl_json("circuit", "list")["circuits"][0]
        expect_equal(listed["slab_bytes"], slab_bytes, "slab_bytes")
        expect("resident" in listed["plan"], f"plan: {listed}")
        expect(listed["plan"] in daemon.ctl_ok("circuit", "list").out, "plan for people")
        gpu = daemon.status()["gpu"][0]
        expect_equal((gpu["backend"], gpu["slabs_pinned"], gpu["slabs_unpinned"], gpu["keys"],
                      gpu["unpinned_bytes"]), ("cuda", SLABS, 0, 1, 0), "status")
        key = listed["key_bytes"]
        slabs = SLABS * 8 * 1024 * 1024
        expect(slabs + key <= gpu["pinned_bytes"] < slabs + key + 4096, f"pinned: {gpu}")
        expect(gpu["uuid"].startswith("GPU-") and gpu["memory_bytes"] > 0, f"device: {gpu}")
        if evaluate != "cpu":
            broken = bytearray(circuit.witnesses[0].read_bytes())
            broken[-1] ^= 1
            path = daemon.folder / "broken.wtns"
            path.write_bytes(broken)
            refused = daemon.ctl("prove", "--circuit", circuit.label, "--witness", path, "--proof",
                                 daemon.folder / "p", "--public", daemon.folder / "q")
            expect_equal(refused.code, 4, "a broken witness is still found")
            expect("does not satisfy constraint" in refused.err, lambda: f"{refused}")


def refuses_unpinned():
    """One slab cannot be registered: no start, and one line that says all."""
    Device(f"fail=host_register:{KNOWN + 2}:2", start=False).refuses_to_start(
        "slab 1 (8M)", "cannot be registered", "RLIMIT_MEMLOCK", "RequirePinned=no")


def goes_on_unpinned(circuit):
    with Device(f"fail=host_register:{KNOWN + 2}:2", {"GPU": {"RequirePinned": "no"}}) as daemon:
        daemon.add(circuit)
        proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        status = daemon.status()
        gpu = status["gpu"][0]
        expect_equal((gpu["slabs_pinned"], gpu["slabs_unpinned"], gpu["unpinned_bytes"]),
                     (SLABS - 1, 1, 8 * 1024 * 1024), "figures")
        expect("not_pinned:gpu-0" in status["flags"], f"flags: {status['flags']}")
        expect("NOT PINNED" in daemon.ctl_ok("status").out, "status for people")
        expect("warn gpu-0: slab 1 is not pinned" in daemon.log(), "no warning")


def two_cards(circuit):
    uuids = ["GPU-000057b1-0000-4000-8000-000000000001", "GPU-000057b0-0000-4000-8000-000000000000"]
    sections = {"GPU": {"Devices": " ".join(uuids), "VramLimit": "256M"}}
    with Device("devices=2", sections) as daemon:
        daemon.add(circuit)
        proofs, publics = daemon.prove(circuit.label, circuit.witnesses * 6)
        expect_equal(len(json.loads(proofs.read_text())), 6 * len(circuit.witnesses), "proofs")
        status = daemon.status()
        expect_equal([g["uuid"] for g in status["gpu"]], uuids, "cards in the order given")
        expect_equal([g["keys"] for g in status["gpu"]], [1, 1], "both hold the key")
        for worker, uuid in zip((w for w in daemon.workers() if w["kind"] == "gpu"), uuids):
            command = Path(f"/proc/{worker['pid']}/cmdline").read_bytes().decode().split("\0")
            for option, value in (("--device", uuid), ("--vram-limit", str(256 << 20)),
                                  ("--require-pinned", "yes"), ("--slabs", str(SLABS))):
                expect_equal(command[command.index(option) + 1], value, option)
        plan = status["circuits"][0]["plan"]
        expect("gpu-0: " in plan and "gpu-1: " in plan, f"plan: {plan}")
    daemon = Device("devices=2", {"GPU": {"Devices": "GPU-nonesuch"}}, start=False)
    try:
        daemon.start()
        raise Failure("it starts")
    except Failure as failure:
        expect("no GPU 'GPU-nonesuch'" in str(failure), f"{failure}")
    finally:
        daemon.discard()


def key_that_is_refused(circuit):
    """The key cannot be registered: its jobs fail with the reason, the worker lives on."""
    with Device(f"fail=host_register:{KNOWN + SLABS + 1}+:2") as daemon:
        daemon.add(circuit)
        for _ in range(2):  # it is tried again with each job
            refused = daemon.ctl("prove", "--circuit", circuit.label, "--witness",
                                 circuit.witnesses[0], "--proof", daemon.folder / "p", "--public",
                                 daemon.folder / "q")
            expect_equal(refused.code, 1, "exit code")
            expect("cannot be loaded: gpu-0: " in refused.err, lambda: f"{refused}")
        worker = [w for w in daemon.workers() if w["name"] == "gpu-0"][0]
        expect_equal((worker["state"], worker["restarts"]), ("idle", 0), "the worker")


def key_that_ends_the_worker(circuit):
    """A sticky error while the key is loaded, each time: the circuit is given up, with words."""
    with Device(f"fail=host_register:{KNOWN + SLABS + 1}+:700") as daemon:
        daemon.add(circuit)
        failed = daemon.ctl("prove", "--circuit", circuit.label, "--witness", circuit.witnesses[0],
                            "--proof", daemon.folder / "p", "--public", daemon.folder / "q")
        expect_equal(failed.code, 1, "exit code")
        expect("loading its key ended the GPU worker 2 times (sticky device error: " in failed.err,
               lambda: f"{failed}")
        wait_until(lambda: all(w["state"] == "idle" for w in daemon.workers()), 20, "all are back")
        worker = [w for w in daemon.workers() if w["name"] == "gpu-0"][0]
        expect_equal(worker["restarts"], 2, "restarts")
        expect("sticky device error" in worker["last_error"], f"{worker}")
        listed = daemon.ctl_json("circuit", "list")["circuits"][0]
        expect_equal(listed["state"], "failed", "state")
        again = daemon.ctl("submit", "--circuit", circuit.label, "--witness", circuit.witnesses[0])
        expect_equal(again.code, 1, "the next job is refused")
        expect("ended the GPU worker" in again.err, lambda: f"{again}")


def sticky_error_is_retried(circuit):
    """The device dies under the sixth sum after the 20 of the known answer (two curves, two ways,
    five sums): under the second job, which the next process then proves."""
    with Device(f"die=msm_sum:{20 + 6}:700") as daemon:
        daemon.add(circuit)
        for i in range(2):
            proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]], tag=f"out{i}")
            expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        worker = [w for w in daemon.workers() if w["name"] == "gpu-0"][0]
        expect_equal(worker["restarts"], 1, "restarts")
        for word in ("sticky device error", "700"):
            expect(word in worker["last_error"], f"{worker}")
        expect("attempts=1" in daemon.log(), "the death while alone counts")


def sticky_error_each_time_fails_the_job(circuit):
    with Device(f"die=msm_sum:{20 + 1}:700", {"Supervisor": {"AttemptsMax": 3}}) as daemon:
        daemon.add(circuit)
        failed = daemon.ctl("prove", "--circuit", circuit.label, "--witness", circuit.witnesses[0],
                            "--proof", daemon.folder / "p", "--public", daemon.folder / "q")
        expect_equal(failed.code, 1, "exit code")
        expect("it killed its worker 3 times (sticky device error" in failed.err,
               lambda: f"{failed}")


def wrong_device_is_refused():
    for stub, words in (("wrong=msm_sum:3", "computes wrongly"),
                        ("fail=host_register:1:2", "could not be made")):
        daemon = Device(stub, start=False)
        try:
            daemon.start()
            raise Failure("it starts")
        except Failure as failure:
            expect("ended at start with 1" in str(failure), f"{failure}")
            expect("the known-answer proof on bn254" in daemon.log(), "what failed")
            expect(words in daemon.log(), f"why: {daemon.log()[-1000:]}")
        finally:
            daemon.discard()


def keys_come_back_in_the_order_of_their_first_load(circuits):
    """What finds room on a card depends on what came before: a new process gets its keys in the order
    in which the old one got them, whatever their numbers, and so has room for all of them. A limit at
    which the tables of the first would leave no room for the second."""
    with Device(sections={"GPU": {"VramLimit": "29M"}}) as daemon:
        for circuit in circuits:
            daemon.add(circuit)
        for circuit in reversed(circuits):
            daemon.prove(circuit.label, [circuit.witnesses[0]], tag=circuit.label)
        worker = [w for w in daemon.workers() if w["name"] == "gpu-0"][0]
        os.kill(worker["pid"], signal.SIGKILL)
        for circuit in circuits:
            proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]], tag=circuit.label)
            expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        loaded = re.findall(r" gpu-0: circuit (\S+) .*is loaded in", daemon.log())
        order = [circuit.label for circuit in reversed(circuits)]
        expect_equal(loaded, order * 2, "order of loads")


def auto_falls_back_from_no_card_only():
    with Device("devices=0", {"GPU": {"Backend": "auto"}}) as daemon:
        gpu = daemon.status()["gpu"][0]
        expect_equal(gpu["backend"], "cpu", "backend without a card")
        expect("proving on the CPU" in daemon.log(), "no warning")
    daemon = Device("driver=11000", {"GPU": {"Backend": "auto"}}, start=False)
    try:
        daemon.start()
        raise Failure("it starts")
    except Failure as failure:
        expect("ended at start with 1" in str(failure), f"{failure}")
        expect("no proofs can be made: gpu-0 cannot use the CUDA backend (the NVIDIA driver is too old"
               in daemon.log(), f"why: {daemon.log()[-1000:]}")
    finally:
        daemon.discard()


def real_card(circuit):
    with Daemon({"GPU": {"Backend": "cuda"}}) as daemon:
        daemon.add(circuit)
        proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        expect_equal(daemon.status()["gpu"][0]["backend"], "cuda", "backend")


def main():
    suite = Suite("device")
    mul = Circuit("mul", "bn128")
    cases = (("device_evaluates_from_the_witness", proves, mul, "auto", 4096),
             ("device_takes_evaluations_from_the_slab", proves, mul, "cpu", 12288),
             ("other_curve_is_proved", proves, Circuit("mul", "bls12381"), "gpu", 4096),
             ("unpinned_memory_is_refused_at_start", refuses_unpinned),
             ("unpinned_memory_is_shown_where_it_is_allowed", goes_on_unpinned, mul),
             ("two_cards_prove_and_an_unknown_one_is_refused", two_cards, mul),
             ("refused_key_fails_its_jobs_only", key_that_is_refused, mul),
             ("key_that_ends_the_worker_is_given_up", key_that_ends_the_worker, mul),
             ("sticky_error_is_retried_in_a_new_process", sticky_error_is_retried, mul),
             ("sticky_error_each_time_fails_the_job", sticky_error_each_time_fails_the_job, mul),
             ("device_that_computes_wrongly_is_refused", wrong_device_is_refused),
             ("keys_come_back_in_the_order_of_their_first_load",
              keys_come_back_in_the_order_of_their_first_load,
              [Circuit("chain12", "bls12381"), Circuit("sha256_bits", "bn128")]),
             ("auto_falls_back_from_no_card_only", auto_falls_back_from_no_card_only))
    for name, *what in cases:
        if STUB.exists():
            suite.case(name, *what)
        else:
            suite.skip(name, "the stand-in device is not built")
    has_card = CUDA.exists() and shutil.which("nvidia-smi") and \
        subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0
    if has_card:
        suite.case("real_card_proves", real_card, mul)
    else:
        suite.skip("real_card_proves", "no CUDA backend in this build, or no card here")
    suite.exit()


if __name__ == "__main__":
    main()
