# SPDX-License-Identifier: Apache-2.0
"""A bad option is answered with one short sentence and a non-zero exit, before anything is launched."""
import pathlib

import harness

BAD = {
    "bogus": "mode 'bogus' is not known",
    "online,interval=0": "interval: '0' has no unit",
    "online,interval=1y": "interval: '1y' is not a time",
    "online,speed=3": "key 'speed' is not known",
    "online,algorithm=magic": "algorithm 'magic' is not known",
    "static": "mode 'static' needs a file",
    "online:x": "mode 'online' takes no argument",
    "x" * 100_000: "the value has 100000 characters",
    "online,report=" + "y" * 3000: "report: the file name has more than",
}


class Option(harness.Case):
    def assert_refused(self, result, sentence):
        self.assertNotEqual(result.returncode, 0)
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr[:2000])
        self.assertIn(sentence, lines[0])
        self.assertLess(len(lines[0]), 250)
        self.assertEqual(result.stdout, "")
        self.assertFalse(pathlib.Path(self.dir, "launched").exists())

    def test_srun_refuses(self):
        for value, sentence in BAD.items():
            with self.subTest(value[:40]):
                self.assert_refused(self.srun("touch", "launched", ondeloc=value), sentence)

    def test_sbatch_and_salloc_refuse(self):
        self.assert_refused(self.run_user("sbatch", "--ondeloc=bogus", "--wrap", "touch launched"),
                            "mode 'bogus' is not known")
        self.assert_refused(self.run_user("salloc", "--ondeloc=bogus", "touch", "launched"),
                            "mode 'bogus' is not known")

    def test_bad_variable_is_refused(self):
        self.assert_refused(self.srun("touch", "launched", env={"ONDELOC": "bogus"}),
                            "ONDELOC: mode 'bogus' is not known")

    def test_variable_counts_whatever_is_exported(self):
        for export in "ALL", "NONE", "NIL", "HOME":
            with self.subTest(export):
                result = self.srun("-n1", f"--export={export}", "/usr/bin/env", env={"ONDELOC": "online"})
                self.assert_ran(result)
                self.assertIn("ONDELOC_STEP=", result.stdout)
                self.assertNotIn("SPANK_OPTION", result.stdout)

    def test_a_variable_that_export_sets_precedes_that_of_srun(self):
        for own, exported, lines in ("online", "off", 0), ("off", "online", 1):
            with self.subTest(exported):
                result = self.srun("-n1", f"--export=ONDELOC={exported}", "/usr/bin/env", env={"ONDELOC": own})
                self.assert_ran(result)
                self.assertEqual(len([line for line in result.stdout.splitlines() if line.startswith("ONDELOC_STEP=")]), lines)

    def test_option_precedes_the_variable(self):
        """ONDELOC has a good value, and a bad value that the option overrides."""
        for value in "online", "bogus":
            result = self.srun("-n1", "env", ondeloc="off", env={"ONDELOC": value})
            self.assert_ran(result)
            self.assertNotIn("ONDELOC_STEP=", result.stdout)

    def test_option_of_sbatch_precedes_the_variable_inside(self):
        script = self.write("job", "#!/bin/sh\nexport ONDELOC=online\nsrun --quiet -n1 env\n")
        self.assert_ran(self.run_user("sbatch", "--wait", "--ondeloc=off", "-o", "out", script))
        out = pathlib.Path(self.dir, "out").read_text(encoding="utf-8")
        self.assertIn("SLURM_PROCID=0", out)
        self.assertNotIn("ONDELOC_STEP=", out)

    def test_help_prints_and_ends(self):
        result = self.srun("touch", "launched", ondeloc="help")
        self.assert_ran(result)
        self.assertIn("--ondeloc=MODE", result.stdout)
        self.assertIn("algorithm=NAME", result.stdout)
        self.assertRegex(result.stdout, r"\nthis site \(plugstack.conf\)\n(  .*\n)*  default=off ")
        self.assertRegex(result.stdout.splitlines()[-1], "^This is ondeloc [0-9]")
        self.assertFalse(pathlib.Path(self.dir, "launched").exists())

    def with_words(self, *words):
        """Appends words to the plugin's line in plugstack.conf for one test."""
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        harness.PLUGSTACK.write_text(" ".join([text.rstrip("\n"), *words]) + "\n", encoding="ascii")

    def test_default_of_the_site(self):
        """Runs a step whose user says nothing, and one whose user says off."""
        self.assertNotIn("ONDELOC_STEP=", self.srun("-n1", "env").stdout)
        self.with_words("default=online")
        self.assertIn("ONDELOC_STEP=", self.srun("-n1", "env").stdout)
        off = self.srun("-n1", "env", ondeloc="off")
        self.assert_ran(off)
        self.assertNotIn("ONDELOC_STEP=", off.stdout)

    def test_default_of_the_site_is_no_noise(self):
        """slurmd's log has no line for steps without an error whose users did not ask for ondeloc."""
        log = pathlib.Path(harness.ROOT, "slurm", "slurmd-node0.log")
        before = len(log.read_text(errors="replace"))
        self.with_words("default=online")
        for kind in "none", "pmix":
            result = self.srun("-n2", f"--mpi={kind}", "env")
            self.assert_ran(result)
            self.assertIn("ONDELOC_STEP=", result.stdout)
        said = log.read_text(errors="replace")[before:]
        self.assertIn("launch task", said)
        self.assertEqual([line for line in said.splitlines() if "] ondeloc: " in line], [])

    def test_shortest_interval_of_the_site(self):
        def intervals(name):
            self.assert_ran(self.srun("-n4", f"{harness.APPS}/partners", "-s", "1",
                                      ondeloc=f"online,decide=never,interval=150ms,max-interval=200ms,report={name}"))
            report = self.report(name)
            options = {key: report["options"][key] for key in ("interval", "max-interval")}
            return {interval["interval_ms"] for interval in report["intervals"]}, options

        self.assertEqual(intervals("a.json"), ({150, 200}, {"interval": "150ms", "max-interval": "200ms"}))
        self.with_words("min-interval=600ms")
        told = self.srun("true", ondeloc="online,interval=150ms").stderr
        self.assertIn("ondeloc: interval: 150ms is below this site's minimum; 600ms is used instead", told)
        self.assertEqual(intervals("b.json"), ({600}, {"interval": "600ms", "max-interval": "600ms"}))

    def test_good_option_launches(self):
        self.assert_ran(self.srun("touch", "launched", ondeloc="off"))
        self.assertTrue(pathlib.Path(self.dir, "launched").exists())


if __name__ == "__main__":
    harness.main()
