# SPDX-License-Identifier: Apache-2.0
"""Programs that do not need ondeloc behave with it as they do without it."""
import os
import pathlib

import comparing
import harness

# One rank aborts: if two did, the step might end before the second one has printed its message.
ABORT = "from mpi4py import MPI; MPI.COMM_WORLD.rank or MPI.COMM_WORLD.Abort(7); MPI.COMM_WORLD.Barrier()"
MEET = """import pathlib, sys, time
from mpi4py import MPI
me, other = sys.argv[1], "21"[int(sys.argv[1]) - 1]
pathlib.Path("here." + me).touch()
end = time.monotonic() + 30
while not pathlib.Path("here." + other).exists() and time.monotonic() < end:
    time.sleep(0.02)
print("step", me, "met" if pathlib.Path("here." + other).exists() else "missed", "step", other)
"""

SEE = ("env -0 > task.env; ls -l /proc/self/fd | sed 's/.* -> //; s/[0-9]\\+/N/g' | sort; ulimit -a; umask; "
       "grep -E 'Cpus_allowed|Mems_allowed|Sig|Cap' /proc/self/status")


class NotInTheWay(comparing.Comparing):
    def test_programs_without_mpi(self):
        self.assert_same("-n2", "hostname")
        self.assert_same("-n1", "sh", "-c", "exit 3")
        self.assert_same("-n1", "/nonexistent")
        self.assert_same("-n1", "sh", "-c", "kill -SEGV $$")

    def test_the_loader_has_no_error_to_tell(self):
        self.assertEqual(self.assert_same("-n1", f"{harness.APPS}/dlerror_first").stdout, "no error\n")

    def test_libraries_with_an_mpi_of_their_own(self):
        """A sequential MUMPS brings such a library. Loaded without RTLD_GLOBAL it follows no other library in the search order."""
        for how in "linked", "dlopen":
            result = self.assert_same("-n2", f"{harness.APPS}/serial_{how}")
            self.assertEqual((result.returncode, result.stdout), (0, "1 2 3\n" * 2))

    def test_two_mpis_in_one_program(self):
        """Each library calls the MPI that it was linked with, whatever else has been loaded."""
        for order in "first", "last":
            result = self.assert_same("-n2", f"{harness.APPS}/two_mpis", order)
            self.assertEqual((result.returncode, sorted(result.stdout.splitlines())), (0, ["1 2 3"] * 2 + ["of 2"] * 2))

    def test_exceptions_through_mpi(self):
        """An error handler throws an exception through one of ondeloc's wrappers."""
        result = self.assert_same("-n2", f"{harness.APPS}/throws")
        self.assertEqual((result.returncode, result.stdout), (0, "caught 1 1\n" * 2))

    def test_program_that_never_calls_mpi_init(self):
        self.assert_same("-n2", "ompi_info", "--version")

    def test_mpi_abort(self):
        self.assertNotEqual(self.assert_same("-n2", "python3", "-c", ABORT).returncode, 0)

    def test_overcommit(self):
        self.assertEqual(self.assert_same("-n6", "python3", "-c", comparing.SUM).stdout, "21\n" * 6)

    def seen_by_a_task(self, ondeloc=None, env=None, told=None):
        """Returns (environment, the rest) of a task: every variable byte by byte, except values of comparing.VOLATILE.
        The task's standard error is appended to `told`."""
        result = self.srun("-n1", "sh", "-c", SEE, ondeloc=ondeloc, env=env)
        self.assert_ran(result)
        if told is not None:
            told += result.stderr.splitlines()
        variables = pathlib.Path(self.dir, "task.env").read_bytes().split(b"\0")
        self.assertGreater(len(variables), 20)
        return sorted(comparing.VOLATILE.sub(rb"\1", variable) for variable in variables), result.stdout

    def test_off_changes_nothing_in_the_task(self):
        """Compares with a Slurm without ondeloc."""
        users = {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libm.so.6", "HFI_NO_CPUAFFINITY": "0",
                 "OMPI_MCA_hwloc_base_binding_policy": "core"}
        for env in {}, users:
            with comparing.without_the_plugin():
                without = self.seen_by_a_task(env=env)
            self.assertFalse([name for name in without[0] if b"ONDELOC" in name])
            self.assertEqual(self.seen_by_a_task(env=env), without)
            self.assertEqual(self.seen_by_a_task("off", env=env), without)
            online = self.seen_by_a_task("online", env=env)
            changed = {name.split(b"=")[0] for name in {*online[0]} ^ {*without[0]}}
            self.assertLessEqual({b"ONDELOC_STEP", b"LD_PRELOAD"}, changed, "nothing changes that could be seen")

    def test_online_does_change_the_environment(self):
        """Shows that the test above can fail."""
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

    def test_what_each_mode_sets(self):
        """ondeloc sets the variables that keep Open MPI and PSM2 from binding only for a task that is bound to all CPUs, because
        such a task looks unbound to them. Ranks that may be moved set them inside MPI_Init (test_own_binding.py)."""
        self.write("one.txt", "rank 0=localhost slot=0\n")
        self.write("all.txt", "rank 0=localhost slot=0-1\n")
        watching = {"ONDELOC_STEP", "LD_PRELOAD", "ASAN_OPTIONS"}
        binding = {"OMPI_MCA_hwloc_base_binding_policy", "HFI_NO_CPUAFFINITY", "ONDELOC_STEP"}
        of_all = binding if len(os.sched_getaffinity(0)) == 2 else set()  # a larger machine has more CPUs than these two
        for option, wanted in (("off", set()), ("profile:app.prof", watching), ("online,decide=never", watching),
                               ("online", watching), ("online,decide=always", watching),
                               ("static:one.txt", set()), ("static:one.txt,report=r.json", watching),
                               ("static:all.txt", of_all), ("static:all.txt,report=r.json", watching | of_all)):
            with self.subTest(option):
                result = self.srun("-n1", "env", ondeloc=option)
                self.assert_ran(result)
                names = {line.split("=")[0] for line in result.stdout.splitlines()}
                self.assertEqual(names & (watching | binding), wanted)

    def test_options_of_the_address_sanitizer_are_kept(self):
        for users, wanted in ((None, "verify_asan_link_order=0"), ("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"),
                              ("verify_asan_link_order=1", "verify_asan_link_order=1")):
            result = self.srun("-n1", "env", ondeloc="online", env=users and {"ASAN_OPTIONS": users})
            self.assertIn(f"ASAN_OPTIONS={wanted}", result.stdout.splitlines())
        self.assertNotIn("ASAN_OPTIONS", self.srun("-n1", "env", ondeloc="off").stdout)

    def test_a_preload_too_long_to_keep_is_left_alone(self):
        """A variable that is too long to extend stays as the user set it; ondeloc says so in one sentence and is off."""
        libm = "/usr/lib/x86_64-linux-gnu/libm.so.6"
        users = {"LD_PRELOAD": ":".join([libm] * 2000)}
        self.assertGreater(len(users["LD_PRELOAD"]), 64 * 1024)
        with comparing.without_the_plugin():
            without = self.seen_by_a_task(env=users)
        self.assertIn(b"LD_PRELOAD=" + users["LD_PRELOAD"].encode(), without[0])
        told = []
        self.assertEqual(self.seen_by_a_task("online,report=r.json", env=users, told=told), without)
        self.assertEqual(told, ["ondeloc: LD_PRELOAD is longer than 65536 characters; the job runs on without it"])
        self.assertFalse(pathlib.Path(self.dir, "r.json").exists())
        said = self.srun("-n2", "python3", "-c", comparing.SUM, ondeloc="online", env=users)
        self.assertEqual((said.returncode, said.stdout), (0, "3\n3\n"), said.stderr)
        self.assertEqual(said.stderr.splitlines(), told)

    def test_variable_and_precedence(self):
        self.assertIn("ONDELOC_STEP", self.srun("-n1", "env", env={"ONDELOC": "online"}).stdout)
        off = self.srun("-n1", "env", ondeloc="off", env={"ONDELOC": "online"})
        self.assertNotIn("ONDELOC_STEP", off.stdout)

    def test_batch_script_with_several_steps(self):
        script = self.write("job.sh", "#!/bin/sh\nenv > batch.env\n"
                            "for n in 1 2 3; do srun --quiet --overcommit -n2 env > step$n.env || exit 1; done\n"
                            "srun --quiet --ondeloc=off -n1 env > off.env\n")
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
        # Each step waits in MPI for the other's file, so both end well only if they overlap in time.
        self.write("meet.py", MEET)
        script = ("for n in 1 2; do srun --exact -n1 --ondeloc=online,report=r.%j.%s.json "
                  "python3 meet.py $n & done; wait")
        result = self.run_user("salloc", "--quiet", "-n2", "sh", "-c", script)
        self.assertEqual(sorted(result.stdout.splitlines()), ["step 1 met step 2", "step 2 met step 1"], result.stderr)
        harness.wait_for(lambda: len(list(pathlib.Path(self.dir).glob("r.*.json"))) == 2, 60)
        reports = sorted(pathlib.Path(self.dir).glob("r.*.json"))
        self.assertEqual([path.name.split(".")[2] for path in reports], ["0", "1"])


if __name__ == "__main__":
    harness.main()
