# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests that run the same thing with and without ondeloc."""
import contextlib
import re

import harness

SUM = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1))"

# Variables that every step has, with values that differ from step to step.
VOLATILE = re.compile(rb"^(SLURM_(JOB_?(ID|SLUID)|STEP\w*|SRUN_\w*|TASK_PID|PMIXP?_\w*|JOB_(START|END)_TIME)|PMIX?_\w*"
                      rb"|OMPI_MCA_orte_precondition_transports)=.*", re.DOTALL)


@contextlib.contextmanager
def without_the_plugin():
    text = harness.PLUGSTACK.read_text(encoding="ascii")
    harness.PLUGSTACK.write_text("# nothing\n", encoding="ascii")
    try:
        yield
    finally:
        harness.PLUGSTACK.write_text(text, encoding="ascii")


class Comparing(harness.Case):
    @staticmethod
    def said(text):
        """Removes numbers that differ from run to run (pids, step ids) and sorts the lines of several tasks. How many tasks
        srun names in one line about their end differs too; the exit status shows it. slurmstepd prints once for each
        kill that the step is cancelled (seen: 1 to 3 times after one MPI_Abort, with and without ondeloc)."""
        lines = [re.sub(r"\d+", "N", line) for line in text.splitlines() if not re.match(r"srun: error: \S+: tasks? ", line)]
        cancelled = {line for line in lines if " CANCELLED AT " in line}
        return sorted([*cancelled, *(line for line in lines if line not in cancelled)])

    def assert_same(self, *arguments, ondeloc="online", env=None):
        """Checks that exit status and output are the same with and without ondeloc, and that ondeloc prints nothing."""
        without = self.srun(*arguments, env=env)
        with_it = self.srun(*arguments, ondeloc=ondeloc, env=env)
        self.assertEqual(with_it.returncode, without.returncode, with_it.stderr)
        self.assertEqual(sorted(with_it.stdout.splitlines()), sorted(without.stdout.splitlines()))
        self.assertEqual(self.said(with_it.stderr), self.said(without.stderr))
        self.assertNotIn("ondeloc:", with_it.stderr)
        self.assertNotIn("ld.so", with_it.stderr)
        return with_it
