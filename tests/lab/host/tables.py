# SPDX-License-Identifier: MIT
"""Text and SVG of the rows."""
import html

NOTE = "simulated machine {name}, not a measurement on hardware"


MOST_LATE = 0.05


def late_of(row):
    """Share of the waits that ended by the time-out: vCPUs ran further apart than the window then."""
    return row["timeouts"] / max(1, row["waits"])


def busy_host(table):
    """One sentence on rows that a busy host has made doubtful; empty without such rows."""
    names = [f"{row['program']} {row['mapping']}" for row in table if "seconds" in row and late_of(row) > MOST_LATE]
    if not names:
        return ""
    return f"more than {100 * MOST_LATE:.0f} % of the waits ended by the time-out ({', '.join(names)}): the host is too busy; repeat these runs"


def one_line(text, most=120):
    return " ".join(text.split())[:most]


def runs_of(row):
    """How many runs of how many the figures are of."""
    return f"{row['runs']}/{row['runs'] + len(row['problems'])}"


def text_table(machine, table):
    wide = max([22, *(len(row["mapping"]) for row in table)])
    bases = {row["program"]: row["normalised_to"] for row in table if "seconds" in row}
    base = "of base" if len(set(bases.values())) > 1 else f"of {next(iter(bases.values()), 'default')}"
    ratio = max(10, len(base))
    head = f"{'program':10} {'mapping':{wide}} {'runs':>5} {'simulated s':>11} {'95 %':>7} {base:>{ratio}} {'LLC miss':>9} {'DRAM local':>10} " \
           f"{'remote':>9} {'cache-cache':>11} {'remaps':>6} {'slow-down':>9} {'late':>6} {'load':>5}"
    lines = [NOTE.format(name=machine.name), head]
    for row in table:
        names = f"{row['program']:10} {row['mapping']:{wide}} {runs_of(row):>5}"
        if "seconds" not in row:
            lines.append(names)
            continue
        half = f"{100 * row['interval_s'] / row['seconds']:.1f} %" if row["interval_s"] is not None else "-"
        transfers = row["cache_same_llc"] + row["cache_same_node"] + row["cache_other_node"]
        lines.append(f"{names} {row['seconds']:11.6f} {half:>7} {row['normalised']:{ratio}.3f} {row['llc_misses']:9.0f} "
                     f"{row['memory_local']:10.0f} {row['memory_remote']:9.0f} {transfers:11.0f} {row.get('remaps', 0):6.1f} {row['slow_down']:9.0f} "
                     f"{100 * late_of(row):5.2f}% {row['host_load']:5.1f}")
    if base == "of base":
        lines.append("base: " + ", ".join(f"{mapping} for {program}" for program, mapping in bases.items()))
    lines.append("late: waits of a vCPU that ended by the time-out; slow-down: host seconds a simulated second; load: of the host")
    lines += [f"failed: {row['program']} {row['mapping']}: {problem}" for row in table for problem in dict.fromkeys(map(one_line, row["problems"]))]
    return "\n".join(lines)


def validation_table(machine, rows):
    lines = [NOTE.format(name=machine.name), f"{'figure':58} {'described':>10} {'measured':>10}"]
    for row in rows:
        measured = f"{row['measured']:10.2f}" if row["measured"] is not None else f"{'none':>10}"
        lines.append(f"{row['name']:58} {row['described']:10.2f} {measured} {row['unit']:5} {'ok' if row['ok'] else 'NOT as described: not used'}")
    return "\n".join(lines)


def bars(machine, table, program):
    """Time of each mapping of one program as a bar, with its interval."""
    good = [row for row in table if row["program"] == program and "seconds" in row]
    most = max(row["seconds"] + (row["interval_s"] or 0) for row in good)
    left, width, step = max(190, 20 + 8 * max(len(row["mapping"]) for row in good)), 420, 22  # a letter has 8 pixels at most, nearly always
    height = 60 + step * len(good)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 110}" height="{height}" font-family="DejaVu Sans, sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="20" font-weight="bold">{html.escape(program)}: simulated seconds</text>',
           f'<text x="10" y="36">{html.escape(NOTE.format(name=machine.name))}</text>']
    for i, row in enumerate(good):
        y = 48 + i * step
        end = left + width * row["seconds"] / most
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{html.escape(row["mapping"])}</text>')
        out.append(f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="15" fill="#4878a8"/>')
        if row["interval_s"]:
            half = width * row["interval_s"] / most
            out.append(f'<path d="M{end - half:.1f} {y + 7.5} H{end + half:.1f}" stroke="black" stroke-width="2"/>')
        out.append(f'<text x="{left + width + 8}" y="{y + 12}">{row["seconds"]:.4f} ({row["normalised"]:.3f})</text>')
    return "\n".join(out) + "\n</svg>\n"
