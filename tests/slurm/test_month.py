# SPDX-License-Identifier: Apache-2.0
"""A month of a site: many short jobs, and then slurmd's log, the account and the metrics tell the same.

24 jobs by default. A month of 500 jobs, 20 minutes on two cores:
    ONDELOC_TEST_JOBS=500 ctest --preset dev -R '^slurm_month$'
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

import harness

ONDELOC = f"{harness.STAGE}/bin/ondeloc"
JOBS = int(os.environ.get("ONDELOC_TEST_JOBS", "24"))
AT_ONCE = 4  # jobs in the queue: more would share two CPUs and take no less time
LONGEST_WAIT = 120 + 10 * JOBS
LINE = re.compile(r"ondeloc: job (\d+) step (\d+) user (\d+): online, (?:([^,]+), )?(\d+) ranks?, (\d+) remaps?, (\d+) migrations?, "
                  r"mapper .*? CPU of [^;]*; (.*)")

# The jobs' words of srun, in turn, and how many reports each job leaves.
PARTNERS = f"{harness.APPS}/partners -s 0.3"
KINDS = ((f"-n4 {PARTNERS}", 1),
         (f"-n4 --ondeloc=online,decide=always,interval=100ms {PARTNERS}", 1),
         ("-n2 true", 1),
         ("-n1 false", 1),
         (f"-n4 --ondeloc=off {PARTNERS}", 0),
         (f"-n4 --ondeloc=online,decide=never {PARTNERS}", 1))


class Month(harness.Case):
    def setUp(self):
        super().setUp()
        self.spool = os.path.join(self.dir, "spool")
        os.mkdir(self.spool)
        os.chmod(self.spool, 0o1733)
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        words = f" default=online report-dir={self.spool} log=line"
        harness.PLUGSTACK.write_text(text.rstrip("\n") + words + "\n", encoding="ascii")

    def queued(self):
        return len(self.run_user("squeue", "--noheader", "--me", "-o", "%i").stdout.split())

    def wait_for_room(self, most, deadline):
        while self.queued() > most:
            self.assertLess(time.monotonic(), deadline, "jobs do not end")
            time.sleep(0.2)

    def submit(self, words):
        """Returns the number of the job."""
        result = self.run_user("sbatch", "--parsable", "-n4", "--overcommit", "-o", "/dev/null", "--wrap", f"srun --overcommit {words}")
        self.assert_ran(result)
        return int(result.stdout)

    def run_month(self):
        """Runs all jobs, and returns the numbers of those that leave a report."""
        deadline = time.monotonic() + LONGEST_WAIT
        jobs = set()
        for turn in range(JOBS):
            words, reports = KINDS[turn % len(KINDS)]
            job = self.submit(words)
            if reports:
                jobs.add(job)
            self.wait_for_room(AT_ONCE - 1, deadline)
        self.wait_for_room(0, deadline)
        return jobs

    def reports(self):
        found = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path(self.spool).glob("ondeloc-*.json")]
        return {(report["job"], report["step"]): report for report in found}

    def log_lines(self, jobs):
        lines = [match.groups() for match in LINE.finditer(harness.slurmd_logs())]
        return {(int(line[0]), int(line[1])): line[2:] for line in lines if int(line[0]) in jobs}

    def account(self, form):
        return subprocess.run([ONDELOC, "site", self.spool, "-f", form, "--top", "1000"], capture_output=True, text=True, check=True).stdout

    def samples(self, text, pattern):
        """The sum of the values that a pattern finds, and how many it finds."""
        found = [float(value) for value in re.findall(pattern, text, re.MULTILINE)]
        return sum(found), len(found)

    def test_log_account_and_metrics_agree(self):
        started = time.monotonic()
        jobs = self.run_month()
        reports, lines = self.reports(), self.log_lines(jobs)
        print(f"{JOBS} jobs in {time.monotonic() - started:.0f} s, {len(reports)} reports, {len(lines)} lines", flush=True)
        self.assertEqual({job for job, _ in reports}, jobs)
        self.assertEqual(set(lines), set(reports))
        self.check_lines(lines, reports)
        self.check_account(reports)

    def check_lines(self, lines, reports):
        """Each line of the log tells what the step's report tells."""
        for key, (user, program, ranks, remaps, migrations, _) in lines.items():
            report = reports[key]
            with self.subTest(step=key):
                self.assertEqual(int(user), harness.USER.pw_uid)
                self.assertEqual(int(ranks), len(report["ranks"]))
                self.assertEqual(int(remaps), report["totals"]["remaps"])
                self.assertEqual(int(migrations), report["totals"]["migrations"])
                told = report["origin"].get("program", "").split(" ")[0].rsplit("/", 1)[-1]
                self.assertEqual((program or "").split(" ")[0], told)

    def check_account(self, reports):
        """The account, as text, JSON and metrics, has the sums of the reports."""
        account = json.loads(self.account("json"))
        prometheus, influx, text = (self.account(form) for form in ("prometheus", "influx", "text"))
        total, values = account["total"], list(reports.values())
        self.assertEqual((total["steps"], total["reports"], account["skipped_files"]), (len(reports), len(reports), 0))
        self.assertIn(f"{len(reports)} steps in {len(reports)} reports", text)
        self.assertEqual(self.samples(prometheus, r"^ondeloc_site_steps\{.*\} (\S+)$")[0], len(reports))
        expected = {"ranks": sum(len(one["ranks"]) for one in values),
                    "bytes": sum(turn["bytes"] for one in values for turn in one["intervals"]),
                    "remaps": sum(one["totals"]["remaps"] for one in values),
                    "migrations": sum(one["totals"]["migrations"] for one in values),
                    "mapper_cpu_seconds": sum(one["totals"]["mapper_cpu_ms"] for one in values) / 1000,
                    "run_seconds": sum(one["totals"]["wall_ms"] for one in values) / 1000,
                    "dropped_events": sum(one["events"]["dropped"] for one in values)}
        for name, value in expected.items():
            with self.subTest(name):
                delta = 1e-4 * value  # samples have six digits
                self.assertAlmostEqual(total[name], value, delta=delta)
                self.assertAlmostEqual(self.samples(prometheus, rf"^ondeloc_site_{name}\{{.*\}} (\S+)$")[0], value, delta=delta)
                of_reports, count = self.samples(influx, rf"^ondeloc_{name},hostname=\S+ value=(\S+) \d+$")
                self.assertEqual(count, len(reports))
                self.assertAlmostEqual(of_reports, value, delta=delta)
        self.assertGreater(expected["bytes"], 0)
        uncounted = collections.Counter(any(rank["pid"] > 0 for rank in one["ranks"]) for one in values)[False]
        self.assertEqual(total["fates"]["uncounted"], uncounted)
        self.assertGreater(uncounted, 0)
        self.assertGreater(total["fates"]["moved"] + total["fates"]["stayed"] + total["fates"]["missed"] + total["fates"]["no-stake"]
                           + total["fates"]["short"], 0)


if __name__ == "__main__":
    unittest.TestCase.longMessage = True
    harness.main()
