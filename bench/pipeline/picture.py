"""A waterfall of consecutive partitions as one SVG that needs nothing else: lanes from synthesis to
the finalizer, a colour a partition in turn, the GPU's idle time marked. Light and dark."""

from xml.sax.saxutils import escape

import activity as recorded
import intervals

PARTITIONS = 16
WIDTH, LEFT, LANE, GAP, TOP = 1200, 150, 22, 8, 56
COLOURS = 4
STYLE = """
  :root { color-scheme: light dark }
  svg { background: #fff; font: 12px system-ui, sans-serif }
  text { fill: #222 } .dim { fill: #777 } .axis { stroke: #ddd }
  .p0 { fill: #2f6fb5 } .p1 { fill: #d98a1f } .p2 { fill: #3c9a5f } .p3 { fill: #8e5bb0 }
  .soft { opacity: .45 } .busy { fill: #888 } .idle { fill: #d6222a }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c } text { fill: #ddd } .dim { fill: #999 } .axis { stroke: #333 }
    .p0 { fill: #64a0e6 } .p1 { fill: #f0ac4d } .p2 { fill: #62c488 } .p3 { fill: #b68ad6 }
    .busy { fill: #777 } .idle { fill: #ff5a5f } }
"""
NOTES = {"read": "read", "check": "check", "evaluate": "evaluate", "assemble": "assemble",
         "verify": "verify"}


def choose(spans, window):
    """The keys of the 16 consecutive partitions in the middle of the window, in order."""
    inside = sorted((span, key) for key, span in spans.items()
                    if span[0] >= window[0] and span[1] <= window[1])
    first = max(0, (len(inside) - PARTITIONS) // 2)
    return [key for _, key in inside[first:first + PARTITIONS]]


class Canvas:
    def __init__(self, begin, end):
        self.begin, self.scale = begin, (WIDTH - LEFT - 10) / (end - begin)
        self.lanes, self.shapes = [], []

    def x(self, ns):
        return LEFT + (ns - self.begin) * self.scale

    def lane(self, name):
        """The top of a named lane, made on first use."""
        if name not in self.lanes:
            self.lanes.append(name)
        return TOP + self.lanes.index(name) * (LANE + GAP)

    def bar(self, lane, begin, end, style, hint, height=LANE):
        x0, x1 = max(LEFT, self.x(begin)), min(WIDTH - 10, self.x(end))
        if x1 <= x0:
            return
        title = f"<title>{escape(hint)}</title>" if hint else ""
        self.shapes.append(f'<rect x="{x0:.1f}" y="{self.lane(lane)}" width="{max(x1 - x0, .3):.1f}" '
                           f'height="{height}" class="{style}">{title}</rect>')

    def label(self, x, y, text, style=""):
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(text)}</text>')


def ms(ns):
    return f"{ns / 1e6:.3f} ms"


def lane_of(event):
    if event.worker.startswith("gpu"):
        return "upload" if event.phase == "upload" else None
    return event.worker


def draw_stages(canvas, events, order, has_copies):
    for event in events:
        if event.key not in order or event.phase in ("malloc_trim", "total", "wait"):
            continue
        lane = lane_of(event)
        if lane is None or (lane == "upload" and has_copies):
            continue
        index = order[event.key]
        soft = " soft" if event.phase in ("check", "assemble") else ""
        canvas.bar(lane, event.begin, event.end, f"p{index % COLOURS}{soft}",
                   f"partition {index + 1}: {event.phase} {ms(event.end - event.begin)}")


def draw_copies(canvas, found, spans, order, limits):
    """Uploads belong to the partition that computes next after them."""
    ordered = sorted((span[0], key) for key, span in spans.items())
    for begin, end, size, _, kind in found.copies:
        if kind != recorded.TO_DEVICE or size < 1 << 20 or end < limits[0] or begin > limits[1]:
            continue
        key = next((k for b, k in ordered if b >= end - 200_000), None)
        if key in order:
            index = order[key]
            canvas.bar("upload", begin, end, f"p{index % COLOURS}",
                       f"partition {index + 1}: {size / 1e6:.0f} MB in {ms(end - begin)}, "
                       f"{size / (end - begin):.1f} GB/s")


def joined(kernels, resolution):
    """Kernels of one stream and partition as bars: what is closer than can be drawn is one."""
    bars = []
    for begin, end in sorted((k[0], k[1]) for k in kernels):
        if bars and begin - bars[-1][1] < resolution:
            bars[-1][1] = max(bars[-1][1], end)
            bars[-1][2] += 1
        else:
            bars.append([begin, end, 1])
    return bars


