#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""message_cost.py BUILD_DIR [TURNS [COMMUNICATORS]]: measures the time that counting adds to a message, for each MPI.

A rank sends to itself in a loop, over so many communicators in turn (default 1): without anything, with the rank library, and
under Open MPI with its own pml_monitoring. The kinds alternate, TURNS times (default 15), and medians of the same run are
compared. A turn is the least of many blocks, because other load on the machine only adds time."""
import os
import platform
import re
import statistics
import subprocess
import sys

build = os.path.abspath(sys.argv[1])
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
communicators = sys.argv[3] if len(sys.argv) > 3 else "1"
# The program of each MPI, and what is compared. A build may be without MPICH.
PROGRAMS = {"Open MPI": ("self_send", ("none", "ondeloc", "monitoring")), "MPICH": ("mpich_self_send", ("none", "ondeloc"))}
library = f"{build}/pmix_hooks/libondeloc_rank.so"
blocks = "60"


def run(program, kind):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_MCA_", "PMIX_", "SLURM_"))}
    # The programs may run as root, and need no launcher.
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [f"{build}/tests/apps/{program}", blocks, communicators]
    if kind == "monitoring":
        env["OMPI_MCA_pml_monitoring_enable"] = "1"
    if kind == "ondeloc":
        command = [f"{build}/tests/apps/with_segment", "--print", library, *command]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    if kind == "ondeloc" and f"self {int(blocks) * 20000} bytes" not in out:
        sys.exit(f"message_cost: the rank library did not count: {out}")
    return float(re.search(r"([\d.]+) ns a message", out).group(1))


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def difference(times, kind):
    """Taken turn by turn, because turns that follow each other see the same state of the machine."""
    return statistics.median(with_it - without for with_it, without in zip(times[kind], times["none"]))


def measure(mpi):
    program, kinds = PROGRAMS[mpi]
    times = {kind: [] for kind in kinds}
    for _ in range(turns):
        for kind in kinds:
            times[kind].append(run(program, kind))
    for kind, values in times.items():
        print(f"{mpi}: {kind:11} median {statistics.median(values):7.2f} ns a message, least {min(values):7.2f}")
    ours = difference(times, "ondeloc")
    line = f"{mpi}: added by ondeloc {ours:.2f} ns ({100 * ours / statistics.median(times['none']):.1f} %)"
    if "monitoring" in times:
        theirs = difference(times, "monitoring")
        line += f", by pml_monitoring {theirs:.2f} ns: ratio {ours / theirs:.3f}"
    print(f"{line} (targets: 3 ns, 5 %{', 0.125' if 'monitoring' in times else ''})")
    print(f"{mpi}: of the least: ondeloc {min(times['ondeloc']) - min(times['none']):.2f} ns")


def main():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    print(f"machine: {cpu}, {os.cpu_count()} CPUs, Linux {platform.release()}, communicators: {communicators}, "
          f"load {os.getloadavg()[0]:.1f}; {first_line('ompi_info', '--version')}")
    for mpi in PROGRAMS:
        if os.path.exists(f"{build}/tests/apps/{PROGRAMS[mpi][0]}"):
            measure(mpi)
        else:
            print(f"{mpi}: not in this build")


main()
