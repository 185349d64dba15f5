#!/usr/bin/python3
"""Everything that `./dev bench` prints: rings and hand-offs, transforms and multiplications by size,
whole proofs by circuit, warm and cold, peak PSS of each process, and snarkjs beside them.

Whole proofs are what a user sees: `cuzkctl prove` from start to exit, through a private daemon with
the CPU backend, against `snarkjs groth16 prove` from start to exit; same key, same witness, same run.
cold: the first job after the daemon's start, so the prepared key is loaded from its file (in the
page cache). warm: the key is loaded already; the median of several.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ["CUZK_BUILD"] = str(ROOT / "build")
sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "tests" / "tools")]
import harness  # noqa: E402 (needs CUZK_BUILD)

MADE = ROOT / "build" / "bench-data"
TOOLS = ROOT / "tests" / "tools"
SHA = ROOT / "tests/fixtures/good"
CURVES = ("bn128", "bls12381")
# name: (constraints, arguments of the generator)
CIRCUITS = {
    "chain14": ("make_chain.py", "--length", "16000"),
    "sha256": ("tile_circuit.py", "--copies", "1"),
    "sha256x4": ("tile_circuit.py", "--copies", "4"),
    "chain17": ("make_chain.py", "--length", "131000"),
    "chain20": ("make_chain.py", "--length", "1047553"),
}
QUICK = ("chain14", "sha256")
USUAL = ("chain14", "sha256", "sha256x4", "chain17")


class Made:
    """One circuit's files, generated on first use and kept in the build folder."""

    def __init__(self, name, curve):
        self.label = f"{name}.{curve}"
        folder = MADE / self.label
        folder.mkdir(parents=True, exist_ok=True)
        self.r1cs, self.wtns = folder / "circuit.r1cs", folder / "witness.wtns"
        self.zkey, self.vkey = folder / "circuit.zkey", folder / "vkey.json"
        tool, *options = CIRCUITS[name]
        if not self.wtns.exists():
            if tool == "make_chain.py":
                options += ["--curve", curve]
            else:
                options += ["--r1cs-in", SHA / f"sha256_bits.{curve}/circuit.r1cs.xz",
                            "--wtns-in", SHA / f"sha256_bits.{curve}/w1.wtns.xz"]
            self.generate("/usr/bin/python3", TOOLS / tool, *options, "--r1cs", self.r1cs, "--wtns",
                          self.wtns)
        self.key_s = None
        if not self.vkey.exists():
            begin = time.monotonic()
            self.generate(harness.CUZK_BENCH, "make-key", "--r1cs", self.r1cs, "--zkey", self.zkey,
                          "--vkey", self.vkey)
            self.key_s = time.monotonic() - begin

    @staticmethod
    def generate(*command):
        result = harness.run(*command, timeout=1800)
        if result.code != 0:
            sys.exit(f"{Path(command[0]).name}: {result}")

    def slab_size(self):
        """Room for the witness and two evaluations, in whole 2 MiB pages."""
        values = self.wtns.stat().st_size
        constraints = int.from_bytes(r1cs_header(self.r1cs)[60:64], "little")
        domain = 1
        while domain < constraints + 1000:
            domain *= 2
        return ((values + 64 * domain) // (2 << 20) + 2) * 2


def r1cs_header(path):
    """Section 1 of a .r1cs without reading the whole file."""
    with open(path, "rb") as file:
        offset, head = 12, file.read(12)
        for _ in range(int.from_bytes(head[8:12], "little")):
            file.seek(offset)
            entry = file.read(12)
            size = int.from_bytes(entry[4:], "little")
            if int.from_bytes(entry[:4], "little") == 1:
                return file.read(size)
            offset += 12 + size
    raise ValueError(path)


class PeakPss(threading.Thread):
    """Highest proportional set size of each process of a daemon, sampled every 20 ms."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.peaks, self.done = {}, threading.Event()
        self.names = {w["pid"]: w["name"] for w in daemon.workers()}
        self.names[daemon.process.pid] = "cuzkd"

    def run(self):
        while not self.done.is_set():
            for pid, name in self.names.items():
                try:
                    with open(f"/proc/{pid}/smaps_rollup") as file:
                        pss = next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
                except (OSError, StopIteration):
                    continue  # gone, or not ours to read
                self.peaks[name] = max(self.peaks.get(name, 0), pss)
            self.done.wait(0.02)

    def stop(self):
        self.done.set()
        self.join()
        return self.peaks


def timed(function):
    begin = time.monotonic()
    function()
    return time.monotonic() - begin


def snarkjs_prove(made, folder):
    cli = harness.Snark.modules() / "snarkjs" / "build" / "cli.cjs"
    subprocess.run(["node", cli, "groth16", "prove", made.zkey, made.wtns, folder / "snark.proof",
                    folder / "snark.public"], check=True, stdout=subprocess.DEVNULL)


def whole_proof(made, snark, repeats):
    """Prints one line of the table, and the phases and memory below it."""
    sections = {"Supervisor": {"LogLevel": "info"},
                "Ring": {"HugePages": "prefer", "SlabSize": f"{made.slab_size()}M"},
                "Synthesis": {"Threads": 0}, "GPU": {"Threads": 0}}
    with harness.Daemon(sections) as daemon:
        add_s = timed(lambda: daemon.ctl_ok("circuit", "add", "c", "--zkey", made.zkey, "--r1cs",
                                            made.r1cs, timeout=1800))

        def prove(tag="bench"):
            return daemon.prove("c", [made.wtns], tag, timeout=1800)

        cold_s = timed(prove)
        warm_s = statistics.median(timed(prove) for _ in range(repeats))
        proof, public = daemon.folder / "bench.proof.json", daemon.folder / "bench.public.json"
        accepted = harness.verify(made.vkey, proof, public).code == 0
        job = daemon.ctl_json("jobs")["jobs"][0]["job"]
        phases = daemon.ctl_json("result", job)["phases_ms"][0]
        sampler = PeakPss(daemon)
        sampler.start()
        prove("memory")
        peaks = sampler.stop()
        ratio = snark_s = None
        if snark:
            snark_s = statistics.median(timed(lambda: snarkjs_prove(made, daemon.folder))
                                        for _ in range(max(1, repeats // 2)))
            ratio = snark_s / warm_s
            accepted = accepted and not snark.verify([
                {"name": "ours", "vkey": made.vkey, "proof": proof, "public": public}])
    print(f"{made.label:18} {add_s:7.2f} {cold_s:7.2f} {warm_s:7.3f} "
          + (f"{snark_s:8.2f} {ratio:6.1f}" if snark_s else "       -      -")
          + ("  verified" if accepted else "  NOT VERIFIED"))
    print("    phases ms: " + "  ".join(f"{k} {v:.1f}" for k, v in phases.items()))
    if phases.get("read"):
        rate = made.wtns.stat().st_size / phases["read"] / 1e6
        print(f"    slab fill: {rate:.2f} GB/s from the page cache")
    print("    peak PSS MiB: " + "  ".join(f"{k} {v / 1024:.0f}" for k, v in sorted(peaks.items())))
    sys.stdout.flush()
    return accepted


def main():
    parser = argparse.ArgumentParser(description="Measures cuzkd on this machine.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--circuit", action="append", choices=sorted(CIRCUITS),
                        help="whole proofs of these circuits only (repeatable); skips the rest")
    parser.add_argument("--curve", action="append", choices=CURVES)
    parser.add_argument("--repeats", type=int, default=0, help="warm proofs a circuit")
    args = parser.parse_args()
    repeats = args.repeats or (3 if args.quick else 5)
    if not args.circuit:
        quick = {"ring": ["--fill-mib", "64"], "math": ["--min", "12", "--max", "14"]}
        for part in ("ring", "math"):
            print(f"== cuzk-bench {part}", flush=True)
            subprocess.run([harness.CUZK_BENCH, part, *(quick[part] if args.quick else [])],
                           check=True)
    print("\n== whole proofs, seconds: circuit added; cold; warm; snarkjs; snarkjs/warm")
    snark = harness.Snark()
    if snark.why:
        print(f"(without snarkjs: {snark.why})")
        snark = None
    sound = True
    for name in args.circuit or (QUICK if args.quick else USUAL):
        for curve in args.curve or CURVES:
            sound &= whole_proof(Made(name, curve), snark, repeats)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
