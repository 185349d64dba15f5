#!/usr/bin/python3
"""Malformed keys, witnesses, constraint systems and JSON: a clear error, exit code 4, and the daemon
proves the next good job. Files of fixtures/bad as MANIFEST.tsv says, special files, and many kinds
that mutate.py makes."""

import os
import re
import shutil

from harness import (BAD, CUZKCTL, FIXTURES, Circuit, Daemon, Suite, expect, expect_equal, run,
                     verify)
import mutate

# What the error text must speak of, for the files of MANIFEST.tsv.
WORDS = {
    "zkey_trunc_00_empty": r"empty", "zkey_trunc": r"truncat|short|ends|cut",
    "zkey_bad_magic": r"not a", "zkey_is_wtns": r"wtns|witness", "zkey_bad_version": r"version",
    "zkey_protocol_plonk": r"plonk", "zkey_section_size_1TiB": r"section 5",
    "zkey_nsections_zero": r"section|missing", "zkey_missing_section9": r"section 9|\bH\b",
    "zkey_duplicate_section5": r"section 5", "zkey_nvars_huge": r"section|variable|nVars",
    "zkey_domain_not_pow2": r"domain", "zkey_domain_2_31": r"domain",
    "zkey_ncoefs_huge": r"section 4|coefficient", "zkey_coef_signal_oob": r"signal|wire",
    "zkey_coef_matrix_bad": r"matrix", "zkey_n8q_huge": r"n8q|field|prime",
    "zkey_q_bn_r_bls": r"curve|prime", "zkey_bls_in_bn_sizes": r"section",
    "zkey_pointA_off_curve": r"curve", "zkey_alpha1_off_curve": r"alpha1?\b.*curve",
    "zkey_delta1_infinity": r"delta1?\b.*infinity", "wtns_trunc": r"truncat|short|empty|ends",
    "wtns_bad_magic": r"not a", "wtns_bls_prime_for_bn_zkey": r"curve|prime",
    "wtns_too_short": r"\b3\b.*\b4\b|\b4\b.*\b3\b", "wtns_count_huge": r"length|values|section",
    "wtns_unsatisfied": r"constraint|satisf", "wtns_not_reduced": r"value 2 .*below the prime",
    "wtns_version9": r"version", "r1cs_trunc": r"truncat|short|end",
}


def expect_refused(result, pattern):
    expect(result.code == 4, lambda: f"expected exit 4: {result}")
    expect(result.err.strip(), "no error text")
    expect(re.search(pattern, result.err, re.IGNORECASE),
           lambda: f"the error says nothing like /{pattern}/: {result.err.strip()!r}")
    expect(not re.search(r"\b(died|killed|crashed|internal)\b|by signal", result.err, re.IGNORECASE),
           lambda: f"a process died of it: {result.err.strip()!r}")


class Bench:
    """The daemon with good circuits, and the checks that follow each bad file."""

    def __init__(self, suite, daemon, good):
        self.suite, self.daemon, self.good = suite, daemon, good

    def still_serves(self):
        self.daemon.prove(self.good.label, [self.good.witnesses[0]], "next")

    def refuses_key(self, zkey, pattern, *more, quick=False):
        result = self.daemon.ctl("circuit", "add", "bad", "--zkey", zkey, *more, timeout=30)
        if result.code == 0:
            self.daemon.ctl("circuit", "remove", "bad")
        expect_refused(result, pattern)
        if not quick:
            self.still_serves()

    def refuses_witness(self, circuit, witness, pattern, quick=False, **environment):
        outputs = [self.daemon.folder / n for n in ("no.proof", "no.public")]
        result = self.daemon.ctl("prove", "--circuit", circuit, "--witness", witness, "--proof",
                                 outputs[0], "--public", outputs[1], timeout=30, **environment)
        expect_refused(result, pattern)
        expect(not any(o.exists() for o in outputs), "an output file was written all the same")
        if not quick:
            self.still_serves()

    def proves_key(self, zkey, witness, *more):
        self.daemon.ctl_ok("circuit", "add", "odd", "--zkey", zkey, *more)
        try:
            proof, public = self.daemon.prove("odd", [witness], "odd")
        finally:
            self.daemon.ctl_ok("circuit", "remove", "odd")
        expect_equal(verify(self.good.vkey, proof, public).code, 0, "verify")

    def proves_witness(self, witness):
        proof, public = self.daemon.prove(self.good.label, [witness], "odd")
        expect_equal(verify(self.good.vkey, proof, public).code, 0, "verify")


