# SPDX-License-Identifier: MIT
"""host_test.py BUILD: the lab's host code, without a guest."""
import contextlib
import copy
import ctypes
import io
import json
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import unittest
from unittest import mock

BUILD = pathlib.Path(sys.argv.pop())
LAB = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(LAB))
from host import figures, guest, judge, main, tables, validate  # noqa: E402  (the path has to be set before)
from guest import run_plan  # noqa: E402
from host.machine import Machine  # noqa: E402

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

    def test_memory_may_cost_nothing(self):
        description = {**XEON2, "llc": {**XEON2["llc"], "latency_ns": 0}, "memory": {**XEON2["memory"], "latency_ns": 0}}
        self.assertIn("dist,src=0,dst=1,val=254", Machine(description).qemu_words())

    def test_a_file_that_holds_no_object_is_told_in_one_sentence(self):
        self.assertEqual(self.said("[1]"), "this is not a JSON object")
        self.assertIn("line 1 column 2", self.said("{,}"))

    def test_a_name_stays_within_the_directory_of_results(self):
        for name in ("/etc", "..", "", "a b"):
            with self.subTest(name=name):
                self.assertIn("for it names a directory", self.changed(["name"], name))


class Words(unittest.TestCase):
    def plan(self, *words):
        return main.make_plan(Machine.named("xeon2", BUILD), main.options(["--build", str(BUILD), *words]))

    def mappings(self, text):
        return self.plan("--program", "lu", "--mappings", text)["mappings"]

    def test_blanks_and_empty_words_are_no_names(self):
        plan = self.plan("--program", " lu, cg:3,", "--mappings", "default, packed,")
        self.assertEqual([program["name"] for program in plan["programs"]], ["lu", "cg"])
        self.assertEqual(plan["programs"][1]["words"][1], "3")
        self.assertEqual([mapping["name"] for mapping in plan["mappings"]], ["default", "packed"])

    def test_near_is_a_mapping_without_distance(self):
        far, near = self.mappings("packed,packed@near")
        self.assertEqual((far["distance"], near["distance"], far["cpus"]), (True, False, near["cpus"]))

    def test_online_starts_from_the_seed_that_is_named(self):
        third, = self.mappings("random:3-3")
        online, = self.mappings("online@random:3")
        self.assertEqual(online["cpus"], third["cpus"])
        self.assertEqual(online["name"], "online@random:3")

    def test_algorithms_may_have_an_argument(self):
        self.assertEqual([mapping["algorithm"] for mapping in self.mappings("coordinated:5,online@locality")], ["coordinated:5", "locality"])

    def test_a_wrong_mapping_is_told_before_a_guest_boots(self):
        for word in ("packed@scatter", "packed@nearby", "default:x", "packed:x", "pakced", "coordinated:x", "random:0", "random:5-3", "random:",
                     "random:x", "online@random:0", "online@random:2-4", "online@online", "online@", "map:0+1", "map:a", ","):
            with self.subTest(word=word), self.assertRaisesRegex(ValueError, "^--mappings[^\n]*: [^\n]*$"):
                self.mappings(word)

    def test_a_wrong_size_is_told_before_a_guest_boots(self):
        for word in ("lu:abc", "lu:0", "lu:-1", "lu:", "lx"):
            with self.subTest(word=word), self.assertRaisesRegex(ValueError, "^--program " + word):
                self.plan("--program", word)

    def test_a_command_begins_with_a_program(self):
        for text in ("/usr/local/user/", "..", "./.", "", "'"):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, "^--command[^\n]*: [^\n]*$"):
                self.plan("--command", text, "--mappings", "packed")

    def test_a_guest_boots_for_something(self):
        with self.assertRaisesRegex(ValueError, "nothing to run"):
            self.plan("--program", ",", "--validate", "none")

    def test_a_number_has_to_be_large_enough(self):
        for words in (["--runs", "0"], ["--runs", "-1"], ["--batch", "-1"], ["--size", "0"], ["--ranks", "x"]):
            with self.subTest(words=words), contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
                main.options(words)
            self.assertIn("or more is expected, not", said.getvalue())

    def test_a_window_that_the_plugin_refuses_is_told_before_a_guest_boots(self):
        self.assertEqual(main.options(["--window", "1000000"]).window, 1000000)
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            main.options(["--window", "1000001"])
        self.assertIn("a whole number from 1 to 1000000 is expected, not '1000001'", said.getvalue())


class Machines(unittest.TestCase):
    def run_all(self, machines, results):
        """The exit status of a command, and the machines that ran; `results` is the result or the problem of each run."""
        chosen = main.options(["--build", str(BUILD), "--machine", machines])
        with mock.patch.object(main, "run_machine", side_effect=results) as run, contextlib.redirect_stderr(io.StringIO()):
            try:
                return main.run_all(chosen), run.call_count
            except ValueError:
                return 2, run.call_count

    def test_all_machines_are_looked_at_before_the_first_one_runs(self):
        for machines in ("xeon2,nowhere", "xeon2,xeon2", ","):
            with self.subTest(machines=machines):
                self.assertEqual(self.run_all(machines, []), (2, 0))

    def test_a_guest_that_fails_does_not_stop_the_next_machine(self):
        self.assertEqual(self.run_all("xeon2,epyc1", [guest.Failed("no boot"), {"validation": [], "rows": []}]), (2, 2))


