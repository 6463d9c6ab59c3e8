# SPDX-License-Identifier: Apache-2.0
"""Online remapping on a whole node, in a partial allocation beside another job, and on uneven nodes."""
import pathlib

from harness import alone, check, finish, inside_cpuset, scenario, settled, show, start, wait_for, root
from steps import OPTIONS, Phase, TALK, followed, follows, predicted, remote_share, report_bytes, share_reached, step


def following(patterns, size, cpuset):
    return [Phase(pattern, follows(pattern, size, cpuset)) for pattern in patterns]


@scenario("2x4 4x2 2x2x2")
def whole_node_changing_partners():
    patterns = ["pair", "half", "mirror"]
    watched = step("whole_node", ["-n8"], [TALK], online=OPTIONS + ",decide=always", phases=following(patterns, 8, range(8)))
    inside_cpuset(watched.series)
    alone(watched.talking(), 8)
    return followed(watched, 8, patterns, range(8))


@scenario("2x4")
def partial_allocation_beside_another_job():
    """Slurm gives the other job CPUs 0, 1 and 4: two are left on each node."""
    patterns, left = ["pair", "mirror"], [2, 3, 5, 6]
    other = start("srun", "-n3", "sleep", "1000")
    try:
        wait_for(lambda: root("squeue", "-h", "-t", "R", "-o", "%i").strip(), "the other job")
        watched = step("partial", ["-n4"], [TALK], online=OPTIONS + ",decide=always", phases=following(patterns, 4, left))
    finally:
        other.terminate()
        finish(other, status=None)
    sleepers = watched.samples.ranks("sleep")
    taken = {cpu for ranks in sleepers for p in ranks.values() for cpu in p["cpuset"]}
    check(len(taken) == 3, f"the other job has CPUs {sorted(taken)}, not 3")
    inside_cpuset(watched.series, set(range(8)) - taken)
    inside_cpuset(sleepers, taken)
    alone(watched.talking(), 4)
    cpuset = {cpu for p in watched.series[-1].values() for cpu in p["cpuset"]}
    check(not cpuset & taken, f"cpusets {cpuset} and {taken} overlap: the guest's Slurm does not confine")
    check(sorted(cpuset) == left, f"Slurm gave {sorted(cpuset)}, not {left} as it did when this was written")
    return f"other job {sorted(taken)}, ours {sorted(cpuset)}, " + followed(watched, 4, patterns, cpuset)


@scenario("3+1")
def uneven_nodes():
    """Only two ranks talk, and one of them is alone on the small node."""
    patterns = ["last", "mirror"]
    watched = step("uneven", ["-n4"], [TALK], online=OPTIONS + ",decide=always", phases=following(patterns, 4, range(4)))
    inside_cpuset(watched.series)
    alone(watched.talking(), 4)
    return followed(watched, 4, patterns, range(4))


@scenario("2x4")
def lammps_in_the_open():
    """A real application, cut in eight slices that each talk to the next: Slurm's cyclic binding is the worst for it. Like talk, it has
    one phase, which lasts until the samples show the claim. One rank reads from a file whether to go on and tells
    the others: with `fix halt` and is_file() each rank looks for itself, and ranks that found the file ended without the others."""
    script, more = "/home/user/in.melt", pathlib.Path("/home/user/in.more")
    more.write_text(f"run 200 pre no post no\njump {more}\n")

    def over():
        last = more.with_suffix(".last")
        last.write_text("print over\n")
        last.replace(more)
    with open(script, "w") as file:
        file.write("processors 8 1 1\nunits lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 16 0 3 0 3\n"
                   "create_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\nvelocity all create 3.0 87287 loop geom\n"
                   "pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nneigh_modify every 20 delay 0 check no\n"
                   f"fix 1 all nve\nthermo 20\nrun 0\nshell touch ring.begun\njump {more}\n")
    # Intervals hold several time steps, so their traffic is alike; `coordinated` always finds the best cut of such a chain. Several
    # cuts are equally good: each interval may have another one, and between two of them the masks have to be seen at rest.
    ring = Phase("ring", follows("ring", 8, range(8), "coordinated"), over)
    watched = step("lammps", ["-n8"], ["lmp", "-in", script, "-log", "none", "-var", "phase"], comm="lmp", phases=[ring],
                   online="algorithm=coordinated,interval=8s,max-interval=16s,decide=always")
    check("\nover\n" in watched.out, f"LAMMPS did not finish: {watched.out[-800:]}")
    inside_cpuset(watched.series)
    alone(watched.samples.ranks("lmp", since=ring.begin), 8)  # not in MPI_Init, see Step.talking
    traffic = report_bytes(watched.report)
    good = settled(watched.series, 8)
    check(good, f"no settled sample among {len(watched.series)}")
    before, seen = remote_share(good[0], traffic), share_reached(watched.series, traffic, 8)
    wanted = predicted("lammps", traffic, 8, range(8), watched.report["algorithm"])
    # The traffic of one interval is only roughly proportional to that of the whole run.
    check(seen <= wanted + 0.05, f"remote share {seen} in /proc, predicted {wanted}: {show(good[-1])}; {watched.report['totals']}")
    return f"{before:.2f}->{seen:.2f} (predicted {wanted:.2f}), {watched.report['totals']['remaps']} remaps, {len(good)} settled samples"
