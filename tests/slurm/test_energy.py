# SPDX-License-Identifier: Apache-2.0
"""Counters of the hardware: what the kernel refuses has its reason, and the energy of a step longer than the range of its counter. slurmstepd reads a made tree of powercap zones: this machine
may have no counter, and no counter wraps within seconds."""
import os
import pathlib

import harness

RANGE = 1_000_000  # microjoules
PART = 600_000
OPTION = "online,decide=never,transport=pmix,interval=100ms,max-interval=100ms,report=r.json"
SEND_UNTIL = """import pathlib, sys, time
from mpi4py import MPI
world, more = MPI.COMM_WORLD, True
while more:
    time.sleep(0.01)
    more = world.bcast(not pathlib.Path(sys.argv[1]).exists())
"""


class Energy(harness.Case):
    def setUp(self):
        super().setUp()
        self.zone = pathlib.Path(self.dir, "powercap", "intel-rapl:0")
        self.zone.mkdir(parents=True)
        self.put("name", "package-0")
        self.put("energy_uj", 0)
        self.put("max_energy_range_uj", RANGE)

    def put(self, name, value):
        """Renames, so that no reader finds half of a value."""
        made = self.zone.parent / "new"
        made.write_text(f"{value}\n", encoding="ascii")
        os.rename(made, self.zone / name)

    def with_words(self, *words):
        """Appends words to the plugin's line in plugstack.conf for one test."""
        text = harness.PLUGSTACK.read_text(encoding="ascii")
        self.addCleanup(harness.PLUGSTACK.write_text, text, encoding="ascii")
        harness.PLUGSTACK.write_text(" ".join([text.rstrip("\n"), *words]) + "\n", encoding="ascii")

    def wait_until_read(self):
        """slurmstepd alone reads the counter. The first reading of a new file sets the time of its last access (mount(8), relatime)."""
        info = (self.zone / "energy_uj").stat
        self.assertTrue(harness.wait_for(lambda: info().st_atime_ns > info().st_mtime_ns, 60), "the counter was not read")

    def run_while_the_counter_wraps(self, parts):
        """Energy in the report of a step in which the counter goes on by PART so many times."""
        srun = self.start_srun("-n4", "python3", "-c", SEND_UNTIL, "over", ondeloc=OPTION)
        self.wait_until_read()
        for part in range(1, parts + 1):
            self.put("energy_uj", part * PART % RANGE)
            self.wait_until_read()
        pathlib.Path(self.dir, "over").touch()
        _, told = srun.communicate(timeout=harness.LONG)
        self.assertEqual(srun.returncode, 0, told)
        return self.report("r.json")["energy"]

    def test_no_wrap_is_lost_while_ranks_send_events(self):
        self.put("constraint_0_power_limit_uw", 1)
        self.with_words(f"test-switch=powercap:{self.zone.parent}")
        energy = self.run_while_the_counter_wraps(5)
        self.assertEqual((energy["package_joules"], energy["why_no_package"]), (5 * PART / 1e6, ""))
        self.assertIn("no such counter", energy["why_no_dram"])

    def test_without_events_a_long_step_has_no_energy_and_says_why(self):
        self.put("constraint_0_power_limit_uw", 5 * RANGE)  # it wraps five times a second, at most
        self.with_words(f"test-switch=powercap:{self.zone.parent}", "test-switch=no-events")
        self.assert_ran(self.srun("-n4", f"{harness.APPS}/partners", "-s", "4", ondeloc=OPTION))
        energy = self.report("r.json")["energy"]
        self.assertIsNone(energy["package_joules"])
        self.assertRegex(energy["why_no_package"], r"nobody read a counter for so long that it may have wrapped \d\d+ times")


class Counters(harness.Case):
    def test_each_counter_has_a_number_or_a_reason_if_the_user_asks(self):
        """This machine may have the counters or not, and the kernel may refuse them to users."""
        for keys, asked in (("", False), (",counters,verbose", True)):
            result = self.srun("-n4", f"{harness.APPS}/partners", "-s", "0.5", ondeloc=f"online{keys},report=r{asked}.json")
            self.assert_ran(result)
            counters = self.report(f"r{asked}.json")["counters"]
            for number, why in (("cache_misses", "why_no_misses"), ("read_bytes", "why_no_bytes"), ("written_bytes", "why_no_bytes")):
                self.assertEqual(asked, (counters[number] is None) == bool(counters[why]) and (bool(counters[why]) or counters[number] > 0),
                                 counters)
            self.assertEqual(asked, "cache misses" in result.stderr, result.stderr)


if __name__ == "__main__":
    harness.main()
