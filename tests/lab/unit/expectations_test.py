# SPDX-License-Identifier: MIT
"""expectations_test.py LAB_REPLAY: compares the figures that validation expects with those of the plugin's parts, for machines that differ from the
shipped ones in links, ports, bandwidth and hardware threads."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from host import machine, validate  # noqa: E402

REPLAY = sys.argv.pop(1)


def link(a, b, latency_ns, gbytes_per_s):
    return {"between": [a, b], "latency_ns": latency_ns, "gbytes_per_s": gbytes_per_s}


class Expectations(unittest.TestCase):
    def rows(self, name, whole=False, **changes):
        """One row a figure of the shipped machine `name` with members changed: section__key, or key."""
        description = json.loads((machine.PLACE / f"{name}.json").read_text())
        for key, value in changes.items():
            section, _, member = key.rpartition("__")
            (description[section] if section else description)[member] = value
        made = machine.Machine(description)
        plan = validate.plan(made, whole)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(description, file)
            file.flush()
            lines = "".join(" ".join(map(str, words)) + "\n" for words in plan)
            done = subprocess.run([REPLAY, file.name], input=lines, text=True, stdout=subprocess.PIPE, check=True)
        said = [{"gbytes_per_s" if words[0] == "stream" else "ns": float(figure)} for words, figure in zip(plan, done.stdout.split())]
        return validate.judge(made, [{"validate": words, "said": figure} for words, figure in zip(plan, said)])

    def agree(self, name, whole=False, **changes):
        rows = self.rows(name, whole, **changes)
        for row in rows:
            with self.subTest(machine=name, changes=changes, figure=row["name"]):
                self.assertTrue(row["ok"], f"{row['described']} is expected, {row['measured']} simulated")
        return rows

    def test_shipped_machines(self):
        for name in ("xeon2", "epyc1", "epyc2", "ring4", "ring16"):
            self.agree(name)

    def test_every_pair_and_number_of_cores(self):
        self.agree("epyc2", whole=True)

    def test_ports_of_the_caches(self):
        for gbytes_per_s in (3, 6, 8):
            self.agree("epyc2", whole=True, fabric__port_gbytes_per_s=gbytes_per_s)

    def test_the_route_is_the_one_of_least_latency(self):
        self.agree("xeon2", nodes=3, links=[link(0, 1, 60, 8), link(1, 2, 60, 8), link(0, 2, 200, 2)])
        self.agree("xeon2", links=[link(0, 1, 100, 6.4), link(0, 1, 80, 2)])

    def test_a_node_without_a_direct_link_is_streamed_from_too(self):
        rows = self.agree("xeon2", nodes=3, links=[link(0, 1, 60, 8), link(1, 2, 60, 8)])
        self.assertIn("stream of 1 CPU of node 2, memory of node 0", [row["name"] for row in rows])

    def test_a_load_waits_for_bandwidth(self):
        self.agree("ring4", links=[link(0, 1, 100, 3.2), link(1, 2, 100, 3.2), link(2, 3, 100, 3.2), link(3, 0, 100, 1)])
        for gbytes_per_s in (0.06, 0.2, 0.5, 2):
            self.agree("xeon2", memory__gbytes_per_s=gbytes_per_s)

    def test_hardware_threads(self):
        for name in ("xeon2", "epyc2"):
            rows = self.agree(name, threads_per_core=2)
            self.assertIn("hand-over CPU 0 to 1", [row["name"] for row in rows])
        core = {"instructions_per_ns": 2.5, "smt_share": 0.6, "stream_depth": 10, "thread_to_thread_ns": 12}
        slow, = (row for row in self.agree("xeon2", threads_per_core=2, core=core) if row["name"] == "hand-over CPU 0 to 1")
        self.assertGreater(slow["described"], 12)


if __name__ == "__main__":
    unittest.main()
