#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of ondeloc at the start and end of a step: `srun -n2 true` with and without it, in turns. As root.

  launch_cost.py BUILD_DIR [RUNS]    RUNS of each (default 30); starts and stops a private Slurm of its own
Prints medians in milliseconds and their ratio, with machine and versions. "end" comes from runs of `date` in place of `true`: the
time from the output of the last task, just before it exits, to the end of srun.
"""
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import on_private_slurm  # noqa: E402 pylint: disable=wrong-import-position

VARIANTS = {"without": None, "online": "online"}


def one_run(harness, option):
    """Returns (`srun -n2 true`, end of `srun -n2 date`) in seconds; date prints the time at which its task is about to exit."""
    def srun(*program):
        return subprocess.run(**harness.as_user([*harness.srun_command(option), "-n2", *program], f"{harness.ROOT}/work"),
                              capture_output=True, check=True).stdout

    start = time.time()
    srun("true")
    whole = time.time() - start
    said = max(float(line) for line in srun("date", "+%s.%N").split())
    return whole, time.time() - said


def measure(harness, runs):
    times = {name: [] for name in VARIANTS}
    for name in VARIANTS:
        one_run(harness, VARIANTS[name])  # warms the caches
    for _ in range(runs):
        for name, option in VARIANTS.items():
            times[name].append(one_run(harness, option))
    return times


def show(harness, times, runs):
    on_private_slurm.show_machine(harness)
    print(f"median of {runs}, ms        without    online     more    ratio")
    for index, part in enumerate(("srun -n2 true", "end of a step")):
        without, online = (1000 * statistics.median(run[index] for run in times[name]) for name in VARIANTS)
        print(f"{part:<24} {without:>9.1f} {online:>9.1f} {online - without:>8.1f} {online / without:>8.2f}")


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with on_private_slurm.private_slurm(sys.argv[1]) as harness:
        show(harness, measure(harness, runs), runs)


if __name__ == "__main__":
    main()
