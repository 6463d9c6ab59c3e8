# SPDX-License-Identifier: Apache-2.0
"""The model of MPICH's collectives under srun --mpi=pmi2, on one node and on two: the program compares what ondeloc has counted
after each call with what MPICH has handed to UCX, and the report counts the modelled part apart."""
import re

import harness
import test_nodes

TRUTH = f"{harness.APPS}/mpich_collectives_truth"
# Counts below MPICH. It also gives the CPU of a rank that waits to others: there are more ranks than CPUs.
BELOW = {"LD_PRELOAD": f"{harness.APPS}/libucx_counts.so"}
RESULT = re.compile(r"cases (\d+) exact (\d+) bytes (\d+) wrong (\d+)")


class Collectives(test_nodes.TwoNodes):
    def run_truth(self, *arguments, env=None):
        """(cases, exact, bytes) and the rest of the output"""
        result = self.srun("-n4", "--mpi=pmi2", *arguments, ondeloc="online,decide=never,report=r-%N.json",
                           env={**BELOW, **(env or {})})
        self.assert_ran(result)
        found = RESULT.search(result.stdout)
        self.assertIsNotNone(found, result.stdout)
        return tuple(int(word) for word in found.groups()[:3]), result.stdout

    def assert_exact(self, nodes, *arguments, env=None):
        (cases, exact, length), output = self.run_truth(*arguments, env=env)
        self.assertGreaterEqual(exact, 0.98 * cases, output)
        reports = [self.report(f"r-{node}.json") for node in nodes]
        modelled = [row for report in reports for row in report["modelled"]]
        self.assertEqual(sorted(row["src"] for row in modelled), [0, 1, 2, 3])
        self.assertGreaterEqual(sum(row["bytes"] for row in modelled), length)
        counted = sum(cell["bytes"] for report in reports for cell in report["matrix"] + report["off_node"])
        self.assertLessEqual(sum(row["bytes"] for row in modelled), counted)
        self.assertIn("by a model of MPICH's algorithms", " ".join(reports[0]["notes"]))

    def test_one_node(self):
        self.assert_exact(["node0"], TRUTH, "36", "20000")

    def test_two_nodes(self):
        for layout, size in ("block", "44"), ("cyclic", "20000"):
            with self.subTest(layout):
                self.assert_exact(["node0", "node1"], "-N2", "-m", layout, TRUTH, size,
                                  env={"SLURM_CONF": f"{test_nodes.DIR}/slurm.conf"})

    def test_a_message_that_ondeloc_does_not_see(self):
        (cases, exact, _), output = self.run_truth(TRUTH, "36", env={"TRUTH_ONE_MORE": "1", "TRUTH_ONLY": "alltoall"})
        self.assertEqual((cases, exact), (3, 0), output)


if __name__ == "__main__":
    harness.main()
