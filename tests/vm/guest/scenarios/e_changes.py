# SPDX-License-Identifier: Apache-2.0
"""Memory that follows, CPUs that go away, other configurations of Slurm."""
import contextlib
import os
import pathlib
import re
import signal
import time

from harness import (BTL, Failed, HERE, STEADY, alone, check, inside_cpuset, masks, node_of, parted, root, scenario, settled,
                     shared_pu, show, step_clean, step_groups, wait_for)
from steps import OPTIONS, Phase, TALK, followed, follows, steady, step

PAGES = 16 << 20  # bytes that every rank touches at its start
STATE = pathlib.Path("/var/lib/vm-slurm")  # files of the guest's Slurm


def talkers():
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, KeyError, ValueError):
            if place.joinpath("comm").read_text() == "talk\n":
                words = dict(word.split("=", 1) for word in place.joinpath("environ").read_text().split("\0") if "=" in word)
                found[int(words["SLURM_PROCID"])] = int(place.name)
    return found


def big_pages(pid):
    """{NUMA node: pages} of the rank's anonymous mappings that are at least as large as the memory it touched."""
    nodes = {}
    for line in pathlib.Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        found = {int(node): int(pages) for node, pages in re.findall(r" N(\d+)=(\d+)", line)}
        if " anon=" in line and sum(found.values()) * 4096 >= PAGES * 0.9:
            for node, pages in found.items():
                nodes[node] = nodes.get(node, 0) + pages
    return nodes


def pages_by_rank(ranks):
    return {rank: big_pages(pid) for rank, pid in ranks.items()}


def moves(first, series):
    """{rank: (node before, node now)} of the ranks that changed their node."""
    table = {rank: (node_of(first[rank]), node_of(process)) for rank, process in series[-1].items() if rank in first}
    return {rank: pair for rank, pair in table.items() if None not in pair and pair[0] != pair[1]}


def memory_step(name, memory, right, touched=PAGES, before=(), at_last=None):
    """Runs `pair` traffic from Slurm's cyclic binding: half of the ranks have to change their node. The phase lasts until right(moves,
    pages of each rank) holds for the last sample. `before`: words in front of the program; at_last() is called before the
    first message, after all memory has been touched. With weight=bytes the empty messages of MPI_Init move nobody before that."""
    pathlib.Path("/proc/sys/kernel/numa_balancing").write_text("0")  # or the kernel moves pages, too
    first, last = {}, {}

    def at_rest(series):
        good = settled(series, 4)
        first.update(good[-1] if good else {})
        return bool(good)

    def enough(series):
        if not parted(series, 4):
            return False
        with contextlib.suppress(OSError):
            last.update(moves=moves(first, series), pages=pages_by_rank(talkers()))
        return len(last.get("pages", ())) == 4 and bool(last["moves"]) and right(last["moves"], last["pages"])
    watched = step(name, ["-n4"], [*before, TALK, "--memory", touched >> 20],
                   online=f"{OPTIONS},decide=always,weight=bytes,memory={memory}",
                   phases=[Phase("quiet", at_rest, at_last), Phase("pair", enough)])
    check(last.get("moves"), f"no rank changed its node: {[show(ranks) for ranks in watched.series[-2:]]}; {watched.report['notes']}")
    alone(watched.during("pair"), 4)  # the same while pages are copied: all ranks are bound before
    check(right(last["moves"], last["pages"]),
          f"{memory}: ranks went {last['moves']}, pages are {last['pages']}: {watched.report['notes']}")
    return watched, last["moves"]


def majority(pages):
    """Returns None while most pages are being moved: such pages are on no node."""
    return max(pages, key=pages.get, default=None)


def all_followed(went, pages):
    return all(majority(pages[rank]) == now for rank, (_, now) in went.items())


@contextlib.contextmanager
def huge_pages(when):
    """Sets transparent huge pages to `always`, as on many compute nodes, or `never`."""
    path = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    before = re.search(r"\[(\w+)\]", path.read_text())[1]
    path.write_text(when)
    try:
        yield
    finally:
        path.write_text(before)


