#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures steps with more ranks than CPUs: one-sided programs that spin take longer if each rank is bound to one CPU. As root.

  oversubscription.py BUILD_DIR [RUNS]    RUNS of each (default 6); starts and stops a private Slurm of its own
Three ranks run compare_and_swap on two CPUs, without ondeloc, with it, and bound to one CPU each by Slurm, in turns; with Open MPI
and, if the build has it, with MPICH. Prints medians as ratios to the run without ondeloc, with machine and versions. Run it beside
other load as well.
"""
import pathlib
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import on_private_slurm  # noqa: E402 pylint: disable=wrong-import-position

VARIANTS = {"without": ["--ondeloc=off"], "online": ["--ondeloc=online"],
            "one CPU each": ["--ondeloc=off", "--cpu-bind=map_cpu:0,1,0"]}
PROGRAMS = {"compare_and_swap": "pmix", "mpich_compare_and_swap": "pmi2"}


def one_run(harness, program, options):
    command = ["srun", f"--mpi={PROGRAMS[program]}", "--quiet", "--overcommit", "-n3", *options, f"{harness.APPS}/{program}"]
    # The ranks spin, as they do unless a user sets this parameter.
    spin = {"OMPI_MCA_mpi_yield_when_idle": "0"}
    ran = subprocess.run(**harness.as_user(command, f"{harness.ROOT}/work", spin), capture_output=True, check=True)
    return float(re.search(r"took (\S+) s", ran.stdout)[1])


def measure(harness, runs):
    for program in PROGRAMS:
        if not pathlib.Path(harness.APPS, program).exists():
            print(f"{program}: was not built here")
            continue
        times = {name: [] for name in VARIANTS}
        for _ in range(runs):
            for name, options in VARIANTS.items():
                times[name].append(one_run(harness, program, options))
        base = statistics.median(times["without"])
        print(f"{program}, median of {runs}: {base:.3g} s without; " +
              ", ".join(f"{name} {statistics.median(times[name]) / base:.2f} ({min(times[name]) / base:.2f} to "
                        f"{max(times[name]) / base:.2f})" for name in VARIANTS))


def main():
    with on_private_slurm.private_slurm(sys.argv[1]) as harness:
        on_private_slurm.show_machine(harness)
        before = harness.PLUGSTACK.read_text(encoding="utf-8")
        # The tests tell ondeloc of two NUMA nodes of one CPU each. Here the machine is as it is.
        harness.PLUGSTACK.write_text(re.sub(r" topology=\S+", "", before), encoding="utf-8")
        try:
            measure(harness, int(sys.argv[2]) if len(sys.argv) > 2 else 6)
        finally:
            harness.PLUGSTACK.write_text(before, encoding="utf-8")


if __name__ == "__main__":
    main()
