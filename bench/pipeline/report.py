"""From what was recorded to the figures of the report, and the figures to text."""

import re
import statistics

import activity as recorded
import intervals

# Copies smaller than this are commands and results, not uploads of partitions.
UPLOAD_BYTES_MIN = 1 << 20
PHASES = ("wait", "read", "check", "evaluate", "upload", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_l",
          "msm_h", "assemble", "verify", "malloc_trim")


def median(values):
    return statistics.median(values) if values else None


def rate_gb_s(pairs):
    """(bytes, ns) pairs -> GB/s over all of them."""
    size, took = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    return size / took if took else None


def uploads(activity, begin, end):
    """(bytes, ns) of each upload that lies in the window."""
    return [(size, e - b) for b, e, size, _, kind in activity.copies
            if kind == recorded.TO_DEVICE and size >= UPLOAD_BYTES_MIN and b >= begin and e <= end]


def phase_medians(events, begin, end):
    """{phase: median ms a partition} of what ended in the window, parts of a phase added up."""
    sums = {}
    for event in events:
        if begin <= event.end < end:
            key = event.phase, event.key
            sums[key] = sums.get(key, 0) + event.end - event.begin
    phases = {phase for phase, _ in sums}
    return {p: median([v for (q, _), v in sums.items() if q == p]) / 1e6
            for p in PHASES if p in phases}


def device_time(activity, begin, end):
    """Busy share and idle stretches of the window."""
    busy = activity.busy()
    stretches = intervals.idle_stretches(busy, begin, end)
    return {"busy_share": intervals.covered(busy, begin, end) / (end - begin),
            "idle_us": in_us(intervals.summary([e - b for b, e in stretches])),
            "idle_total_ms": sum(e - b for b, e in stretches) / 1e6,
            "kernels": sum(begin <= k[0] < end for k in activity.kernels)}


def in_us(summary):
    return {k: v if k == "count" or v is None else v / 1e3 for k, v in summary.items()}


def partition_gaps(activity, spans, begin, end):
    """Gaps between consecutive partitions of which both ran in the window."""
    ordered = sorted(spans.values())
    if not ordered:
        return []
    first = ordered[0][0] - 1_000_000  # kernels before it prepared keys
    kernels = [k[:3] for k in activity.kernels if k[0] >= first]
    groups = intervals.assign(kernels, ordered)
    inside = [g for g, (b, e) in zip(groups, ordered) if b >= begin and e <= end]
    return intervals.handover_gaps(inside, activity.busy())


def synthesis_share(events, begin, end):
    """How much of the window the synthesis workers were at work, on average."""
    workers = {e.worker for e in events if e.worker.startswith("synth")}
    shares = [intervals.covered(intervals.union([(e.begin, e.end) for e in events
                                                 if e.worker == worker]), begin, end)
              for worker in workers]
    return sum(shares) / len(shares) / (end - begin) if shares else None


def daemon_figures(activity, events, lost, begin, end):
    spans = recorded.partition_spans(events)
    ended = [s for s in spans.values() if begin <= s[1] < end]
    verified = {e.key for e in events if e.phase == "verify" and begin <= e.end < end}
    seconds = (end - begin) / 1e9
    figures = {
        "kernel_times_from": activity.source, "seconds": seconds, "partitions": len(ended),
        "partitions_per_s": len(ended) / seconds,
        "ms_per_partition": 1e3 * seconds / len(ended) if ended else None,
        "verified_in_window": len(verified),
        "gap_us": in_us(intervals.summary(partition_gaps(activity, spans, begin, end))),
        "upload_gb_s": rate_gb_s(uploads(activity, begin, end)),
        "upload_bytes": median([e.bytes for e in events if e.phase == "upload" and e.bytes]),
        "phases_ms": phase_medians(events, begin, end),
        "synthesis_share": synthesis_share(events, begin, end),
        "records_lost": activity.dropped, "trace_lost": lost,
        "clock_spread_us": activity.clock_spread_ns / 1e3,
    }
    figures.update(device_time(activity, begin, end))
    return figures


def key_copy(activity, end):
    """The copies of the key to the device, until it was loaded: their rate, and that of all of them
    with the pauses between."""
    copies = [(b, e, size) for b, e, size, _, kind in activity.copies
              if kind == recorded.TO_DEVICE and size >= UPLOAD_BYTES_MIN and e <= end]
    if not copies:
        return {}
    size = sum(c[2] for c in copies)
    return {"key_copy_gb_s": size / sum(e - b for b, e, _ in copies), "key_copies": len(copies),
            "key_copy_gb_s_with_pauses": size / (max(c[1] for c in copies) - copies[0][0])}


