# SPDX-License-Identifier: Apache-2.0
"""Checks the data that ondeloc's processes show and leave behind, their rights, and the words of plugstack.conf that restrict them."""
import json
import os
import pathlib
import re
import signal

import harness

WORK = f"{harness.APPS}/partners"
SECRET = "secret-name"


def status_of(pid):
    """/proc/PID/status as a dictionary."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(re.split(r":\s*", line, maxsplit=1) for line in lines)


class Hardening(harness.Case):
    def add_words(self, words):
        """Adds words to the plugin's line in plugstack.conf until the end of the test."""
        text = harness.PLUGSTACK.read_text(encoding="utf-8")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="utf-8")
        harness.PLUGSTACK.write_text(f"{text.rstrip()} {words}\n", encoding="utf-8")

    def start(self, option, seconds=2):
        """Starts a step of four ranks; returns it and the pid of its mapper once that watches the step."""
        running = self.start_srun("-n4", WORK, "-s", str(seconds), ondeloc=option)
        self.assertTrue(harness.wait_for(lambda: len(harness.pids_of("partners")) == 4 and
                                         harness.pids_of("ondeloc-mapper"), 60))
        mapper = harness.pids_of("ondeloc-mapper")[0]
        self.assertTrue(harness.wait_for(lambda: status_of(mapper)["Seccomp"] == "2", 60), "no filter of system calls")
        return running, mapper

    def end(self, running):
        out, err = running.communicate(timeout=harness.LONG)
        self.assertEqual(running.returncode, 0, err)
        return out, err

    def test_stopped_mapper_ends_with_its_step(self):
        """proctrack/linuxproc cannot find the mapper, which has no parent in the step."""
        for option in "online", "online,report=r.json", "profile:app.prof":
            with self.subTest(option):
                running, mapper = self.start(option)
                os.kill(mapper, signal.SIGSTOP)
                self.end(running)
                self.assertEqual(harness.wait_until_none_left(20), [])

    def test_stopped_processes_for_threads_end_with_their_step(self):
        def followers():
            return [pid for pid in harness.pids_of("ondeloc-mapper") if harness.name_of_process(pid) == "ondeloc-threads"]
        self.write("ranks.txt", "".join(f"rank {rank}=localhost slot=0\nrank {rank} thread 1 slot=0\n" for rank in (0, 1)))
        for option in "static:ranks.txt", "static:ranks.txt,report=r.json":
            with self.subTest(option):
                running = self.start_srun("-n2", "sh", "-c", "while [ ! -e stopped ]; do sleep 0.1; done", ondeloc=option)
                self.addCleanup(running.kill)
                self.assertTrue(harness.wait_for(lambda: len(followers()) == 2, 60))
                for pid in followers():
                    os.kill(pid, signal.SIGSTOP)
                stopped = self.write("stopped", "")
                self.end(running)
                self.assertEqual(harness.wait_until_none_left(20), [])
                os.remove(stopped)

    def test_other_users_see_no_name_of_a_user_on_the_command_line(self):
        for option in f"online,report={SECRET}.json", f"profile:{SECRET}.prof":
            with self.subTest(option):
                running, mapper = self.start(option)
                process = pathlib.Path(f"/proc/{mapper}")
                self.assertIn(b"--segment=", (process / "cmdline").read_bytes())
                self.assertNotIn(SECRET.encode(), (process / "cmdline").read_bytes())
                # Root reads what the mapper got; other users must not.
                self.assertIn(SECRET.encode(), (process / "environ").read_bytes())
                self.assertEqual((process / "environ").stat().st_mode & 0o077, 0)
                self.end(running)

    def test_mapper_has_no_privileges(self):
        running, mapper = self.start("online")
        status = status_of(mapper)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.end(running)

    def test_users_below_min_uid(self):
        self.add_words(f"min-uid={harness.USER.pw_uid + 1}")
        result = self.srun("-n1", "env", ondeloc="online")
        self.assert_ran(result)
        self.assertNotIn("ONDELOC_STEP", result.stdout)
        self.assertEqual(result.stderr, f"ondeloc: off for user {harness.USER.pw_uid}: min-uid={harness.USER.pw_uid + 1} "
                                        "in plugstack.conf; the job runs on without it\n")
        self.add_words("default=online")
        result = self.srun("-n1", "env")
        self.assert_ran(result)
        self.assertNotIn("ONDELOC_STEP", result.stdout)
        self.assertEqual(result.stderr, "", "the user has not asked for ondeloc")

    def test_oom_fair(self):
        self.add_words("oom=fair")
        running, mapper = self.start("online")
        scores = {pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text() for pid in (mapper, *harness.pids_of("partners"))}
        self.assertEqual(len(scores), 1)
        self.end(running)

    def test_machine_file_of_the_site(self):
        """The mapper reads the file as the user: a file for root alone is a note, not an error."""
        nothing = {"latency_ns": 1000, "bandwidth": 1e9}
        text = json.dumps({"ondeloc_machine": 1, "date": "2026-11-24", "host": "n1", "cpus": 2, "llcs": 2, "packages": 2,
                           "domains": {"machine": nothing}, "nodes": [], "links": []})
        path = pathlib.Path(self.write("machine.json", text))
        self.add_words(f"machine={path}")
        source = "measured 2026-11-24 on n1"
        for mode, expected in (0o644, source), (0o600, "default"):
            with self.subTest(oct(mode)):
                os.chown(path, 0, 0)
                path.chmod(mode)
                result = self.srun("-n4", WORK, "-s", "1", ondeloc="online,verbose,report=r.json")
                self.assert_ran(result)
                report = self.report("r.json")
                self.assertEqual(report["model"]["latency"], expected)
                self.assertEqual(f"predictions use numbers {source}" in result.stderr, expected == source)
                self.assertEqual(any("Permission denied" in note for note in report["notes"]), expected != source, report["notes"])
        path.chmod(0o644)
        own = self.write("own.json", text.replace("n1", "own"))
        self.assert_ran(self.srun("-n4", WORK, "-s", "1", ondeloc=f"online,report=r.json,machine={os.path.basename(own)}"))
        self.assertEqual(self.report("r.json")["model"]["latency"], "measured 2026-11-24 on own")

    def test_a_folder_that_others_can_write_is_not_trusted(self):
        folder = os.path.dirname(os.path.dirname(harness.MAPPER))
        self.addCleanup(os.chmod, folder, os.stat(folder).st_mode & 0o7777)
        os.chmod(folder, 0o777)
        result = self.srun("-n1", "hostname", ondeloc="online")
        self.assert_ran(result)
        self.assertEqual(result.stderr, f"ondeloc: {folder}: writable by others than root; the job runs on without it\n")


if __name__ == "__main__":
    harness.main()
