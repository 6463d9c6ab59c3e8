#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""truth.py BUILD_DIR [--wide] [--program PROGRAM]: the model of MPICH's collectives against what MPICH hands to UCX, cell by cell.

At least 98 % of the cases are exact and the error is at most 1 % of the bytes, on one node and on several cliques. With a
message that ondeloc does not see, no case is exact. Pairs of ranks are counted exactly on a communicator with the handle of a freed
one. --wide: more ranks and sizes, for a person. PROGRAM: collectives_truth, built for another MPICH; STEP_LAUNCHER starts it."""
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


def miscounts_of_a_reused_handle():
    """Returns a sentence for each count of pairs of ranks that is wrong where their communicator has the handle of a freed one."""
    out = subprocess.run([f"{APPS}/step_of_many", "4", f"{BUILD}/pmix_hooks/libondeloc_rank.so", f"{APPS}/mpich_freed_collective"],
                         capture_output=True, text=True, check=True, timeout=900).stdout
    cells = sorted(line for line in out.splitlines() if re.fullmatch(r"[\d ]+", line))
    expected = sorted(f"{rank} {rank ^ apart} {length}" for rank in range(4) for apart, length in ((1, "100100 1001"), (2, "200 1")))
    return [] if cells == expected else [f"beside a reused handle, {cells} was counted, not {expected}"]


def main():
    faults = [] if "--program" in sys.argv else miscounts_of_a_reused_handle()
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
