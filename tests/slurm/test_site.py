# SPDX-License-Identifier: Apache-2.0
"""The site's words in plugstack.conf: reports that no user asked for."""
import json
import os
import pathlib
import stat

import harness


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


if __name__ == "__main__":
    harness.main()
