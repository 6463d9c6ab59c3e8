# SPDX-License-Identifier: Apache-2.0
"""Memory that follows, CPUs that go away, other configurations of Slurm."""
import contextlib
import os
import pathlib
import re
import statistics
import time

from harness import (HERE, alone, check, inside_cpuset, main_mask, masks, node_of, root, scenario, settled, show,
                     seconds, step_clean, step_groups, wait_for)
from steps import OPTIONS, TALK, step

PAGES = 16 << 20  # bytes that every rank touches at its start


class Watch:
    """Looks at the ranks from the outside while a step runs: call(pids) once, when `talk` has been running for a while."""

    def __init__(self, call, after):
        self.call, self.after, self.result = call, after, None

    def run(self):
        import threading
        self.thread = threading.Thread(target=self.body)
        self.thread.start()
        return self

    def body(self):
        try:
            wait_for(lambda: len(talkers()) >= 4, "ranks", 120)
            time.sleep(self.after)
            self.result = self.call(talkers())
        except Exception as error:  # told by the scenario's own thread
            self.result = error

    def done(self):
        self.thread.join()
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def talkers():
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, KeyError, ValueError):
            if place.joinpath("comm").read_text() == "talk\n":
                words = dict(word.split("=", 1) for word in place.joinpath("environ").read_text().split("\0") if "=" in word)
                found[int(words["SLURM_PROCID"])] = int(place.name)
    return found


def big_pages(pid):
    """NUMA node -> pages, of anonymous mappings as large as what the rank touched."""
    nodes = {}
    for line in pathlib.Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        found = {int(node): int(pages) for node, pages in re.findall(r" N(\d+)=(\d+)", line)}
        if " anon=" in line and sum(found.values()) * 4096 >= PAGES * 0.9:
            for node, pages in found.items():
                nodes[node] = nodes.get(node, 0) + pages
    return nodes


def pages_by_rank(ranks):
    return {rank: big_pages(pid) for rank, pid in ranks.items()}


def memory_step(name, memory):
    """pair traffic from Slurm's cyclic binding: half of the ranks have to change their node. Pages at the end of the phase."""
    def ends(ranks):
        """Pages, seen until the process is gone; the last look counts."""
        pages = {}
        while True:
            with contextlib.suppress(OSError):
                now = pages_by_rank(ranks)
                if all(now.values()):
                    pages = now
            if not all(os.path.exists(f"/proc/{pid}") for pid in ranks.values()):
                return pages
            time.sleep(0.3)
    watch = Watch(ends, 0).run()
    watched = step(name, ["-n4"], [TALK, "--memory", PAGES >> 20, "quiet:20", "pair:60", "quiet:20"],
                   online=f"{OPTIONS},decide=always,memory={memory}")
    pages = watch.done()
    check(len(pages) == 4, f"pages seen: {pages}")
    first = {rank: process for ranks in reversed(watched.series) for rank, process in ranks.items()}
    last = {rank: process for ranks in watched.series for rank, process in ranks.items()}
    table = {rank: (node_of(first[rank]), node_of(last[rank])) for rank in last if rank in first}
    gone = {rank for rank, (before, now) in table.items() if before != now}
    check(gone, f"no rank changed its node: {table}; {watched.report['notes']}")
    return watched, pages, table, gone


def majority(pages):
    return max(pages, key=pages.get)


@scenario("2x4")
def memory_follows_its_rank():
    said = []
    for memory in ("follow", "auto"):
        balancing = pathlib.Path("/proc/sys/kernel/numa_balancing")
        if balancing.exists():
            balancing.write_text("0")
        watched, pages, table, gone = memory_step(f"memory_{memory}", memory)
        for rank in gone:
            check(majority(pages[rank]) == table[rank][1],
                  f"{memory}: rank {rank} went {table[rank]}, its pages are {pages[rank]}: {watched.report['notes']}")
        said.append(f"{memory}: {len(gone)} ranks and their pages moved")
    return "; ".join(said)


