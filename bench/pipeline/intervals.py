"""The arithmetic of the pipeline's report, on plain (begin, end) pairs in nanoseconds. No files, no
daemon: tests/bench/test_pipeline.py checks it on intervals made by hand."""

import math


def union(intervals):
    """The same time as disjoint pairs in order; touching ones are joined, empty ones left out."""
    merged = []
    for begin, end in sorted(i for i in intervals if i[1] > i[0]):
        if merged and begin <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged


def clip(intervals, begin, end):
    """What of the intervals lies in [begin, end)."""
    return [(max(b, begin), min(e, end)) for b, e in intervals if e > begin and b < end]


def covered(merged, begin, end):
    """How much of [begin, end) disjoint intervals cover."""
    return sum(e - b for b, e in clip(merged, begin, end))


def idle_stretches(merged, begin, end):
    """What disjoint intervals in order leave of [begin, end)."""
    stretches, at = [], begin
    for b, e in clip(merged, begin, end):
        if b > at:
            stretches.append((at, b))
        at = max(at, e)
    if end > at:
        stretches.append((at, end))
    return stretches


def percentile(values, percent):
    """Nearest rank: the smallest value that at least `percent` of all do not exceed. None of none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def summary(values):
    """p50, p90, p99, max and count."""
    return {"count": len(values), "p50": percentile(values, 50), "p90": percentile(values, 90),
            "p99": percentile(values, 99), "max": max(values) if values else None}


def assign(kernels, spans):
    """Which partition each kernel belongs to. kernels: (begin, end, launch order); spans: the
    partitions' (begin, end) on the device, in the order in which they began, good to some tens of
    microseconds. A backend launches all kernels of one partition before those of the next, so in
    launch order the partitions are consecutive blocks; the border between two is placed where it
    contradicts the spans least. Returns a list of lists of kernels, one a span."""
    ordered = sorted(kernels, key=lambda kernel: kernel[2])
    groups = [[] for _ in spans]
    at = 0
    for index in range(len(spans)):
        if index + 1 == len(spans):
            groups[index] = ordered[at:]
            break
        border = _border(ordered, at, spans[index], spans[index + 1])
        groups[index] = ordered[at:border]
        at = border
    return groups


def _border(ordered, first, span, following):
    """The index at which kernels of `span` end: every kernel votes by the span whose middle part it
    lies in or is nearer to; the border with the fewest votes against it wins, the earliest of
    equals."""
    limit = first
    while limit < len(ordered) and ordered[limit][0] < following[1]:
        limit += 1
    # Cost of a border at `first`: every kernel that is clearly of this span is on the wrong side.
    votes = [_is_of(kernel, span, following) for kernel in ordered[first:limit]]
    cost = best = sum(votes)
    place = first
    for offset, is_of_span in enumerate(votes):
        cost += -1 if is_of_span else 1
        if cost < best:
            best, place = cost, first + offset + 1
    return place


def _is_of(kernel, span, following):
    def outside(interval):
        return max(0, interval[0] - kernel[0]) + max(0, kernel[1] - interval[1])

    return outside(span) <= outside(following)


def handover_gaps(groups, merged):
    """For each pair of consecutive partitions, the idle time between the last kernel of the one and
    the first of the other: 0 where they overlap. merged: the union of all kernels."""
    gaps = []
    for one, other in zip(groups, groups[1:]):
        if not one or not other:
            continue
        last = max(end for _, end, _ in one)
        first = min(begin for begin, _, _ in other)
        gaps.append(last_gap(merged, last, first))
    return gaps


def last_gap(merged, last, first):
    """Idle nanoseconds in [last, first)."""
    return 0 if first <= last else (first - last) - covered(merged, last, first)


def linear_clock(pairs):
    """From (ours, theirs) readings of two clocks a function theirs -> ours: the offset of the
    readings around it, interpolated."""
    if not pairs:
        raise ValueError("no readings of the two clocks")
    ordered = sorted((theirs, ours - theirs) for ours, theirs in pairs)
    times = [t for t, _ in ordered]

    def convert(theirs):
        low, high = 0, len(times) - 1
        if theirs <= times[0]:
            return theirs + ordered[0][1]
        if theirs >= times[-1]:
            return theirs + ordered[-1][1]
        while high - low > 1:
            middle = (low + high) // 2
            if times[middle] <= theirs:
                low = middle
            else:
                high = middle
        (t0, o0), (t1, o1) = ordered[low], ordered[high]
        return theirs + o0 + (o1 - o0) * (theirs - t0) // max(1, t1 - t0)

    return convert