class Hangs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.out = pathlib.Path(place.name, "xeon2")
        self.chosen = main.options(["--build", str(BUILD), "--program", "lu", "--mappings", "default,packed", "--patience", "1"])
        self.machine = Machine.named("xeon2", BUILD)

    def booted(self, said):
        """Starts no guest, but lets one that runs on have said these lines."""
        def enter(booted):
            booted.process = mock.Mock(poll=lambda: None)
            booted.out.joinpath("console").write_text("".join(f"LAB {json.dumps(line)}\n" for line in said))
            return booted
        return mock.patch.multiple(guest.Guest, __enter__=enter, __exit__=lambda *_: None)

    def test_a_run_that_hangs_is_named_and_the_others_are_shown(self):
        run = {"label": 1, "program": "lu", "mapping": "default", "run": 1}
        with self.booted([run, {"begins": "lu packed run 1"}]), contextlib.redirect_stderr(io.StringIO()):
            result = main.run_machine(self.machine, main.make_plan(self.machine, self.chosen), self.chosen, self.out)
        self.assertIn("it hangs in lu packed run 1", result["problem"])
        self.assertEqual([row["mapping"] for row in result["rows"]], ["default"])
        self.assertEqual(json.loads((self.out / "result.json").read_text())["problem"], result["problem"])

    def test_each_run_of_a_batch_has_its_time(self):
        with mock.patch.object(guest.Guest, "lines", return_value=iter([])) as lines, self.booted([]), \
                contextlib.redirect_stderr(io.StringIO()):
            self.chosen.batch = 20
            main.run_machine(self.machine, {"validate": [], "programs": [], "mappings": [], "runs": 1}, self.chosen, self.out)
        self.assertEqual(lines.call_args[0][1], 20)


class Leftovers(unittest.TestCase):
    def test_a_guest_that_cannot_be_prepared_leaves_no_files(self):
        def full(payload, image):
            image.write_text("half")
            raise guest.Failed("mke2fs: no space left")

        for problem in (guest.Failed("no recording"), KeyboardInterrupt()):
            with self.subTest(problem=problem), tempfile.TemporaryDirectory() as out:
                def stage(build, plan, payload, files, problem=problem):
                    payload.mkdir()
                    if isinstance(problem, KeyboardInterrupt):
                        raise problem
                with mock.patch.multiple(guest, stage=stage, make_image=full), self.assertRaises((guest.Failed, KeyboardInterrupt)):
                    guest.Guest(Machine(XEON2), BUILD, {}, out, 1000).__enter__()
                self.assertEqual(os.listdir(out), [])

    def test_a_part_of_a_line_of_counters_does_not_lose_the_others(self):
        with tempfile.TemporaryDirectory() as out:
            pathlib.Path(out, "counters.jsonl").write_text('{"label": 1, "tag": 1}\n{"label": 2, "ta')
            self.assertEqual(list(guest.Guest(Machine(XEON2), BUILD, {}, out, 1000).counters()), [1])


class Judge(unittest.TestCase):
    def test_a_file_of_another_program_is_refused_in_one_sentence(self):
        for text in ("{}", "[]", '{"rows": []}'):
            with self.subTest(text=text), tempfile.TemporaryDirectory() as place:
                pathlib.Path(place, "result.json").write_text(text)
                with self.assertRaisesRegex(ValueError, "^--judge [^\n]*$"):
                    judge.judge(pathlib.Path(place), "ondeloc")


class Runs(unittest.TestCase):
    def test_each_name_of_init_and_finalize_is_seen(self):
        region = ctypes.CDLL(str(BUILD / "tests/lab/guest/lab_region.so"))
        for name in ("MPI_Init", "MPI_Init_thread", "MPI_Finalize", *(f"mpi_{call}{end}" for call in ("init", "init_thread", "finalize")
                                                                      for end in ("_", "_f08_"))):
            with self.subTest(name=name):
                self.assertTrue(hasattr(region, name))

    def test_threads_may_use_all_cpus_of_their_places(self):
        program = {"threads": 3, "tasks": 1, "only_threads": True}
        options, env = run_plan.Runner.bind(program, [0, 4, 5])
        self.assertEqual(options, ["--exclusive", "-c", os.cpu_count(), "--cpu-bind=mask_cpu:0x31"])
        self.assertEqual(env["OMP_PLACES"], "{0},{4},{5}")
        self.assertEqual(run_plan.Runner.bind(program, None), ([], {"OMP_NUM_THREADS": "3"}))

    def test_a_run_without_counters_says_so(self):
        run, = figures.join([{"label": 1, "program": "a", "mapping": "default"}], {})
        self.assertIn("MPI_Init or MPI_Finalize was not seen", run["problem"])


