# SPDX-License-Identifier: Apache-2.0
"""The recorder is killed, stopped, has no file or a full disk, or the file is damaged: ondeloc prints one sentence, all
complete blocks are usable, and the job is not harmed."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess

import harness
import profiling

EVENTS_PER_CELL = 511
SO_FAR = re.compile(r"half (\d) sent to rank \d+: (\d+) bytes so far")


def is_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


class Recorder(profiling.Profiling):
    @contextlib.contextmanager
    def recording(self, *arguments, keys="", name="app.prof", words=()):
        """Runs the partner-changing program, waits until its recorder has begun, and checks that the job ends well. `words`: for srun."""
        with self.start_srun(f"-n{self.ranks}", *words, f"{harness.APPS}/partners", *arguments,
                             ondeloc=f"profile:{name}{keys}") as run:
            self.assertTrue(harness.wait_for(self.recorders, 60))
            yield self.recorders()
            self.out, self.err = run.communicate(timeout=harness.LONG)
        self.assertEqual(run.returncode, 0, self.out + self.err)

    @staticmethod
    def recorders():
        """The recorders that run; not a process that only checks the target at the start of a step. When that process ends, the
        kernel empties its command line before it removes its pid."""
        found = []
        for pid in harness.pids_of("ondeloc-mapper"):
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if words and b"--check" not in words:
                    found.append(pid)
        return found

    def size(self, name="app.prof"):
        path = pathlib.Path(self.dir, name)
        return path.stat().st_size if path.exists() else 0

    def has_totals(self):
        """Returns whether the profile that is being written tells how much the ranks have sent so far."""
        told = self.profile("info", "app.prof", "-f", "json")
        return told.returncode == 0 and json.loads(told.stdout).get("counted_messages", 0) > 0

    def test_top_does_not_take_it_for_a_mapper(self):
        """A mapper publishes the state of its step, a recorder does not: `ondeloc top` would wait for it."""
        def told():
            return self.run_user(profiling.ONDELOC, "top", "--once").stdout

        with self.recording("-s", "3"):
            self.assertTrue(harness.wait_for(lambda: told().startswith("No step of yours runs") and self.recorders(), 30), told())

    def test_killed(self):
        with self.recording("-s", "5") as pids:
            self.assertTrue(harness.wait_for(self.has_totals, 60))
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

    def output(self):
        return "".join(path.read_text() for path in pathlib.Path(self.dir).glob("out.*"))

    def sent_so_far(self, of_a_half):
        """The number of messages that the busiest rank has printed."""
        return max(((int(half) - 1) * of_a_half + int(length) // 8 for half, length in SO_FAR.findall(self.output())), default=0)

    def test_stopped_for_a_while(self):
        """The ranks do not wait: they drop messages, and the profile counts them. The recorder is stopped until more messages have
        been sent than its cells hold; as many are left to send then, no faster than the pauses allow. (Earlier, before the task
        that started the recorder goes on, the kernel may continue it: its process group becomes an orphaned one.)"""
        count = 6 * EVENTS_PER_CELL
        with self.recording("-m", str(count), "-b", "8", "-p", "1000", "-i", "0.1", keys=",cells=2",
                            words=["--output=out.%t"]) as pids:
            self.assertTrue(harness.wait_for(lambda: self.sent_so_far(count) > 0, 60))
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            self.assertTrue(harness.wait_for(lambda: all(is_stopped(pid) for pid in pids), 20))
            progress, before = self.size(), self.sent_so_far(count)
            self.assertTrue(harness.wait_for(lambda: self.sent_so_far(count) > before + 3 * EVENTS_PER_CELL, 200))
            self.assertEqual(self.size(), progress)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        self.out = self.output()
        info = self.info()
        self.assertTrue(info["complete"])
        self.assertGreater(info["dropped_messages"], 0)
        self.assertEqual(info["messages"] + info["dropped_messages"], info["counted_messages"])
        self.assertEqual(info["bytes"] + info["dropped_bytes"], info["counted_bytes"])
        said = self.of_partners(self.out)
        self.assertEqual(sum(messages for _, messages in said.values()), info["counted_messages"])
        self.assertIn("dropped because the recorder was behind", " ".join(info["notes"]))
        # A recorder that is behind may also be late at the end.
        self.assertRegex(self.out, "ondeloc: .*(dropped because the recorder was behind|not done 10 s after)")

    def test_a_target_that_cannot_be_written_ends_the_step(self):
        """At its start: ten hours without a recording would be worse. With on-error=warn it runs on."""
        pathlib.Path(self.dir, "notes").write_text("precious", encoding="ascii")
        os.mkfifo(pathlib.Path(self.dir, "pipe"))
        for name in ("notes", "pipe"):
            os.chown(pathlib.Path(self.dir, name), harness.USER.pw_uid, harness.USER.pw_gid)
        marker = pathlib.Path(self.dir, "ran")
        for target, problem in (("/nonexistent/app.prof", "cannot be written: No such file or directory"),
                                ("/app.prof", "cannot be written: Permission denied"),
                                ("notes", "exists and is not a profile; name another file, or remove this one"),
                                ("pipe", "is a pipe; name a file instead"),
                                ("/dev/null", "is a device; name a file instead")):
            with self.subTest(target):
                sentence = f"ondeloc: profile '{target}' {problem}"
                ended = self.srun(f"-n{self.ranks}", "sh", "-c", f"sleep 60 && touch {marker}", ondeloc=f"profile:{target}")
                self.assertNotEqual(ended.returncode, 0)
                told = [line for line in ended.stderr.splitlines() if "ondeloc" in line]
                self.assertEqual(told, [sentence])
                self.assertFalse(marker.exists())
                warned = self.srun(f"-n{self.ranks}", "true", ondeloc=f"profile:{target},on-error=warn")
                self.assert_ran(warned)
                self.assertIn(f"{sentence}; nothing is recorded", warned.stderr)
        self.assertEqual(pathlib.Path(self.dir, "notes").read_text(encoding="ascii"), "precious")

    def test_two_steps_on_one_file(self):
        """Two steps record into one name: each profile is complete, under two names."""
        step = f"srun --quiet --overlap --overcommit -n{self.ranks} --ondeloc=profile:app.prof {harness.APPS}/partners -s 2"
        result = self.run_user("salloc", "--quiet", "--overcommit", f"-n{self.ranks}", "sh", "-c", f"{step} & {step}; wait")
        self.assert_ran(result)
        names = sorted(path.name for path in pathlib.Path(self.dir).glob("app.prof*"))
        self.assertEqual(len(names), 2, names)
        self.assertRegex(names[1], r"^app\.prof\.\d+\.[01]\.\d+$")
        self.assertEqual(result.stderr, "ondeloc: profile 'app.prof' is locked by another step, or by a process of any user "
                         "who can read the file; this step adds "
                         f"'{names[1].removeprefix('app.prof')}' to the name\n")
        for name in names:
            self.assert_whole(self.info(name))

    def test_file_size_limit(self):
        """Slurm gives the limits of srun's caller to the tasks only, so the test sets the recorder's limit itself: the size that
        the recorder has written by then."""
        with self.recording("-s", "3", "-p", "1000") as pids:
            self.assertTrue(harness.wait_for(lambda: self.size() > 1000, 20))
            for pid in pids:
                self.assert_ran(self.run_user("prlimit", f"--pid={pid}", f"--fsize={self.size()}"))
            reached = self.size()
        told = [line for line in self.err.splitlines() if "ondeloc" in line]
        self.assertEqual(len(told), 1, self.err)
        self.assertIn("ends early, its complete blocks are usable: File too large", told[0])
        self.assertFalse(self.info()["complete"])
        self.assertEqual(self.size(), reached)

    def test_full_disk(self):
        """The disk is full as soon as something is recorded. (Up to a page fits into the page that the profile has begun.)"""
        disk = pathlib.Path(self.dir, "disk")
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=48k,uid={harness.USER.pw_uid}", "none", disk],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-q", disk], check=False)
        with self.recording("-s", "6", "-p", "1000", name="disk/app.prof"):
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


BLOCK_HEADER = 64


def events_blocks(profile):
    """Offsets of the blocks with events: magic and type 1, see ondeloc-profile(5)."""
    return [match.start() for match in re.finditer(b"ODBK\x01\0\0\0", profile)]


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
        self.assert_whole(self.info())
        first, *_, last = events_blocks(pathlib.Path(self.dir, "app.prof").read_bytes())
        inside = first + BLOCK_HEADER + 1
        self.change("cut", lambda whole: whole[:last + BLOCK_HEADER + 1])
        self.change("bent", lambda whole: whole[:inside] + bytes([whole[inside] ^ 8]) + whole[inside + 1:])
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