@scenario("2x4")
def memory_stays():
    watched, pages, table, gone = memory_step("memory_stay", "stay")
    for rank in gone:
        check(majority(pages[rank]) == table[rank][0], f"rank {rank} went {table[rank]}, its pages are {pages[rank]}")
    check(any("memory=stay" in note for note in watched.report["notes"]),
          f"the report does not say what stay means: {watched.report['notes']}")
    return f"{len(gone)} ranks moved, their pages did not"


def after(watched, when):
    """The last two settled samples, which have to be later than `when`: the mapper has had its turns by then."""
    good = settled(watched.series, 4)[-2:]
    check(len(good) == 2 and all(p["t"] > when for ranks in good for p in ranks.values()), "the step was over before the change")
    return good


@scenario("2x4")
def cpu_taken_away():
    """A CPU unplugged under a running step: the next intervals use what is left."""
    gone = 5
    switch = pathlib.Path(f"/sys/devices/system/cpu/cpu{gone}/online")
    watch = Watch(lambda ranks: (switch.write_text("0"), time.monotonic())[1], 3).run()
    try:
        watched = step("unplugged", ["-n4", "-c2"], [TALK, "pair:60", "half:60", "quiet:40"], online=OPTIONS + ",decide=always")
    finally:
        when = watch.done()
        switch.write_text("1")
    inside_cpuset(watched.series)
    for ranks in after(watched, when):
        for rank, process in ranks.items():
            check(gone not in main_mask(process), f"rank {rank} is still bound to CPU {gone}: {show(ranks)}")
    return f"{show(after(watched, when)[-1])}; {watched.report['notes']}"


@scenario("2x4")
def cpuset_shrunk():
    """The step's own cgroup loses CPUs 4-7 while it runs: nobody is bound outside, the ranks share what is left."""
    def shrink(_):
        group = next(path for path in step_groups() if path.joinpath("cpuset.cpus").exists())
        group.joinpath("cpuset.cpus").write_text("0-3")
        return time.monotonic()
    watch = Watch(shrink, 3).run()
    watched = step("shrunk", ["-n4", "-c2"], [TALK, "pair:60", "half:60", "quiet:40"], online=OPTIONS + ",decide=always")
    when = watch.done()
    inside_cpuset(watched.series)
    later = after(watched, when)
    alone(later, 4)
    check({cpu for mask in masks(later[-1]).values() for cpu in mask} <= set(range(4)), f"{show(later[-1])}")
    return f"{show(later[-1])}; {watched.report['notes']}"


@contextlib.contextmanager
def slurm_with(*arguments):
    """The guest's Slurm with another configuration, and as it was afterwards."""
    def again(*words):
        state = pathlib.Path("/var/lib/vm-slurm")
        for file in sorted(state.glob("*.pid"), reverse=True):  # slurmd before slurmctld
            pid = file.read_text().strip()
            os.kill(int(pid), 15)
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), f"end of {file.stem}")
        root(str(HERE / "start_slurm"), *words)
    again(*arguments)
    try:
        yield
    finally:
        again()


@scenario("3+1")
def without_task_affinity():
    """task/cgroup alone: no task has a mask of its own; ranks get slots inside the step's cpuset."""
    with slurm_with("task/cgroup"):
        watched = step("no_affinity", ["-n4"], [TALK, "pair:40"], online=OPTIONS + ",decide=always")
    inside_cpuset(watched.series)
    check(watched.report["totals"]["remaps"], f"nothing was mapped: {watched.report['notes']}")
    alone([ranks for ranks in watched.series if len(ranks) == 4][-3:], 4)
    return f"{show(watched.series[-1])}; {watched.report['notes']}"


@scenario("3+1")
def without_constrained_cores():
    """The kernel does not hold the step: only the masks that task/affinity gave tell what is ours."""
    with slurm_with("task/cgroup,task/affinity", "no"):
        watched = step("unconstrained", ["-n2"], [TALK, "pair:40"], online=OPTIONS + ",decide=always")
    first = {rank: mask for ranks in reversed(watched.series) for rank, mask in masks(ranks).items()}
    given = {cpu for mask in first.values() for cpu in mask}
    inside_cpuset(watched.series, given)
    return f"given {sorted(given)}, {show(watched.series[-1])}; {watched.report['notes']}"