def words_for(name):
    best = max((k for k in WORDS if name.startswith(k)), key=len, default=None)
    expect(best, f"{name} is new in MANIFEST.tsv: say in WORDS what its error must speak of")
    return WORDS[best]


def manifest_cases(bench):
    rows = (BAD / "MANIFEST.tsv").read_text().splitlines()[1:]
    for name, key, witness, *_ in (row.split("\t") for row in rows):
        file = BAD / name
        if not file.exists():
            continue  # the special files, made by special_cases
        if name.startswith("valid_"):
            if name.endswith(".zkey"):
                arguments = bench.proves_key, file, FIXTURES / witness
            elif name.endswith(".wtns"):
                arguments = bench.proves_witness, file
            else:
                arguments = (bench.proves_key, bench.good.zkey, bench.good.witnesses[0], "--r1cs",
                             file)
        elif name.endswith(".zkey"):
            arguments = bench.refuses_key, file, words_for(name)
        elif name.endswith(".wtns"):
            arguments = bench.refuses_witness, bench.good.label, file, words_for(name)
        else:
            arguments = bench.refuses_key, bench.good.zkey, words_for(name), "--r1cs", file
        bench.suite.case(name, *arguments)


def special_cases(bench):
    folder, suite = bench.daemon.folder, bench.suite
    good = bench.good.label
    (folder / "a_directory.zkey").mkdir()
    os.mkfifo(folder / "fifo.wtns")
    os.mkfifo(folder / "fifo.zkey")
    os.symlink("nowhere", folder / "dangling.zkey")
    for name, pattern in (("a_directory.zkey", r"directory"), ("fifo.zkey", r"regular file"),
                          ("dangling.zkey", r"no such file"), ("absent.zkey", r"no such file")):
        suite.case(name, bench.refuses_key, folder / name, pattern)
    for name, pattern in (("a_directory.zkey", r"directory"), ("fifo.wtns", r"regular file"),
                          ("dangling.zkey", r"no such file")):
        suite.case(f"{name}_as_witness", bench.refuses_witness, good, folder / name, pattern)
    suite.case("dev_zero_as_witness", bench.refuses_witness, good, "/dev/zero", r"regular file")
    suite.case("dev_null_as_key", bench.refuses_key, "/dev/null", r"regular file")
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        suite.skip("unreadable_as_another_user", "needs root and setpriv")
        return
    suite.case("unreadable_as_another_user", refuses_unreadable, bench)


def refuses_unreadable(bench):
    """nobody may reach the sockets, but not read the files."""
    folder = bench.daemon.folder
    locked = folder / "unreadable.zkey"
    shutil.copy(bench.good.zkey, locked)
    locked.chmod(0)
    folder.chmod(0o755)
    # The program itself may lie below a folder that only root can enter.
    program = folder / "cuzkctl"
    shutil.copy(CUZKCTL, program)
    sockets = list((folder / "run").iterdir())
    modes = [s.stat().st_mode & 0o7777 for s in sockets]
    (folder / "run").chmod(0o755)
    for entry in sockets:
        entry.chmod(0o666)
    open_to_all = folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "--socket",
              bench.daemon.socket]
    try:
        expect_refused(run(*nobody, "circuit", "add", "locked", "--zkey", locked),
                       r"permission denied")
        expect_refused(run(*nobody, "prove", "--circuit", bench.good.label, "--witness", locked,
                           "--proof", open_to_all / "proof", "--public", open_to_all / "public"),
                       r"permission denied")
    finally:
        for entry, mode in zip(sockets, modes):
            entry.chmod(mode)
    bench.still_serves()


