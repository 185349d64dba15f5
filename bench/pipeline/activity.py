"""When the GPU computed: kernel records of libcuzk-cupti.so (record.h there), or, where there is no
CUPTI, the phases that the backend timed with events."""

import struct
from pathlib import Path

import intervals

MAGIC = b"czkcupt1"
RECORD = struct.Struct("<QQQIIII")
KERNEL, TO_DEVICE, TO_HOST, ON_DEVICE, CLOCKS, DROPPED = range(1, 7)
COPY_NAMES = {TO_DEVICE: "to device", TO_HOST: "to host", ON_DEVICE: "on device"}


class BadFile(Exception):
    pass


class Activity:
    """kernels: (begin, end, launch order, stream, name index); copies: (begin, end, bytes, stream,
    kind). All in ns of CLOCK_MONOTONIC, in order of begin."""

    def __init__(self, source):
        self.source, self.kernels, self.copies, self.names, self.dropped = source, [], [], {}, 0
        self.clock_spread_ns = 0

    def busy(self):
        return intervals.union([(k[0], k[1]) for k in self.kernels])


def read_cupti(path):
    """One process's file. A record cut off at the end (a killed process) is left out."""
    data = Path(path).read_bytes()
    if data[:8] != MAGIC:
        raise BadFile(f"{path} is no file of libcuzk-cupti.so")
    body = data[8:8 + (len(data) - 8) // RECORD.size * RECORD.size]
    records = list(RECORD.iter_unpack(body))
    clocks = [(r[0], r[1]) for r in records if r[6] == CLOCKS]
    if not clocks:
        raise BadFile(f"{path} has no clock readings")
    activity = Activity("cupti")
    to_ours = intervals.linear_clock(clocks)
    offsets = [ours - theirs for ours, theirs in clocks]
    activity.clock_spread_ns = max(offsets) - min(offsets)
    for begin, end, size, correlation, stream, name, kind in records:
        if kind == KERNEL:
            activity.kernels.append((to_ours(begin), to_ours(end), correlation, stream, name))
        elif kind in COPY_NAMES:
            activity.copies.append((to_ours(begin), to_ours(end), size, stream, kind))
        elif kind == DROPPED:
            activity.dropped += size
    activity.kernels.sort()
    activity.copies.sort()
    names = Path(f"{path}.names")
    if names.exists():
        for line in names.read_text(errors="replace").splitlines():
            index, _, name = line.partition(" ")
            activity.names[int(index)] = name
    return activity


def from_phases(events):
    """events: Event of trace lines. Phases that compute stand for kernels; launch order is that of
    their beginnings."""
    activity = Activity("events around each phase")
    computing = sorted((e.begin, e.end) for e in events
                       if e.worker.startswith("gpu") and e.phase in GPU_PHASES)
    activity.kernels = [(b, e, i, 0, 0) for i, (b, e) in enumerate(computing)]
    activity.copies = sorted((e.begin, e.end, e.bytes, 0, TO_DEVICE) for e in events
                             if e.worker.startswith("gpu") and e.phase == "upload" and e.end > e.begin)
    return activity


GPU_PHASES = ("ntt", "msm_a", "msm_b1", "msm_b2", "msm_l", "msm_h")


class Event:
    """A line of `cuzk-bench-pipeline trace`."""

    __slots__ = ("worker", "pid", "job", "partition", "phase", "begin", "end", "bytes")

    def __init__(self, worker, pid, job, partition, phase, begin, end, size):
        self.worker, self.phase = worker, phase
        self.pid, self.job, self.partition = int(pid), int(job), int(partition)
        self.begin, self.end, self.bytes = int(begin), int(end), int(size)

    @property
    def key(self):
        return self.job, self.partition


def read_trace(path):
    """(events in order of begin, number of events that were overwritten before they were read)."""
    lines, lost = set(), 0
    for line in Path(path).read_text().splitlines():
        if line.startswith("# lost"):
            lost += int(line.split()[2])
        elif line and not line.startswith("#"):
            lines.add(line)
    events = [Event(*line.split("\t")) for line in lines if line.count("\t") == 7]
    events.sort(key=lambda e: (e.begin, e.end))
    return events, lost


def partition_spans(events):
    """{(job, partition): (begin, end)} of the computing phases on the device; the last attempt
    where there were several."""
    spans = {}
    for event in events:
        if event.worker.startswith("gpu") and event.phase in GPU_PHASES and event.end > event.begin:
            begin, end, pid = spans.get(event.key, (event.begin, event.end, event.pid))
            if pid != event.pid:
                begin, end = event.begin, event.end
            spans[event.key] = min(begin, event.begin), max(end, event.end), event.pid
    return {key: (begin, end) for key, (begin, end, _) in spans.items()}