def draw_kernels(canvas, found, spans, order, limits):
    ordered = sorted((span, key) for key, span in spans.items())
    first = ordered[0][0][0] - 1_000_000
    by_order = {k[2]: k[3] for k in found.kernels}
    groups = intervals.assign([k[:3] for k in found.kernels if k[0] >= first],
                              [span for span, _ in ordered])
    resolution = .4 / canvas.scale
    streams = sorted({by_order[k[2]] for g in groups for k in g
                      if k[1] > limits[0] and k[0] < limits[1]})
    for stream in streams:
        lane = f"kernels, stream {stream}" if found.source == "cupti" else "phases on the GPU"
        for group, (_, key) in zip(groups, ordered):
            if key not in order:
                continue
            index = order[key]
            for begin, end, count in joined([k for k in group if by_order[k[2]] == stream],
                                            resolution):
                canvas.bar(lane, begin, end, f"p{index % COLOURS}",
                           f"partition {index + 1}: {count} kernels, {ms(end - begin)}")


def draw_busy(canvas, found, limits):
    busy = found.busy()
    for begin, end, _ in joined(intervals.clip(busy, *limits), .2 / canvas.scale):
        canvas.bar("GPU busy", begin, end, "busy", "")
    idle = intervals.idle_stretches(busy, *limits)
    top = canvas.lane("GPU busy")
    for begin, end in sorted(idle, key=lambda s: s[0] - s[1])[:40]:
        x = canvas.x(begin)
        canvas.shapes.append(f'<rect x="{x:.1f}" y="{top - 3}" width="'
                             f'{max((end - begin) * canvas.scale, .6):.1f}" height="{LANE + 6}" '
                             f'class="idle"><title>idle {(end - begin) / 1e3:.1f} us</title></rect>')
    share = intervals.covered(busy, *limits) / (limits[1] - limits[0])
    longest = max((e - b for b, e in idle), default=0)
    return share, longest


def draw_axis(canvas, limits):
    span = limits[1] - limits[0]
    step = 10 ** len(str(span // 10)) // 10
    while span / step > 12:
        step *= 2
    bottom = TOP + len(canvas.lanes) * (LANE + GAP)
    lines = []
    for at in range(0, span + 1, step):
        x = canvas.x(limits[0] + at)
        lines.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" class="axis"/>'
                     f'<text x="{x:.1f}" y="{bottom + 16}" class="dim" text-anchor="middle">'
                     f'{at / 1e6:g}</text>')
    lines.append(f'<text x="{LEFT - 10}" y="{bottom + 16}" class="dim" text-anchor="end">ms</text>')
    return lines, bottom + 26


def draw(found, events, window, report):
    """The SVG text. Raises ValueError where the window holds no whole partition."""
    spans = recorded.partition_spans(events)
    keys = choose(spans, window)
    if not keys:
        raise ValueError("no partition ran whole inside the window: nothing to draw")
    order = {key: index for index, key in enumerate(keys)}
    limits = spans[keys[0]][0], spans[keys[-1]][1]
    margin = (limits[1] - limits[0]) // 40
    limits = limits[0] - margin, limits[1] + margin
    canvas = Canvas(*limits)
    for worker in sorted({e.worker for e in events if e.worker.startswith("synth")}):
        canvas.lane(worker)
    canvas.lane("upload")
    draw_stages(canvas, [e for e in events if not e.worker.startswith("finalizer")], order,
                found.source == "cupti")
    if found.source == "cupti":
        draw_copies(canvas, found, spans, order, limits)
    draw_kernels(canvas, found, spans, order, limits)
    share, longest = draw_busy(canvas, found, limits)
    draw_stages(canvas, [e for e in events if e.worker.startswith("finalizer")], order, False)
    axis, height = draw_axis(canvas, limits)
    title = (f"{len(keys)} consecutive partitions of {report['circuit']} on {report['curve']}: GPU "
             f"busy {100 * share:.2f} %, longest idle stretch {longest / 1e3:.0f} us (red)")
    source = "kernel times: CUPTI" if found.source == "cupti" else f"times: {found.source}"
    names = [f'<text x="{LEFT - 10}" y="{TOP + i * (LANE + GAP) + 15}" text-anchor="end">'
             f'{escape(name)}</text>' for i, name in enumerate(canvas.lanes)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<style>{STYLE}</style>", f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>',
        f'<text x="10" y="38" class="dim">{escape(source)}; a colour a partition, in turn; '
        f'the 40 longest idle stretches in red, at least as wide as can be seen</text>',
        *axis, *names, *canvas.shapes, "</svg>"]) + "\n"
