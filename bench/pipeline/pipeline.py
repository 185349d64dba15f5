#!/usr/bin/python3
"""cuzk-bench pipeline: does a whole daemon under load keep its GPU busy?

Starts cuzkd with its workers in a folder of its own, keeps a backlog of jobs of 16 partitions before
it, and says for a window of steady state how much of the time the GPU computed (the union of all
kernels, by the device's own timestamps), how long it stood still between one partition and the next,
and what each phase took. Beside it, in the same run: bare copies over the same link, the same
partitions back to back without a daemon and, with --parts ...,baseline, the design that cuzkd
replaces.

Kernel times come from libcuzk-cupti.so where there is CUPTI, otherwise from the events that the
backend records around each phase; the report says which.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import activity
import picture
import proofs
import report
from daemon import (Daemon, Follower, HUGEPAGE, Load, Stopped, find_program, monotonic_ns,
                    reserve_hugepages, run)

PARTS = ("copy", "backend", "baseline", "daemon", "trim", "restart")
CUPTI_LIBRARY = "libcupti.so.13"
CIRCUIT = "bench"


def whole_pages(size):
    return -(-size // HUGEPAGE) * HUGEPAGE


def options():
    parser = argparse.ArgumentParser(prog="cuzk-bench pipeline", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    circuit = parser.add_argument_group("the circuit")
    circuit.add_argument("--circuit", default="chain:14", metavar="KIND:LOG2",
                         help="made on the spot (cuzk-bench make-key): chain has full-size wires, "
                              "sha zeros, ones and words; default %(default)s")
    circuit.add_argument("--curve", default="bn254", choices=("bn254", "bls12-381"))
    circuit.add_argument("--witnesses", type=int, default=2, help="different ones, taken in turn")
    circuit.add_argument("--without-c", action="store_true", help="a key that witnesses are not "
                         "checked against, as where a circuit is added without its .r1cs")
    circuit.add_argument("--make-on", choices=("cpu", "gpu"), default="cpu",
                         help="what makes the key; default cpu")
    circuit.add_argument("--folder", type=Path, help="keep keys and recordings here, and use keys "
                         "found here again; default: a temporary folder")
    circuit.add_argument("--key", type=Path, help="this prepared key or .zkey instead")
    circuit.add_argument("--witness", type=Path, action="append", help="with --key; repeatable")
    load = parser.add_argument_group("the load")
    load.add_argument("--seconds", type=float, default=10, help="of steady state; default 10")
    load.add_argument("--partitions", type=int, default=16, help="of a job; default 16")
    load.add_argument("--backlog", type=int, default=3, help="unfinished jobs kept; default 3")
    load.add_argument("--warm", type=int, default=16, help="partitions before the window")
    load.add_argument("--alone", type=int, default=16,
                      help="partitions of the parts without a daemon; default 16")
    system = parser.add_argument_group("the daemon")
    system.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    system.add_argument("--plugin", help="test builds: this plug-in instead of libcuzk-cuda.so")
    system.add_argument("--evaluate", choices=("auto", "gpu", "cpu"), default="auto")
    system.add_argument("--vram-limit", type=int, default=0, metavar="MIB")
    system.add_argument("--slabs", type=int, default=6)
    system.add_argument("--synthesis", type=int, default=2, help="worker processes; default 2")
    system.add_argument("--synthesis-threads", type=int, default=0)
    system.add_argument("--finalizers", type=int, default=2)
    system.add_argument("--ordinary-pages", action="store_true", help="do without hugepages")
    parser.add_argument("--parts", default="copy,backend,daemon",
                        help=f"which of {','.join(PARTS)}; default %(default)s")
    parser.add_argument("--baseline", action="store_true", help="adds the part baseline")
    parser.add_argument("--trim", action="store_true", help="adds the part trim")
    parser.add_argument("--heap", type=int, default=0, metavar="MIB", help="of the fragmented heap "
                        "of baseline and trim; default 20480 where a quarter of the memory allows")
    parser.add_argument("--proofs", type=lambda text: [int(n) for n in text.split(",")],
                        metavar="LOG2,...", help="no daemon: one proof by phase at these sizes, on "
                        "both curves and for both kinds of circuit")
    parser.add_argument("--cpu-max", type=int, default=0, metavar="LOG2",
                        help="with --proofs: the CPU backend beside it up to this size")
    parser.add_argument("--at-most", type=float, default=3600, metavar="SECONDS",
                        help="with --proofs: begin no further size after this time")
    parser.add_argument("--kernels-from", choices=("auto", "cupti", "events"), default="auto")
    parser.add_argument("--picture", type=Path, help="a waterfall of 16 partitions, SVG")
    parser.add_argument("--json", action="store_true", help="figures as JSON on standard output")
    parser.add_argument("--json-file", type=Path, help="the same into a file, beside the text")
    args = parser.parse_args()
    args.parts = args.parts.split(",") + ["baseline"] * args.baseline + ["trim"] * args.trim
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"--parts: there is no {', '.join(sorted(unknown))}")
    if bool(args.key) != bool(args.witness):
        parser.error("--key and --witness go together")
    if not args.heap:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        args.heap = min(20480, memory // 4)
    return args


class Inputs:
    """Key and witnesses of the circuit, made where they are not there."""

    def __init__(self, args, folder):
        self.key, self.witnesses = args.key, args.witness
        if self.key is None:
            made = folder / (f"{args.circuit.replace(':', '')}.{args.curve}"
                             + (".without-c" if args.without_c else ""))
            self.key = made / "key.czk"
            self.witnesses = [made / f"w{i + 1}.wtns" for i in range(args.witnesses)]
            if not all(p.exists() for p in (self.key, *self.witnesses)):
                made.mkdir(parents=True, exist_ok=True)
                begin = time.monotonic()
                run(find_program("cuzk-bench"), "make-key", "--circuit", args.circuit, "--curve",
                    args.curve, "--prepared", self.key, "--vkey", made / "vkey.json",
                    "--witness-folder", made, "--witnesses", args.witnesses,
                    *(["--without-c"] if args.without_c else []),
                    *(["--gpu"] if args.make_on == "gpu" else []), timeout=1800)
                say(f"made {args.circuit} on {args.curve}: {time.monotonic() - begin:.1f} s")
        self.witness_bytes = self.witnesses[0].stat().st_size

    def slab_bytes(self, is_evaluated_by_gpu):
        """A slab's need: the witness and, unless the GPU evaluates, two vectors over the domain."""
        size = self.witness_bytes + 4096
        if not is_evaluated_by_gpu:
            domain = 1
            while 32 * domain < self.witness_bytes:
                domain *= 2
            size += 2 * (32 * domain + 4096)
        return whole_pages(size)


