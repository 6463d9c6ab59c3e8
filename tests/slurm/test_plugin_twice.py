# SPDX-License-Identifier: Apache-2.0
"""plugstack.conf names the plugin twice: a site wrote the line and also includes the installed file."""
import os
import pathlib

import harness

PROGRAM = """import time
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(20):
    world.sendrecv(bytes(1000), dest=(world.rank + 1) % world.size)
time.sleep(1 + world.rank)
world.Barrier()
"""


class PluginTwice(harness.Case):
    def setUp(self):
        super().setUp()
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        line = next(line for line in text.splitlines() if line.startswith("optional"))
        harness.PLUGSTACK.write_text(f"{line}\n{line}\n", encoding="ascii")

    def test_one_mapper_that_stays_until_the_end(self):
        program = self.write("program.py", PROGRAM)
        running = self.start_srun("-n2", "python3", program, ondeloc="online,verbose,report=r.json")
        self.assertTrue(harness.wait_for(lambda: harness.pids_of("ondeloc-mapper"), 30))
        # One task's task_init would start both mappers, so the second would appear at once.
        self.assertFalse(harness.wait_for(lambda: len(harness.pids_of("ondeloc-mapper")) > 1, 0.5))
        _, told = running.communicate(timeout=harness.LONG)
        self.assertEqual(running.returncode, 0, told)
        lines = told.splitlines()
        self.assertEqual(len([line for line in lines if "remaps" in line]), 1, told)
        self.assertFalse([line for line in lines if not line.startswith("ondeloc:")], told)
        report = self.report("r.json")
        self.assertGreater(report["totals"]["wall_ms"], 1900, "until the last task has ended")
        self.assertTrue(report["matrix"])

    def test_the_end_of_the_first_task_is_not_the_end(self):
        """When each task's end counted twice, half of the tasks were enough to end the step for the mapper."""
        ends = [pathlib.Path(self.dir, f"end.{task}") for task in (0, 1)]
        for end in ends:
            os.mkfifo(end)  # a task ends when the test has opened its pipe
        running = self.start_srun("-n2", "sh", "-c", "exec cat end.$SLURM_PROCID", ondeloc="online,report=r.json")
        self.assertTrue(harness.wait_for(lambda: len(harness.pids_of("cat")) == 2 and harness.pids_of("ondeloc-mapper"), 60))
        ends[0].write_bytes(b"")
        self.assertTrue(harness.wait_for(lambda: len(harness.pids_of("cat")) == 1, 60))
        self.assertFalse(harness.wait_for(lambda: not harness.pids_of("ondeloc-mapper"), 1.5), "the mapper left early")
        ends[1].write_bytes(b"")
        _, told = running.communicate(timeout=harness.LONG)
        self.assertEqual((running.returncode, told), (0, ""))
        self.assertGreater(self.report("r.json")["totals"]["wall_ms"], 1000)

    def test_a_bad_option_is_told_once(self):
        result = self.srun("-n1", "true", ondeloc="bogus")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assert_ran(self.run_user("sbatch", "--wait", "-o", "/dev/null", "--ondeloc=online", "--wrap", "srun -n1 true"))


if __name__ == "__main__":
    harness.main()
