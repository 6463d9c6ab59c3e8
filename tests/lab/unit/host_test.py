# SPDX-License-Identifier: MIT
"""host_test.py BUILD: the lab's host code, without a guest."""
import copy
import json
import pathlib
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop())
LAB = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(LAB))
from host.machine import Machine  # noqa: E402  (the path has to be set before)

XEON2 = json.loads((LAB / "machines/xeon2.json").read_text())


class Descriptions(unittest.TestCase):
    def said(self, text):
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place, "m.json")
            path.write_text(text)
            with self.assertRaises(ValueError) as problem:
                Machine.named(str(path), BUILD)
            return str(problem.exception).removeprefix(f"{path}: ")

    def changed(self, at, value):
        """The sentence on xeon2 with another value there, or without it."""
        description = copy.deepcopy(XEON2)
        *way, last = at
        part = description
        for step in way:
            part = part[step]
        part[last] = value
        if value is None:
            del part[last]
        return self.said(json.dumps(description))

    def test_a_description_of_the_tree_is_a_machine(self):
        self.assertEqual(Machine.named("xeon2", BUILD).cpus, 8)

    def test_a_wrong_description_is_told_in_one_sentence(self):
        for at, value, sentence in [
                (["memory"], None, "memory/latency_ns: a number has to be there"),
                (["private_cache"], None, "private_cache/kib: a number has to be there"),
                (["private_cache", "kib"], "64", "private_cache/kib: a number has to be there"),
                (["nodes"], "2", "nodes: a number has to be there"),
                (["nodes"], 2.0, "nodes: a whole number has to be there"),
                (["nodes"], 0, "nodes: has to be from 1 to 8, not 0"),
                (["cores_per_llc"], 0, "cores_per_llc: has to be from 1 to 64, not 0"),
                (["links"], None, "links: a list has to be there"),
                (["links", 0, "between"], [1, 2], "links/0/between/1: has to be from 0 to 1, not 2"),
                (["links", 0, "latency_ns"], "100", "links/0/latency_ns: a number has to be there"),
                (["links"], [], "xeon2: links: a node cannot be reached")]:
            with self.subTest(at=at, value=value):
                self.assertEqual(self.changed(at, value), sentence)

    def test_a_file_that_holds_no_object_is_told_in_one_sentence(self):
        self.assertEqual(self.said("[1]"), "this is not a JSON object")
        self.assertIn("line 1 column 2", self.said("{,}"))

    def test_a_name_stays_within_the_directory_of_results(self):
        for name in ("/etc", "..", "", "a b"):
            with self.subTest(name=name):
                self.assertIn("for it names a directory", self.changed(["name"], name))


unittest.main()
