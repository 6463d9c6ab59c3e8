# SPDX-License-Identifier: Apache-2.0
"""static:FILE binds as the file says, or ends the step at once with one sentence.

The private Slurm's topology= is two NUMA nodes of one core each: core 0 is CPU 0, core 1 is CPU 1.
"""
import os
import pathlib
import re
import shutil

import harness

TWO_GPUS = pathlib.Path(__file__).resolve().parents[1] / "data/topologies/made-2n-2gpu.xml"
SHOW = "echo $SLURM_PROCID $(grep Cpus_allowed_list /proc/self/status | cut -f2)"
MPI_SHOW = ("from mpi4py import MPI; import os; MPI.COMM_WORLD.Barrier(); "
            "print(MPI.COMM_WORLD.rank, *sorted(os.sched_getaffinity(0)))")
# Starts as many threads as CPU lists are given, waits until thread i may run on the CPUs of list i, for a minute at most, and
# prints the CPUs that each thread has then. They live for another second, so that the mapper counts them.
THREADS_SHOW = """
import os, sys, threading, time
wanted, over, threads = sys.argv[1:], threading.Event(), [os.getpid()]
for _ in wanted[1:]:
    thread = threading.Thread(target=over.wait)
    thread.start()
    threads.append(thread.native_id)
def cpus(thread):
    lines = open(f"/proc/self/task/{thread}/status").read().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list"))
end = time.monotonic() + 60
while [cpus(thread) for thread in threads] != wanted and time.monotonic() < end:
    time.sleep(0.01)
print(os.environ["SLURM_PROCID"], *[cpus(thread) for thread in threads])
time.sleep(1)
over.set()
"""
# Holds the job's first CPU until the test is done.
BESIDE_ANOTHER = ("srun --exact -n1 sh -c 'touch held.$SLURM_JOB_ID; until [ -e free.$SLURM_JOB_ID ]; do sleep 0.1; done' & "
                  "until [ -e held.$SLURM_JOB_ID ]; do sleep 0.1; done; %s; touch free.$SLURM_JOB_ID; wait")


def rankfile(*cores, host="localhost"):
    return "".join(f"rank {rank}={host} slot={core}\n" for rank, core in enumerate(cores))


