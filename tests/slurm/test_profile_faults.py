# SPDX-License-Identifier: Apache-2.0
"""A recorder killed, stopped, without a file or with a full disk, and damaged files: one sentence, all complete blocks
usable, the job unharmed."""
import contextlib
import os
import pathlib
import signal
import subprocess

import harness
import profiling


class Recorder(profiling.Profiling):
    @contextlib.contextmanager
    def recording(self, *arguments, keys="", name="app.prof"):
        """The partner-changing program runs and its recorder has begun; checks that the job ends well."""
        with self.start_srun(f"-n{self.ranks}", f"{harness.APPS}/partners", *arguments,
                             ondeloc=f"profile:{name}{keys}") as run:
            self.assertTrue(harness.wait_for(lambda: harness.pids_of("ondeloc-mapper"), 20))
            yield harness.pids_of("ondeloc-mapper")
            self.out, self.err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, self.out + self.err)

    def size(self, name="app.prof"):
        path = pathlib.Path(self.dir, name)
        return path.stat().st_size if path.exists() else 0

    def test_killed(self):
        with self.recording("-s", "3") as pids:
            self.assertTrue(harness.wait_for(lambda: self.size() > 1000, 20))
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        info = self.info()
        self.assertFalse(info["complete"])
        self.assertGreater(info["messages"], 0)
        self.assertGreater(info["counted_messages"], 0, "totals are written while the program runs")
        self.assertIn("did not end by itself", info["damage"])
        self.assertEqual(self.err.count("the recorder was killed: the profile ends early"), 1, self.err)
        self.ondeloc("clusters", "app.prof")
        self.ondeloc("map", "app.prof", "--oversubscribe")

    def test_stopped_for_a_while(self):
        """The ranks do not wait: they drop, and the profile counts what is missing."""
        with self.recording("-s", "2", "-b", "8", "-p", "0", keys=",cells=2") as pids:
            for sent in signal.SIGSTOP, signal.SIGCONT:
                for pid in pids:
                    os.kill(pid, sent)
                progress = self.size()
                if sent == signal.SIGSTOP:
                    harness.wait_for(lambda: False, 1.5)
                    self.assertEqual(self.size(), progress)
        info = self.info()
        self.assertTrue(info["complete"])
        self.assertGreater(info["dropped_messages"], 0)
        self.assertEqual(info["messages"] + info["dropped_messages"], info["counted_messages"])
        self.assertEqual(info["bytes"] + info["dropped_bytes"], info["counted_bytes"])
        said = self.of_partners(self.out)
        self.assertEqual(sum(messages for _, messages in said.values()), info["counted_messages"])
        self.assertIn("dropped because the recorder was behind", self.err)

    def test_no_file(self):
        result = self.srun(f"-n{self.ranks}", f"{harness.APPS}/send_modes",
                           ondeloc="profile:/nonexistent/app.prof")
        self.assert_ran(result)
        self.assertIn("nothing is recorded", result.stderr)

    def test_two_steps_on_one_file(self):
        """Each has its profile whole, under two names."""
        step = f"srun --quiet --overlap --overcommit -n{self.ranks} --ondeloc=profile:app.prof {harness.APPS}/partners -s 2"
        result = self.run_user("salloc", "--quiet", "--overcommit", f"-n{self.ranks}", "sh", "-c", f"{step} & {step}; wait")
        self.assert_ran(result)
        names = sorted(path.name for path in pathlib.Path(self.dir).glob("app.prof*"))
        self.assertEqual(len(names), 2, names)
        self.assertRegex(names[1], r"^app\.prof\.\d+\.[01]\.\d+$")
        self.assertEqual(result.stderr, "ondeloc: another step writes profile 'app.prof': this one is recorded with "
                         f"'{names[1].removeprefix('app.prof')}' behind that name\n")
        for name in names:
            self.assert_whole(self.info(name))

    def test_file_size_limit(self):
        """Slurm gives the limits of who calls srun to the tasks alone; the recorder can have one from elsewhere."""
        with self.recording("-s", "3", "-p", "1000") as pids:
            for pid in pids:
                self.assert_ran(self.run_user("prlimit", f"--pid={pid}", "--fsize=6000"))
        told = [line for line in self.err.splitlines() if "ondeloc" in line]
        self.assertEqual(len(told), 1, self.err)
        self.assertIn("ends early, its complete blocks are usable: File too large", told[0])
        self.assertFalse(self.info()["complete"])
        self.assertLessEqual(self.size(), 6000)

    def test_full_disk(self):
        """It fills up when something is recorded."""
        disk = pathlib.Path(self.dir, "disk")
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=48k,uid={harness.USER.pw_uid}", "none", disk],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-q", disk], check=False)
        with self.recording("-s", "4", "-p", "1000", name="disk/app.prof"):
            self.assertTrue(harness.wait_for(lambda: self.size("disk/app.prof") > 1000, 20))
            with contextlib.suppress(OSError), open(disk / "rest", "wb", buffering=0) as rest:
                while rest.write(bytes(4096)) == 4096:
                    pass
        told = [line for line in self.err.splitlines() if "ondeloc" in line]
        self.assertEqual(len(told), 1, self.err)
        self.assertIn("ends early, its complete blocks are usable: No space left on device", told[0])
        info = self.info("disk/app.prof")
        self.assertFalse(info["complete"])
        self.assertGreater(info["messages"], 0)
        self.ondeloc("clusters", "disk/app.prof")
        subprocess.run(["umount", disk], check=True)


class Damage(profiling.Profiling):
    def change(self, name, change):
        path = pathlib.Path(self.dir, name)
        path.write_bytes(change(pathlib.Path(self.dir, "app.prof").read_bytes()))

    def assert_one_sentence(self, name, usable, *command):
        result = self.profile(*command, name)
        self.assertEqual(result.returncode == 0, usable, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(name, result.stderr)
        return result

    def test_damaged_files(self):
        self.record("partners", "-s", "2", "-b", "8")
        self.assertGreater(self.info()["blocks"], 2)
        self.change("cut", lambda whole: whole[:len(whole) * 3 // 4])
        self.change("bent", lambda whole: whole[:900] + bytes([whole[900] ^ 8]) + whole[901:])
        self.change("foreign", lambda whole: b"\x7fELF" + bytes(range(256)) * 40)
        self.change("empty", lambda whole: b"")
        for name in "cut", "bent":
            self.assert_one_sentence(name, True, "metrics")
            self.assertGreater(self.info(name)["messages"], 0)
            self.assertLess(self.info(name)["messages"], self.info()["messages"])
        for name in "foreign", "empty", "absent":
            self.assert_one_sentence(name, False, "metrics")
            self.assert_one_sentence(name, False, "info")


if __name__ == "__main__":
    harness.main()
