#!/usr/bin/python3
"""The demo behind `./dev demo`: a real circuit through a real daemon, from key to verified proof.

Prints each command before it runs it, so that the output reads as a how-to.
"""

import json
import lzma
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CUZKD, CUZKCTL, CUZK_BENCH = (BUILD / p for p in ("supervisor/cuzkd", "client/cuzkctl",
                                                  "bench/cuzk-bench"))
FIXTURE = ROOT / "tests/fixtures/good/sha256_bits.bn128"
PARTITIONS = 4
PHASES = ("wait", "read", "check", "evaluate", "upload", "ntt", "msm_a", "msm_b1", "msm_b2",
          "msm_l", "msm_h", "assemble", "verify", "malloc_trim")

CONFIG = """\
[Supervisor]
Socket={folder}/cuzkd.sock
StateDirectory={folder}/state
CacheDirectory={folder}/cache

[Ring]
HugePages=prefer
Slabs=4
SlabSize=4M

[GPU]
Backend=cpu
"""


def title(text):
    print(f"\n== {text}", flush=True)


def show(command):
    words = [str(c).replace(str(ROOT) + "/", "") for c in command]
    print("$ " + shlex.join(words), flush=True)


def call(*command, quiet=False):
    """Shows and runs a command; returns its standard output. Ends the demo when it fails."""
    if not quiet:
        show(command)
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{Path(command[0]).name} ended with {done.returncode}")
    return done.stdout


class Demo:
    def __init__(self, folder):
        self.folder, self.daemon = folder, None

    def path(self, name):
        return self.folder / name

    def ctl(self, *arguments, **named):
        return call(CUZKCTL, "--socket", self.path("cuzkd.sock"), *arguments, **named)

    def make_inputs(self):
        title("A circuit: SHA-256 of 256 bits, 31,520 constraints, 288 public signals")
        for name in ("circuit.r1cs", "w1.wtns"):
            with lzma.open(FIXTURE / f"{name}.xz") as file:
                self.path(name).write_bytes(file.read())
        print("A key with known toxic waste, for show only: whoever made it can forge proofs.")
        print(call(CUZK_BENCH, "make-key", "--r1cs", self.path("circuit.r1cs"), "--zkey",
                   self.path("circuit.zkey"), "--vkey", self.path("vkey.json")), end="")

    def start(self):
        title("The daemon")
        config = self.path("cuzkd.conf")
        config.write_text(CONFIG.format(folder=self.folder))
        print("".join(f"    {line}\n" for line in config.read_text().splitlines()), end="")
        command = [CUZKD, "--config", config]
        show(command)
        with open(self.path("log"), "wb") as log:
            self.daemon = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while subprocess.run([CUZKCTL, "--socket", self.path("cuzkd.sock"), "status"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                sys.exit("the daemon did not start:\n" + self.path("log").read_text())
            time.sleep(0.05)

    def prove(self):
        title("Register the circuit and prove one job of four partitions (the same witness four times)")
        print(self.ctl("circuit", "add", "sha256", "--zkey", self.path("circuit.zkey"), "--r1cs",
                       self.path("circuit.r1cs")), end="")
        witnesses = [x for _ in range(PARTITIONS) for x in ("--witness", self.path("w1.wtns"))]
        print(self.ctl("prove", "--circuit", "sha256", *witnesses, "--proof",
                       self.path("proof.json"), "--public", self.path("public.json")), end="")
        print("The key's first load is in that time.")

    def verify(self):
        title("Verify: no daemon needed")
        print(call(CUZKCTL, "verify", "--vkey", self.path("vkey.json"), "--proof",
                   self.path("proof.json"), "--public", self.path("public.json")), end="")
        title("The first proof")
        print(json.dumps(json.loads(self.path("proof.json").read_text())[0], indent=1))

    def report(self):
        title("Milliseconds a phase and partition (docs/timing.md says what each is)")
        job = json.loads(self.ctl("--json", "jobs", quiet=True))["jobs"][0]["job"]
        result = json.loads(self.ctl("--json", "result", job, quiet=True))
        table = result["phases_ms"]
        print("phase".ljust(14) + "".join(f"  partition {i}" for i in range(len(table))))
        for phase in PHASES:
            if any(phase in row for row in table):
                print(phase.ljust(14) + "".join(f"{row.get(phase, 0):13.3f}" for row in table))
        status = json.loads(self.ctl("--json", "status", quiet=True))
        for gpu in status["gpu"]:
            print(f"\nprover gpu-{gpu['index']} ({gpu['backend']}) was busy "
                  f"{100 * gpu['busy_share']:.0f} % of the last "
                  f"{min(status['uptime_ms'] / 1000, 10):.1f} s, in which the key was prepared "
                  "and loaded as well")
        print("flags: " + (", ".join(status["flags"]) or "none"))

    def stop(self):
        if self.daemon is None or self.daemon.poll() is not None:
            return
        title("Stop")
        self.daemon.send_signal(signal.SIGTERM)
        code = self.daemon.wait(60)
        print(f"SIGTERM: cuzkd ended with {code}")
        print(f"Left: {self.folder}: " + ", ".join(sorted(p.name for p in self.folder.iterdir())))
        left = self.processes()
        if code != 0 or left:
            sys.exit(f"the daemon did not stop cleanly, processes left: {left}; see its log there")
        print("No process is left. Remove the folder when you have seen it.")

    def processes(self):
        """Of the daemon's session: workers have process groups of their own, and no session."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[3]) == self.daemon.pid and fields[0] != "Z":
                found.append(int(path.parent.name))
        return found


def main():
    demo, begin = Demo(Path(tempfile.mkdtemp(prefix="cuzkd-demo-"))), time.monotonic()
    try:
        demo.make_inputs()
        demo.start()
        demo.prove()
        demo.verify()
        demo.report()
    finally:
        demo.stop()
    print(f"The whole demo took {time.monotonic() - begin:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
