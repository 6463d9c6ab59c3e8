# SPDX-License-Identifier: Apache-2.0
"""A job or step that is submitted from inside a step inherits no setting of ondeloc, and all settings of the user."""
import os
import pathlib

import harness

WATCHED = ("ONDELOC_STEP", "LD_PRELOAD", "ASAN_OPTIONS", "OMPI_MCA_hwloc_base_binding_policy", "HFI_NO_CPUAFFINITY")
LIBM = "/usr/lib/x86_64-linux-gnu/libm.so.6"
# The user sets the policy to the value that ondeloc would set: ONDELOC_STEP tells who set it.
USERS = {"LD_PRELOAD": LIBM, "ASAN_OPTIONS": "detect_leaks=0", "OMPI_MCA_hwloc_base_binding_policy": "none"}
JOB = """#!/bin/sh
env > batch.env
srun -n1 --ondeloc=off env > off.env
srun -n1 --ondeloc=online env > online.env
touch done
"""


class InheritedEnv(harness.Case):
    def seen(self, name):
        """The variables in question in an environment that a step or script has written."""
        lines = (line.split("=", 1) for line in pathlib.Path(self.dir, f"{name}.env").read_text().splitlines())
        return {words[0]: words[1] for words in lines if words[0] in WATCHED}

    def setUp(self):
        super().setUp()
        self.write("ranks.txt", "rank 0=localhost slot=0-1\n")
        self.job = self.write("job.sh", JOB)

    def test_a_job_submitted_from_inside(self):
        # A rankfile alone changes the environment of a task that gets all CPUs of the machine.
        static = ("static:ranks.txt",) if len(os.sched_getaffinity(0)) == 2 else ()
        for option in "online", *static, "static:ranks.txt,report=r.json", "profile:app.prof":
            for users in {}, USERS:
                with self.subTest(option, users=users):
                    done = pathlib.Path(self.dir, "done")
                    done.unlink(missing_ok=True)
                    self.assert_ran(self.srun("-n1", "sh", "-c", f"env > step.env; sbatch --quiet -o job.out {self.job}",
                                              ondeloc=option, env=users))
                    self.assertTrue(harness.wait_for(done.exists, 60))
                    self.assertNotEqual(self.seen("step"), users, "nothing was set: this test tests nothing")
                    self.assertEqual(self.seen("batch"), users)
                    self.assertEqual(self.seen("off"), users)
                    self.assert_own(self.seen("online"), users)

    def assert_own(self, seen, users):
        """The inner step has its own settings, each once, and records them as its own."""
        before = f"{users['LD_PRELOAD']}:" if users else ""
        self.assertEqual(seen["LD_PRELOAD"], before + harness.RANK_LIB)
        self.assertEqual(seen["ASAN_OPTIONS"], "detect_leaks=0:verify_asan_link_order=0" if users else "verify_asan_link_order=0")
        self.assertTrue(seen["ONDELOC_STEP"].endswith(" set=asan"), seen)

    def test_a_step_inside_a_step(self):
        inner = "srun -n1 --overlap --overcommit --ondeloc=off env > off.env"
        for users in {}, USERS:
            self.assert_ran(self.srun("-n1", "--overlap", "sh", "-c", inner, ondeloc="online", env=users))
            self.assertEqual(self.seen("off"), users)


if __name__ == "__main__":
    harness.main()
