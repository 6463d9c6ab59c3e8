#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""truth.py BUILD_DIR [--wide] [--program PROGRAM]: the model of MPICH's collectives against what MPICH hands to UCX, cell by cell.

At least 98 % of the cases are exact and the error is at most 1 % of the bytes, on one node and on several cliques. With a
message that ondeloc does not see, no case is exact. The cells of the programs in KNOWN are exact. --wide: more ranks and sizes, for a person. PROGRAM: collectives_truth, built for another MPICH; STEP_LAUNCHER starts it."""
import os
import re
import subprocess
import sys

BUILD = os.path.abspath(sys.argv[1])
APPS = f"{BUILD}/tests/apps"
PROGRAM = sys.argv[sys.argv.index("--program") + 1] if "--program" in sys.argv else f"{APPS}/mpich_collectives_truth"
# ranks, cliques (0: one node), sizes in bytes
RUNS = [(2, 0, (36, 5000)), (5, 0, (200, 60000)), (4, 2, (24, 40000)), (6, 3, (2052, 12288))]
WIDE = [(n, cliques, (24, 200, 2048, 12288, 30000, 100000, 600000))
        for n in (2, 3, 5, 6, 7, 8, 9, 12, 16) for cliques in (0, 2, 3)]


def run(ranks, cliques, sizes, env=None):
    """(cases, exact, bytes, wrong bytes), lines that tell differences"""
    env = {**os.environ, "STEP_PRELOAD": f"{APPS}/libucx_counts.so", **(env or {})}
    if cliques:
        env["MPIR_CVAR_NUM_CLIQUES"] = str(cliques)
    out = subprocess.run([f"{APPS}/step_of_many", str(ranks), f"{BUILD}/pmix_hooks/libondeloc_rank.so",
                          PROGRAM, *map(str, sizes)],
                         env=env, capture_output=True, text=True, check=True, timeout=900).stdout
    found = re.search(r"cases (\d+) exact (\d+) bytes (\d+) wrong (\d+)", out)
    if found is None:
        sys.exit(f"truth: no result:\n{out}")
    modelled = sum(int(m) for m in re.findall(r"modelled (\d+)", out))
    if modelled == 0:
        sys.exit("truth: nothing was counted as modelled")
    return [int(word) for word in found.groups()], re.findall(r"differs: .*", out)


def expected_of_freed_collective():
    return [(rank, rank ^ apart, *sums) for rank in range(4) for apart, sums in ((1, (100100, 1001)), (2, (200, 1)))]


def expected_of_delete_callbacks():
    """Bytes and messages of the callbacks to the next rank, twice 1 + 2 and once 3, and of ten calls to the partner."""
    cells = {}
    for rank in range(4):
        for peer, length, messages in ((rank ^ 1, 20 * 1100 + 100000, 50), ((rank + 1) % 4, 9, 5)):
            before = cells.get((rank, peer), (0, 0))
            cells[rank, peer] = (before[0] + length, before[1] + messages)
    return [(*pair, *sums) for pair, sums in cells.items()]


# Small programs whose messages are known: ranks, and the cells (source, destination, bytes, messages).
KNOWN = {"freed_collective": (4, expected_of_freed_collective()), "delete_callbacks": (4, expected_of_delete_callbacks()),
         "between_types": (2, [(0, 1, 9990, 10), (1, 0, 10000, 10)]),
         "many_neighbours": (2, [(0, 1, 10800, 2700), (1, 0, 10800, 2700)]),
         "late_return": (2, [(0, 1, 40, 4), (1, 0, 40, 4)])}


def miscounts(program):
    """Returns a sentence if a cell of the program of KNOWN is wrong."""
    ranks, cells = KNOWN[program]
    done = subprocess.run([f"{APPS}/step_of_many", str(ranks), f"{BUILD}/pmix_hooks/libondeloc_rank.so", f"{APPS}/mpich_{program}"],
                          capture_output=True, text=True, check=False, timeout=900)
    if done.returncode != 0:
        return [f"{program} ended with {done.returncode}: {done.stdout}{done.stderr}"]
    counted = sorted(tuple(map(int, line.split())) for line in done.stdout.splitlines() if re.fullmatch(r"[\d ]+", line))
    return [] if counted == sorted(cells) else [f"of {program}, {counted} was counted, not {sorted(cells)}"]


def main():
    faults = [] if "--program" in sys.argv else [fault for program in KNOWN for fault in miscounts(program)]
    for ranks, cliques, sizes in WIDE if "--wide" in sys.argv else RUNS:
        (cases, exact, length, wrong), lines = run(ranks, cliques, sizes)
        print(f"{ranks} ranks, {cliques or 1} nodes: {exact} of {cases} cases exact, error {100 * wrong / length:.3f} % of the bytes",
              *lines[:10], sep="\n  ", flush=True)
        if exact < 0.98 * cases or wrong > 0.01 * length:
            faults.append(f"{ranks} ranks on {cliques or 1} nodes")
    (cases, exact, _, _), _ = run(2, 0, (36,), {"TRUTH_ONE_MORE": "1"})
    if exact != 0:
        faults.append(f"a message that ondeloc does not see was not missed in {exact} of {cases} cases")
    if faults:
        sys.exit("truth: " + "; ".join(faults))


main()
