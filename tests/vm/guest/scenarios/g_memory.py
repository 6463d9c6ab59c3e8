# SPDX-License-Identifier: Apache-2.0
"""Memory that follows where policies, several nodes to a rank or full nodes are in the way."""

from harness import check, scenario
from scenarios.e_changes import memory_step


@scenario("2x4")
def interleaved_memory_stays():
    """The policy is the user's: what it put on the old node is not piled onto the new one. Looked at in some intervals more."""
    looks = []

    def is_even(went, pages):
        looks.append(all(len(nodes) == 2 and min(nodes.values()) > 0.8 * max(nodes.values()) for nodes in pages.values()))
        return len(looks) > 8 and all(looks)
    watched, went = memory_step("interleaved", "auto", is_even, before=["numactl", "--interleave=all"])
    notes = watched.report["notes"]
    check(sum("interleaved pages stay" in note for note in notes) == len(went), f"{went} moved, said was {notes}")
    return f"{len(went)} ranks moved, their interleaved pages did not"
