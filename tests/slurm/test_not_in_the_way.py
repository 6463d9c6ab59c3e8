# SPDX-License-Identifier: Apache-2.0
"""What has nothing to do with ondeloc behaves with it as it does without."""
import pathlib
import re

import harness

ABORT = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); MPI.COMM_WORLD.Abort(7)"
SUM = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1))"

# Differ from step to step in any case.
VOLATILE = re.compile(r"^(SLURM_(JOB_?ID|STEP\w*|SRUN_\w*|TASK_PID|PMIXP?_\w*|JOB_(START|END)_TIME)|PMIX_\w*"
                      r"|OMPI_MCA_orte_precondition_transports)=")


class NotInTheWay(harness.Case):
    def assert_same(self, *arguments, ondeloc="online", env=None):
        """Exit status and output with and without are the same, and ondeloc says nothing."""
        without = self.srun(*arguments, env=env)
        with_it = self.srun(*arguments, ondeloc=ondeloc, env=env)
        self.assertEqual(with_it.returncode, without.returncode, with_it.stderr)
        self.assertEqual(sorted(with_it.stdout.splitlines()), sorted(without.stdout.splitlines()))
        self.assertNotIn("ondeloc:", with_it.stderr)
        self.assertNotIn("ld.so", with_it.stderr)
        return with_it

    def test_programs_without_mpi(self):
        self.assert_same("-n2", "hostname")
        self.assert_same("-n1", "sh", "-c", "exit 3")
        self.assert_same("-n1", "/nonexistent")
        self.assert_same("-n1", "sh", "-c", "kill -SEGV $$")

    def test_program_that_never_calls_mpi_init(self):
        self.assert_same("-n2", "ompi_info", "--version")

    def test_mpi_abort(self):
        self.assertNotEqual(self.assert_same("-n2", "python3", "-c", ABORT).returncode, 0)

    def test_overcommit(self):
        self.assertEqual(self.assert_same("-n6", "python3", "-c", SUM).stdout, "21\n" * 6)

    def test_other_mpi_plugins(self):
        for mpi in "none", "pmi2":
            with self.subTest(mpi):
                self.assert_same(f"--mpi={mpi}", "-n1", "python3", "-c", SUM)

    def test_mpirun_inside_a_step(self):
        """The ranks are children of mpirun; the step has one task, their world two ranks."""
        result = self.assert_same("-n1", "mpirun", "--mca", "plm", "rsh", "--mca", "ras", "^slurm",
                                  "--oversubscribe", "-n", "2", "python3", "-c", SUM)
        self.assertEqual(result.stdout, "3\n3\n", result.stderr)

    def test_off_changes_nothing_in_the_task(self):
        script = ("env -0 | sort -z | tr '\\0' '\\n'; ls -l /proc/self/fd | sed 's/.* -> //; s/[0-9]\\+/N/g' | sort; "
                  "grep Cpus_allowed /proc/self/status")
        without = self.srun("-n1", "sh", "-c", script).stdout
        off = self.srun("-n1", "sh", "-c", script, ondeloc="off").stdout
        stable = [[line for line in text.splitlines() if not VOLATILE.match(line)]
                  for text in (without, off)]
        self.assertGreater(len(stable[0]), 20)
        self.assertEqual(stable[1], stable[0])

    def test_online_does_change_the_environment(self):
        """So that the test above can fail."""
        result = self.srun("-n1", "env", ondeloc="online")
        self.assertIn("ONDELOC_STEP=v1 fd=", result.stdout)
        self.assertIn(f"LD_PRELOAD={harness.RANK_LIB}\n", result.stdout)

    def test_users_preload_and_policies_are_kept(self):
        users = {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libm.so.6", "HFI_NO_CPUAFFINITY": "0",
                 "OMPI_MCA_hwloc_base_binding_policy": "core"}
        result = self.srun("-n1", "env", ondeloc="online", env=users)
        lines = result.stdout.splitlines()
        self.assertIn(f"LD_PRELOAD={users['LD_PRELOAD']}:{harness.RANK_LIB}", lines)
        self.assertIn("HFI_NO_CPUAFFINITY=0", lines)
        self.assertIn("OMPI_MCA_hwloc_base_binding_policy=core", lines)

    def test_variable_and_precedence(self):
        self.assertIn("ONDELOC_STEP", self.srun("-n1", "env", env={"ONDELOC": "online"}).stdout)
        off = self.srun("-n1", "env", ondeloc="off", env={"ONDELOC": "online"})
        self.assertNotIn("ONDELOC_STEP", off.stdout)

    def test_batch_script_with_several_steps(self):
        script = self.write("job.sh", "#!/bin/sh\nenv > batch.env\n"
                            "for n in 1 2 3; do srun --overcommit -n2 env > step$n.env || exit 1; done\n"
                            "srun --ondeloc=off -n1 env > off.env\n")
        result = self.run_user("sbatch", "--wait", "-n2", "-o", "out.txt", "--ondeloc=online", script)
        self.assert_ran(result)
        text = {name: pathlib.Path(self.dir, name).read_text()
                for name in ("batch.env", "step1.env", "step2.env", "step3.env", "off.env", "out.txt")}
        self.assertNotIn("ONDELOC_STEP=", text["batch.env"])
        self.assertNotIn("ONDELOC_STEP=", text["off.env"])
        for step in 1, 2, 3:
            self.assertIn(f"step={step - 1}", text[f"step{step}.env"])
        self.assertEqual(text["out.txt"], "")

    def test_two_steps_at_once(self):
        script = ("for n in 1 2; do srun --exact -n1 --ondeloc=online,report=r.%j.%s.json "
                  f"python3 -c '{SUM}' & done; wait")
        result = self.run_user("salloc", "--quiet", "-n2", "sh", "-c", script)
        self.assertEqual(result.stdout, "1\n1\n", result.stderr)
        harness.wait_for(lambda: len(list(pathlib.Path(self.dir).glob("r.*.json"))) == 2, 5)
        reports = sorted(pathlib.Path(self.dir).glob("r.*.json"))
        self.assertEqual([path.name.split(".")[2] for path in reports], ["0", "1"])


if __name__ == "__main__":
    harness.main()
