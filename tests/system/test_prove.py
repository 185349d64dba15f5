#!/usr/bin/python3
"""Every good circuit proves, both verifiers accept, altered proofs are refused, blinding is fresh."""

import json

from harness import (CUZK_BENCH, Circuit, Daemon, Snark, Suite, expect, expect_equal, run,
                     split_arrays, verify)
import formats
import groth

CIRCUITS = [("mul", "bn128"), ("mul", "bls12381"), ("nopub", "bn128"), ("nopub", "bls12381"),
            ("chain12", "bn128"), ("chain12", "bls12381"), ("merkle20", "bn128"),
            ("sha256_bits", "bn128"), ("sha256_bits", "bls12381")]
R, S = 0x1234567890abcdef << 64 | 77, 0xfedcba0987654321 << 96 | 5


def proves(daemon, circuit, snark_jobs):
    daemon.add(circuit)
    for index, witness in enumerate(circuit.witnesses):
        proof, public = daemon.prove(circuit.label, [witness], f"{circuit.label}.{index}")
        result = verify(circuit.vkey, proof, public)
        expect(result.code == 0, lambda: f"our verify refuses: {result}")
        _, values = formats.read_wtns(witness.read_bytes())
        signals = [int(v) for v in json.loads(public.read_text())]
        expect_equal(signals, values[1:1 + len(signals)], "public signals")
        reference = circuit.vkey.parent / f"public{index + 1}.json"
        if reference.exists():
            expect_equal(public.read_bytes(), reference.read_bytes(), "public.json, byte for byte")
        snark_jobs.append({"name": f"{circuit.label}.{index}", "vkey": circuit.vkey,
                           "proof": proof, "public": public})


def proves_without_r1cs(daemon, circuit):
    daemon.add(circuit, f"{circuit.label}.bare", with_r1cs=False)
    proof, public = daemon.prove(f"{circuit.label}.bare", [circuit.witnesses[0]], "bare")
    expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")


def made_circuit_proves(daemon, kind, curve, snark_jobs):
    """What cuzk-bench makes on the spot, its key registered as it was prepared there."""
    name, folder = f"{kind}12.{curve}", daemon.folder / f"{kind}.{curve}"
    folder.mkdir()
    key, vkey = folder / "key.czk", folder / "vkey.json"
    made = run(CUZK_BENCH, "make-key", "--circuit", f"{kind}:12", "--curve", curve, "--prepared", key,
               "--vkey", vkey, "--witness-folder", folder, "--witnesses", "3")
    expect(made.code == 0, lambda: f"make-key: {made}")
    daemon.ctl_ok("circuit", "add", name, "--zkey", key)
    witnesses = [folder / f"w{i}.wtns" for i in (1, 2, 3)]
    proof, public = daemon.prove(name, witnesses, name)
    values = json.loads(public.read_text())
    expect(values[0] != values[1] != values[2], "the public signals are the same in all witnesses")
    for one, signals in split_arrays(proof, public, daemon.folder):
        expect_equal(verify(vkey, one, signals).code, 0, "verify of a partition")
    for i in range(3):
        snark_jobs.append({"name": f"{name}.{i}", "vkey": vkey, "proof": proof, "public": public,
                           "index": i})


def job_of_partitions(daemon, circuit, snark_jobs):
    """Witnesses alternate, so a proof in the wrong place does not verify."""
    witnesses = [circuit.witnesses[i % 2] for i in range(5)]
    proof, public = daemon.prove(circuit.label, witnesses, f"{circuit.label}.many")
    expect_equal(len(json.loads(proof.read_text())), 5, "proofs in the file")
    for one, signals in split_arrays(proof, public, daemon.folder):
        expect_equal(verify(circuit.vkey, one, signals).code, 0, "verify of a partition")
    for i in range(5):
        snark_jobs.append({"name": f"{circuit.label}.many.{i}", "vkey": circuit.vkey,
                           "proof": proof, "public": public, "index": i})
        _, values = formats.read_wtns(witnesses[i].read_bytes())
        signals = [int(v) for v in json.loads(public.read_text())[i]]
        expect_equal(signals, values[1:1 + len(signals)], f"public signals of partition {i}")


def same_witness_differs(daemon, circuit):
    texts = [daemon.prove(circuit.label, [circuit.witnesses[0]], f"again{i}")[0].read_text()
             for i in range(2)]
    one, other = map(json.loads, texts)
    for part in ("pi_a", "pi_b", "pi_c"):
        expect(one[part] != other[part], f"{part} is the same in two proofs of one witness")


def accepts_snarkjs_proofs(circuit):
    expect(circuit.snark_proofs, "the fixture has no proofs")
    for proof, public in circuit.snark_proofs:
        result = verify(circuit.vkey, proof, public)
        expect(result.code == 0, lambda: f"{proof.name}: {result}")


