# SPDX-License-Identifier: Apache-2.0
"""Memory follows a rank although policies, ranks on several nodes or full nodes stand in the way."""
import contextlib
import json
import pathlib
import re

from harness import check, node_of, numa_of_cpus, run, scenario, settled
from sampler import cpu_list
from scenarios.e_changes import all_followed, free_by_node, majority, memory_step, pages_by_rank, talkers
from steps import OPTIONS, Phase, TALK, steady, step

TOUCHED = 128 << 20  # bytes of every rank in scenarios with full nodes
ROOM = 80 << 20      # bytes that stay free on a full node
LAST_LOOK = 30       # by this sample the mapper has decided, even if `ondeloc top`, for which it seldom writes, does not show it yet


def huge_pool(node):
    return pathlib.Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")


def room_of(node):
    """Returns the free memory as the mapper computes it."""
    text = pathlib.Path(f"/sys/devices/system/node/node{node}/meminfo").read_text()
    kib = {name: int(re.search(rf" {re.escape(name)}:\s+(\d+)", text)[1]) for name in ("MemFree", "Inactive(file)", "Dirty")}
    return (kib["MemFree"] + max(0, kib["Inactive(file)"] - kib["Dirty"])) << 10


@contextlib.contextmanager
def full_nodes():
    """fill() leaves this much room on both nodes: it reserves the rest for unused huge pages, which takes no time. free()
    gives it back."""
    def fill(room=ROOM):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        for node in 0, 1:
            huge_pool(node).write_text(str(max(0, room_of(node) - room) >> 21))

    def free():
        for node in 0, 1:
            huge_pool(node).write_text("0")
    try:
        yield fill, free
    finally:
        free()


def nodes_of(process):
    """The masks of all threads of the rank: each thread of a team may be bound to a CPU of its own."""
    return {numa_of_cpus()[cpu] for _, allowed, _ in process["threads"] for cpu in allowed}


@scenario("2x4")
def interleaved_memory_stays():
    """The user's policy interleaves pages: they are not moved onto the new node, in several more intervals."""
    looks = []

    def is_even(went, pages):
        looks.append(all(len(nodes) == 2 and min(nodes.values()) > 0.5 * max(nodes.values()) for nodes in pages.values()))
        return len(looks) > 8 and all(looks)
    watched, went = memory_step("interleaved", "auto", is_even, before=["numactl", "--interleave=all"])
    notes = watched.report["notes"]
    told = [cpu_list(note.split()[1].rstrip(":")) for note in notes if note.endswith(": interleaved pages stay where they are")]
    # Lists of ranks look as those of CPUs. Before all have sent, another rank may move, and come back later.
    check(len(told) == 1 and set(went) <= set(told[0]), f"{went} moved, said was {notes}")
    return f"{len(went)} ranks moved, their interleaved pages did not"


@scenario("4x2")
def memory_of_two_nodes_follows():
    """A rank on two NUMA nodes moves to two others at the first message. Threads on both nodes have touched its memory: the pages
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


@scenario("4x2")
def far_pages_are_told():
    """Ranks on two NUMA nodes each: half of the pages is far if one thread has touched them all, next to none if each has touched
    its part. Where files fill a node, the kernel takes pages of another node: the caches are emptied first. The mapper may look
    at a rank for the first time while the rank touches its memory, and has looked at both again after 15 s: 100 samples take 20."""
    pathlib.Path("/proc/sys/kernel/numa_balancing").write_text("0")
    said = []
    for threads, low, high in ("1", 0.4, 0.5), ("4", 0.0, 0.1):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        free = free_by_node()
        watched = step(f"far_{threads}", ["-n2", "-c4", "--cpu-bind=mask_cpu:0x0f,0xf0"], [TALK, "--memory", 128],
                       online=f"{OPTIONS},decide=never", env={"OMP_NUM_THREADS": threads, "OMP_PROC_BIND": "true"},
                       phases=[Phase("pair", steady(2, 100))])
        ranks = watched.report["ranks"]
        check(all(low <= rank["far_pages"] <= high for rank in ranks), f"{threads} threads, {free} bytes were free: {ranks}")
        notes = [note for note in watched.report["notes"] if note.startswith("memory: of the pages of ranks 0-1")]
        check(len(notes) == (low > 0), f"{watched.report['notes']}")
        said += [f"{threads} threads: {[(rank['far_pages'], rank['page_nodes']) for rank in ranks]}"]
    return "; ".join(said)


@scenario("2x4")
def memory_exchanged_between_full_nodes():
    """Two ranks change places although each has more memory than either node has room for."""
    with full_nodes() as (fill, _):
        watched, went = memory_step("full_nodes", "auto", all_followed, TOUCHED, at_last=fill)
    check(not any("no room" in note for note in watched.report["notes"]), f"{watched.report['notes']}")
    return f"{len(went)} ranks and their pages moved"


def all_there(went, pages):
    """Returns whether all of the ranks' memory was found, except pages that were being moved at that moment."""
    return all(pages[rank].get(now, 0) > 0.95 * sum(pages[rank].values()) for rank, (_, now) in went.items())


def decided(word):
    """Returns whether the mapper of a running step decided so, as `ondeloc top` shows its last intervals."""
    steps = json.loads(run("ondeloc", "top", "--once", "-f", "json").stdout)
    return any(line["decision"] == word for step in steps for line in step["decisions"])


