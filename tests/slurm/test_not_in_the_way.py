# SPDX-License-Identifier: Apache-2.0
"""What has nothing to do with ondeloc behaves with it as it does without."""
import contextlib
import pathlib
import re

import harness

ABORT = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); MPI.COMM_WORLD.Abort(7)"
SUM = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1))"
MEET = """import pathlib, sys, time
from mpi4py import MPI
me, other = sys.argv[1], "21"[int(sys.argv[1]) - 1]
pathlib.Path("here." + me).touch()
end = time.monotonic() + 30
while not pathlib.Path("here." + other).exists() and time.monotonic() < end:
    time.sleep(0.02)
print("step", me, "met" if pathlib.Path("here." + other).exists() else "missed", "step", other)
"""

# Values that differ from step to step in any case; the variables are there in every step.
VOLATILE = re.compile(rb"^(SLURM_(JOB_?ID|STEP\w*|SRUN_\w*|TASK_PID|PMIXP?_\w*|JOB_(START|END)_TIME)|PMIX_\w*"
                      rb"|OMPI_MCA_orte_precondition_transports)=.*", re.DOTALL)

SEE = ("env -0 > task.env; ls -l /proc/self/fd | sed 's/.* -> //; s/[0-9]\\+/N/g' | sort; ulimit -a; umask; "
       "grep -E 'Cpus_allowed|Mems_allowed|Sig|Cap' /proc/self/status")


@contextlib.contextmanager
def without_the_plugin():
    text = harness.PLUGSTACK.read_text(encoding="ascii")
    harness.PLUGSTACK.write_text("# nothing\n", encoding="ascii")
    try:
        yield
    finally:
        harness.PLUGSTACK.write_text(text, encoding="ascii")


class NotInTheWay(harness.Case):
    @staticmethod
    def said(text):
        """Without numbers that differ from run to run (pids, step ids); lines of several tasks in any order. How many tasks
        srun puts into one line about their end differs too: the exit status tells that."""
        return sorted(re.sub(r"\d+", "N", line) for line in text.splitlines()
                      if not re.match(r"srun: error: \S+: tasks? ", line))

    def assert_same(self, *arguments, ondeloc="online", env=None):
        """Exit status and output with and without are the same, and ondeloc says nothing."""
        without = self.srun(*arguments, env=env)
        with_it = self.srun(*arguments, ondeloc=ondeloc, env=env)
        self.assertEqual(with_it.returncode, without.returncode, with_it.stderr)
        self.assertEqual(sorted(with_it.stdout.splitlines()), sorted(without.stdout.splitlines()))
        self.assertEqual(self.said(with_it.stderr), self.said(without.stderr))
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
            for ranks in 1, 2:
                with self.subTest(mpi, ranks=ranks):
                    self.assert_same(f"--mpi={mpi}", f"-n{ranks}", "python3", "-c", SUM)

    def test_mpirun_inside_a_step(self):
        """The ranks are children of mpirun, which closes the segment on them; the step has one task, their world two ranks.
        They are left alone, and the report says that there was nothing to do."""
        result = self.assert_same("-n1", "mpirun", "--mca", "plm", "rsh", "--mca", "ras", "^slurm",
                                  "--oversubscribe", "-n", "2", "python3", "-c", SUM, ondeloc="online,report=r.json")
        self.assertEqual(result.stdout, "3\n3\n", result.stderr)
        report = self.report("r.json")
        self.assertIn("no process called MPI_Init under ondeloc: nothing was counted or moved", report["notes"])
        self.assertEqual(report["matrix"], [])
        self.assertEqual([rank["pid"] for rank in report["ranks"]], [0])

    def seen_by_a_task(self, ondeloc=None, env=None):
        """(environment, the rest) of a task: every variable byte by byte, but for values of VOLATILE."""
        result = self.srun("-n1", "sh", "-c", SEE, ondeloc=ondeloc, env=env)
        self.assert_ran(result)
        variables = pathlib.Path(self.dir, "task.env").read_bytes().split(b"\0")
        self.assertGreater(len(variables), 20)
        return sorted(VOLATILE.sub(rb"\1", variable) for variable in variables), result.stdout

    def test_off_changes_nothing_in_the_task(self):
        """Compared with a Slurm that does not know ondeloc."""
        users = {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libm.so.6", "HFI_NO_CPUAFFINITY": "0",
                 "OMPI_MCA_hwloc_base_binding_policy": "core"}
        for env in {}, users:
            with without_the_plugin():
                without = self.seen_by_a_task(env=env)
            self.assertFalse([name for name in without[0] if b"ONDELOC" in name])
            self.assertEqual(self.seen_by_a_task(env=env), without)
            self.assertEqual(self.seen_by_a_task("off", env=env), without)
            online = self.seen_by_a_task("online", env=env)
            changed = {name.split(b"=")[0] for name in {*online[0]} ^ {*without[0]}}
            self.assertLessEqual({b"ONDELOC_STEP", b"LD_PRELOAD"}, changed, "nothing changes that could be seen")

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
        # Each waits in MPI for the other's file: only steps that overlap in time end well.
        self.write("meet.py", MEET)
        script = ("for n in 1 2; do srun --exact -n1 --ondeloc=online,report=r.%j.%s.json "
                  "python3 meet.py $n & done; wait")
        result = self.run_user("salloc", "--quiet", "-n2", "sh", "-c", script)
        self.assertEqual(sorted(result.stdout.splitlines()), ["step 1 met step 2", "step 2 met step 1"], result.stderr)
        harness.wait_for(lambda: len(list(pathlib.Path(self.dir).glob("r.*.json"))) == 2, 5)
        reports = sorted(pathlib.Path(self.dir).glob("r.*.json"))
        self.assertEqual([path.name.split(".")[2] for path in reports], ["0", "1"])


if __name__ == "__main__":
    harness.main()
