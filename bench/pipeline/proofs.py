"""`cuzk-bench pipeline --proofs 17,20,22`: one proof with the key resident, by phase, at several
sizes on both curves and for both kinds of witness; the CPU backend's wall time beside it."""

import json
import shutil
import time

import report
from daemon import Stopped, find_program, reserve_hugepages, run

CURVES = ("bn254", "bls12-381")
KINDS = ("chain", "sha")
COLUMNS = ("upload", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_l", "msm_h")


def prove(args, inputs, backend, partitions):
    """Figures of one circuit through a backend without a daemon."""
    plugin = args.plugin or (find_program("libcuzk-cuda.so") if backend == "cuda" else None)
    words = ["--key", inputs.key, "--witness", inputs.witnesses[0], "--backend", backend,
             "--partitions", partitions, "--warm", 2 if backend == "cuda" else 0, "--evaluate",
             "gpu" if backend == "cuda" else "cpu"]
    if backend == "cuda" and plugin:
        words += ["--plugin", plugin]
    said = json.loads(run(find_program("cuzk-bench-pipeline"), "backend", *words))
    return report.backend_figures(said, None)


def measure(args, inputs):
    reserve_hugepages(inputs.key.stat().st_size + 5 * inputs.witness_bytes + (16 << 20))
    figures = prove(args, inputs, args.backend, args.alone)
    if args.backend == "cuda" and figures["domain_log2"] <= args.cpu_max:
        figures["cpu_ms"] = prove(args, inputs, "cpu", 1)["ms_per_partition"]
    return figures


def row(figures):
    cells = [figures["kind"], f"2^{figures['domain_log2']}", figures["curve"],
             report.number(figures["device_ms"], 2), report.number(figures["ms_per_partition"], 2)]
    cells += [report.number(figures["phases_ms"].get(c), 2) for c in COLUMNS]
    cells += [report.number(figures.get("cpu_ms"), 0), figures["key_text"]]
    return "| " + " | ".join(cells) + " |"


def head():
    names = ("witness", "size", "curve", "GPU ms", "wall ms", *COLUMNS, "CPU wall ms", "key")
    return "| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|"


def table(args, folder, make_inputs):
    """Prints the rows as they come; returns (all figures, whether all went well)."""
    found, is_good, deadline = [], True, time.monotonic() + args.at_most
    print(head(), flush=True)
    for log2 in args.proofs:
        for curve in CURVES:
            for kind in KINDS:
                if time.monotonic() > deadline:
                    print(f"(the rest is left out: {args.at_most} s are over)", flush=True)
                    return found, is_good
                args.circuit, args.curve = f"{kind}:{log2}", curve
                try:
                    inputs = make_inputs(args, folder)
                    figures = dict(measure(args, inputs), kind=kind)
                except Stopped as why:
                    print(f"{args.circuit} {curve}: {why}", flush=True)
                    is_good = False
                    continue
                finally:
                    if not args.folder:
                        shutil.rmtree(folder / f"{kind}{log2}.{curve}", ignore_errors=True)
                found.append(figures)
                print(row(figures), flush=True)
    return found, is_good