def moved_back(report):
    """Returns whether ranks were moved for a gain, and the same ranks back because the program was slower after that. On a busy host
    the moves of the pages, which last for some intervals, can look so."""
    turns = [turn for turn in report["intervals"] if turn["remapped"]]
    return any((away["decision"], back["decision"]) == ("remaps", "slower") and sorted(away["moved"]) == sorted(back["moved"])
               for away, back in zip(turns, turns[1:]))


def one_to_the_other(name, more, enough, has_decided=lambda: True, ends_early=lambda: False):
    """Two ranks run on two nodes with room for the memory that they touch and little more, and with idle CPUs. After enough(moves,
    pages by rank) held in several samples, and in more until the mapper has_decided(), room is made, and the step goes on until one
    rank is beside the other with its pages, or has moved back: then the step ends_early()."""
    pathlib.Path("/proc/sys/kernel/numa_balancing").write_text("0")
    touched, last, looks, after = 2 * TOUCHED, {"decided": False}, [], []

    def look(series):
        good = settled(series, 2)
        with contextlib.suppress(OSError):
            nodes = {rank: node_of(process) for rank, process in good[-1].items()} if good else {}
            last.update(went={rank: (rank, node) for rank, node in nodes.items() if node != rank}, pages=pages_by_rank(talkers()))
        return bool(good) and len(last.get("pages", ())) == 2

    def long_enough(series):
        looks.append(look(series) and enough(last["went"], last["pages"]))
        last["decided"] = last["decided"] or has_decided()
        return sum(looks) > (12 if last["decided"] else LAST_LOOK)

    def together(series):
        after.append(look(series) and bool(last["went"]) and all_there(last["went"], last["pages"]))
        return sum(after) > 4 or ends_early()  # libraries and stacks come last
    with full_nodes() as (fill, make_room):
        fill(touched + 2 * ROOM)
        watched = step(name, ["-n2", "-c4", "--cpu-bind=map_cpu:0,4"],
                       [TALK, "--bytes", 1 << 21, "--pause", 1000, "--memory", touched >> 20], online=f"{OPTIONS},{more}",
                       phases=[Phase("pair", long_enough, make_room), Phase("half", together)])
    check(all(looks[-12:]), f"with full nodes: {looks}; {watched.report['totals']}; {watched.report['notes']}")
    check(moved_back(watched.report) or last["went"] and all_there(last["went"], last["pages"]),
          f"with room: {last}; {watched.report['totals']}; {watched.report['notes']}")
    return watched, last["went"]


@scenario("2x4")
def memory_follows_later():
    """decide=always moves a rank although its pages find no room; they follow once there is room."""
    def stayed(went, pages):
        return bool(went) and all(majority(pages[rank]) == before for rank, (before, _) in went.items())
    watched, went = one_to_the_other("later", "decide=always", stayed)
    check(not any("no room" in note for note in watched.report["notes"]), f"{watched.report['notes']}")
    return f"moved: {went}"


@scenario("2x4")
def rank_stays_with_its_memory():
    """A rank is not moved away from memory that could not follow; once there is room, it is moved, and may move back: moved_back().
    Under emulation the ranks send few bytes in a second: the predicted gain is a small share of the time, and it pays for moving the
    pages only after many intervals. The mapper does not look for room before."""
    watched, went = one_to_the_other("together", "memory=auto,least-gain=0.001", lambda went, pages: not went,
                                     lambda: decided("no-room"), lambda: decided("slower"))
    check(sum("no room" in note for note in watched.report["notes"]) == 1, f"{watched.report['notes']}")
    return f"moved: {went}; {watched.report['notes']}"


@scenario("2x4")
def memory_comes_if_the_gain_does_not():
    """With memory=later ranks are moved without their pages at first. Moved ranks are slow wherever they are: their pages follow, and
    at last both go back. An emulated mapper takes some hundredths of a second for an interval: a longer interval lets it tell
    the program's pace."""
    pathlib.Path("/proc/sys/kernel/numa_balancing").write_text("0")
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    start, homes = [0, 1, 0, 1], []

    def over(_):
        with contextlib.suppress(OSError):
            homes.append([node for _, node in sorted((rank, majority(pages)) for rank, pages in pages_by_rank(talkers()).items())])
        return bool(homes) and homes[-1] == start and any(are_together(nodes) for nodes in homes)

    def are_together(nodes):
        return len(nodes) == 4 and nodes[0] == nodes[1] and nodes[2] == nodes[3] and None not in nodes
    watched = step("brings", ["-n4"], [TALK, "--bytes", 1 << 21, "--pause", 1000, "--away", 100000, "--memory", 64],
                   online="interval=2s,max-interval=2s,least-gain=0.001,memory=later", phases=[Phase("pair", over)])
    turns = [turn for turn in watched.report["intervals"] if turn["decision"] in ("remaps", "brings", "slower")]
    said = f"{[(turn['decision'], turn['moved'], turn['gain'], turn['threshold']) for turn in turns]}; {watched.report['notes']}"
    check([turn["decision"] for turn in turns[:3]] == ["remaps", "brings", "slower"], said)
    check(any(are_together(nodes) for nodes in homes), f"the pages were not brought: {homes[-20:]}; {said}")
    check(homes[-1] == start, f"the pages did not come back: {homes[-20:]}; {said}")
    check("pages follow moved ranks" in said, said)
    return f"{len(homes)} looks at the pages; {said}"
