# SPDX-License-Identifier: Apache-2.0
"""Memory that follows where policies, several nodes to a rank or full nodes are in the way."""
import contextlib
import pathlib

from harness import check, numa_of_cpus, scenario, settled
from scenarios.e_changes import memory_step, pages_by_rank, talkers
from steps import OPTIONS, Phase, TALK, step


def nodes_of(process):
    """Of all its threads: each of a team may be bound to a CPU of its own."""
    return {numa_of_cpus()[cpu] for _, allowed, _ in process["threads"] for cpu in allowed}


@scenario("2x4")
def interleaved_memory_stays():
    """The policy is the user's: what it put on the old node is not piled onto the new one. Looked at in some intervals more."""
    looks = []

    def is_even(went, pages):
        looks.append(all(len(nodes) == 2 and min(nodes.values()) > 0.5 * max(nodes.values()) for nodes in pages.values()))
        return len(looks) > 8 and all(looks)
    watched, went = memory_step("interleaved", "auto", is_even, before=["numactl", "--interleave=all"])
    notes = watched.report["notes"]
    check(sum("interleaved pages stay" in note for note in notes) == len(went), f"{went} moved, said was {notes}")
    return f"{len(went)} ranks moved, their interleaved pages did not"


@scenario("4x2")
def memory_of_two_nodes_follows():
    """A rank on two NUMA nodes goes to two others, at the first message, with its memory touched by threads on either: the pages
    of both follow."""
    pathlib.Path("/proc/sys/kernel/numa_balancing").write_text("0")
    last = {}

    def right():
        return last["nodes"] == {0: {2, 3}, 1: {0, 1}} and all(
            sum(pages.values()) * 0.95 < sum(pages.get(node, 0) for node in last["nodes"][rank])
            and min(pages.get(node, 0) for node in last["nodes"][rank]) > 0.2 * max(pages.values())
            for rank, pages in last["pages"].items())

    def enough(series):
        with contextlib.suppress(OSError):
            if settled(series, 2):
                last.update(nodes={rank: nodes_of(process) for rank, process in series[-1].items()}, pages=pages_by_rank(talkers()))
        return len(last.get("pages", ())) == 2 and right()
    watched = step("two_nodes_each", ["-n2", "-c4", "--cpu-bind=mask_cpu:0x0f,0xf0"], [TALK, "--memory", 64],
                   online=f"{OPTIONS},decide=always,memory=auto,algorithm=random:1", env={"OMP_NUM_THREADS": "4", "OMP_PROC_BIND": "true"},
                   phases=[Phase("pair", enough)])
    check(last and right(), f"nodes and pages of the ranks: {last}; {watched.report['totals']}; {watched.report['notes']}")
    check(watched.report["totals"]["migrations"] == 2, f"{watched.report['totals']}")
    return f"{last}"
