"""What bench_ops.py says of its records: geometric means, the slow cases, a plot."""

import math
from collections import defaultdict
from html import escape

from op_cases import GROUPS

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")


def geometric(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def seconds(record, library):
    return record[library][record["clock"]]["min"]


def _grouped(records, *parts):
    found = defaultdict(list)
    for record in records:
        found[tuple(record[part] for part in parts)].append(record)
    return found


def _order(item):
    """Forward before backward, the groups that count most first, the sizes from the smallest."""
    direction, name, size = item[0]
    return direction != "forward", name not in GROUPS, name, float(size)


def summary(records, part):
    """A line for each group (or family), direction and size."""
    lines = [f"{part:<20} {'':<9} {'size':<5} {'cases':>5} {'mean':>7} {'>= 1x':>6} {'>=0.8x':>6}  worst"]
    for (direction, name, size), these in sorted(
        _grouped(records, "direction", part, "size").items(), key=_order
    ):
        ratios = [r["ratio"] for r in these]
        worst = min(these, key=lambda r: r["ratio"])
        level, usable = (sum(r >= limit for r in ratios) / len(ratios) for limit in (1, 0.8))
        lines.append(
            f"{name:<20} {direction:<9} {size:<5} {len(these):>5} {geometric(ratios):>6.2f}x {level:>6.0%} "
            f"{usable:>6.0%}  {worst['ratio']:.2f}x {worst['case']}"
        )
    return lines


def speed(record, peaks):
    """What our side reaches, and its share of the machine's peak."""
    taken = seconds(record, "rushlight")
    if record["flops"]:
        reached, unit, peak = record["flops"] / taken / 1e9, "GFLOP/s", peaks["GFLOP/s"]
    else:
        reached, unit = record["bytes"] / taken / 1e9, "GB/s"
        peak = peaks.get(f"GB/s {record['size']}")
    share = f"{reached / peak:>5.0%}" if peak else ""
    return f"{reached:>8.1f} {unit:<7} {share}"


def slow(records, peaks):
    """Each case below 1x, the slowest first."""
    below = sorted((r for r in records if r["ratio"] < 1), key=lambda r: r["ratio"])
    lines = [f"below 1x: {len(below)} of {len(records)} cases; us of PyTorch / rushlight; share of the peak"]
    for r in below:
        theirs, ours = (seconds(r, library) * 1e6 for library in ("torch", "rushlight"))
        what = f"{r['case']}, {r['size']} {r['direction']}"
        lines.append(f"{r['ratio']:>6.2f}x {theirs:>10.1f} / {ours:>10.1f}  {speed(r, peaks)}  {what}")
    return lines


def coverage(covered):
    """How many operators of each family have a case, and which have none."""
    lines = []
    for family, operators in covered.items():
        without = [op for op, has in operators.items() if not has]
        rest = f"; not {', '.join(without)}" if without else ""
        lines.append(f"{family:<10} {len(operators) - len(without):>3} of {len(operators)} operators{rest}")
    return lines


def report(records, covered, where):
    timed = [r for r in records if r.get("settled")]
    noisy = [f"{r['case']}, {r['size']} {r['direction']}" for r in records if not r.get("settled", True)]
    wrong = [f"{r['case']}, {r['size']} {r['direction']}: {r['differs']}" for r in records if "differs" in r]
    peaks = ", ".join(f"{name} {value:.1f}" for name, value in where["peaks"].items())
    threads = " / ".join(str(n) for n in where["threads"].values())
    parts = [
        [f"{where['cpu']}, {where['isa']} (torch: {where['torch_isa']}), {threads} threads; peaks: {peaks}"],
        coverage(covered),
        slow(timed, where["peaks"]),
        summary(timed, "family"),
        summary(timed, "group"),
        [f"disturbed, left out: {len(noisy)}: " + "; ".join(noisy)] if noisy else [],
        [f"results differ: {len(wrong)}", *wrong] if wrong else [],
    ]
    return "\n" + "\n\n".join("\n".join(part) for part in parts if part)


# ---- plot ----
WIDTH, HEIGHT, TOP, LEFT = 84, 320, 40, 50


def _height(ratio):
    """From the top of a panel; 1/64x to 64x."""
    return HEIGHT * (6 - min(max(math.log2(ratio), -6), 6)) / 12


def _times(power):
    return f"{2**power}x" if power >= 0 else f"1/{2**-power}x"


def _panel(direction, records, families, sizes, top):
    width = WIDTH * len(families)
    parts = [f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{direction}: PyTorch / rushlight</text>']
    for power in range(-6, 7, 2):
        y = top + _height(2.0**power)
        dark = "#333" if power == 0 else "#ddd"
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + width}" y1="{y}" y2="{y}" stroke="{dark}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{_times(power)}</text>')
    for record in records:
        place = sizes.index(record["size"])
        at = LEFT + WIDTH * (families.index(record["family"]) + (place + 1) / (len(sizes) + 1))
        y = top + _height(record["ratio"])
        title = escape(f"{record['case']}, {record['size']}: {record['ratio']:.2f}x")
        dot = f'<circle cx="{at:.1f}" cy="{y:.1f}" r="2.5" fill="{COLOURS[place]}" fill-opacity="0.6">'
        parts.append(f"{dot}<title>{title}</title></circle>")
    for i, family in enumerate(families):
        middle = LEFT + WIDTH * (i + 0.5)
        parts.append(f'<text x="{middle}" y="{top + HEIGHT + 16}" text-anchor="middle">{family}</text>')
    return parts


def plot(records, sizes):
    """SVG: a dot for each case, by family and size; rushlight is faster above the dark line."""
    timed = [r for r in records if r.get("settled")]
    families = list(dict.fromkeys(r["family"] for r in timed))
    panels = list(dict.fromkeys(r["direction"] for r in timed))
    width, height = LEFT + WIDTH * len(families) + 20, (HEIGHT + TOP + 30) * len(panels) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="11"><rect width="100%" height="100%" fill="white"/>'
    ]
    for i, direction in enumerate(panels):
        these = [r for r in timed if r["direction"] == direction]
        parts += _panel(direction, these, families, sizes, TOP + i * (HEIGHT + TOP + 30))
    for i, size in enumerate(sizes):
        parts.append(f'<text x="{LEFT + 70 * i}" y="{height - 10}" fill="{COLOURS[i]}">{size}</text>')
    return "\n".join([*parts, "</svg>", ""])
