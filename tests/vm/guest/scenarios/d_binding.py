# SPDX-License-Identifier: Apache-2.0
"""Static binding, threads, hardware threads, and other options of srun beside --ondeloc."""
import contextlib
import pathlib
import shutil

from harness import (STEADY, alone, check, finish, inside_cpuset, main_mask, masks, parted, root, run, sampled, scenario, settled,
                     shared_pu, show, start, wait_for)
from steps import OPTIONS, Phase, TALK, moved, pattern_bytes, remote_share, share_reached, steady, step

CPU = pathlib.Path("/sys/devices/system/cpu")


def siblings(cpu):
    """The hardware threads of a CPU's core, as the kernel lists them."""
    text = (CPU / f"cpu{cpu}/topology/core_cpus_list").read_text().strip()
    cpus = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        cpus |= set(range(int(low), int(high or low) + 1))
    return frozenset(cpus)


def static_masks(name, rankfile, words, option=""):
    path = f"/home/user/{name}.rankfile"
    with open(path, "w") as file:
        file.write("\n".join(rankfile) + "\n")
    shutil.copy("/bin/sleep", "/home/user/doze")  # no other job has this name
    with sampled(name) as samples:
        run("srun", f"--ondeloc=static:{path}{option}", *words, "/home/user/doze", "3")
    series = samples.ranks("doze")
    inside_cpuset(series)
    return {rank: set(mask) for ranks in series for rank, mask in masks(ranks).items()}


@scenario("2x4")
def static_rankfile():
    """Uses packages, cores and ranges on a machine whose logical and kernel numbers agree (8 cores, 4 in each package)."""
    seen = static_masks("static", ["rank 0=node0 slot=1:2", "rank 1=+n0 slot=0:0-1", "rank 2=node0 slot=7", "rank 3=node0 slot=1:0,1"],
                        ["-n4", "-c2"])
    wanted = {0: {6}, 1: {0, 1}, 2: {7}, 3: {4, 5}}
    check(seen == wanted, f"bound to {seen}, the rankfile says {wanted}")
    return str(seen)


@scenario("2x4")
def static_relative_wherever_the_allocation_starts():
    """Beside another job, `relative` counts inside the step's CPUs, and absolute numbers outside them are refused."""
    other = start("srun", "-n3", "sleep", "1000")
    try:
        wait_for(lambda: root("squeue", "-h", "-t", "R", "-o", "%i").strip(), "the other job")
        seen = static_masks("relative", ["rank 0=+n0 slot=3", "rank 1=+n0 slot=2", "rank 2=+n0 slot=1", "rank 3=+n0 slot=0"],
                            ["-n4"], ",relative")
        outside = pathlib.Path("/home/user/outside.rankfile")
        outside.write_text("".join(f"rank {rank}=+n0 slot={rank}\n" for rank in range(4)))
        refused = run("srun", "-n4", f"--ondeloc=static:{outside}", "true", status=None)
    finally:
        other.terminate()
        finish(other, status=None)
    check(seen == {0: {6}, 1: {5}, 2: {3}, 3: {2}}, f"bound to {seen}; the step was expected on CPUs 2-3,5-6")
    check(refused.returncode != 0 and "ondeloc" in refused.stderr, f"CPUs of the other job were not refused: {refused.stderr}")
    return f"{seen}; outside: {refused.stderr.strip().splitlines()[0][:160]}"


@scenario("2x2x2")
def static_hardware_threads():
    """A core in a rankfile means all hardware threads of the core, as in mpirun."""
    check(len(siblings(0)) == 2, f"the guest's CPU 0 has the siblings {siblings(0)}: no hardware threads")
    seen = static_masks("static_smt", ["rank 0=node0 slot=1:1", "rank 1=node0 slot=0:0"], ["-n2", "-c4"])
    for rank, mask in seen.items():
        check(len({siblings(cpu) for cpu in mask}) == 1, f"rank {rank} is on several cores: {seen}")
        check(mask == siblings(min(mask)), f"rank {rank} has {mask} of core {siblings(min(mask))}")
    check(not seen[0] & seen[1], f"same core: {seen}")
    return str(seen)


