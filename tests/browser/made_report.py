# SPDX-License-Identifier: Apache-2.0
"""Reports of online runs for pages: a grid of ranks whose neighbours talk, dealt badly over the nodes at first and well after a move."""
import math
import random


def machine(cores, nodes, caches_per_node):
    per_node, per_cache = cores // nodes, cores // nodes // caches_per_node
    numa = [{"os": n, "pus": f"{n * per_node}-{(n + 1) * per_node - 1}", "package": 2 * n // nodes} for n in range(nodes)]
    caches = [{"numa": c // caches_per_node, "pus": f"{c * per_cache}-{(c + 1) * per_cache - 1}", "bytes": 32 << 20}
              for c in range(nodes * caches_per_node)]
    devices = [{"name": f"mlx5_{n}", "kind": "InfiniBand adapter", "pci": f"0000:{n:02x}:00.0", "node": n, "near": numa[n]["pus"]}
               for n in range(0, nodes, 2)]
    devices += [{"name": f"card{n}", "kind": "NVIDIA GPU", "pci": f"0000:{n:02x}:01.0", "node": -1, "near": numa[n]["pus"]} for n in range(nodes)]
    devices.append({"name": "eth9", "kind": "Ethernet adapter", "pci": "", "node": -1, "near": ""})
    return {"devices": devices, "numa": numa, "caches": caches, "cores": [str(core) for core in range(cores)], "cpus": f"0-{cores - 1}"}


def traffic(ranks, chance):
    side = int(math.sqrt(ranks))
    cells = {}
    for rank in range(ranks):
        for other, weight in ((rank ^ 1, 8), (rank + side, 3), (rank - side, 3), (rank + 1, 1)):
            if 0 <= other < ranks and other != rank:
                cells[rank, other] = int(weight * 1e8 * chance.uniform(.6, 1.4))
        if rank > 0:
            cells[rank, 0] = cells.get((rank, 0), 0) + 4096
    return [{"src": src, "dst": dst, "bytes": size, "messages": size // 8192 + 1} for (src, dst), size in sorted(cells.items())]


def share_across(matrix, cpu_of, per_node):
    across = sum(cell["bytes"] for cell in matrix if cpu_of[cell["src"]] // per_node != cpu_of[cell["dst"]] // per_node)
    return across / sum(cell["bytes"] for cell in matrix)


def make(ranks, nodes, caches_per_node=1, intervals=24, node="node1", note="", arguments="-in in.lj"):
    chance = random.Random(ranks)
    matrix = traffic(ranks, chance)
    per_node = ranks // nodes
    first = [(r % nodes) * per_node + r // nodes for r in range(ranks)]
    last = list(range(ranks))
    before, after = share_across(matrix, first, per_node), share_across(matrix, last, per_node)
    sent = sum(cell["bytes"] for cell in matrix) / intervals
    lines = []
    for i in range(intervals):
        moves = i == 3
        share = before if i <= 3 else after
        lines.append({"t": .5 * (i + 1), "bytes": sent * chance.uniform(.7, 1.2), "off_node_bytes": sent / 50, "cost_before": .12 if i <= 3 else .07,
                      "remote_share_before": share, "remote_share_after": after if moves else share, "peak_load_before": 1.0 + .3 * chance.random(),
                      "decision": ("waits", "fleeting", "unpaid", "remaps")[i] if i < 4 else "keeps", "gain": .05 if i <= 3 else 0,
                      "threshold": .012, "migration": .02 if i <= 3 else 0, "horizon": .5 * (i + 1), "ledger": 0 if i <= 3 else -.03 * i,
                      "moved": [r for r in range(ranks) if first[r] != last[r]] if moves else []})
    ranked = [{"rank": r, "initial_cpus": str(first[r]), "final_cpus": str(last[r]),
               "migrations": int(first[r] // per_node != last[r] // per_node)} for r in range(ranks)]
    bytes_all = sum(cell["bytes"] for cell in matrix)
    levels = [("node", 1 - before, 1 - after), ("package", before * .4, after * .5), ("machine", before * .6, after * .5)]
    domains = [{"domain": name, "bytes_before": b * bytes_all, "bytes_after": a * bytes_all, "messages_before": 1, "messages_after": 1}
               for name, b, a in levels]
    return {"version": 1, "job": 4711, "step": 0, "node": node, "mode": "online", "algorithm": "ondeloc",
            "origin": {"program": "/opt/lammps/bin/lmp", "arguments": arguments, "MPI": "Open MPI 4.1.4", "user": "uid 1000",
                       "mapped since": "2026-11-24 10:00:00 UTC", "ondeloc": "1.0.0", "Slurm": "22.5.8"},
            "topology": machine(ranks, nodes, caches_per_node), "model": {"weight": "time", "latency": "default"},
            "ranks": ranked, "matrix": matrix, "intervals": lines, "events": {"dropped": 0},
            "totals": {"mapper_cpu_ms": 12.5, "wall_ms": 500 * intervals, "domains": domains, "remote_share_before": before, "remote_share_after": after},
            "notes": ["rank 0: its memory policy names NUMA nodes; leave it off, or use decide=never"] + ([note] if note else [])}
