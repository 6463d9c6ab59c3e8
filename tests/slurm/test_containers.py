# SPDX-License-Identifier: Apache-2.0
"""Ranks in containers: each task is bubblewrap, which runs the MPI program in a root of its own as another user namespace.

The container gets PMIx, the segment and LD_PRELOAD from the task. The rank library has to be mounted under the path that it
has on the node. The root is the one of this machine; only the mounts differ.
"""
import os
import shutil
import unittest

import harness

BWRAP = os.environ.get("ONDELOC_TEST_BWRAP") or shutil.which("bwrap")
LIBRARY_DIR = os.path.dirname(harness.RANK_LIB)
PROGRAM = (f"{harness.APPS}/partners", "-m", "200")


def container(*words):
    """The words of a container with the node's root, devices, processes and shared memory."""
    return (BWRAP, "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--bind", "/tmp", "/tmp", *words)


class Containers(harness.Case):
    def run_step(self, name, *words):
        """Runs the program, and returns what srun said and the report."""
        result = self.srun("-n4", *words, *PROGRAM, ondeloc=f"online,decide=always,interval=100ms,report={name}.json")
        self.assert_ran(result)
        return result, self.report(f"{name}.json")

    def cells(self, report):
        return {(cell["src"], cell["dst"]): (cell["bytes"], cell["messages"]) for cell in report["matrix"]}

    def test_ranks_in_containers_are_counted_as_others_are(self):
        _, outside = self.run_step("outside")
        result, inside = self.run_step("inside", *container())
        self.assertNotIn("LD_PRELOAD", result.stderr)
        self.assertEqual(self.cells(inside), self.cells(outside))
        self.assertTrue(all(rank["pid"] > 0 for rank in inside["ranks"]), inside["ranks"])
        self.assertIn("partners", inside["origin"]["program"])

    def test_without_the_mount_programs_run_and_one_line_says_that_they_are_not_counted(self):
        # A mapper that finds a container takes two looks, a tenth of a second apart.
        result, report = self.run_step("hidden", *container("--tmpfs", LIBRARY_DIR), "/bin/sh", "-c", 'sleep 1; exec "$@"', "sh")
        self.assertIn(f"'{harness.RANK_LIB}' from LD_PRELOAD cannot be preloaded", result.stderr)
        told = [line for line in result.stderr.splitlines() if "ondeloc: " in line]
        self.assertEqual(told, [f"ondeloc: the container of rank 0 lacks {LIBRARY_DIR}: not counted; mount it "
                                "(ondeloc site --containers) or use --ondeloc=off"])
        self.assertIn(told[0].removeprefix("ondeloc: "), report["notes"])
        self.assertEqual(report["matrix"], [])
        self.assertTrue(all(rank["pid"] == 0 for rank in report["ranks"]))
        self.assertTrue(any("MPI_Init" in note for note in report["notes"]), report["notes"])

    def test_a_container_without_the_mount_may_drop_the_variable(self):
        result = self.srun("-n1", *container("--tmpfs", LIBRARY_DIR, "--unsetenv", "LD_PRELOAD"), "/bin/echo", "ran", ondeloc="online")
        self.assert_ran(result)
        self.assertEqual(result.stdout, "ran\n")
        self.assertNotIn("LD_PRELOAD", result.stderr)


if __name__ == "__main__":
    unittest.TestCase.longMessage = True
    harness.main()
