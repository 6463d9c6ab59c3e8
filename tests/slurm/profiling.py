# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of mode profile: record a program, ask `ondeloc profile` about the file."""
import json
import pathlib
import re

import counting
import harness

ONDELOC = f"{harness.STAGE}/bin/ondeloc"
SENT = re.compile(r"partners: rank (\d+) half \d from \S+ to \S+ sent to rank (\d+): (\d+) bytes in (\d+) messages")


class Profiling(counting.Counting):
    def profile(self, *arguments):
        return self.run_user(ONDELOC, "profile", *arguments)

    def ondeloc(self, *arguments):
        result = self.profile(*arguments)
        self.assert_ran(result)
        return result

    def record(self, program, *arguments, env=None, name="app.prof", keys=""):
        result = self.srun(f"-n{self.ranks}", *self.command(program), *arguments,
                           ondeloc=f"profile:{name}{keys}",
                           env={"COUNT_OUT": f"{self.dir}/{name}", **(env or {})})
        self.assert_ran(result)
        return result

    def info(self, name="app.prof"):
        self.assertTrue(pathlib.Path(self.dir, name).exists())
        harness.wait_until_none_left()  # the recorder completes the file before the step ends, or soon after
        return json.loads(self.ondeloc("info", name, "-f", "json").stdout)

    def recorded(self, name="app.prof"):
        """The matrix as the sum of the recorded events."""
        lines = self.ondeloc("export", name, "-f", "matrix-csv").stdout.splitlines()
        cells = {}
        for line in lines[1:]:
            src, dst, length, messages = (int(word) for word in line.split(","))
            cells[src, dst] = (length, messages)
        return counting.clean(cells)

    def assert_whole(self, info):
        """Checks that nothing was dropped or damaged, and that there are as many events as the ranks' own counters say."""
        self.assertTrue(info["complete"])
        self.assertEqual(info["damage"], "")
        self.assertEqual(info["dropped_messages"], 0)
        self.assertEqual(info["messages"], info["counted_messages"])
        self.assertEqual(info["bytes"], info["counted_bytes"])

    def of_partners(self, output):
        """The matrix that the partner-changing program prints: what it sent."""
        return {(int(src), int(dst)): (int(length), int(messages))
                for src, dst, length, messages in SENT.findall(output)}
