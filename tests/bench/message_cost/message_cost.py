#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""message_cost.py BUILD_DIR [TURNS]: what counting adds to a message.

A rank sends to itself in a loop: without anything, with the rank library, with Open MPI's own pml_monitoring. The three
alternate, TURNS times (default 15); compared are medians of the same run. A turn is the least of many blocks, since
everything else on the machine only adds."""
import os
import platform
import re
import statistics
import subprocess
import sys

build = os.path.abspath(sys.argv[1])
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
program = f"{build}/tests/apps/self_send"
library = f"{build}/pmix_hooks/libondeloc_rank.so"
blocks = "60"


def run(kind):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_MCA_", "PMIX_", "SLURM_"))}
    # The box may run this as root, and a launcher is not wanted.
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [program, blocks]
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


def main():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    print(f"machine: {cpu}, {os.cpu_count()} CPUs, Linux {platform.release()}, "
          f"load {os.getloadavg()[0]:.1f}; {first_line('ompi_info', '--version')}")
    times = {kind: [] for kind in ("none", "ondeloc", "monitoring")}
    for _ in range(turns):
        for kind, list_of_times in times.items():
            list_of_times.append(run(kind))
    none = statistics.median(times["none"])
    for kind, values in times.items():
        print(f"{kind:11} median {statistics.median(values):7.2f} ns a message, least {min(values):7.2f}")
    # Differences turn by turn: neighbours in time share the state of the machine.
    ours = statistics.median(o - n for o, n in zip(times["ondeloc"], times["none"]))
    theirs = statistics.median(m - n for m, n in zip(times["monitoring"], times["none"]))
    print(f"added by ondeloc {ours:.2f} ns ({100 * ours / none:.1f} %), by pml_monitoring {theirs:.2f} ns: "
          f"ratio {ours / theirs:.3f} (targets: 3 ns, 0.125)")
    least = {kind: min(values) for kind, values in times.items()}
    print(f"of the least: ondeloc {least['ondeloc'] - least['none']:.2f} ns, "
          f"pml_monitoring {least['monitoring'] - least['none']:.2f} ns")


main()
