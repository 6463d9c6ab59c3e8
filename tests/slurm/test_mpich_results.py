# SPDX-License-Identifier: Apache-2.0
"""A program that Debian builds for MPICH computes the same with ondeloc as without: ScaLAPACK's test of its LU factorization
(package scalapack-mpi-test), four ranks in a grid of two rows."""
import os
import pathlib
import re

import harness

PROGRAM = os.environ["ONDELOC_TEST_SCALAPACK"]
PROBLEMS = 12  # the run lasts for ten intervals and more
SIZES = " ".join(["1000", "1200", "900"] * (PROBLEMS // 3))
LU = f"""'ScaLAPACK LU factorization input file'
'ondeloc'
'LU.out'  output file name
6  device out
{PROBLEMS}  number of problem sizes
{SIZES}  values of M
{SIZES}  values of N
1  number of block sizes
8  block size
1  number of numbers of right hand sides
1  right hand sides
1  number of their block sizes
1  their block size
1  number of process grids
2  rows
2  columns
1.0  threshold
F  no condition numbers
"""
# The library gives the CPU of a rank that waits to others: there are more ranks than CPUs.
YIELD = {"LD_PRELOAD": f"{harness.APPS}/libucx_counts.so"}
LINE = re.compile(r"^WALL +(\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +\d+) .* (\w+)$", re.MULTILINE)


class Results(harness.Case):
    def solve(self, ondeloc):
        """The problems and how each one's residual was judged; the times between them differ."""
        result = self.srun("-n4", "--mpi=pmi2", "--cpu-bind=map_cpu:0,0,0,1", PROGRAM, ondeloc=ondeloc, env=YIELD)
        self.assert_ran(result)
        solved = LINE.findall(result.stdout)
        self.assertEqual(len(solved), PROBLEMS, result.stdout)
        self.assertEqual({judged for _, judged in solved}, {"PASSED"})
        return solved

    def test_scalapack(self):
        self.write("LU.dat", LU)
        without = self.solve(None)
        self.assertEqual(self.solve("online,interval=100ms,max-interval=200ms,decide=always,report=r.json"), without)
        report = self.report("r.json")
        self.assertEqual({rank["rank"] for rank in report["ranks"] if rank["pid"] != 0}, {0, 1, 2, 3})
        self.assertGreater(sum(cell["bytes"] for cell in report["matrix"]), 1_000_000)
        self.assertGreater(sum(row["bytes"] for row in report["modelled"]), 0)
        self.assertGreater(report["totals"]["migrations"], 0, "nobody was moved")


if __name__ == "__main__":
    harness.main()