def made_cases(bench, circuits):
    """Every kind of mutate.py; a good job follows every tenth."""
    folder, count = bench.daemon.folder, 0
    for circuit in circuits:
        makers = (("zkey", mutate.zkeys, circuit.zkey), ("wtns", mutate.witnesses,
                                                         circuit.witnesses[0]),
                  ("r1cs", mutate.constraint_systems, circuit.r1cs))
        for kind, maker, source in makers:
            for name, data, pattern in maker(source.read_bytes(), circuit.curve):
                file = folder / f"made.{kind}"
                file.write_bytes(data)
                count += 1
                label, quick = f"{circuit.label}_{kind}_{name}", count % 10 != 0
                if kind == "zkey":
                    bench.suite.case(label, bench.refuses_key, file, pattern, quick=quick)
                elif kind == "wtns":
                    bench.suite.case(label, bench.refuses_witness, circuit.label, file, pattern,
                                     quick=quick)
                else:
                    bench.suite.case(label, bench.refuses_key, circuit.zkey, pattern, "--r1cs",
                                     file, quick=quick)


def wrong_companions(bench, nopub):
    """Good files that do not belong together."""
    suite, good = bench.suite, bench.good
    suite.case("r1cs_of_another_circuit", bench.refuses_key, good.zkey, r"differ|match|key",
               "--r1cs", nopub.r1cs)
    suite.case("witness_of_another_circuit", bench.refuses_witness, good.label,
               nopub.witnesses[0], r"\b5\b.*\b4\b|\b4\b.*\b5\b")
    suite.case("r1cs_as_key", bench.refuses_key, good.r1cs, r"r1cs")
    suite.case("key_as_witness", bench.refuses_witness, good.label, good.zkey, r"zkey|not a")
    suite.case("vkey_as_key", bench.refuses_key, good.vkey, r"not a")


def key_larger_than_any_slab(daemon, circuit):
    """The refusal names the SlabSize that would do."""
    result = daemon.ctl("circuit", "add", "large", "--zkey", circuit.zkey, timeout=60)
    expect_refused(result, r"SlabSize")
    expect(re.search(r"SlabSize ?= ?\d+[KMG]?", result.err), lambda: f"names no size: {result.err}")


def refuses_document(folder, files, which, data):
    broken = folder / f"broken.{which}"
    broken.write_bytes(data)
    result = verify(**dict(files, **{which: broken}))
    expect(result.code in (1, 4), lambda: f"expected exit 1 or 4: {result}")
    expect(result.out + result.err, "no word about it")
    expect("verified" not in result.out or "not" in result.out.lower(), lambda: str(result))


def document_cases(suite, folder, circuit):
    """JSON files are read by cuzkctl itself. One case for each kind of file: there are hundreds."""
    proof, public = circuit.snark_proofs[0]
    files = {"vkey": circuit.vkey, "proof": proof, "public": public}
    for which, skip in (("vkey", ("vk_alphabeta_12",)), ("proof", ("curve", "protocol")),
                        ("public", ())):
        def all_of_it():
            count = 0
            for name, data in mutate.documents(files[which].read_bytes(), skip):
                try:
                    refuses_document(folder, files, which, data)
                except Exception as failure:
                    raise type(failure)(f"{name}: {failure}") from None
                count += 1
            print(f"  {count} files")
        suite.case(f"{circuit.label}_malformed_{which}_json_is_refused", all_of_it)


def main():
    suite = Suite("bad_input")
    good, bls = Circuit("mul", "bn128"), Circuit("mul", "bls12381")
    nopub, merkle = Circuit("nopub", "bn128"), Circuit("merkle20", "bn128")
    with Daemon({"Ring": {"SlabSize": "2M"}}) as daemon:
        for circuit in (good, bls):
            daemon.add(circuit)
            daemon.prove(circuit.label, [circuit.witnesses[0]])
        bench = Bench(suite, daemon, good)
        before = daemon.idle_state()
        manifest_cases(bench)
        special_cases(bench)
        wrong_companions(bench, nopub)
        made_cases(bench, (good, bls))
        suite.case("nothing_is_held_afterwards", daemon.expect_back_to, before)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    with Daemon({"Ring": {"SlabSize": "1M"}}) as daemon:
        suite.case("key_larger_than_any_slab_names_the_size", key_larger_than_any_slab, daemon,
                   merkle)
        for circuit in (good, bls):
            document_cases(suite, daemon.folder, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