class Validation(unittest.TestCase):
    def chases(self, private_kib, llc_kib):
        """{level: KiB of the measurement on node 0} of xeon2 with caches of this size."""
        description = {**XEON2, "private_cache": {"kib": private_kib, "ways": 8}, "llc": {**XEON2["llc"], "kib": llc_kib}}
        machine = Machine(description)
        words = [word for word in validate.plan(machine, False) if word[0] == "chase" and word[2] == 0]
        for word in words:
            self.assertEqual(validate.expected(machine, word)[1], machine.chase_ns(word[4]))
        return {word[4]: word[3] for word in words}

    def test_a_cache_is_measured_with_less_than_it_holds(self):
        self.assertEqual(self.chases(64, 1024), {"private": 16, "llc": 256, "memory": 65536})
        self.assertEqual(self.chases(1024, 32768), {"private": 256, "llc": 8192, "memory": 65536})
        self.assertEqual(self.chases(1024, 1 << 18), {"private": 256, "llc": 1 << 16, "memory": 65536})

    def test_a_last_level_cache_not_far_above_the_private_ones_is_left_out(self):
        self.assertEqual(self.chases(256, 1024), {"private": 64, "memory": 65536})

    def test_each_level_of_the_machines_in_the_tree_is_measured(self):
        for path in (LAB / "machines").glob("*.json"):
            self.assertIsNotNone(validate.llc_kib_of(Machine.named(path.stem, BUILD)), path)


def run_of(program, mapping, number, problem=None):
    """A run as the guest tells it; without a problem it took some seconds."""
    run = {"program": program, "mapping": mapping, "run": number}
    if problem:
        return {**run, "problem": problem}
    counts = dict.fromkeys(("llc_misses", "memory_local", "memory_remote", "cache_same_llc", "cache_same_node", "cache_other_node", "waits",
                            "timeouts", "set_backs", "host_load", "host_s"), 1)
    return {**run, "memory": {**counts, "simulated_s": 1 + number / 10, "controllers": [], "links": [], "ports": []}}


class Intervals(unittest.TestCase):
    def test_an_interval_is_students_for_any_number_of_runs(self):
        for runs, t in ((2, 12.706), (5, 2.776), (11, 2.228), (12, 2.201), (21, 2.086), (31, 2.042), (121, 1.980)):
            with self.subTest(runs=runs):
                values = list(range(runs))
                self.assertAlmostEqual(figures.interval(values), t * statistics.stdev(values) / runs ** 0.5, delta=1e-3 * runs ** 0.5)

    def test_one_run_has_no_interval(self):
        self.assertIsNone(figures.interval([1.0]))


class Tables(unittest.TestCase):
    machine = Machine(XEON2)

    def table(self, *runs):
        return tables.text_table(self.machine, figures.rows(list(runs)))

    def test_runs_that_failed_are_told_beside_those_that_did_not(self):
        text = self.table(run_of("lu", "default", 1), run_of("lu", "packed", 1), run_of("lu", "packed", 2, "exit status 1:\nno memory"))
        self.assertRegex(text, r"\nlu +default +1/1 +1\.1")
        self.assertRegex(text, r"\nlu +packed +1/2 +1\.1")
        self.assertIn("\nfailed: lu packed: exit status 1: no memory", text)
        self.assertIn(" of default ", text)

    def test_the_heading_names_the_mapping_that_counts_as_one(self):
        one = [run_of("lu", "default", 1, "no"), run_of("lu", "packed", 1)]
        self.assertIn(" of packed ", self.table(*one))
        text = self.table(*one, run_of("cg", "default", 1))
        self.assertIn(" of base ", text)
        self.assertIn("\nbase: packed for lu, default for cg\n", text)
        self.assertRegex(self.table(one[0]), r" of default .*\nlu +default +0/1\nlate:")

    def test_a_long_name_stays_in_the_picture(self):
        picture = tables.bars(self.machine, figures.rows([run_of("lu", "map:" + "+".join(map(str, range(16))), 1)]), "lu")
        self.assertGreater(int(re.search(r'x="(\d+)"[^>]*text-anchor="end"', picture)[1]), 41 * 7)


@unittest.skipUnless(shutil.which("mke2fs"), "mke2fs is not in the path")
class Files(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.payload = pathlib.Path(place.name, "payload")
        (self.payload / "user").mkdir(parents=True)

    def test_files_of_a_private_directory_can_be_read_by_all(self):
        program = self.payload / "user/program"
        program.write_text("x")
        program.chmod(0o700)
        (self.payload / "user").chmod(0o700)
        guest.make_image(self.payload, self.payload.with_suffix(".img"))
        self.assertEqual([oct(path.stat().st_mode & 0o777) for path in (program.parent, program)], ["0o755"] * 2)

    def test_an_image_has_room_for_a_large_file(self):
        (self.payload / "user/data").write_bytes(b"x" * (256 << 20))
        guest.make_image(self.payload, self.payload.with_suffix(".img"))


unittest.main()