class Static(harness.Case):
    def bind(self, text, options="", ranks=2, command=("sh", "-c", SHOW), timeout=harness.LONG):
        self.write("ranks.txt", text)
        return self.srun(f"-n{ranks}", *command, ondeloc="static:ranks.txt" + options, timeout=timeout)

    def assert_bound(self, result, *cpus):
        self.assert_ran(result)
        self.assertEqual(result.stderr, "")
        self.assertEqual(sorted(result.stdout.split("\n")[:-1]),
                         [f"{rank} {cpu}" for rank, cpu in enumerate(cpus)])

    def test_binds_as_the_file_says(self):
        self.assert_bound(self.bind(rankfile(1, 0)), 1, 0)
        self.assert_bound(self.bind(rankfile(0, 1)), 0, 1)
        self.assert_bound(self.bind(rankfile("0-1", 1)), "0-1", 1)

    def test_a_layout_binds_without_a_file(self):
        step = lambda layout, ranks=2: self.srun(f"-n{ranks}", "sh", "-c", SHOW, ondeloc=f"static:{layout}")
        self.assert_bound(step("lama:core"), 0, 1)
        self.assert_bound(step("lama:scbnh/bind=1n"), "0-1", "0-1")
        self.assert_bound(step("lama:core/oversubscribe", ranks=4), 0, 1, 0, 1)
        result = step("lama:core", ranks=4)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        self.assertIn("layout 'lama:core': lama: only 2 of 4 ranks have a place of their own: add /oversubscribe", result.stderr)
        self.assertIn("needs the level 'n'", step("lama:scb").stderr)

    def test_a_file_that_narrows_a_rank_is_told_of(self):
        self.write("ranks.txt", rankfile(0))
        result = self.srun("-n1", "-c2", "sh", "-c", SHOW, ondeloc="static:ranks.txt")
        self.assert_ran(result)
        self.assertEqual(result.stdout, "0 0\n")
        self.assertEqual(result.stderr, "ondeloc: rankfile 'ranks.txt': rank 0 gets 1 CPU, but the step has 2 for each rank; "
                                        "name more CPUs in the file or use a smaller srun -c\n")
        self.write("ranks.txt", rankfile("0-1"))
        result = self.srun("-n1", "-c2", "sh", "-c", SHOW, ondeloc="static:ranks.txt")
        self.assertEqual((result.stdout, result.stderr), ("0 0-1\n", ""))

    def test_ranks_away_from_their_gpu_are_told_of_in_one_line(self):
        """The site's topology has a GPU near each CPU, and the user gives all ranks the one near CPU 1."""
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        xml = shutil.copy(TWO_GPUS, f"{self.dir}/two-gpus.xml")
        harness.PLUGSTACK.write_text(re.sub(r"topology=\S+", f"topology={xml}", text), encoding="ascii")
        gpu = {"ROCR_VISIBLE_DEVICES": "0000:20:00.0"}
        self.write("ranks.txt", rankfile(1, 1, 1))
        self.assertEqual(self.srun("-n3", "true", ondeloc="static:ranks.txt", env=gpu).stderr, "")
        self.write("ranks.txt", rankfile(0, 0, 1))
        result = self.srun("-n3", "true", ondeloc="static:ranks.txt", env=gpu)
        self.assert_ran(result)
        self.assertRegex(result.stderr, "^ondeloc: rankfile 'ranks.txt': rank [01] is bound to CPUs 0, away from its GPU renderD129[^\n]*\n$")

    def test_host_names_and_more_ranks_than_cpus(self):
        self.assert_bound(self.bind(rankfile(1, 1, 0, 0, host="node0"), ranks=4), 1, 1, 0, 0)
        self.assert_bound(self.bind(rankfile(1, 0, host="+n0")), 1, 0)

    def test_mpi_ranks_stay_bound_in_mpi_init(self):
        result = self.bind(rankfile(1, "0-1"), command=("python3", "-c", MPI_SHOW))
        self.assert_ran(result)
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 1", "1 0 1"])

    def threads(self, text, *wanted, ranks=1, options=""):
        """Runs a program with as many threads as `wanted` has CPU lists."""
        return self.bind(text, options, ranks, ("python3", "-c", THREADS_SHOW, *wanted))

    def test_threads_get_their_places(self):
        text = rankfile("0-1") + "".join(f"rank 0 thread {thread} slot={core}\n" for thread, core in enumerate((1, 0, 1)))
        result = self.threads(text, "1", "0", "1")
        self.assert_ran(result)
        self.assertEqual((result.stdout, result.stderr), ("0 1 0 1\n", ""))
        # A thread without a line, created by a thread of one CPU, has all CPUs of the rank.
        result = self.threads(text, "1", "0", "1", "0-1")
        self.assertEqual((result.stdout, result.stderr), ("0 1 0 1 0-1\n", ""))

    def test_each_rank_has_threads_of_its_own(self):
        text = (rankfile("0-1", "0-1", 1) + "rank 1 thread 1 slot=0\nrank 0 thread 1 slot=0\n"
                "rank 0 thread 0 slot=1\nrank 1 thread 0 slot=1\nrank 2 thread 1 slot=1\n")
        result = self.threads(text, "1", "0", ranks=2)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 2 does not exist", result.stderr)
        text = text.replace("rank 2=localhost slot=1\n", "").replace("rank 2 thread 1 slot=1\n", "")
        result = self.threads(text, "1", "0", ranks=2)
        self.assert_ran(result)
        self.assertEqual((sorted(result.stdout.splitlines()), result.stderr), (["0 1 0", "1 1 0"], ""))

    def test_a_runtime_sees_all_cpus_of_the_rank(self):
        """A main thread with one CPU from the start would make GCC's OpenMP create one thread."""
        text = rankfile("0-1") + "rank 0 thread 0 slot=0\nrank 0 thread 1 slot=1\n"
        result = self.bind(text, ranks=1, command=(f"{harness.APPS}/openmp_cpus",))
        self.assert_ran(result)
        self.assertEqual([line.split(":")[0] for line in result.stdout.splitlines()], ["0", "1"])

    def test_the_report_tells_of_more_threads_or_fewer(self):
        text = rankfile("0-1") + "rank 0 thread 0 slot=1\nrank 0 thread 1 slot=0\n"
        for wanted, note in ((("1", "0", "0-1"), "rank 0: at most 3 threads were seen at a time, but the rankfile has places for 2; "
                              "the others ran on all CPUs of the rank"),
                             (("0-1",), "rank 0: at most 1 thread was seen at a time, but the rankfile has places for 2"),
                             (("1", "0"), None)):
            with self.subTest(wanted):
                result = self.threads(text, *wanted, options=",report=r.json")
                self.assert_ran(result)
                self.assertEqual(result.stdout, " ".join(("0", *wanted)) + "\n")
                notes = [text for text in self.report("r.json")["notes"] if "at a time" in text]
                self.assertEqual(notes, [note] if note else [])

    def on_cpu(self, cpu, options=""):
        """Runs a step of one CPU in a job of two: alone it gets CPU 0; beside another step that has CPU 0, it gets CPU 1."""
        step = f"srun --exact -n1 --ondeloc=static:ranks.txt{options} sh -c '{SHOW}'"
        return self.run_user("salloc", "--quiet", "-n2", "sh", "-c", BESIDE_ANOTHER % step if cpu else step)

    def test_relative_counts_inside_the_step(self):
        """Core 0 is another CPU in each of two one-CPU steps."""
        self.write("ranks.txt", rankfile(0))
        for cpu in 0, 1:
            result = self.on_cpu(cpu, ",relative")
            self.assertEqual(result.stdout.splitlines(), [f"0 {cpu}"], result.stderr)
        # The same file with machine-wide numbers fits only the step that has CPU 0.
        result = self.on_cpu(0)
        self.assertEqual(result.stdout.splitlines(), ["0 0"], result.stderr)
        result = self.on_cpu(1)
        self.assertEqual(result.stdout, "")
        self.assertIn("would run on CPUs 0, outside the step's CPUs 1", result.stderr)

    def test_a_file_says_itself_that_it_is_relative(self):
        self.write("bytes.mat", "0\n")
        self.assert_ran(self.run_user(f"{harness.STAGE}/bin/ondeloc", "map", "-t", "host", "--cpuset", "1", "-m", "bytes.mat",
                                      "-f", "rankfile", "--relative", "-o", "written.txt"))
        with open(f"{self.dir}/written.txt", encoding="utf-8") as file:
            written = file.read()
        self.assertIn("slot=0\n", written)
        self.write("ranks.txt", written.replace("localhost", "+n0"))
        for cpu in 0, 1:
            result = self.on_cpu(cpu)
            self.assertEqual(result.stdout.splitlines(), [f"0 {cpu}"], result.stderr)

    def test_relative_path_and_no_preload(self):
        os.mkdir(f"{self.dir}/sub", 0o755)
        self.write("sub/r.txt", rankfile(0, 1))
        result = self.srun("-n2", "env", ondeloc="static:sub/r.txt")
        self.assert_ran(result)
        self.assertNotIn("LD_PRELOAD", result.stdout)
        self.assertNotRegex(result.stdout, "ONDELOC_STEP=.* fd=")

    def test_cores_that_the_step_has_only_some_of(self):
        """The rank is not narrowed silently: core 1 belongs to the other step."""
        self.write("ranks.txt", rankfile("0-1"))
        for there, missing in (0, 1), (1, 0):
            result = self.on_cpu(there)
            self.assertEqual(result.stdout, "")
            self.assertIn(f"rank 0 would run on CPUs {missing}, outside the step's CPUs {there}", result.stderr)

    def test_ranks_in_mpi_init_do_not_hang(self):
        """The ranks wait for each other in MPI_Init when the error in the file is found."""
        self.assert_ran(self.bind(rankfile(0, 1, 0, 1), ranks=4, command=("python3", "-c", MPI_SHOW)))
        for text in rankfile(0, 1, 0, 7), rankfile(0, 1, 0):
            result = self.bind(text, ranks=4, command=("python3", "-c", MPI_SHOW))
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout, "")
            self.assertEqual(result.stderr.count("ondeloc:"), 1, result.stderr)

    WRONG = {
        "rank outside the step": (rankfile(0, 1, 0), "rank 2 does not exist: the step has 2 ranks"),
        "missing rank": (rankfile(0), "rank 1 is missing"),
        "duplicate rank": (rankfile(0, 1) + "rank 0=localhost slot=1\n", "stands on line 1 already"),
        "bad host": (rankfile(0, 1, host="elsewhere"), "is on host 'elsewhere'"),
        "bad slot": (rankfile(0, "x"), "slot 'x' is not of the form"),
        "thread outside its rank": (rankfile(0, 1) + "rank 1 thread 1 slot=0\n",
                                    "line 3: rank 1 thread 1 would run on CPUs 0, outside the CPUs 1 of its rank"),
        "thread of no rank": (rankfile(0, 1) + "rank 2 thread 0 slot=0\n", "thread 0 of rank 2 has a line, but the rank has none"),
        "bad thread": (rankfile(0, 1) + "rank 1 thread one slot=0\n", "found 'one', expected the number of a thread"),
        "slot outside the machine": (rankfile(0, 7), "core 7 does not exist"),
        "no rankfile": ("\x7fELF\x00", "line 1"),
    }

    def assert_ended(self, result, sentence):
        self.assertNotEqual(result.returncode, 0)
        said = [line for line in result.stderr.splitlines() if line.startswith("ondeloc:")]
        self.assertEqual(len(said), 1, result.stderr)
        self.assertIn(sentence, said[0])
        self.assertEqual(result.stdout, "")

    def test_errors_end_the_step(self):
        """If a rank were started, it would sleep for longer than the test waits for srun."""
        for name, (text, sentence) in self.WRONG.items():
            with self.subTest(name):
                result = self.bind(text, command=("sleep", "1000"))
                self.assert_ended(result, sentence)
                self.assertEqual(harness.wait_until_none_left(), [])

    def test_unreadable_file_ends_the_step(self):
        result = self.srun("-n2", "sleep", "1000", ondeloc="static:nowhere.txt")
        self.assert_ended(result, "rankfile 'nowhere.txt': No such file")
        path = self.write("roots.txt", rankfile(0, 1))
        os.chown(path, 0, 0)
        os.chmod(path, 0o600)
        result = self.srun("-n2", "sleep", "1000", ondeloc="static:roots.txt")
        self.assert_ended(result, "rankfile 'roots.txt': Permission denied")

    def test_a_failure_that_is_not_the_users_ends_nothing(self):
        """topology= is a setting of the site. One task reports its error, not every task."""
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        harness.PLUGSTACK.write_text(text.replace("topology=", "topology=no"), encoding="ascii")
        result = self.bind(rankfile(0, 1, 0, 1), ranks=4, command=("hostname",))
        self.assert_ran(result)
        self.assertEqual(len(result.stdout.splitlines()), 4)
        self.assertRegex(result.stderr, "^ondeloc: static: topology 'no[^\n]*; the job runs on without it\n$")

    def test_warn_runs_on(self):
        result = self.bind(rankfile(0, 7), ",on-error=warn", command=("hostname",))
        self.assert_ran(result)
        self.assertEqual(len(result.stdout.splitlines()), 2)
        self.assertEqual(result.stderr.count("ondeloc:"), 1, result.stderr)
        self.assertIn("the job runs on unbound", result.stderr)

    def test_report_of_a_static_step(self):
        result = self.bind(rankfile(1, 0), ",report=r.json",
                           command=("python3", "-c", MPI_SHOW))
        self.assert_ran(result)
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 1", "1 0"])
        report = self.report("r.json")
        self.assertEqual((report["mode"], report["algorithm"]), ("static", "none"))
        self.assertEqual([rank["final_cpus"] for rank in report["ranks"]], ["1", "0"])
        self.assertEqual(report["totals"]["remaps"], 0)


if __name__ == "__main__":
    harness.main()
