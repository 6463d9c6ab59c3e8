# SPDX-License-Identifier: Apache-2.0
"""The ways from the ranks to the mapper: the segment, PMIx events, and the fall-back from one to the other."""
import pathlib

import counting
import harness


class Transport(counting.Counting):
    def assert_by_pmix(self, report):
        self.assertIn("transport=pmix", " ".join(report["notes"]))
        self.assertGreater(report["events"]["row"], 0)

    def test_pmix_gives_the_matrix_of_shm(self):
        for program in "send_modes", "persistent", "threads":
            with self.subTest(program):
                shm = self.run_counted(program, transport="shm", name="shm")
                pmix = self.run_counted(program, transport="pmix", name="pmix")
                self.assertTrue(counting.of_report(shm))
                self.assertEqual(counting.of_report(pmix), counting.of_report(shm))
                self.assertEqual(shm["events"]["row"], 0)
                self.assert_by_pmix(pmix)

    def test_one_message_more_is_seen_by_both(self):
        """So that the comparison above can fail."""
        before = counting.of_report(self.run_counted("send_modes", transport="shm", name="before"))
        for transport in "shm", "pmix":
            more = self.run_counted("send_modes", transport=transport, env={"COUNT_ONE_MORE": "1"}, name=transport)
            self.assertEqual(counting.minus(counting.of_report(more), before), {(0, 1): (1, 1)})

    def test_auto_falls_back_where_descriptors_are_closed(self):
        wrapper = (f"{harness.APPS}/close_fds",)
        report = self.run_counted("send_modes", wrapper=wrapper)
        self.assertEqual(counting.of_report(report), self.said())
        self.assert_by_pmix(report)

    def test_shm_without_the_segment_counts_nothing_and_harms_nothing(self):
        report = self.run_counted("send_modes", transport="shm",
                                  wrapper=(f"{harness.APPS}/close_fds",))
        self.assertEqual(counting.of_report(report), {})

    def test_events_of_a_run_in_shm(self):
        report = self.run_counted("send_modes")
        self.assertEqual(report["events"]["attach"], self.ranks)
        self.assertEqual(report["events"]["detach"], self.ranks)
        self.assertEqual(report["events"]["row"], 0)

    def test_a_profiling_tool_of_the_user_keeps_working(self):
        tool = f"{harness.APPS}/libpmpi_tool.so"
        out = {}
        for mode in "off", "online":
            prefix = f"{self.dir}/tool-{mode}"
            result = self.srun(f"-n{self.ranks}", *self.command("persistent"),
                               ondeloc=f"{mode},decide=never,report=r.json" if mode == "online" else mode,
                               env={"LD_PRELOAD": tool, "PMPI_TOOL_OUT": prefix,
                                    "COUNT_OUT": f"{self.dir}/run"})
            self.assert_ran(result)
            out[mode] = [pathlib.Path(f"{prefix}.{rank}").read_text(encoding="ascii")
                         for rank in range(self.ranks)]
        self.assertEqual(out["online"], out["off"])
        self.assertEqual(counting.of_report(self.report("r.json")), self.said())


class Samples(counting.Counting):
    """The mapper reads no rows: what it knows while the step runs, it knows by SAMPLE."""

    def setUp(self):
        super().setUp()
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        lines = [line + " test-switch=no-rows" if line.startswith("optional") else line
                 for line in text.splitlines()]
        harness.PLUGSTACK.write_text("\n".join(lines) + "\n", encoding="ascii")

    def test_every_interval_with_traffic_has_samples(self):
        result = self.srun(f"-n{self.ranks}", f"{harness.APPS}/partners", "-s", "3",
                           ondeloc="online,decide=never,max-interval=500ms,report=r.json")
        self.assert_ran(result)
        report = self.report("r.json")
        # The first tick is what asks for the first SAMPLE, the last interval ends with the ranks.
        inner = report["intervals"][1:-1]
        self.assertGreater(len(inner), 4)
        for interval in inner:
            self.assertGreaterEqual(interval["samples"], 1, interval)
            self.assertGreater(interval["sample_bytes"], 0, interval)
        sent = sum(int(line.split(": ")[2].split()[0]) for line in result.stdout.splitlines()
                   if " bytes in " in line)
        sampled = sum(interval["sample_bytes"] for interval in report["intervals"])
        self.assertLessEqual(sampled, sent)
        self.assertGreater(sampled, sent / 2)


if __name__ == "__main__":
    harness.main()
