# SPDX-License-Identifier: Apache-2.0
"""Real applications compute the same with ondeloc as without."""
import pathlib
import platform
import re

import harness

LJ = pathlib.Path(harness.APPS, "in.lj")  # users may not read the tree
OPTION = "online,interval=100ms,max-interval=200ms,decide=always,report=r.%j.json"
# Each rank has two neighbours. Both start on the other NUMA node: another mapping is better by far, and ranks have to move.
SQUARE = "--cpu-bind=map_cpu:0,1,1,0"  # a grid of 2 x 2 ranks
RING = "--cpu-bind=map_cpu:0,1,0,1"    # 4 ranks in a row, periodic

# Debian's GROMACS refuses a CPU that does not announce rdtscp. Some virtual machines do not, so QEMU emulates a CPU there, for
# fewer steps because it is slow.
EMULATED = platform.machine() == "x86_64" and "rdtscp" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
GMX_MPI = ["qemu-x86_64", "-cpu", "max", "/usr/bin/gmx_mpi"] if EMULATED else ["gmx_mpi"]

SPC_TOPOLOGY = """#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
"""
MDP = f"""integrator = md
nsteps = {60 if EMULATED else 120}
dt = 0.002
nstenergy = 10
nstlog = 10
nstlist = 10
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen-vel = yes
gen-temp = 300
gen-seed = 7
"""


class Results(harness.Case):
    def assert_watched(self):
        """Checks that ondeloc watched the run: otherwise the comparison would show nothing."""
        harness.wait_until_none_left()
        name, = (path.name for path in pathlib.Path(self.dir).glob("r.*.json"))
        report = self.report(name)
        self.assertEqual(len(report["ranks"]), 4)
        self.assertGreater(sum(cell["bytes"] for cell in report["matrix"]), 100_000)
        self.assertGreater(report["totals"]["remaps"], 0, "nobody was moved")
        self.assertGreater(report["totals"]["migrations"], 0, "nobody was moved")

    def thermo(self, ondeloc):
        result = self.srun("-n4", SQUARE, "lmp", "-in", LJ, "-log", "none", "-var", "steps", "2000",
                           ondeloc=ondeloc)
        self.assert_ran(result)
        lines = result.stdout.splitlines()
        start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["Step", "Temp"])
        end = next(i for i, line in enumerate(lines) if line.startswith("Loop time"))
        return lines[start:end]

    def test_lammps(self):
        without = self.thermo(None)
        self.assertEqual(len(without), 22, without)
        self.assertEqual(self.thermo(OPTION), without)
        self.assert_watched()

    def energies(self, ondeloc, name):
        self.assert_ran(self.srun(
            "-n4", RING, *GMX_MPI, "mdrun", "-s", "w.tpr", "-deffnm", name, "-dd", "4", "1", "1", "-reprod", "-notunepme",
            "-dlb", "no", "-ntomp", "1", "-nb", "cpu", "-pin", "off", ondeloc=ondeloc))
        log = pathlib.Path(self.dir, f"{name}.log").read_text(encoding="utf-8", errors="replace")
        return re.findall(r"Energies \(kJ/mol\)\n(?:.+\n)+", log)

    def test_gromacs(self):
        """The box is 2 x 2 x 2 of the equilibrated spc216: no bad contacts, no minimisation needed."""
        self.write("md.mdp", MDP)
        self.write("w.top", SPC_TOPOLOGY)
        one = {"OMP_NUM_THREADS": "1"}
        self.assert_ran(self.run_user("gmx", "solvate", "-cs", "spc216.gro", "-box", *["3.72412"] * 3,
                                      "-p", "w.top", "-o", "w.gro", env=one))
        self.assert_ran(self.run_user("gmx", "grompp", "-f", "md.mdp", "-c", "w.gro", "-p", "w.top", "-o",
                                      "w.tpr", "-maxwarn", "5", env=one))
        without = self.energies(None, "a")
        self.assertGreater(len(without), 5)
        self.assertEqual(self.energies(OPTION, "b"), without)
        self.assert_watched()


if __name__ == "__main__":
    harness.main()