def huge_kib(pid):
    return int(re.search(r"AnonHugePages:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text())[1])


@scenario("2x4")
def memory_follows_its_rank():
    said = []
    for when in "always", "never":
        huge = [0]

        def followed_so(went, pages):
            huge.append(max(map(huge_kib, talkers().values()), default=0))
            return all_followed(went, pages)
        with huge_pages(when):
            _, went = memory_step(f"memory_auto_{when}", "auto", followed_so)
        check((max(huge) >= PAGES >> 11) == (when == "always"), f"huge pages {when}: a rank has {max(huge)} KiB of them")
        said.append(f"{len(went)} ranks and their pages moved, {max(huge)} KiB of one in huge pages")
    return "auto: " + "; ".join(said)


def fill_with_files():
    """Fills nearly all free memory with file cache, as on any node that has run jobs for a day."""
    free = sum(free_by_node().values())
    path = pathlib.Path("/var/tmp/cached")
    with path.open("wb") as file:
        file.truncate(free * 21 // 20)  # reading a hole caches it like any file
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    return path


def free_by_node():
    return {int(place.parent.name[4:]): int(re.search(r"MemFree:\s+(\d+)", place.read_text())[1]) << 10
            for place in pathlib.Path("/sys/devices/system/node").glob("node*/meminfo")}


@scenario("2x4")
def memory_follows_where_files_fill_it():
    touched = 8 * PAGES
    cached = fill_with_files()
    try:
        free = free_by_node()
        check(max(free.values()) < touched, f"the file cache does not fill the memory: {free} bytes are free")
        _, went = memory_step("memory_cached", "follow", all_followed, touched)
    finally:
        cached.unlink()
    return f"{len(went)} ranks and their pages moved with {max(free.values()) >> 20} MiB free at most"


@scenario("2x4")
def memory_stays():
    """Waits for two more intervals after the move: pages that follow would have moved by then."""
    looks = []

    def stayed(went, pages):
        looks.append(all(majority(pages[rank]) == before for rank, (before, _) in went.items()))
        return len(looks) > 8 and all(looks)
    watched, went = memory_step("memory_stay", "stay", stayed)
    check(any("memory=stay" in note for note in watched.report["notes"]),
          f"the report does not say what stay means: {watched.report['notes']}")
    return f"{len(went)} ranks moved, their pages did not"


class Change:
    """A change of the machine under a running step, and its time: samples that began later show the kernel's reaction."""

    def __init__(self, call):
        self.call, self.begin, self.end = call, None, None

    def __call__(self):
        self.begin = time.monotonic()
        self.call()
        self.end = time.monotonic()

    def without(self, series):
        """Leaves out samples that were taken during the change."""
        return [ranks for ranks in series if all(p["t"] < self.begin or p["begin"] > self.end for p in ranks.values())]

    def after(self, watched):
        """Returns whether the samples are settled in the phase after the change."""
        good = settled(watched.during("half"), 4, STEADY)
        check(good, "no settled sample after the change")
        return good


def changed_under(name, change, right):
    """Runs a step of 4 ranks with 2 CPUs each. The change is made when each rank is beside its partner; the step then runs until
    right(newest sample)."""
    watched = step(name, ["-n4", "-c2"], [TALK], online=OPTIONS + ",decide=always",
                   phases=[Phase("pair", lambda series: parted(series, 4), change),
                           Phase("half", lambda series: bool(settled(series[-STEADY - 1:], 4, STEADY)) and right(series[-1]))])
    inside_cpuset(change.without(watched.series))
    moved = [line["moved"] for line in watched.report["intervals"] if line["remapped"]]
    check(len(moved) == watched.report["totals"]["remaps"], f"{watched.report['totals']}, but moved were {moved}")
    check(watched.report["totals"]["migrations"] <= sum(map(len, moved)), f"{watched.report['totals']}: {moved}")
    return watched


def cpus_of(ranks):
    return {cpu for mask in masks(ranks).values() for cpu in mask}


@scenario("2x4")
def cpu_taken_away():
    """A CPU is unplugged under a running step: the next intervals use the CPUs that are left."""
    gone = 5
    switch = pathlib.Path(f"/sys/devices/system/cpu/cpu{gone}/online")
    change = Change(lambda: switch.write_text("0"))
    try:
        watched = changed_under("unplugged", change, lambda ranks: gone not in cpus_of(ranks))
    finally:
        switch.write_text("1")
    for ranks in change.after(watched):
        check(gone not in cpus_of(ranks), f"somebody is still bound to CPU {gone}: {show(ranks)}")
    return f"{show(change.after(watched)[-1])}; {watched.report['notes']}"


@scenario("2x4")
def cpuset_shrunk():
    """The step's own cgroup loses CPUs 4-7 while it runs: no rank is bound outside, and the ranks share the CPUs that are left."""
    def shrink():
        group = next(path for path in step_groups() if path.joinpath("cpuset.cpus").exists())
        group.joinpath("cpuset.cpus").write_text("0-3")
    change = Change(shrink)
    watched = changed_under("shrunk", change, lambda ranks: cpus_of(ranks) <= set(range(4)) and not shared_pu(ranks))
    last = change.after(watched)[-1]
    check(not shared_pu(last), shared_pu(last))
    for ranks in change.after(watched):
        check(cpus_of(ranks) <= set(range(4)), f"outside of what is left: {show(ranks)}")
    return f"{show(last)}; {watched.report['notes']}"


@scenario("2x4")
def suspended():
    """scontrol suspend stops the mapper with the ranks: the report names the stopped time, no interval contains it, and mapping
    goes on."""
    def pause():
        job = root("squeue", "--noheader", "--format=%i").split()[0]
        root("scontrol", "suspend", job)
        time.sleep(4)
        root("scontrol", "resume", job)
    watched = changed_under("suspended", Change(pause), lambda ranks: not shared_pu(ranks))
    told = [note for note in watched.report["notes"] if note.startswith("the step was stopped for ")]
    check(told, f"the report does not tell of it: {watched.report['notes']}")
    return told[0]


def end_daemon(pid, name):
    """Slurm 24.11's slurmd of a second node was seen to print "Shutting down" and then to go on."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        os.kill(pid, sign)
        with contextlib.suppress(Failed):
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), f"end of {name}", 30)
            return
    raise Failed(f"{name} does not end")


@contextlib.contextmanager
def slurm_with(*arguments):
    """Restarts the guest's Slurm with another configuration, and with the old one afterwards."""
    def again(*words):
        for file in sorted(STATE.glob("*.pid"), reverse=True):  # slurmd ends before slurmctld
            end_daemon(int(file.read_text()), file.stem)
            file.unlink(missing_ok=True)
        root(str(HERE / "start_slurm"), *words)
    again(*arguments)
    try:
        yield
    finally:
        again()


@scenario("3+1")
def without_task_affinity():
    """With task/cgroup alone no task has a mask of its own; ranks get slots inside the step's cpuset."""
    with slurm_with("task/cgroup"):
        watched = step("no_affinity", ["-n4"], [TALK], online=OPTIONS + ",decide=always",
                       phases=[Phase("pair", lambda series: parted(series, 4))])
    inside_cpuset(watched.series)
    good = settled(watched.during("pair"), 4, STEADY)
    check(good and not shared_pu(good[-1]), shared_pu(good[-1]) if good else "no settled sample")
    return f"{show(good[-1])}; {watched.report['notes']}"


@scenario("3+1")
def without_constrained_cores():
    """The kernel does not confine the step: only task/affinity's masks tell the step's CPUs. `scatter` would take a CPU of
    the other node if it were allowed."""
    with slurm_with("task/cgroup,task/affinity", "no"):
        watched = step("unconstrained", ["-n2"], [TALK], online=OPTIONS + ",algorithm=scatter,decide=always",
                       phases=[Phase("pair", steady(2, 10))])
    first = {rank: mask for ranks in reversed(watched.series) for rank, mask in masks(ranks).items()}
    given = {cpu for mask in first.values() for cpu in mask}
    inside_cpuset(watched.series, given)
    return f"given {sorted(given)}, {show(watched.series[-1])}; {watched.report['notes']}"


@scenario("3+1")
def without_any_confinement():
    """Without task/affinity and ConstrainCores nothing tells the step's CPUs. The step runs to its end."""
    with slurm_with("task/cgroup", "no"):
        watched = step("unconfined", ["-n2"], [TALK], online=OPTIONS, phases=[Phase("pair", steady(2, 10))])
    return f"{show(watched.series[-1])}; {watched.report['notes']}"


def in_container(name, *lines):
    """Runs a step in a mount namespace of the job, with or without the plugin's callbacks in it: it is mapped and counted."""
    with slurm_with("task/cgroup,task/affinity", "yes", "1", "JobContainerType=job_container/tmpfs", "PrologFlags=Contain", *lines):
        patterns = ["last", "mirror"]
        watched = step(name, ["-n4"], [TALK], online=OPTIONS + ",decide=always,verbose",
                       phases=[Phase(pattern, follows(pattern, 4, range(4))) for pattern in patterns])
        step_clean()
    inside_cpuset(watched.series)
    alone(watched.talking(), 4)
    followed(watched, 4, patterns, range(4))
    check(watched.report["matrix"], f"nothing was counted: {watched.report['notes']}")
    check("ondeloc" in watched.err, f"verbose, and no summary: {watched.err}")
    return watched


def told(watched):
    return f"{watched.report['totals']}; {watched.report['events']}; {watched.report['notes']}; it said {watched.err.strip()!r}"


@scenario("3+1")
def private_tmp_and_shm():
    """job_container/tmpfs: tasks run in a mount namespace with a /tmp and /dev/shm of their own."""
    return told(in_container("container"))


@scenario("3+1", since=(24, 5))
def contain_spank():
    """Callbacks of slurmstepd run in short-lived clones inside the job's namespace."""
    watched = in_container("contain_spank", "SlurmdParameters=contain_spank")
    check(any("contain_spank" in note for note in watched.report["notes"]), f"no events, and no note: {watched.report['notes']}")
    return told(watched)


@scenario("3+1", since=(24, 11))
def entire_step_in_namespace():
    """slurmstepd itself is started inside the job's namespace."""
    return told(in_container("entire_step", "job_container.conf:EntireStepInNS=true"))


@scenario("3+1")
def node_without_files():
    """enable_configless: slurmd starts without a file in /etc/slurm and fetches Slurm's configuration, plugstack.conf included.
    Files that plugstack.conf includes are not sent, so the plugin's line stands in it."""
    line = next(pathlib.Path("/usr/local/etc/plugstack.conf.d").glob("*.conf")).read_text()
    with slurm_with("task/cgroup,task/affinity", "yes", "1", "SlurmctldParameters=enable_configless"):
        pathlib.Path("/etc/slurm/plugstack.conf").write_text(line)
        root("scontrol", "reconfigure")
        pid_file = STATE / "slurmd-node0.pid"
        end_daemon(int(pid_file.read_text()), "slurmd")
        root("unshare", "--mount", "sh", "-ec", "mount -t tmpfs tmpfs /etc/slurm; exec slurmd -N node0 --conf-server 192.0.2.1")
        served = STATE / "spool-node0/conf-cache/plugstack.conf"
        wait_for(lambda: served.exists() and root("sinfo", "-h", "-o", "%T").strip() == "idle", "node0 with a fetched configuration")
        check(served.read_text() == line, f"{served}: {served.read_text()}")
        node = int(pid_file.read_text())
        check(not os.listdir(f"/proc/{node}/root/etc/slurm"), "slurmd sees files in /etc/slurm")
        watched = step("configless", ["-n4"], [TALK], online=OPTIONS + ",decide=always",
                       phases=[Phase("mirror", follows("mirror", 4, range(4)))])
        step_clean()
    inside_cpuset(watched.series)
    followed(watched, 4, ["mirror"], range(4))
    check(watched.report["matrix"], f"nothing was counted: {watched.report['notes']}")
    return f"{show(watched.series[-1])}; {watched.report['notes']}"


def received(node):
    """Bytes that the node's network device has sent so far."""
    return int(pathlib.Path(f"/sys/class/net/to-{node}/statistics/rx_bytes").read_text())


@scenario("3+1")
def two_nodes():
    """One step runs over two slurmds, each with its own network, host name and mapper: bytes to the other node are counted as
    such exactly, and as many have crossed the wire."""
    count, size = 40, 1 << 18
    with slurm_with("task/cgroup,task/affinity", "yes", "2"):
        before = {node: received(node) for node in ("node0", "node1")}
        watched = step("two_nodes", ["-N2", "-n4", "--ntasks-per-node=2"], [TALK, "--bytes", size, f"pair:{count}", f"half:{count}"],
                       online=OPTIONS, report="report-%N.json", env={"OMPI_MCA_btl": BTL + ",tcp", "OMPI_MCA_btl_tcp_if_include": "eth0"})
        crossed = {node: received(node) - before[node] for node in before}
    reports = {report["node"]: report for report in watched.reports}
    check(sorted(reports) == ["node0", "node1"], f"reports of {sorted(reports)}")
    inside_cpuset(watched.series)
    for node, ranks in (("node0", (0, 1)), ("node1", (2, 3))):
        report = reports[node]
        off = {cell["src"]: cell["bytes"] for cell in report["off_node"]}
        check(off == {rank: count * size for rank in ranks}, f"{node}: off-node bytes {off}, sent were {count * size} by each of {ranks}")
        local = {(cell["src"], cell["dst"]): cell["bytes"] for cell in report["matrix"] if cell["bytes"]}
        check(local == {(rank, rank ^ 1): count * size for rank in ranks}, f"{node}: {local}")
        # Bytes between ranks of one node are not included: they would double the sum.
        check(2 * count * size <= crossed[node] < 3 * count * size, f"{node}: {crossed[node]} bytes left it, sent were {2 * count * size}")
    return f"{count * size} bytes off the node from every rank; {crossed} bytes left the nodes"
