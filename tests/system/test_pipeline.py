#!/usr/bin/python3
"""The arithmetic of `cuzk-bench pipeline` on intervals made by hand: unions, idle time, percentiles,
which kernel belongs to which partition, the file format of recorded kernels. Then a whole small run
with the CPU backend, a killed worker and the picture in it."""

import json
import struct
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

from harness import BUILD, CUZK_BENCH, PATIENCE, ROOT, Suite, expect, expect_equal, run, seeded_random

sys.path.insert(0, str(ROOT / "bench" / "pipeline"))
import activity  # noqa: E402
import intervals  # noqa: E402

STUB = BUILD / "tests" / "gpu-worker" / "stub" / "libcuzk-stub.so"


def union_joins():
    expect_equal(intervals.union([]), [], "of nothing")
    expect_equal(intervals.union([(5, 9), (0, 3), (3, 4), (8, 12), (20, 20), (30, 31)]),
                 [(0, 4), (5, 12), (30, 31)], "union")
    expect_equal(intervals.union([(0, 100), (10, 20), (99, 101)]), [(0, 101)], "nested")


def union_agrees_with_counting(rng):
    """Against a bitmap, at random."""
    for _ in range(200):
        made = []
        for _ in range(rng.randrange(1, 30)):
            begin = rng.randrange(100)
            made.append((begin, begin + rng.randrange(12)))
        cells = {c for b, e in made for c in range(b, e)}
        merged = intervals.union(made)
        low, high = sorted((rng.randrange(110), rng.randrange(110)))
        inside = len([c for c in cells if low <= c < high])
        expect_equal(intervals.covered(merged, low, high), inside, f"covered of {made}")
        idle = intervals.idle_stretches(merged, low, high)
        expect_equal(sum(e - b for b, e in idle), high - low - inside, f"idle of {made}")
        expect(all(e > b for b, e in idle), "an empty idle stretch")


def idle_has_both_ends():
    expect_equal(intervals.idle_stretches([(10, 20), (30, 40)], 0, 50),
                 [(0, 10), (20, 30), (40, 50)], "idle")
    expect_equal(intervals.idle_stretches([(0, 50)], 10, 20), [], "fully busy")
    expect_equal(intervals.idle_stretches([], 3, 7), [(3, 7)], "nothing ran")


def percentiles_are_ranks():
    values = list(range(1, 101))
    for percent, wanted in ((50, 50), (90, 90), (99, 99), (100, 100), (0, 1)):
        expect_equal(intervals.percentile(values, percent), wanted, f"p{percent}")
    expect_equal(intervals.percentile([7], 99), 7, "p99 of one")
    expect_equal(intervals.percentile([], 99), None, "p99 of none")
    expect_equal(intervals.summary([3, 1, 2]), {"count": 3, "p50": 2, "p90": 3, "p99": 3, "max": 3},
                 "summary")


def make_partitions(rng, count, gaps, jitter):
    """Kernels of `count` partitions on two streams and the partitions' spans, blurred."""
    kernels, spans, order, at = [], [], 0, 1000
    for index in range(count):
        begin = at
        for _ in range(20):
            took = rng.randrange(50, 400)
            kernels.append((at, at + took, order, index))
            order += 1
            if rng.random() < 0.3:  # another stream, beside it
                kernels.append((at + 5, at + took - 5, order, index))
                order += 1
            at += took + rng.randrange(3)
        end = max(k[1] for k in kernels if k[3] == index)
        spans.append((begin + rng.randrange(-jitter, jitter + 1),
                      end + rng.randrange(-jitter, jitter + 1)))
        at = end + (gaps[index] if index < len(gaps) else 0)
    return kernels, spans


def kernels_find_their_partition(rng):
    for _ in range(50):
        gaps = [rng.choice((0, 1, 30, 500)) for _ in range(9)]
        made, spans = make_partitions(rng, 10, gaps, 20)
        kernels = [k[:3] for k in made]
        rng.shuffle(kernels)
        groups = intervals.assign(kernels, spans)
        expect_equal(sum(map(len, groups)), len(kernels), "kernels assigned")
        merged = intervals.union([k[:2] for k in kernels])
        found = intervals.handover_gaps(groups, merged)
        owner = {k[2]: k[3] for k in made}
        for index, group in enumerate(groups):
            expect({owner[k[2]] for k in group} == {index},
                   f"partition {index} holds kernels of {sorted({owner[k[2]] for k in group})}")
        expect_equal(found, gaps, "gaps between partitions")


def overlap_is_no_gap():
    groups = [[(0, 100, 0), (100, 200, 1)], [(150, 300, 2)], [(320, 400, 3)]]
    merged = intervals.union([k[:2] for g in groups for k in g])
    expect_equal(intervals.handover_gaps(groups, merged), [0, 20], "gaps")


def clocks_are_interpolated():
    convert = intervals.linear_clock([(1000, 5000), (2000, 6010)])
    expect_equal([convert(t) for t in (4000, 5000, 5505, 6010, 7000)],
                 [0, 1000, 1500, 2000, 2990], "converted")


