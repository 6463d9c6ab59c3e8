# SPDX-License-Identifier: Apache-2.0
"""The site's words in plugstack.conf: reports that no user asked for, and the account of them."""
import json
import os
import pathlib
import re
import stat
import subprocess

import harness

ONDELOC = f"{harness.STAGE}/bin/ondeloc"
EPILOG = pathlib.Path(__file__).resolve().parents[2] / "etc" / "examples" / "epilog-ondeloc"


class Site(harness.Case):
    def with_words(self, *words):
        """Appends words to the plugin's line in plugstack.conf for one test."""
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        harness.PLUGSTACK.write_text(" ".join([text.rstrip("\n"), *words]) + "\n", encoding="ascii")

    def spool(self):
        """A directory that users may write to and not list."""
        path = os.path.join(self.dir, "spool")
        os.mkdir(path)
        os.chmod(path, 0o1733)
        return path

    def test_reports_that_nobody_asked_for(self):
        spool = self.spool()
        self.with_words("default=online", f"report-dir={spool}")
        self.assert_ran(self.srun("-n4", f"{harness.APPS}/partners", "-s", "1"))
        self.assert_ran(self.srun("-n4", f"{harness.APPS}/partners", "-s", "1", ondeloc="online,report=own.json"))
        self.assert_ran(self.srun("-n1", "true", ondeloc="off"))
        files = list(pathlib.Path(spool).iterdir())
        self.assertEqual(len(files), 1, files)
        info = files[0].stat()
        self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (harness.USER.pw_uid, 0o600))
        report = json.loads(files[0].read_text(encoding="utf-8"))
        self.assertEqual(files[0].name, f"ondeloc-{report['job']}.{report['step']}.{report['node']}.json")
        self.assertTrue(report["complete"])
        self.assertIn("partners", report["origin"]["program"])
        self.assertTrue(report["origin"]["partition"])
        self.assertEqual(report["origin"]["user"], f"uid {harness.USER.pw_uid}")
        self.assertTrue(self.report("own.json")["complete"])

    def test_a_run_of_a_requeued_job_has_a_report_of_its_own(self):
        spool = self.spool()
        self.with_words("default=online", f"report-dir={spool}")
        self.assert_ran(self.srun("-n1", "true", env={"SLURM_RESTART_COUNT": "2"}))
        name, = os.listdir(spool)
        report = json.loads(pathlib.Path(spool, name).read_text(encoding="utf-8"))
        self.assertEqual(name, f"ondeloc-{report['job']}.r2.{report['step']}.{report['node']}.json")

    def account(self, spool, form):
        """The account as the administrator gets it."""
        ran = subprocess.run([ONDELOC, "site", spool, "-f", form], capture_output=True, text=True, check=True, env={"TZ": "UTC"})
        return ran.stdout

    def samples(self, text, pattern):
        """The sum of the values that a pattern finds in a text."""
        found = [float(value) for value in re.findall(pattern, text, re.MULTILINE)]
        self.assertTrue(found, pattern)
        return sum(found)

    def test_every_format_of_the_account_agrees_with_the_reports(self):
        spool = self.spool()
        self.with_words("default=online", f"report-dir={spool}")
        self.assert_ran(self.srun("-n4", f"{harness.APPS}/partners", "-s", "1"))
        self.assert_ran(self.srun("-n4", f"{harness.APPS}/partners", "-s", "1", ondeloc="online,decide=always,interval=100ms"))
        self.assert_ran(self.srun("-n1", "true"))
        pathlib.Path(spool, "junk.json").write_text("junk", encoding="ascii")
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path(spool).glob("ondeloc-*.json")]
        self.assertEqual(len(reports), 3)
        account = json.loads(self.account(spool, "json"))
        prometheus, influx, text = (self.account(spool, form) for form in ("prometheus", "influx", "text"))
        total = account["total"]
        self.assertEqual((total["steps"], account["skipped_files"]), (3, 1))
        self.assertEqual(total["fates"]["uncounted"], 1)
        self.assertEqual({group["user"] for group in account["groups"]}, {harness.USER.pw_name})
        self.assertEqual({group["program"] for group in account["groups"]}, {"partners", "unknown"})
        self.assertIn("3 steps in 3 reports", text)
        self.assertEqual(self.samples(prometheus, r"^ondeloc_site_steps\{.*\} (\S+)$"), 3)
        expected = {"bytes": sum(turn["bytes"] for report in reports for turn in report["intervals"]),
                    "mapper_cpu_seconds": sum(report["totals"]["mapper_cpu_ms"] for report in reports) / 1000,
                    "run_seconds": sum(report["totals"]["wall_ms"] for report in reports) / 1000,
                    "remaps": sum(report["totals"]["remaps"] for report in reports)}
        for name, value in expected.items():
            with self.subTest(name):
                self.assertAlmostEqual(total[name], value, delta=1e-6 * value)
                self.assertAlmostEqual(self.samples(prometheus, rf"^ondeloc_site_{name}\{{.*\}} (\S+)$"), value, delta=1e-6 * value)
                self.assertAlmostEqual(self.samples(influx, rf"^ondeloc_{name},hostname=\S+ value=(\S+) \d+$"), value, delta=1e-6 * value)

    def log_lines(self, job):
        """The lines of slurmd's log that the plugin wrote for a job."""
        return re.findall(rf"ondeloc: (job {job} step .*)", harness.slurmd_logs())

    def test_the_log_has_a_line_of_each_step_that_agrees_with_its_report(self):
        spool = self.spool()
        self.with_words("default=online,decide=never", f"report-dir={spool}", "log=line")
        result = self.srun("-n4", f"{harness.APPS}/partners", "-s", "1")
        self.assert_ran(result)
        self.assertNotIn("ondeloc:", result.stderr)
        report = json.loads(next(pathlib.Path(spool).iterdir()).read_text(encoding="utf-8"))
        self.assertEqual(report["options"]["decide"], "never")
        self.assertEqual(report["totals"]["remaps"], 0)
        lines = self.log_lines(report["job"])
        self.assertEqual(len(lines), 1, lines)
        user = harness.USER.pw_uid
        self.assertTrue(lines[0].startswith(f"job {report['job']} step {report['step']} user {user}: online, partners, 4 ranks, 0 remaps"),
                        lines[0])
        told = subprocess.run([ONDELOC, "report", "-f", "json", str(next(pathlib.Path(spool).iterdir()))], capture_output=True,
                              text=True, check=True)
        verdict = json.loads(told.stdout)[0]["verdict"]
        self.assertTrue(lines[0].endswith(verdict[-60:]), lines[0])
        self.assertEqual(self.extra(spool, report["job"], "23.02.7"), f"Extra=ondeloc: {verdict[:200]}")
        self.assertIsNone(self.extra(spool, report["job"], "22.05.8"))
        # Files of another user, here root, under the names of such reports.
        pathlib.Path(spool, f"ondeloc-{report['job']}.8.zz.json").write_text("junk", encoding="ascii")
        os.mkfifo(os.path.join(spool, f"ondeloc-{report['job']}.9.zz.json"), 0o666)
        self.assertEqual(self.extra(spool, report["job"], "23.02.7"), f"Extra=ondeloc: {verdict[:200]}")

    def extra(self, spool, job, release):
        """Runs the example of an epilog with a made scontrol of that release, and returns what it would write."""
        told = pathlib.Path(self.dir, "told")
        told.unlink(missing_ok=True)
        scontrol = self.write("scontrol", f'#!/bin/sh\n[ "$1" = --version ] && echo slurm {release} || printf "%s\\n" "$@" >{told}\n')
        subprocess.run([EPILOG], check=True, timeout=60,
                       env={"PATH": f"{os.path.dirname(scontrol)}:/usr/bin:/bin", "SLURM_JOB_ID": str(job),
                            "SLURM_JOB_UID": str(harness.USER.pw_uid), "ONDELOC_REPORT_DIR": spool, "ONDELOC": ONDELOC})
        if not told.exists():
            return None
        words = told.read_text(encoding="utf-8").splitlines()
        self.assertEqual(words[:2], ["update", f"JobId={job}"])
        return words[2]

    def test_a_step_that_is_not_allowed_runs_without_ondeloc(self):
        self.with_words("allow=online,ranks:2")
        for option, ranks, sentence in (("online", 4, "off for a step of 4 ranks"), ("profile:p", 1, "mode 'profile' is not allowed here")):
            with self.subTest(option):
                result = self.srun(f"-n{ranks}", "env", ondeloc=option)
                self.assert_ran(result)
                self.assertIn(sentence, result.stderr)
                self.assertNotIn("ONDELOC_STEP=", result.stdout)
        self.assertIn("ONDELOC_STEP=", self.srun("-n2", "env", ondeloc="online").stdout)

    def test_the_administrator_removes_reports(self):
        spool = self.spool()
        self.with_words(f"report-dir={spool}")
        self.assert_ran(self.srun("-n1", "true", ondeloc="online"))
        self.assertEqual(len(list(pathlib.Path(spool).iterdir())), 1)
        ran = subprocess.run([ONDELOC, "site", spool, "--remove-above", "0B"], capture_output=True, text=True, check=True)
        self.assertIn("1 report of", ran.stderr)
        self.assertEqual(ran.stdout, "no report\n")
        self.assertEqual(list(pathlib.Path(spool).iterdir()), [])


if __name__ == "__main__":
    harness.main()
