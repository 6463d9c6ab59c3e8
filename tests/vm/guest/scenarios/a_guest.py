# SPDX-License-Identifier: Apache-2.0
"""The guest itself without ondeloc: the facts that the other scenarios rely on."""
import os

from harness import check, inside_cpuset, masks, numa_of_cpus, root, run, sampled, scenario


@scenario("all")
def guest_has_numa_and_slurm_confines():
    nodes = len(set(numa_of_cpus().values()))
    check(nodes >= 2, f"{nodes} NUMA node")
    cpus = os.cpu_count()
    with sampled("guest") as samples:
        run("srun", "-n2", "--cpu-bind=none", "sleep", "2")
    series = samples.ranks("sleep")
    inside_cpuset(series)
    given = {cpu for mask in masks(series[-1]).values() for cpu in mask}
    check(len(given) < cpus, f"a step of 2 tasks sees all {cpus} CPUs: ConstrainCores is not on")
    return f"{nodes} NUMA nodes, {cpus} CPUs, step got {sorted(given)}, {root('sinfo', '-V').strip()}"