def refuses_altered(circuit, folder):
    proof, public = circuit.snark_proofs[0]
    curve = groth.CURVES[circuit.curve]
    good, signals = json.loads(proof.read_text()), json.loads(public.read_text())
    altered = []
    for part in ("pi_a", "pi_c"):
        negated = json.loads(json.dumps(good))
        negated[part][1] = str(curve.q - int(good[part][1]))
        altered.append((f"{part} negated", negated, signals))
    doubled = json.loads(json.dumps(good))
    point = curve.point_mul(((int(good["pi_a"][0]),), (int(good["pi_a"][1]),)), 2)
    doubled["pi_a"][:2] = [str(point[0][0]), str(point[1][0])]
    altered.append(("pi_a doubled", doubled, signals))
    swapped = json.loads(json.dumps(good))
    swapped["pi_a"], swapped["pi_c"] = good["pi_c"], good["pi_a"]
    altered.append(("pi_a and pi_c swapped", swapped, signals))
    off = json.loads(json.dumps(good))
    off["pi_a"][0] = str(int(good["pi_a"][0]) ^ 1)
    altered.append(("pi_a off the curve", off, signals))
    infinity = json.loads(json.dumps(good))
    infinity["pi_a"] = ["0", "1", "0"]
    altered.append(("pi_a at infinity", infinity, signals))
    for i in range(len(signals)):
        other = list(signals)
        other[i] = str((int(other[i]) + 1) % curve.r)
        altered.append((f"public signal {i} plus one", good, other))
        alias = list(signals)
        alias[i] = str(int(alias[i]) + curve.r)
        altered.append((f"public signal {i} plus r", good, alias))
    for what, one, values in altered:
        files = folder / "altered.proof", folder / "altered.public"
        files[0].write_text(json.dumps(one))
        files[1].write_text(json.dumps(values))
        result = verify(circuit.vkey, *files)
        expect(result.code in (1, 4), lambda: f"{what}: {result}")
        expect(result.out + result.err, f"{what}: no word about it")


def fixed_blinding_is_as_computed(circuit):
    environment = {"CUZK_TEST_BLINDING": f"{R:064x}:{S:064x}"}
    with Daemon(environment=environment) as daemon:
        daemon.add(circuit)
        for witness in circuit.witnesses:
            proof, _ = daemon.prove(circuit.label, [witness])
            _, values = formats.read_wtns(witness.read_bytes())
            curve = groth.CURVES[circuit.curve]
            wanted = groth.prove(curve, circuit.zkey.read_bytes(), values, R, S)
            expect_equal(json.loads(proof.read_text()), groth.proof_json(curve, wanted), "proof")


def snarkjs_accepts(snark, jobs):
    expect_equal(snark.verify(jobs), [], "proofs that snarkjs refuses")


def main():
    suite, snark_jobs = Suite("prove"), []
    circuits = {}
    with Daemon() as daemon:
        for name, curve in CIRCUITS:
            circuit = circuits[name, curve] = Circuit(name, curve)
            suite.case(f"{circuit.label}_proves", proves, daemon, circuit, snark_jobs)
        before = daemon.idle_state()
        for key in (("mul", "bn128"), ("chain12", "bls12381")):
            suite.case(f"{circuits[key].label}_proves_without_r1cs", proves_without_r1cs, daemon,
                       circuits[key])
        for key in (("mul", "bn128"), ("nopub", "bls12381"), ("chain12", "bn128")):
            suite.case(f"{circuits[key].label}_job_of_partitions_keeps_order", job_of_partitions,
                       daemon, circuits[key], snark_jobs)
        for key in (("mul", "bn128"), ("mul", "bls12381")):
            suite.case(f"{circuits[key].label}_same_witness_twice_differs", same_witness_differs,
                       daemon, circuits[key])
        for circuit in circuits.values():
            if circuit.snark_proofs:
                suite.case(f"{circuit.label}_proofs_of_snarkjs_are_accepted",
                           accepts_snarkjs_proofs, circuit)
                suite.case(f"{circuit.label}_altered_proofs_are_refused", refuses_altered, circuit,
                           daemon.folder)
        for kind, curve in (("chain", "bn254"), ("sha", "bls12-381")):
            suite.case(f"{kind}_made_on_the_spot_proves", made_circuit_proves, daemon, kind, curve,
                       snark_jobs)
        snark = Snark()
        if snark.why:
            suite.skip("snarkjs_accepts_every_proof", snark.why)
        else:
            suite.case("snarkjs_accepts_every_proof", snarkjs_accepts, snark, snark_jobs)
        # The four extra circuits loaded four more keys: only processes, slots and slabs count here.
        after = daemon.idle_state()
        suite.case("idle_state_is_as_before", expect_equal,
                   {k: after[k] for k in ("processes", "slots", "rings")},
                   {k: before[k] for k in ("processes", "slots", "rings")}, "idle state")
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    for key in CIRCUITS[:4]:
        suite.case(f"{circuits[key].label}_fixed_blinding_equals_independent_computation",
                   fixed_blinding_is_as_computed, circuits[key])
    suite.exit()


if __name__ == "__main__":
    main()