def backend_figures(said, activity):
    """said: JSON of `cuzk-bench-pipeline backend`. activity: None without CUPTI."""
    partitions = said["partitions"]
    begin, end = partitions[0]["begin_ns"], partitions[-1]["end_ns"]
    by_phase, spans, transfers = {}, [], []
    for partition in partitions:
        sums = {}
        for name, b, e, size in partition["phases"]:
            sums[name] = sums.get(name, 0) + e - b
            if name == "upload" and size and e > b:
                transfers.append((size, e - b))
        for name, took in sums.items():
            by_phase.setdefault(name, []).append(took)
        computing = [(b, e) for name, b, e, _ in partition["phases"] if name != "upload"]
        if computing:
            spans.append(max(e for _, e in computing) - min(b for b, _ in computing))
    figures = {k: said[k] for k in ("backend", "device", "curve", "domain_log2", "variables",
                                    "constraints", "hugepages", "open_ms", "key_load_ms",
                                    "register_ms", "key_bytes", "key_text", "ahead", "evaluate",
                                    "verified", "sums_agree")}
    figures.update({
        "partitions": len(partitions), "ms_per_partition": (end - begin) / len(partitions) / 1e6,
        "partitions_per_s": len(partitions) / (end - begin) * 1e9,
        "device_ms": median(spans) / 1e6 if spans else None,
        "phases_ms": {p: median(by_phase[p]) / 1e6 for p in PHASES if p in by_phase},
        "upload_gb_s": rate_gb_s(transfers)})
    if activity:
        figures.update(key_copy(activity, said["key_loaded_ns"]))
        figures.update(device_time(activity, begin, end))
        figures["kernel_ms"] = figures["busy_share"] * figures["ms_per_partition"]
    return figures


def baseline_figures(said, activity, kernel_ms):
    """said: JSON of `cuzk-bench-pipeline baseline`. kernel_ms: of one partition's kernels, for the
    busy share where there is no CUPTI."""
    turns = said["turns"]
    begin, end = turns[0][0], turns[-1][4]
    waits = [b[0] - a[4] for a, b in zip(turns, turns[1:])]
    figures = {
        "real_copies": said["real_copies"], "heap_mib": said["heap_mib"],
        "synthesis_threads": said["synthesis"], "partitions": len(turns),
        "ms_per_partition": (end - begin) / len(turns) / 1e6,
        "partitions_per_s": len(turns) / (end - begin) * 1e9,
        "wait_for_synthesis_ms": median(waits) / 1e6 if waits else 0.0,
        "upload_ms": median([t[1] - t[0] for t in turns]) / 1e6,
        "prove_ms": median([t[2] - t[1] for t in turns]) / 1e6,
        "free_ms": median([t[3] - t[2] for t in turns]) / 1e6,
        "malloc_trim_ms": median([t[4] - t[3] for t in turns]) / 1e6,
        "upload_gb_s": rate_gb_s([(3 * said["vector_bytes"], t[1] - t[0]) for t in turns])}
    if activity:
        figures.update(device_time(activity, begin, end))
    elif kernel_ms:
        figures["busy_share"] = kernel_ms / figures["ms_per_partition"]
    return figures


# ---- text

def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value):
    return "-" if value is None else f"{100 * value:.2f} %"


def quantiles(summary):
    return "  ".join(f"{k} {number(summary[k], 1)}" for k in ("p50", "p90", "p99", "max")) + \
        f"  ({summary['count']})"


def phases_line(phases):
    return "  ".join(f"{name} {number(value)}" for name, value in phases.items())


def daemon_text(title, f):
    return [
        f"== {title}: {f['partitions']} partitions in {number(f['seconds'], 1)} s, kernel times "
        f"from {f['kernel_times_from']}",
        f"  GPU busy                    {percent(f['busy_share'])}",
        f"  throughput                  {number(f['partitions_per_s'])} partitions/s, "
        f"{number(f['ms_per_partition'])} ms each",
        f"  gap between partitions, us  {quantiles(f['gap_us'])}",
        f"  every idle stretch, us      {quantiles(f['idle_us'])}, together "
        f"{number(f['idle_total_ms'])} ms",
        f"  upload                      {number(f['upload_gb_s'], 2)} GB/s, "
        f"{int(f['upload_bytes'] or 0)} bytes a partition",
        f"  ms a partition              {phases_line(f['phases_ms'])}",
        f"  synthesis workers busy      {percent(f['synthesis_share'])}",
        f"  verified by the finalizer   {f['verified_in_window']}; jobs failed {f['jobs_failed']}, "
        f"worker restarts {f['restarts']}, moments without a backlog {f['starved']}"]


