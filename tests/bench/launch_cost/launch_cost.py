#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What ondeloc costs at the start and at the end of a step: `srun -n2 true` with and without, in turns. As root.

  launch_cost.py BUILD_DIR [RUNS]    RUNS of each (default 30); starts and stops a private Slurm of its own
Prints medians in milliseconds and their ratio, with machine and versions. "end" comes from runs of `date` in place of `true`: from
what the last task says just before it exits to the end of srun.
"""
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE.parents[1] / "slurm" / "fixture"
VARIANTS = {"without": None, "online": "online"}


def one_run(harness, option):
    """(`srun -n2 true`, end of `srun -n2 date`) in seconds; date says when its task is about to exit."""
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
        one_run(harness, VARIANTS[name])  # warm caches
    for _ in range(runs):
        for name, option in VARIANTS.items():
            times[name].append(one_run(harness, option))
    return times


def ask(harness, *command):
    return subprocess.run(command, env=harness.environment(), capture_output=True, text=True, check=True).stdout.strip()


def show(harness, times, runs):
    print(f"machine: {platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}, "
          f"load {os.getloadavg()[0]:.1f}")
    config = dict(line.split("=", 1) for line in ask(harness, "scontrol", "show", "config").splitlines() if "=" in line)
    proctrack = next(value.strip() for key, value in config.items() if key.strip() == "ProctrackType")
    print(f"{ask(harness, 'sinfo', '--version')}, {proctrack}")
    print(f"median of {runs}, ms        without    online     more    ratio")
    for index, part in enumerate(("srun -n2 true", "end of a step")):
        without, online = (1000 * statistics.median(run[index] for run in times[name]) for name in VARIANTS)
        print(f"{part:<24} {without:>9.1f} {online:>9.1f} {online - without:>8.1f} {online / without:>8.2f}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    where = build / "tests" / "slurm" / "where"
    started = not where.exists()
    if started:
        subprocess.run([FIXTURE, "start", build], check=True)
    try:
        os.environ["ONDELOC_TEST_WHERE"] = str(where)
        sys.path.insert(0, str(FIXTURE.parent))
        sys.dont_write_bytecode = True
        import harness  # pylint: disable=import-outside-toplevel
        show(harness, measure(harness, runs), runs)
    finally:
        if started:
            subprocess.run([FIXTURE, "stop", build], check=True)


if __name__ == "__main__":
    main()
