# SPDX-License-Identifier: MIT
"""Measures a machine before it is used, and compares the figures with its description."""

TOLERANCE = 0.10


def llc_kib_of(machine):
    """How much the last-level cache is measured with: far less than it holds, because a hash chooses the set and some sets would be too
    full, and far more than the private one holds. None where there is no such size."""
    llc = machine.json["llc"]["kib"]
    kib = max(llc // 4, 3 * machine.json["private_cache"]["kib"])
    return kib if kib <= llc * 3 / 8 else None


def plan(machine, whole):
    """lab_validate's words; `whole` with the matrix of all pairs of CPUs, else one pair of each kind."""
    far = machine.nodes - 1
    private_kib, llc_kib = machine.json["private_cache"]["kib"], llc_kib_of(machine)
    words = [["chase", 0, 0, max(1, private_kib // 4), "private"]]
    if llc_kib:
        words.append(["chase", 0, 0, llc_kib, "llc"])
    words += [["chase", 0, node, 65536, "memory"] for node in range(machine.nodes)]
    words += [["stream", 0, 0]]
    if far:
        words += [["stream", 0, machine.first_cpu(far)]]
    each = machine.cpus // machine.nodes
    for count in range(2, each + 1) if whole else [each]:
        words.append(["stream", 0, *range(count)])
    return words + [["handover", a, b, 0] for a, b in pairs(machine, whole)]


def pairs(machine, whole):
    """All pairs of cores and the hardware threads of each core, or the first of each kind: same core, same cache, same node, each other node."""
    firsts = range(0, machine.cpus, machine.threads)
    every = [(a, b) for a in firsts for b in range(a + 1, machine.cpus) if b in firsts or machine.core_of(a) == machine.core_of(b)]
    if whole:
        return every
    kinds = {}
    for a, b in every:
        kind = (machine.core_of(a) == machine.core_of(b), machine.llc_of(a) == machine.llc_of(b), machine.node_of(a), machine.node_of(b))
        if a == 0:
            kinds.setdefault(kind, (a, b))
    return list(kinds.values())


def expected(machine, words):
    """(name, figure, unit)."""
    what, *rest = words
    if what == "chase":
        cpu, node, _, level = rest
        name = {"private": "private cache", "llc": "last-level cache", "memory": f"memory of node {node}"}[level]
        return f"load from CPU {cpu}, {name}", machine.chase_ns(level, cpu, node), "ns"
    if what == "stream":
        node, *cpus = rest
        away = machine.node_of(cpus[0])
        figure = machine.stream_gbytes(cpus, node)
        return f"stream of {len(cpus)} CPU{'s'[:len(cpus) > 1]} of node {away}, memory of node {node}", figure, "GB/s"
    a, b, home = rest
    return f"hand-over CPU {a} to {b}", machine.handover_ns(a, b, home), "ns"


def judge(machine, lines):
    """One row a figure: name, described, measured, unit, ok."""
    rows = []
    for line in lines:
        name, figure, unit = expected(machine, line["validate"])
        said = line.get("said") or {}
        measured = said.get("ns", said.get("gbytes_per_s"))
        ok = measured is not None and abs(measured - figure) <= TOLERANCE * figure
        rows.append({"name": name, "described": round(figure, 2), "measured": measured, "unit": unit, "ok": ok})
    return rows