@scenario("3+1")
def without_any_confinement():
    """task/affinity absent and ConstrainCores off: nothing says which CPUs are the step's. It runs to its end."""
    with slurm_with("task/cgroup", "no"):
        watched = step("unconfined", ["-n2"], [TALK, "pair:40"], online=OPTIONS)
    return f"{show(watched.series[-1])}; {watched.report['notes']}"


def in_container(name, *lines):
    """A step in a mount name space of the job's own, with the plugin's callbacks in it or not: it is mapped and counted as ever."""
    with slurm_with("task/cgroup,task/affinity", "yes", "1", "JobContainerType=job_container/tmpfs", "PrologFlags=Contain", *lines):
        watched = step(name, ["-n4"], [TALK, "pair:40", "mirror:40"], online=OPTIONS + ",decide=always,verbose")
        step_clean()
        rounds = [(seconds("srun", "-n2", "true"), seconds("srun", "-n2", "--ondeloc=online", "true")) for _ in range(5)]
    inside_cpuset(watched.series)
    alone(watched.series, 4)
    check(watched.report["matrix"], f"nothing was counted: {watched.report['notes']}")
    check(watched.report["totals"]["remaps"], f"nothing was mapped: {watched.report['notes']}")
    check("ondeloc" in watched.err, f"verbose, and no summary: {watched.err}")
    plain, ours = (1000 * statistics.median(column) for column in zip(*rounds))
    return (f"{watched.report['totals']}; {watched.report['events']}; {watched.report['notes']}; it said {watched.err.strip()!r}; "
            f"`srun -n2 true`: median of 5 without {plain:.0f} ms, with {ours:.0f} ms")


@scenario("3+1")
def private_tmp_and_shm():
    """job_container/tmpfs: tasks live in a mount name space with a /tmp and /dev/shm of their own."""
    return in_container("container")


@scenario("3+1", since=(24, 5))
def contain_spank():
    """Callbacks of slurmstepd run in short-lived clones inside of the job's name space."""
    return in_container("contain_spank", "SlurmdParameters=contain_spank")


@scenario("3+1", since=(24, 11))
def entire_step_in_namespace():
    """slurmstepd itself is started inside of the job's name space."""
    return in_container("entire_step", "job_container.conf:EntireStepInNS=true")


@scenario("3+1")
def two_nodes():
    """One step over two slurmds, each with its own mapper: what goes to the other node is counted as that, to the byte.
    Over TCP alone: Open MPI names shared memory by host, and both nodes are one host here."""
    count, size = 40, 1 << 18
    with slurm_with("task/cgroup,task/affinity", "yes", "2"):
        watched = step("two_nodes", ["-N2", "-n4", "--ntasks-per-node=2"], [TALK, "--bytes", size, f"pair:{count}", f"half:{count}"],
                       online=OPTIONS, report="report-%N.json", env={"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "dummy0"})
    reports = {report["node"]: report for report in watched.reports}
    check(sorted(reports) == ["node0", "node1"], f"reports of {sorted(reports)}")
    inside_cpuset(watched.series)
    for node, ranks in (("node0", (0, 1)), ("node1", (2, 3))):
        report = reports[node]
        off = {cell["src"]: cell["bytes"] for cell in report["off_node"]}
        check(off == {rank: count * size for rank in ranks}, f"{node}: off-node bytes {off}, sent were {count * size} by each of {ranks}")
        local = {(cell["src"], cell["dst"]): cell["bytes"] for cell in report["matrix"] if cell["bytes"]}
        check(local == {(rank, rank ^ 1): count * size for rank in ranks}, f"{node}: {local}")
    return f"{count * size} bytes off the node from every rank"
