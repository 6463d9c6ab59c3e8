# SPDX-License-Identifier: Apache-2.0
"""Counts reach the mapper through the segment or by PMIx events; ranks fall back from one to the other."""
import pathlib

import counting
import harness

# While the mapper watches the ranks, it writes preliminary reports.
LIVE_ON = """import json, pathlib, sys, time
from mpi4py import MPI
path = pathlib.Path(sys.argv[1])
def is_complete():
    return path.exists() and json.loads(path.read_text())["complete"]
MPI.COMM_WORLD.Barrier()
MPI.Finalize()
end = time.monotonic() + 20
while not is_complete() and time.monotonic() < end:
    time.sleep(0.02)
print("the report is complete" if is_complete() else "there is no complete report")
"""

# Open MPI waits in there forever and takes the messages of other ranks: the ranks have to wait for the child's end.
CHILD_FINALIZES = """import os, pathlib, signal, sys, time
from mpi4py import MPI
child = os.fork()
if child == 0:
    signal.alarm(1)
    MPI.Finalize()
    os._exit(0)
os.waitpid(child, 0)
world = MPI.COMM_WORLD
pathlib.Path(f"{sys.argv[1]}.{world.rank}").touch()
end = time.monotonic() + 30
while not pathlib.Path(f"{sys.argv[1]}.{1 - world.rank}").exists() and time.monotonic() < end:
    time.sleep(0.02)
for i in range(10):
    world.Sendrecv(bytearray(100), (world.rank + 1) % 2, 0, bytearray(100), (world.rank + 1) % 2, 0)
"""


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
        """Shows that the comparison above can fail."""
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

    def test_the_end_of_a_child_is_not_that_of_the_rank(self):
        """A forked copy of the rank calls MPI_Finalize, as a process that Python forked does when it exits."""
        for transport in "auto", "shm", "pmix":
            with self.subTest(transport):
                result = self.srun("-n2", "python3", "-c", CHILD_FINALIZES, transport, timeout=60,
                                   ondeloc=f"online,decide=never,transport={transport},report={transport}.json")
                self.assert_ran(result)
                sent = counting.of_report(self.report(f"{transport}.json"))
                self.assertEqual(sent, {(0, 1): (1000, 10), (1, 0): (1000, 10)})

    def test_events_of_a_run_in_shm(self):
        report = self.run_counted("send_modes")
        self.assertEqual(report["events"]["attach"], self.ranks)
        self.assertEqual(report["events"]["detach"], self.ranks)
        self.assertEqual(report["events"]["row"], 0)

    def seen_by_a_tool(self, name, preload, ondeloc):
        result = self.srun(f"-n{self.ranks}", *self.command("persistent"), ondeloc=ondeloc,
                           env={"LD_PRELOAD": preload, "PMPI_TOOL_OUT": f"{self.dir}/{name}", "COUNT_OUT": f"{self.dir}/run"})
        self.assert_ran(result)
        return [pathlib.Path(self.dir, f"{name}.{rank}").read_text(encoding="ascii") for rank in range(self.ranks)]

    def test_a_profiling_tool_of_the_user_keeps_working(self):
        """A PMPI tool sees the program's own calls, whether it is loaded before or after ondeloc."""
        tool = f"{harness.APPS}/libpmpi_tool.so"
        without = self.seen_by_a_tool("off", tool, "off")
        for place, preload in ("before", tool), ("behind", f"{harness.RANK_LIB}:{tool}"):
            with self.subTest(place):
                self.assertEqual(self.seen_by_a_tool(place, preload, f"online,decide=never,report={place}.json"), without)
                self.assertEqual(counting.of_report(self.report(f"{place}.json")), self.said())


class Switched(counting.Counting):
    switch = ""

    def setUp(self):
        super().setUp()
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        lines = [f"{line} test-switch={self.switch}" if line.startswith("optional") else line
                 for line in text.splitlines()]
        harness.PLUGSTACK.write_text("\n".join(lines) + "\n", encoding="ascii")


class NoListener(Switched):
    """Nothing listens to the ranks' events, as if PMIx refused the handler or contain_spank were set."""

    switch = "no-events"
    why = "events: none, plugstack.conf has test-switch=no-events"

    def test_ranks_that_left_mpi_are_known_to_have_left(self):
        """The mapper writes its report and ends as soon as every rank has left MPI, although their processes go on."""
        for transport in "auto", "pmix", "shm":
            with self.subTest(transport):
                name = f"{transport}.json"
                result = self.srun("-n2", "python3", "-c", LIVE_ON, name, ondeloc=f"online,transport={transport},report={name}")
                self.assert_ran(result)
                self.assertEqual(result.stdout, "the report is complete\n" * 2, result.stderr)

    def test_counts_come_by_shared_memory(self):
        for transport in "auto", "pmix":
            report = self.run_counted("send_modes", transport=transport)
            self.assertEqual(counting.of_report(report), self.said())
            self.assertIn(self.why, report["notes"])
            self.assertEqual(report["events"], {"attach": 0, "sample": 0, "row": 0, "detach": 0, "dropped": 0})


class Samples(Switched):
    """The mapper reads no rows: while the step runs, it knows only what SAMPLE events say."""

    switch = "no-rows"

    def test_intervals_with_traffic_have_samples(self):
        """All but one: if the CPUs are busy, the events of an interval may come in the next one."""
        result = self.srun(f"-n{self.ranks}", f"{harness.APPS}/partners", "-s", "3",
                           ondeloc="online,decide=never,max-interval=500ms,report=r.json")
        self.assert_ran(result)
        report = self.report("r.json")
        # The first tick asks for the first SAMPLE; the last interval ends with the ranks.
        inner = report["intervals"][1:-1]
        self.assertEqual(report["events"]["dropped"], 0)
        self.assertGreater(len(inner), 4)
        without = [interval for interval in inner if interval["samples"] == 0 or interval["sample_bytes"] == 0]
        self.assertLessEqual(len(without), 1, without)
        sent = sum(int(line.split(": ")[2].split()[0]) for line in result.stdout.splitlines()
                   if " bytes in " in line)
        sampled = sum(interval["sample_bytes"] for interval in report["intervals"])
        self.assertLessEqual(sampled, sent)
        self.assertGreater(sampled, sent / 2)


if __name__ == "__main__":
    harness.main()
