# SPDX-License-Identifier: Apache-2.0
"""Profile once, map, run static: recorded messages are exactly those sent, and the binding is what the file says."""
import json
import os
import pathlib
import signal

import counting
import harness

ONDELOC = f"{harness.STAGE}/bin/ondeloc"


class Profile(counting.Counting):
    def ondeloc(self, *arguments):
        result = self.run_user(ONDELOC, "profile", *arguments)
        self.assert_ran(result)
        return result

    def record(self, program, *arguments, env=None, name="app.prof"):
        result = self.srun(f"-n{self.ranks}", *self.command(program), *arguments,
                           ondeloc=f"profile:{name}",
                           env={"COUNT_OUT": f"{self.dir}/{name}", **(env or {})})
        self.assert_ran(result)
        return result

    def info(self, name="app.prof"):
        self.assertTrue(harness.wait_for(lambda: pathlib.Path(self.dir, name).exists(), 5))
        return json.loads(self.ondeloc("info", name, "-f", "json").stdout)

    def recorded(self, name="app.prof"):
        """The matrix as the events give it."""
        lines = self.ondeloc("export", name, "-f", "matrix-csv").stdout.splitlines()
        cells = {}
        for line in lines[1:]:
            src, dst, length, messages = (int(word) for word in line.split(","))
            cells[src, dst] = (length, messages)
        return counting.clean(cells)

    def test_events_are_exact(self):
        for program in ("send_modes", "persistent"):
            with self.subTest(program):
                name = f"{program}.prof"
                self.record(program, name=name)
                info = self.info(name)
                self.assertTrue(info["complete"])
                self.assertEqual(info["damage"], "")
                self.assertEqual(info["dropped_messages"], 0)
                self.assertEqual(self.recorded(name), self.said(name))
                self.assertEqual(info["messages"], info["counted_messages"])
                self.assertEqual(info["bytes"], info["counted_bytes"])

    def test_threads(self):
        self.record("threads")
        info = self.info()
        self.assertEqual(info["messages"] + info["dropped_messages"], info["counted_messages"])

    def test_profile_map_static(self):
        """The partner-changing program: record, classify, draw, map, run bound by the file."""
        self.record("partners", "-m", "200", "-b", "4096")
        self.ondeloc("classify", "app.prof")
        self.ondeloc("metrics", "app.prof")
        self.ondeloc("heatmap", "app.prof", "-o", "who.png")
        self.ondeloc("timeline", "app.prof", "-o", "when.svg")
        for name in ("who.png", "when.svg"):
            self.assertGreater(pathlib.Path(self.dir, name).stat().st_size, 1000)
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < self.ranks:
            topology = ["--oversubscribe"]
        else:
            topology = []
        self.ondeloc("map", "app.prof", *topology, "-f", "rankfile", "-o", "ranks.txt")
        self.ondeloc("map", "app.prof", *topology, "-f", "json", "-o", "ranks.json")
        wanted = {entry["rank"]: set(entry["pus"]) for entry in
                  json.loads(pathlib.Path(self.dir, "ranks.json").read_text())["ranks"]}
        show = ("import os; print(os.environ['SLURM_PROCID'], "
                "','.join(map(str, sorted(os.sched_getaffinity(0)))))")
        result = self.srun(f"-n{self.ranks}", "/usr/bin/python3", "-c", show,
                           ondeloc="static:ranks.txt")
        self.assert_ran(result)
        bound = {}
        for line in result.stdout.splitlines():
            rank, masks = line.split()
            bound[int(rank)] = {int(cpu) for cpu in masks.split(",")}
        self.assertEqual(bound, wanted)

    def test_recorder_killed(self):
        """The job runs on; what was written is readable."""
        with self.start_srun(f"-n{self.ranks}", f"{harness.APPS}/partners", "-s", "3",
                             ondeloc="profile:app.prof") as run:
            self.assertTrue(harness.wait_for(lambda: harness.pids_of("ondeloc-mapper"), 20))
            harness.wait_for(lambda: pathlib.Path(self.dir, "app.prof").exists()
                             and pathlib.Path(self.dir, "app.prof").stat().st_size > 300, 20)
            for pid in harness.pids_of("ondeloc-mapper"):
                os.kill(pid, signal.SIGKILL)
            out, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, out + err)
        info = self.info()
        self.assertFalse(info["complete"])
        self.assertIn("did not end by itself", info["damage"])

    def test_no_file(self):
        result = self.srun(f"-n{self.ranks}", f"{harness.APPS}/send_modes",
                           ondeloc="profile:/nonexistent/app.prof")
        self.assert_ran(result)
        self.assertIn("nothing is recorded", result.stderr)

    def test_online_report_is_a_profile(self):
        self.run_counted("send_modes", name="run")
        self.ondeloc("info", "run.json")
        self.ondeloc("heatmap", "run.json", "-o", "run.png")
        self.ondeloc("map", "run.json", "-t", "numa:2 core:4 pu:1")

    def test_bad_options(self):
        for text in ("profile", "profile:a%q", "profile:a,report=b"):
            result = self.srun("-n1", "/bin/true", ondeloc=text)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)


if __name__ == "__main__":
    harness.main()