def places(process):
    """{thread: mask} of the threads whose mask differs from that of the main thread."""
    return {tid: mask for tid, mask, _ in process["threads"]}


def openmp(name, env):
    """Returns two samples of the team at rest: before its ranks talk, and when each has found its partner."""
    traffic = pattern_bytes("pair", 4)
    watched = step(name, ["-n4", "-c2"], [TALK], env={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", **env},
                   online=OPTIONS + ",decide=always",
                   phases=[Phase("quiet", steady(4)),
                           Phase("pair", lambda series: parted(series, 4) and share_reached(series, traffic, 4) == 0)])
    inside_cpuset(watched.series)
    before, good = settled(watched.during("quiet"), 4), settled(watched.during("pair"), 4, STEADY)
    check(before and good, "no settled sample")
    first, last = before[0], good[-1]
    check(remote_share(last, traffic) == 0, f"partners are apart: {show(last)}; {watched.report['notes']}")
    return watched, first, last


@scenario("2x4")
def openmp_threads_move_with_their_rank():
    watched, _, last = openmp("openmp", {})
    alone(watched.talking(), 4)
    for rank, process in last.items():
        slot = set(main_mask(process))
        check(len(slot) == 2, f"rank {rank} has CPUs {slot}, not 2")
        for tid, mask in places(process).items():
            check(set(mask) == slot, f"rank {rank} thread {tid} has {mask}, its rank {slot}")
    return show(last).__str__()


@scenario("2x4")
def openmp_places_are_kept():
    """OMP_PLACES=cores binds thread 0 to the first CPU of the slot and thread 1 to the second, and this holds after a move."""
    watched, first, last = openmp("openmp_places", {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"})
    nodes = {cpu: cpu // 4 for cpu in range(8)}
    changed = 0
    for rank, process in last.items():
        before, now = places(first[rank]), places(process)
        single = {tid: mask[0] for tid, mask in now.items() if len(mask) == 1}
        # MPI's threads, which the main thread started, have its mask.
        check(len(set(single.values())) == 2, f"rank {rank}: its team is not on two CPUs: {now}")
        check(len({nodes[cpu] for cpu in single.values()}) == 1, f"rank {rank} lies over two nodes: {now}")
        check(list(single) == sorted(single) and list(single.values()) == sorted(single.values()),
              f"rank {rank}: threads changed their relative place: {before} -> {now}")
        changed += before != now
    return f"{changed} ranks moved"


def each_has_a_cpu(ranks):
    """Returns whether two threads of each rank are on different CPUs of one node, one each."""
    nodes = {cpu: cpu // 4 for cpu in range(8)}
    single = [{mask[0] for mask in places(process).values() if len(mask) == 1} for process in ranks.values()]
    return all(len(cpus) == 2 and len({nodes[cpu] for cpu in cpus}) == 1 for cpus in single)


@scenario("2x4")
def busy_threads_get_a_cpu_each():
    """threads=cores, also after the ranks have moved. The MPI library's threads stay free on both CPUs of their rank."""
    def apart(pattern):
        traffic = pattern_bytes(pattern, 4)
        return lambda series: parted(series, 4) and share_reached(series, traffic, 4) == 0 and all(
            each_has_a_cpu(ranks) for ranks in series[-STEADY:])
    watched = step("cores", ["-n4", "-c2"], [TALK, "--spin", 5000], env={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"},
                   online=OPTIONS + ",decide=always,threads=cores", phases=[Phase(name, apart(name)) for name in ("pair", "half")])
    inside_cpuset(watched.series)
    for name in "pair", "half":
        last = settled(watched.during(name), 4, STEADY)[-1]
        check(each_has_a_cpu(last), f"{name}: {[places(process) for process in last.values()]}; {watched.report['notes']}")
        for rank, process in last.items():
            slot = set().union(*places(process).values())
            check(len(slot) == 2, f"{name}: rank {rank} has CPUs {slot}, not 2")
            free = sum(set(mask) == slot for mask in places(process).values())
            check(free == len(places(process)) - 2 and free > 0, f"{name}: rank {rank} has threads on {places(process)}")
    check(all(len(rank["thread_cpus"]) == 2 for rank in watched.report["ranks"]), f"{watched.report['ranks']}")
    check(watched.report["totals"]["migrations"] > 0, "no rank has moved")
    return f"{[rank['thread_cpus'] for rank in watched.report['ranks']]}"


@contextlib.contextmanager
def kernel_settings(**wanted):
    """Sets these files of /proc/sys/kernel, and sets them back."""
    files = {pathlib.Path("/proc/sys/kernel", name): str(value) for name, value in wanted.items()}
    before = {file: file.read_text() for file in files}
    try:
        for file, value in files.items():
            file.write_text(value)
        yield
    finally:
        for file, value in before.items():
            file.write_text(value)


def cpus_of_team(process, count):
    """The CPUs of the threads that are bound to one CPU each, in the order of their creation; empty without `count` of them."""
    single = [mask[0] for _, mask in sorted(places(process).items()) if len(mask) == 1]
    return single if len(single) == count else []


def sharing_step(name, enough, **settings):
    """A rank on two CPUs of each of two nodes, whose threads 0 and 2, and 1 and 3, share pages."""
    with kernel_settings(**settings):
        return step(name, ["-n1", "-c8", "--cpu-bind=mask_cpu:0x33"], [TALK, "--spin", 100000, "--pause", 1000, "--share", 2],
                    env={"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}, online=OPTIONS + ",threads=sample",
                    phases=[Phase("quiet", enough)])


def partners_are_together(process):
    cpus = cpus_of_team(process, 4)
    return bool(cpus) and cpus[0] // 4 == cpus[2] // 4 and cpus[1] // 4 == cpus[3] // 4


@scenario("2x4")
def threads_that_share_pages_sit_together():
    """threads=sample with NUMA hinting faults and perf: the two pairs of threads end on one node each, and the report names them."""
    first = []

    def enough(series):
        if not first:
            first.extend(cpus_of_team(series[-1][0], 4) if series and series[-1] else [])
        return len(series) > 100 and all(partners_are_together(ranks[0]) for ranks in series[-STEADY:])
    watched = sharing_step("sample", enough, numa_balancing=1, perf_event_paranoid=2)
    rank, notes = watched.report["ranks"][0], watched.report["notes"]
    pairs = {(pair["first"], pair["second"]): pair["faults"] for pair in rank["thread_sharing"]}
    said = f"threads first on {first}, then on {rank['thread_cpus']}; {rank['thread_faults']} faults; {pairs}; {watched.report['totals']}; {notes}"
    nodes = [int(cpus) // 4 for cpus in rank["thread_cpus"]]
    check(len(nodes) == 4 and nodes[0] == nodes[2] != nodes[1] == nodes[3], said)
    check(list(pairs)[:2] in ([(0, 2), (1, 3)], [(1, 3), (0, 2)]), said)
    check(all(faults * 10 < min(pairs[0, 2], pairs[1, 3]) for pair, faults in pairs.items() if pair not in ((0, 2), (1, 3))), said)
    started_right = len(first) == 4 and first[0] // 4 == first[2] // 4
    check(started_right or any("threads that share pages were seated next to each other" in note for note in notes), said)
    return said


@scenario("2x4")
def threads_are_not_sampled_without_the_kernel():
    """If the kernel makes no hinting faults, or does not let users see them, one note says why, and threads have a core each."""
    said = []
    for name, settings, why in (("no_balancing", {"numa_balancing": 0, "perf_event_paranoid": 2}, "kernel.numa_balancing is 0"),
                                ("no_perf", {"numa_balancing": 1, "perf_event_paranoid": 3}, "kernel.perf_event_paranoid is 3")):
        watched = sharing_step(name, lambda series: len(series) > 5 and bool(cpus_of_team(series[-1].get(0, {"threads": []}), 4)),
                               **settings)
        rank, notes = watched.report["ranks"][0], watched.report["notes"]
        check(sum(why in note and note.startswith("threads=sample: page faults are not sampled") for note in notes) == 1, f"{notes}")
        check(len(rank["thread_cpus"]) == 4 and rank["thread_faults"] == 0 and not rank["thread_sharing"], f"{rank}")
        said.append(f"{name}: {rank['thread_cpus']}")
    return "; ".join(said)


def one_thread_a_core(series):
    for ranks in series:
        for rank, process in ranks.items():
            cores = [siblings(cpu) for cpu in main_mask(process)]
            check(len(cores) == len(set(cores)), f"rank {rank} has two hardware threads of a core: {show(ranks)}")
    for ranks in settled(series, 4, STEADY):
        cores = [siblings(cpu) for process in ranks.values() for cpu in main_mask(process)]
        check(len(cores) == len(set(cores)), f"two ranks share a core: {show(ranks)}")


@scenario("2x2x2")
def one_hardware_thread_a_core():
    said = []
    for word in ("--threads-per-core=1", "--hint=nomultithread"):
        watched = step("smt" + word.strip("-").replace("=", "_"), ["-n4", word], [TALK], online=OPTIONS + ",decide=always",
                       phases=[Phase(pattern, lambda series: parted(series, 4)) for pattern in ("pair", "half")])
        inside_cpuset(watched.series)
        one_thread_a_core(watched.talking())
        said.append(f"{word} {show(watched.series[-1])}")
    return "; ".join(said)


VARIANTS = [["--cpu-bind=none"], ["--cpu-bind=cores"], ["--cpu-bind=sockets"], ["--cpu-bind=ldoms"], ["--cpu-bind=map_cpu:6,2,0,4"],
            ["--distribution=block:block"], ["--distribution=cyclic:cyclic"], ["--exact"], ["--overlap"]]


@scenario("4x2")
def whatever_users_ask_of_srun():
    """Every variant runs to its end inside the cpuset; ranks that got CPUs of their own from Slurm still have them."""
    said = []
    for words in VARIANTS:
        own = not {"--cpu-bind=sockets", "--cpu-bind=ldoms"} & set(words)  # ondeloc cuts up a mask that all ranks share at first
        watched = step("variant" + words[0].strip("-").replace("=", "_").replace(":", "_"), ["-n4", *words], [TALK],
                       online=OPTIONS + ",decide=always",
                       phases=[Phase("half", (lambda series: parted(series, 4)) if own else steady(4))])
        inside_cpuset(watched.series)
        if own:
            good = settled(watched.during("half"), 4, STEADY)
            check(good and not shared_pu(good[-1]), f"{words[0]}: {shared_pu(good[-1]) if good else 'no settled sample'}")
        said.append(f"{words[0]} moved {moved(watched.series)}")
    return "; ".join(said)


@scenario("4x2")
def more_ranks_than_cpus():
    watched = step("overcommit", ["-n12", "--overcommit"], [TALK], online=OPTIONS, phases=[Phase("pair", steady(12))])
    inside_cpuset(watched.series)
    return f"{watched.report['notes']} {show(watched.series[-1])}"


@scenario("4x2")
def steps_and_jobs_at_once():
    """Two steps of one job run beside another job: each stays inside its own CPUs."""
    script = (f"srun --exact -n2 --ondeloc=online,{OPTIONS},report=a.json {TALK} pair:60 & "
              f"srun --exact -n2 --ondeloc=online,{OPTIONS},report=b.json {TALK} pair:60 & wait")
    with sampled("at_once") as samples:
        job = start("salloc", "-n4", "sh", "-c", script)
        other = start("srun", "-n3", f"--ondeloc=online,{OPTIONS}", TALK, "ring:60")
        finish(job)
        finish(other)
    steps = {}
    for sample in samples.all:
        for process in sample["procs"]:
            if process["comm"] == "talk" and process["rank"] is not None:  # during an exec the environment is empty
                steps.setdefault((process["job"], process["step"]), []).append(process)
    check(len(steps) == 3, f"steps seen: {list(steps)}")
    owned = {}
    for key, seen in steps.items():
        owned[key] = {cpu for process in seen for _, mask, _ in process["threads"] for cpu in mask}
    for key in owned:
        inside_cpuset(samples.ranks("talk", *key))
        for other_key in owned:
            check(key == other_key or not owned[key] & owned[other_key], f"steps share CPUs: {owned}")
    return str({f"{job}.{step}": sorted(cpus) for (job, step), cpus in owned.items()})
