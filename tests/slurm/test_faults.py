# SPDX-License-Identifier: Apache-2.0
"""If something breaks, the job ends as it would without ondeloc, and nothing of ondeloc is left."""
import contextlib
import os
import pathlib
import re
import signal

import harness

WORK = f"{harness.APPS}/partners"
OPTION = "online,interval=100ms,report=r.json"
EARLY_END = "ondeloc: the mapper ended before the ranks: they stay where they are, and the report is preliminary or missing\n"
NO_START = f"ondeloc: the mapper did not start, the ranks stay where they are: {harness.MAPPER}: "


def memfds_of_ondeloc():
    """Processes of this private Slurm that hold a segment, those of root (slurmstepd) included."""
    held = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        links = []
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            links = list((process / "fd").iterdir())
        for link in links:
            with contextlib.suppress(OSError):
                if os.readlink(link).startswith("/memfd:ondeloc") and harness.is_ours(process):
                    held.add(process.name)
    return held


def stepd_of(pid):
    """The slurmstepd that is the parent of a task."""
    parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    assert harness.name_of_process(parent) == "slurmstepd"
    return parent


class Renamed:
    """Moves a file away while the block runs."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        os.rename(self.path, self.path + ".away")

    def __exit__(self, *_):
        os.rename(self.path + ".away", self.path)


def files_of_ondeloc():
    """Files in /dev/shm that have ondeloc's name: those of another program's tests among them."""
    return {path for path in pathlib.Path("/dev/shm").iterdir() if "ondeloc" in path.name}


class Faults(harness.Case):
    def setUp(self):
        super().setUp()
        self.there_before = files_of_ondeloc()

    def tearDown(self):
        super().tearDown()
        harness.wait_for(lambda: not memfds_of_ondeloc(), 60)
        self.assertEqual(memfds_of_ondeloc(), set(), "a segment is left")
        self.assertEqual(files_of_ondeloc() - self.there_before, set(), "a file is left in /dev/shm")

    def start(self, seconds, ranks=2):
        """Starts a step and waits until its mapper and ranks run."""
        running = self.start_srun(f"-n{ranks}", WORK, "-s", str(seconds), ondeloc=OPTION)
        self.assertTrue(harness.wait_for(lambda: harness.pids_of("ondeloc-mapper") and
                                         len(harness.pids_of("partners")) == ranks, 30))
        # Wait until the ranks have attached.
        self.assertTrue(harness.wait_for(self.all_attached, 30))
        self.assertGreater(len(memfds_of_ondeloc()), ranks, "the segment was not found: tearDown looks for nothing")
        return running

    def start_with_and_without(self):
        """Runs a step without ondeloc, then one with ondeloc."""
        for name, option in ("without", None), ("with", OPTION):
            yield self.start_at_work(name, option)
            self.assertEqual(harness.wait_until_none_left(), [])

    @staticmethod
    def said(text):
        """The lines of Slurm and ondeloc about the end of a step, without numbers that differ from step to step. Ranks that lose
        each other may print something or nothing; their lines are left out."""
        return sorted(set(re.sub(r"\d+", "N", line) for line in text.splitlines()
                          if re.match(r"ondeloc|slurmstepd|srun: (?!error: \S+: task)", line)))

    @staticmethod
    def all_attached():
        """A rank maps the segment at the end of MPI_Init."""
        return all("memfd:ondeloc" in pathlib.Path(f"/proc/{pid}/maps").read_text()
                   for pid in harness.pids_of("partners"))

    def start_at_work(self, name, option):
        """Waits until the ranks are past MPI_Init. Inside it the other ranks may call MPI_Abort when one is lost, and from Slurm
        24.11 on srun ends with the code of that call."""
        running = self.start_srun("-n4", f"--output={name}.%t", WORK, "-s", "30", "-i", "0.1", ondeloc=option)
        files = [pathlib.Path(self.dir, f"{name}.{rank}") for rank in range(4)]
        self.assertTrue(harness.wait_for(lambda: all(file.exists() and file.stat().st_size for file in files), 60))
        return running

    @staticmethod
    def oom_scores(name):
        return {pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text() for pid in harness.pids_of(name)}

    def assert_ends_well(self, running):
        out, err = running.communicate(timeout=harness.LONG)
        self.assertEqual(running.returncode, 0, err)
        self.assertIn("half 2 from", out)
        return err

    def test_mapper_killed(self):
        running = self.start(3, ranks=4)
        for pid in harness.pids_of("ondeloc-mapper"):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.assert_ends_well(running), EARLY_END)

    def test_mapper_is_what_the_kernel_ends_first_where_memory_is_out(self):
        running = self.start(3, ranks=4)
        # The mapper has its name since execve(2), and changes its score a little later.
        self.assertTrue(harness.wait_for(lambda: self.oom_scores("ondeloc-mapper") == {"1000\n"}, 30))
        self.assertNotIn("1000\n", self.oom_scores("partners"))
        self.assert_ends_well(running)

    def test_mapper_that_does_not_end(self):
        """The mapper blocks in the opening of a FIFO that is named as the topology."""
        fifo = f"{self.dir}/topology"
        os.mkfifo(fifo)
        os.chmod(fifo, 0o644)
        text = harness.PLUGSTACK.read_text(encoding="utf-8")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="utf-8")
        harness.PLUGSTACK.write_text(re.sub(r"topology=\S+", f"topology={fifo}", text), encoding="utf-8")
        late = "ondeloc: the mapper is not done 10 s after the last task: the report may be missing\n"
        for report, told in (",report=r.json", late), ("", ""):
            result = self.srun("-n4", WORK, "-m", "50", ondeloc=f"online{report}")
            with contextlib.suppress(OSError):  # killed if Slurm finds it
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            self.assert_ran(result)
            self.assertEqual(result.stderr, told)
            self.assertEqual(harness.wait_until_none_left(), [])

    def test_mapper_that_cannot_be_executed(self):
        with Renamed(harness.MAPPER):
            pathlib.Path(harness.MAPPER).write_text("no program\n", encoding="ascii")
            os.chmod(harness.MAPPER, 0o755)
            result = self.srun("-n4", WORK, "-m", "50", ondeloc=OPTION)
            self.assert_ran(result)
            self.assertEqual(result.stderr, NO_START + "this file cannot be executed (is it damaged?)\n")
            # The site's default makes the step online, not the user.
            self.with_default_online()
            result = self.srun("-n4", WORK, "-m", "50")
            self.assert_ran(result)
            self.assertEqual(result.stderr, "")

    def with_default_online(self):
        text = harness.PLUGSTACK.read_text(encoding="utf-8")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="utf-8")
        harness.PLUGSTACK.write_text(text.rstrip("\n") + " default=online\n", encoding="utf-8")

    def test_mapper_ignores_the_signals_of_the_job(self):
        running = self.start(3, ranks=4)
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP:
            os.kill(harness.pids_of("ondeloc-mapper")[0], number)
        self.assert_ends_well(running)
        self.assertEqual(len(self.report("r.json")["ranks"]), 4)

    def test_signals_of_a_process_group_pass_the_mapper_by(self):
        """A script ends its children with kill 0, or a tool stops every process of the step."""
        for name in "ABRT", "XCPU", "RTMIN":
            script = f"trap '' {name}; until pgrep -U $(id -u) ondeloc-mapper; do sleep 0.1; done; kill -{name} 0"
            result = self.srun("-n1", "bash", "-c", script, ondeloc="online,report=%s.json")
            self.assert_ran(result)
            self.assertEqual(result.stderr, "", name)

    def test_rank_killed(self):
        codes = []
        for name, option in ("without", None), ("with", OPTION):
            running = self.start_at_work(name, option)
            os.kill(harness.pids_of("partners")[0], signal.SIGKILL)
            running.communicate(timeout=harness.LONG)
            codes.append(running.returncode)
            self.assertEqual(harness.wait_until_none_left(), [])
        self.assertEqual(codes[0], codes[1])
        self.assertNotEqual(codes[0], 0)

    def test_scancel(self):
        ends = []
        for running in self.start_with_and_without():
            self.assert_ran(self.run_user("scancel", "--user", harness.USER.pw_name))
            _, err = running.communicate(timeout=harness.LONG)
            ends.append((running.returncode, self.said(err)))
        self.assertEqual(ends[1], ends[0])
        self.assertNotEqual(ends[0][0], 0)

    def test_slurmstepd_killed(self):
        """With or without ondeloc the tasks have no parent then; the mapper must not outlive them."""
        ends = []
        for running in self.start_with_and_without():
            os.kill(stepd_of(harness.pids_of("partners")[0]), signal.SIGKILL)
            self.run_user("scancel", "--user", harness.USER.pw_name)
            _, err = running.communicate(timeout=harness.LONG)
            ends.append((running.returncode, self.said(err)))
            for pid in harness.pids_of("partners"):
                with contextlib.suppress(ProcessLookupError):  # Slurm may be killing the process too
                    os.kill(pid, signal.SIGKILL)
        self.assertEqual(ends[1], ends[0])

    def test_report_directory_not_writable(self):
        os.mkdir(f"{self.dir}/roots", 0o755)
        for where, why in ("/proc/nowhere", "No such file or directory"), ("roots", "Permission denied"):
            result = self.srun("-n4", WORK, "-m", "50", ondeloc=f"online,report={where}/r.json")
            self.assert_ran(result)
            self.assertRegex(result.stderr, f"^ondeloc: [^\n]*{where}/r.json[^\n]*{why}\n$")
        self.assertEqual(os.listdir(f"{self.dir}/roots"), [])

    @staticmethod
    def told_in_log():
        text = pathlib.Path(harness.ROOT, "slurm", "slurmd-node0.log").read_text(encoding="utf-8", errors="replace")
        return text.count("the job runs on without it")

    def assert_runs_without(self, missing, key):
        logged = self.told_in_log()
        result = self.srun("-n4", WORK, "-m", "50", ondeloc="online,report=r.json")
        self.assert_ran(result)
        self.assertEqual(result.stderr, f"ondeloc: {missing}: No such file or directory ({key}= in plugstack.conf "
                         "says where it is); the job runs on without it\n")
        self.assertEqual(self.told_in_log() - logged, 1)
        self.assertFalse(pathlib.Path(self.dir, "r.json").exists())

    def test_rank_library_missing(self):
        with Renamed(harness.RANK_LIB):
            self.assert_runs_without(harness.RANK_LIB, "rank-lib")

    def test_mapper_file_missing(self):
        with Renamed(harness.MAPPER):
            self.assert_runs_without(harness.MAPPER, "libexec")

    def test_mapper_lacks_a_library(self):
        program = pathlib.Path(harness.MAPPER).read_bytes()
        self.assertIn(b"libhwloc.so.", program)
        with Renamed(harness.MAPPER):
            pathlib.Path(harness.MAPPER).write_bytes(program.replace(b"libhwloc.so.", b"libgone1.so."))
            os.chmod(harness.MAPPER, 0o755)
            result = self.srun("-n1", "hostname", ondeloc="online")
        self.assert_ran(result)
        self.assertRegex(result.stderr, rf"^{re.escape(NO_START)}error while loading shared libraries: libgone1\.so\.[^\n]*\n$")

    def test_files_that_others_can_write_are_not_used(self):
        os.chmod(harness.MAPPER, 0o775)
        self.addCleanup(os.chmod, harness.MAPPER, 0o755)
        result = self.srun("-n1", "hostname", ondeloc="online")
        self.assert_ran(result)
        self.assertIn("writable by others than root; the job runs on without it", result.stderr)

    def test_bad_word_in_plugstack(self):
        text = harness.PLUGSTACK.read_text(encoding="utf-8")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="utf-8")
        harness.PLUGSTACK.write_text(text.rstrip("\n") + " speed=3\n", encoding="utf-8")
        logged = self.told_in_log()
        result = self.srun("-n1", "hostname", ondeloc="online")
        self.assert_ran(result)
        self.assertIn("plugstack.conf: 'speed' is not known", result.stderr)
        self.assertEqual(self.told_in_log() - logged, 1)
        result = self.srun("-n1", "hostname")
        self.assert_ran(result)
        self.assertEqual(result.stderr, "", "who does not ask for ondeloc is not bothered")
        self.assertEqual(self.told_in_log() - logged, 2)


if __name__ == "__main__":
    harness.main()