def backend_text(f):
    lines = [
        f"== back to back, no pipeline, no daemon: {f['partitions']} partitions on {f['device']}",
        f"  throughput                  {number(f['partitions_per_s'])} partitions/s, "
        f"{number(f['ms_per_partition'])} ms each; on the device {number(f['device_ms'])} ms",
        f"  ms a partition              {phases_line(f['phases_ms'])}",
        f"  upload                      {number(f['upload_gb_s'], 2)} GB/s; key loaded in "
        f"{number(f['key_load_ms'], 0)} ms: {f['key_text']}",
        f"  key's copy                  {number(f.get('key_copy_gb_s'), 1)} GB/s, with pauses "
        f"{number(f.get('key_copy_gb_s_with_pauses'), 1)}",
        f"  verified                    {f['verified'] and f['sums_agree']}"]
    if "busy_share" in f:
        lines.insert(2, f"  GPU busy                    {percent(f['busy_share'])}, kernels "
                     f"{number(f['kernel_ms'])} ms a partition")
    return lines


def baseline_text(f):
    return [
        f"== the design replaced: one process, heap vectors, trim under the lock ({f['heap_mib']} MiB "
        f"of other heap)",
        f"  GPU busy                    {percent(f.get('busy_share'))}",
        f"  throughput                  {number(f['partitions_per_s'])} partitions/s, "
        f"{number(f['ms_per_partition'])} ms each",
        f"  ms a partition              wait for synthesis {number(f['wait_for_synthesis_ms'])}  "
        f"upload {number(f['upload_ms'])}  prove {number(f['prove_ms'])}  free "
        f"{number(f['free_ms'])}  malloc_trim {number(f['malloc_trim_ms'])}",
        f"  upload                      {number(f['upload_gb_s'], 2)} GB/s"
        + ("" if f["real_copies"] else " (no CUDA driver: copies in host memory, no measure)")]


def restart_text(f):
    moments = {k: v for k, v in f.items() if k.startswith("first_")}
    lines = ["== a GPU worker killed under load, its key in shared memory",
             "  seconds after the kill      " + "  ".join(f"{k} {number(v)}"
                                                          for k, v in moments.items())]
    if "start_ms" in f:
        lines.append("  its start, ms               " + phases_line(f["start_ms"]))
    if "key_ms" in f:
        lines.append(f"  its key, ms                 {number(f['key_ms'])}: {f['key_text']}")
    return lines


def start_parts(log):
    """What a new GPU worker says in the log of its own start and of the key it loads."""
    found = {}
    start = re.search(r"gpu-0: GPU_TIMING start (.*)", log)
    key = re.search(r"gpu-0: circuit \S+ \(key \d+\) is loaded in ([\d.]+) ms(?:: (.*))?", log)
    if start:
        pairs = (word.split("=") for word in start[1].split() if "=" in word)
        found["start_ms"] = {name.removesuffix("_ms"): float(value) for name, value in pairs}
    if key:
        found.update(key_ms=float(key[1]), key_text=key[2] or "")
    return found


def ratios(report):
    """The headline figures, from whatever parts were measured."""
    found, daemon = {}, report.get("daemon")
    if not daemon:
        return found
    backend, baseline, copy = (report.get(p) for p in ("backend", "baseline", "copy"))
    if backend:
        found["throughput_to_back_to_back"] = (daemon["partitions_per_s"]
                                               / backend["partitions_per_s"])
        kernel_ms = backend.get("kernel_ms") or backend["device_ms"]
        if kernel_ms and daemon["ms_per_partition"]:
            found["kernels_alone_to_period"] = kernel_ms / daemon["ms_per_partition"]
    if baseline:
        found["throughput_to_replaced"] = (daemon["partitions_per_s"]
                                           / baseline["partitions_per_s"])
        if baseline.get("busy_share"):
            found["busy_to_replaced"] = daemon["busy_share"] / baseline["busy_share"]
    if copy and daemon["upload_gb_s"]:
        found["upload_to_bare_copy"] = daemon["upload_gb_s"] / copy["pinned_gb_s"]
    if report.get("trim"):
        found["busy_with_trim_to_without"] = report["trim"]["busy_share"] / daemon["busy_share"]
    return found


def text(report):
    lines = []
    if "copy" in report:
        c = report["copy"]
        lines.append(f"== bare copies of {c['bytes']} bytes: pinned {c['pinned_gb_s']} GB/s, pageable "
                     f"{c['pageable_gb_s']} GB/s")
    if "backend" in report:
        lines += backend_text(report["backend"])
    if "baseline" in report:
        lines += baseline_text(report["baseline"])
    if "daemon" in report:
        lines += daemon_text("the daemon under load", report["daemon"])
    if "trim" in report:
        lines += daemon_text("the same, a synthesis worker trimming a fragmented heap of "
                             f"{report['trim']['heap_mib']} MiB", report["trim"])
        lines.append(f"  trims of that heap          {report['trim']['trims']}, median "
                     f"{number(report['trim']['trim_ms'])} ms")
    if "restart" in report:
        lines += restart_text(report["restart"])
    lines += [f"== {name.replace('_', ' '):34} {value:.3f}"
              for name, value in ratios(report).items()]
    return "\n".join(lines)