def say(text):
    print(text, file=sys.stderr, flush=True)


class Recorder:
    """Kernel times of processes with CUDA: the environment that turns CUPTI on, and the files."""

    def __init__(self, args, folder):
        self.folder, self.module = folder, find_program("libcuzk-cupti.so", needed=False)
        self.library = self.find_library()
        self.is_on = (args.kernels_from != "events" and args.backend == "cuda" and not args.plugin
                      and bool(self.module and self.library))
        if args.kernels_from == "cupti" and not self.is_on:
            raise Stopped("--kernels-from cupti: libcuzk-cupti.so is not in this build" if not
                          self.module else f"--kernels-from cupti: {CUPTI_LIBRARY} is not found")

    @staticmethod
    def find_library():
        """Where CUPTI lies: a CUDA toolkit, or the Python package nvidia-cuda-cupti."""
        places = [Path("/usr/local/cuda") / p for p in ("lib64", "lib", "extras/CUPTI/lib64",
                                                        "targets/x86_64-linux/lib")]
        for entry in sys.path:
            places += sorted(Path(entry).glob("nvidia/*/lib")) if entry else []
        return next((p for p in places if (p / CUPTI_LIBRARY).exists()), None)

    def environment(self, tag):
        if not self.is_on:
            return {}
        for old in self.folder.glob(f"{tag}.*.cupti*"):
            old.unlink()
        path = os.environ.get("LD_LIBRARY_PATH")
        return {"CUDA_INJECTION64_PATH": str(self.module),
                "CUZK_CUPTI_FILE": str(self.folder / f"{tag}.%p.cupti"),
                "LD_LIBRARY_PATH": f"{self.library}:{path}" if path else str(self.library)}

    def read(self, tag):
        """The largest file of that tag: programs that only look for a device leave small ones."""
        files = sorted(self.folder.glob(f"{tag}.*.cupti"), key=lambda p: p.stat().st_size)
        if not self.is_on:
            return None
        if not files:
            raise Stopped(f"CUPTI recorded nothing of {tag}; --kernels-from events does without it")
        found = activity.read_cupti(files[-1])
        return found if found.kernels else None


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.recorder = Recorder(args, folder)
        self.inputs = Inputs(args, folder)
        self.evaluates_on_gpu = args.backend == "cuda" and args.evaluate != "cpu"
        self.report = {"circuit": args.circuit if args.key is None else args.key.name,
                       "curve": args.curve, "command": " ".join(sys.argv[1:])}

    # ---- parts without a daemon

    def part(self, name, *words, tag=None, timeout=600):
        environment = dict(os.environ, **self.recorder.environment(tag or name))
        return json.loads(run(find_program("cuzk-bench-pipeline"), name, *words, timeout=timeout,
                              environment=environment))

    def backend_words(self):
        plugin = self.args.plugin
        if not plugin and self.args.backend == "cuda":
            plugin = find_program("libcuzk-cuda.so")
        return ["--key", self.inputs.key, "--witness", self.inputs.witnesses[0], "--partitions",
                self.args.alone, "--backend", self.args.backend,
                *(["--plugin", plugin] if plugin else [])]

    def copy(self):
        size = self.inputs.slab_bytes(self.evaluates_on_gpu)
        reserve_hugepages(size)
        try:
            self.report["copy"] = self.part("copy", "--bytes", size)
        except Stopped as why:
            if self.args.backend == "cuda" and not self.args.plugin:
                raise
            say(f"no bare copies: {str(why).splitlines()[-1]}")

    def backend(self):
        reserve_hugepages(whole_pages(self.inputs.key.stat().st_size)
                          + whole_pages(self.inputs.witness_bytes) + self.inputs.slab_bytes(False))
        said = self.part("backend", *self.backend_words(), "--evaluate",
                         "gpu" if self.evaluates_on_gpu else "cpu", "--vram-limit",
                         self.args.vram_limit)
        self.report["backend"] = report.backend_figures(said, self.recorder.read("backend"))

    def baseline(self):
        said = self.part("baseline", *self.backend_words(), "--heap", self.args.heap)
        alone = self.report.get("backend", {})
        self.report["baseline"] = report.baseline_figures(
            said, self.recorder.read("baseline"), alone.get("kernel_ms") or alone.get("device_ms"))

    # ---- parts with a daemon

    def sections(self, trims):
        args, slab = self.args, self.inputs.slab_bytes(self.evaluates_on_gpu)
        needed = args.slabs * slab + whole_pages(self.inputs.key.stat().st_size)
        pages = "off" if args.ordinary_pages else "require"
        if not args.ordinary_pages and not reserve_hugepages(needed):
            say(f"warning: {needed >> 20} MiB of hugepages cannot be had: ordinary pages, slower")
            pages = "prefer"
        self.report["hugepages"] = pages
        gpu = {"Backend": args.backend}
        if args.vram_limit:
            gpu["VramLimit"] = f"{args.vram_limit}M"
        return {
            "Ring": {"HugePages": pages, "Slabs": args.slabs, "SlabSize": f"{slab >> 20}M"},
            "Synthesis": {"Workers": args.synthesis, "Threads": args.synthesis_threads,
                          "Evaluate": args.evaluate, "MallocTrim": "always" if trims else "idle"},
            "GPU": gpu, "Finalizer": {"Workers": args.finalizers}}

    def environment(self, trims):
        found = {}
        if self.args.plugin:
            found["CUZK_TEST_PLUGIN"] = str(Path(self.args.plugin).resolve())
        if trims:
            found.update(LD_PRELOAD=str(find_program("libcuzk-heap.so")),
                         CUZK_HEAP_MIB=str(self.args.heap))
        return found

    def under_load(self, tag, trims=False):
        """A daemon, its window of steady state, and the figures of that window."""
        with self.watched(tag, self.recorder.environment(tag), trims) as daemon:
            begin, end, facts = self.window(daemon, trims)
            # What is recorded of the window's end is written while work goes on.
            self.load.run(1.0)
            self.load.cancel_rest()
        events, lost = self.traced
        found = self.recorder.read(tag) or activity.from_phases(events)
        if found.kernels[-1][1] < end:
            raise Stopped(f"the record of kernels ends {(end - found.kernels[-1][1]) / 1e6:.0f} ms "
                          "before the window")
        figures = report.daemon_figures(found, events, lost, begin, end)
        figures.update(facts)
        return figures, found, events, (begin, end)

    @contextlib.contextmanager
    def watched(self, tag, environment, trims=False):
        """A daemon with the circuit, whose trace is in self.traced afterwards."""
        folder = self.folder / tag
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with Daemon(folder, self.sections(trims), {**environment, **self.environment(trims)}) as daemon:
            follower = Follower(daemon, folder / "trace")
            try:
                daemon.add_circuit(CIRCUIT, self.inputs.key)
                self.load = Load(daemon, CIRCUIT, self.inputs.witnesses, self.args.partitions,
                                 self.args.backlog)
                yield daemon
            finally:
                follower.stop()
        self.traced = activity.read_trace(folder / "trace")
        shutil.rmtree(folder / "cache")

    def window(self, daemon, trims):
        args, facts = self.args, {}
        self.load.run_until_done(args.warm)
        if trims:
            self.wait_for_heap(daemon)
            facts["heap_mib"] = args.heap
        starved = self.load.starved
        begin = monotonic_ns()
        self.load.run(args.seconds)
        end = monotonic_ns()
        workers = daemon.ctl("workers")["workers"]
        facts.update(jobs_failed=daemon.ctl("status")["jobs"]["failed"],
                     restarts=sum(w["restarts"] for w in workers),
                     starved=self.load.starved - starved)
        return begin, end, facts

    def wait_for_heap(self, daemon, timeout=120):
        """The heap grows beside the running work; the window begins when it is there."""
        deadline = time.monotonic() + timeout
        while "libcuzk-heap: heap of" not in daemon.log():
            if time.monotonic() > deadline:
                raise Stopped(f"no fragmented heap after {timeout} s")
            self.load.run(0.2)

    def restart(self):
        """SIGKILL to the GPU worker under load; on until its successor has proved. Without CUPTI,
        which makes CUDA's start longer."""
        with self.watched("restart", {}) as daemon:
            self.load.run_until_done(self.args.warm)
            killed = successor = daemon.gpu_worker()["pid"]
            log_bytes = len(daemon.log())
            at = monotonic_ns()
            os.kill(killed, signal.SIGKILL)
            while successor in (0, killed):
                self.load.run(0.1)
                successor = daemon.gpu_worker()["pid"]
            # What was with the finalizers at the kill is few; the rest are the successor's.
            self.load.run_until_done(self.load.done() + self.args.partitions, timeout=120)
            self.load.cancel_rest()
            log = daemon.log()[log_bytes:]
        self.report["restart"] = dict(self.moments(at, successor), **report.start_parts(log))

    def moments(self, at, pid):
        """Seconds after the kill, in order."""
        events, _ = self.traced
        mine = [e for e in events if e.pid == pid]
        computing = [e for e in mine if e.phase in activity.GPU_PHASES]
        verified = [e.end for e in events if e.phase == "verify"]
        if not computing:
            raise Stopped("the new GPU worker's trace shows no partition")
        # Its own sums: what lay with the finalizers at the kill does not count.
        sums = min(max(e.end for e in computing if e.key == key) for key in
                   {e.key for e in computing})
        moments = {"first_sums": sums, "first_proof": min(p for p in verified if p > sums)}
        uploads = sorted((e.begin, e.end) for e in mine if e.phase == "upload" and e.bytes)
        if uploads:
            moments.update(first_upload_begins=uploads[0][0], first_upload_ends=uploads[0][1])
        return {name: (moment - at) / 1e9 for name, moment in
                sorted(moments.items(), key=lambda item: item[1])}

    def daemon(self):
        figures, found, events, window = self.under_load("daemon")
        self.report["daemon"] = figures
        if self.args.picture:
            self.args.picture.write_text(picture.draw(found, events, window, self.report))

    def trim(self):
        figures, _, events, (begin, end) = self.under_load("trim", trims=True)
        trims = [e for e in events if e.phase == "malloc_trim" and e.worker == "synth-0"
                 and begin <= e.end < end]
        figures.update(trims=len(trims), trim_ms=report.median([e.end - e.begin for e in trims]) / 1e6)
        self.report["trim"] = figures

    def run(self):
        """Every part that is wanted; one that cannot go on does not keep the others from running.
        Returns whether all went well."""
        errors = {}
        for part in PARTS:
            if part not in self.args.parts:
                continue
            begin = time.monotonic()
            try:
                getattr(self, part)()
            except (Stopped, ValueError) as why:
                errors[part] = str(why)
                say(f"pipeline: {part}: {why}")
            say(f"-- {part}: {time.monotonic() - begin:.1f} s")
        self.report["ratios"] = report.ratios(self.report)
        if errors:
            self.report["errors"] = errors
        return not errors


def proofs_main(args, folder):
    found, is_good = proofs.table(args, folder, Inputs)
    if args.json_file:
        args.json_file.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if is_good else 1


def main():
    args = options()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="cuzk-pipeline-"))
    folder.mkdir(parents=True, exist_ok=True)
    bench = None
    try:
        if args.proofs:
            return proofs_main(args, folder.resolve())
        bench = Bench(args, folder.resolve())
        return 0 if bench.run() else 1
    except Stopped as why:
        say(f"pipeline: {why}")
        return 1
    finally:
        if bench:
            if args.json_file:
                args.json_file.write_text(json.dumps(bench.report, indent=1) + "\n")
            print(json.dumps(bench.report, indent=1) if args.json else report.text(bench.report))
        if not args.folder:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
