# SPDX-License-Identifier: Apache-2.0
"""Online remapping: whole node, partial allocation beside another job, uneven nodes."""
from harness import alone, check, finish, inside_cpuset, scenario, settled, show, start, wait_for, root
from steps import OPTIONS, TALK, moved, predicted, remote_share, step


def follows_the_partners(watched, size, patterns, cpuset):
    """In each phase the remote share falls to what the command line predicts for that traffic."""
    said = []
    for pattern in patterns:
        seen = remote_share(watched.last(pattern, size), pattern)
        wanted = predicted(pattern, size, cpuset, watched.report["algorithm"])
        check(seen <= wanted + 1e-9, f"{pattern}: remote share {seen} in /proc, predicted {wanted}: {show(watched.last(pattern, size))}; "
              f"report: remaps {watched.report['totals']}, notes {watched.report['notes']}")
        first = next(ranks for ranks in watched.during(pattern) if len(ranks) == size)
        said.append(f"{pattern} {remote_share(first, pattern):.2f}->{seen:.2f} (predicted {wanted:.2f})")
    check(moved(watched.series), f"no rank moved: {show(watched.series[-1])}, notes {watched.report['notes']}")
    return ", ".join(said) + f"; {watched.report['totals']['remaps']} remaps"


@scenario("2x4 4x2 2x2x2")
def whole_node_changing_partners():
    watched = step("whole_node", ["-n8"], [TALK, "quiet:10", "pair:60", "half:60", "mirror:60"], online=OPTIONS + ",decide=always")
    inside_cpuset(watched.series)
    alone(watched.series, 8)
    return follows_the_partners(watched, 8, ["pair", "half", "mirror"], range(8))


@scenario("2x4")
def partial_allocation_beside_another_job():
    other = start("srun", "-n3", "sleep", "1000")
    try:
        wait_for(lambda: root("squeue", "-h", "-t", "R", "-o", "%i").strip(), "the other job")
        watched = step("partial", ["-n4"], [TALK, "quiet:10", "pair:60", "mirror:60"], online=OPTIONS + ",decide=always")
    finally:
        other.terminate()
        finish(other, status=None)
    sleepers = watched.samples.ranks("sleep")
    taken = {cpu for ranks in sleepers for p in ranks.values() for cpu in p["cpuset"]}
    check(len(taken) == 3, f"the other job has CPUs {sorted(taken)}, not 3")
    inside_cpuset(watched.series, set(range(8)) - taken)
    inside_cpuset(sleepers, taken)
    alone(watched.series, 4)
    cpuset = {cpu for p in watched.series[-1].values() for cpu in p["cpuset"]}
    check(not cpuset & taken, f"cpusets {cpuset} and {taken} overlap: the guest's Slurm does not confine")
    return f"other job {sorted(taken)}, ours {sorted(cpuset)}, " + follows_the_partners(watched, 4, ["pair", "mirror"], cpuset)


@scenario("3+1")
def uneven_nodes():
    """The rank that sits alone on the small node is one of the only two that talk."""
    watched = step("uneven", ["-n4"], [TALK, "quiet:10", "last:60", "mirror:60"], online=OPTIONS + ",decide=always")
    inside_cpuset(watched.series)
    alone(watched.series, 4)
    return follows_the_partners(watched, 4, ["last", "mirror"], range(4))


@scenario("2x4")
def lammps_in_the_open():
    """A real application: masks stay inside the cpuset, ranks apart, and the result is what it is without ondeloc."""
    script = "/home/user/in.melt"
    with open(script, "w") as file:
        file.write("units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 4 0 4 0 4\ncreate_box 1 box\n"
                   "create_atoms 1 box\nmass 1 1.0\nvelocity all create 3.0 87287 loop geom\npair_style lj/cut 2.5\n"
                   "pair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nneigh_modify every 20 delay 0 check no\nfix 1 all nve\n"
                   "thermo 25\nrun 50\n")
    watched = step("lammps", ["-n4"], ["lmp", "-in", script, "-log", "none"], comm="lmp", online=OPTIONS + ",decide=always")
    inside_cpuset(watched.series)
    alone(watched.series, 4)
    plain = step("lammps_plain", ["-n4"], ["lmp", "-in", script, "-log", "none"], comm="lmp", online=None)

    def thermo(text):
        rows = [line.split() for line in text.splitlines()]
        return [row for row in rows if len(row) >= 5 and row[0] in ("0", "25", "50")]
    check(len(thermo(watched.out)) == 3, f"LAMMPS did not finish: {watched.out[-800:]}")
    check(thermo(watched.out) == thermo(plain.out), f"LAMMPS computes {thermo(watched.out)}, without ondeloc {thermo(plain.out)}")
    return f"{watched.report['totals']['remaps']} remaps, {len(settled(watched.series, 4))} settled samples"