def cupti_file_is_read():
    def record(begin, end, size, correlation, stream, name, kind):
        return struct.pack("<QQQIIII", begin, end, size, correlation, stream, name, kind)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gpu.1"
        path.write_bytes(b"czkcupt1" + record(100, 10100, 0, 0, 0, 0, activity.CLOCKS)
                         + record(10300, 10400, 0, 8, 7, 1, activity.KERNEL)
                         + record(10200, 10350, 0, 7, 7, 0, activity.KERNEL)
                         + record(10250, 10350, 4096, 6, 9, 0, activity.TO_DEVICE)
                         + record(0, 0, 3, 0, 0, 0, activity.DROPPED) + b"\1\2\3")
        (Path(folder) / "gpu.1.names").write_text("0 first\n1 second<int>(a b)\n")
        found = activity.read_cupti(path)
        expect_equal(found.kernels, [(200, 350, 7, 7, 0), (300, 400, 8, 7, 1)], "kernels")
        expect_equal(found.copies, [(250, 350, 4096, 9, activity.TO_DEVICE)], "copies")
        expect_equal(found.busy(), [(200, 400)], "busy")
        expect_equal((found.dropped, found.names[1]), (3, "second<int>(a b)"), "dropped, names")
        path.write_bytes(b"something else")
        try:
            activity.read_cupti(path)
            expect(False, "a file of something else was read")
        except activity.BadFile:
            pass


def trace_is_read():
    lines = ["# worker\tpid", "gpu-0\t7\t1\t2\tupload\t10\t20\t64", "gpu-0\t7\t1\t2\tntt\t20\t30\t0",
             "gpu-0\t7\t1\t2\tmsm_h\t30\t45\t0", "gpu-0\t7\t1\t2\tntt\t20\t30\t0", "# lost 4",
             "synth-0\t6\t1\t2\tread\t1\t5\t64", "gpu-0\t9\t1\t2\tntt\t120\t130\t0", "gpu-0\t9\t1"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_text("\n".join(lines))
        events, lost = activity.read_trace(path)
    expect_equal((len(events), lost), (5, 4), "events (repeats dropped), lost")
    expect_equal(activity.partition_spans(events), {(1, 2): (120, 130)}, "the last attempt counts")
    found = activity.from_phases([e for e in events if e.pid != 9])
    expect_equal([k[:2] for k in found.kernels], [(20, 30), (30, 45)], "phases as kernels")


def whole_run(*more):
    """Every part that needs no GPU; returns the figures."""
    with tempfile.TemporaryDirectory() as folder:
        figures, picture = Path(folder) / "figures.json", Path(folder) / "picture.svg"
        result = run(CUZK_BENCH, "pipeline", "--circuit", "chain:9", "--seconds", 2 * PATIENCE,
                     "--alone", 4, "--heap", 64, "--ordinary-pages", "--parts",
                     "backend,baseline,daemon,trim,restart", "--json-file", figures, "--picture",
                     picture, "--folder", folder, *more, timeout=200)
        expect(result.code == 0, lambda: str(result))
        xml.etree.ElementTree.parse(picture)
        expect("== the daemon under load" in result.out, lambda: f"no text: {result}")
        return json.loads(figures.read_text())


def check_run(figures):
    for part in ("daemon", "trim"):
        found = figures[part]
        expect(0 < found["busy_share"] <= 1, f"{part}: busy share {found['busy_share']}")
        expect(found["partitions"] > 1, f"{part}: {found['partitions']} partitions")
        expect_equal(found["gap_us"]["count"] <= found["partitions"], True, f"{part}: gaps")
        expect(found["verified_in_window"] > 0, f"{part}: nothing was verified")
        expect_equal((found["jobs_failed"], found["restarts"], found["trace_lost"]), (0, 0, 0),
                     f"{part}: failed, restarts, lost")
    expect(figures["trim"]["phases_ms"]["malloc_trim"] > 0, "no worker trimmed")
    alone = figures["backend"]
    expect_equal((alone["verified"], alone["sums_agree"], alone["partitions"]), (True, True, 4),
                 "without a daemon")
    expect(figures["baseline"]["partitions_per_s"] > 0, "the baseline did nothing")
    restart = figures["restart"]
    expect(restart["start_ms"]["total"] > 0 and restart["key_ms"] > 0, f"restart {restart}")
    expect(0 < restart["first_sums"] < restart["first_proof"] < 60 * PATIENCE, f"restart {restart}")


def cpu_run():
    check_run(whole_run("--backend", "cpu", "--evaluate", "cpu"))


def stub_run():
    check_run(whole_run("--plugin", STUB))


def refuses_nonsense():
    for words, wanted in ((("--parts", "copy,none"), "there is no none"),
                          (("--key", "/x"), "go together")):
        result = run(CUZK_BENCH, "pipeline", *words)
        expect_equal((result.code, wanted in result.err), (2, True), f"{words}: {result}")


def main():
    suite, rng = Suite("pipeline"), seeded_random()
    suite.case("union_joins", union_joins)
    suite.case("union_agrees_with_counting", union_agrees_with_counting, rng)
    suite.case("idle_has_both_ends", idle_has_both_ends)
    suite.case("percentiles_are_ranks", percentiles_are_ranks)
    suite.case("kernels_find_their_partition", kernels_find_their_partition, rng)
    suite.case("overlap_is_no_gap", overlap_is_no_gap)
    suite.case("clocks_are_interpolated", clocks_are_interpolated)
    suite.case("cupti_file_is_read", cupti_file_is_read)
    suite.case("trace_is_read", trace_is_read)
    suite.case("refuses_nonsense", refuses_nonsense)
    suite.case("cpu_run", cpu_run)
    if STUB.exists():
        suite.case("stub_run", stub_run)
    else:
        suite.skip("stub_run", f"no {STUB.name} in this build")
    suite.exit()


if __name__ == "__main__":
    main()
