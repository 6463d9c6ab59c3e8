#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs whose sharing is known and compares the profile with their own account, and kernels of OpenMP whose shape is known.

test_recorded.py ONDELOC THREAD_SHARING THREAD_KERNELS"""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ONDELOC, PROGRAM, KERNELS = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
LINE = 64


def run(*words, **more):
    return subprocess.run(words, text=True, capture_output=True, timeout=60, check=False, **more)


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.profile = os.path.join(self.folder.name, "app.prof")

    def record(self, *words, options=(), status=0, **more):
        done = run(ONDELOC, "threads", "record", "-o", self.profile, *options, "--", *words, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def ondeloc(self, *words):
        done = run(ONDELOC, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def lines(self, *options):
        """Returns the recorded lines of each pair (from, to)."""
        rows = self.ondeloc("profile", "export", "-f", "matrix-csv", *options, self.profile).splitlines()[1:]
        cells = (row.split(",") for row in rows)
        return {(int(cell[0]), int(cell[1])): int(cell[2]) / LINE for cell in cells}

    def assert_like(self, found, account, share=0.01):
        """Each pair differs from the account by at most this share; pairs without account by the share of the largest pair."""
        largest = max(account.values())
        for pair in found.keys() | account.keys():
            right = account.get(pair, 0)
            self.assertLessEqual(abs(found.get(pair, 0) - right), share * (right or largest), (pair, found, account))

    @staticmethod
    def account_of(done):
        rows = (line.split() for line in done.stdout.splitlines())
        return {(int(row[0]), int(row[1])): int(row[2]) for row in rows}

    def check(self, pattern, threads, *options, lines=4096, rounds=10, share=0.01):
        done = self.record(PROGRAM, pattern, str(threads), str(lines), str(rounds), options=options)
        account = self.account_of(done)
        self.assertTrue(account)
        self.assert_like(self.lines(), account, share)
        return account

    def test_pairs(self):
        account = self.check("pairs", 4)
        self.assertEqual(set(account), {(0, 1), (1, 0), (2, 3), (3, 2)})

    def test_ring_has_one_direction(self):
        account = self.check("ring", 5)
        self.assertNotIn((1, 0), account)

    def test_tree(self):
        self.check("tree", 7)

    def test_all_to_all(self):
        self.check("all_to_all", 6)

    def test_false_sharing_is_communication(self):
        self.check("false_sharing", 4)

    def test_one_producer(self):
        account = self.check("producer_consumer", 4)
        self.assertEqual({pair[0] for pair in account}, {0})

    def test_more_threads_than_bits_of_readers(self):
        self.check("ring", 64, lines=2048, rounds=4, share=0.03)  # barriers of 64 threads weigh more

    def test_phases_are_seen_in_time(self):
        self.check("phases", 4, rounds=60, lines=8192)
        seconds = json.loads(self.ondeloc("profile", "info", "--format", "json", self.profile))["seconds"]
        first, last = self.lines("-w", f":{0.3 * seconds}s"), self.lines("-w", f"{0.7 * seconds}s:")
        self.assertGreater(first[(0, 1)], 100 * first.get((0, 2), 0))
        self.assertGreater(last[(0, 2)], 100 * last.get((0, 1), 0))

    def test_a_sample_of_lines_stands_for_all(self):
        """One line of 16 is followed: 6144 of 98304 lines, so that 5 % are four standard deviations."""
        self.check("pairs", 2, "--sample", "16", lines=98304, rounds=4, share=0.05)
        self.assertIn("one line of 16 was followed", self.ondeloc("profile", "info", self.profile))

    def test_a_full_table_is_told(self):
        self.record(PROGRAM, "pairs", "2", "65536", "2", options=["--table", "64KiB"])
        self.assertIn("written lines were forgotten", self.ondeloc("profile", "info", self.profile))

    def test_names_and_functions(self):
        self.record(PROGRAM, "pairs", "4", "64", "1")
        info = json.loads(self.ondeloc("profile", "info", "--format", "json", self.profile))
        self.assertEqual(info["threads"], 4)
        self.assertEqual(info["thread_names"][2], "2 worker 2 (run_rounds)")

    def test_memory_volumes(self):
        """Each thread reads and writes its lines once a round: 8 bytes of each, and a miss for each line in a tiny cache."""
        self.record(PROGRAM, "pairs", "2", "65536", "4", options=["--llc", "64KiB"])
        info = json.loads(self.ondeloc("profile", "metrics", "--format", "json", self.profile))
        self.assertGreater(info["CommR"], 0)
        self.assertGreater(info["DramR"], 0.5)
        self.record(PROGRAM, "pairs", "2", "1024", "400")
        info = json.loads(self.ondeloc("profile", "metrics", "--format", "json", self.profile))
        self.assertLess(info["DramR"], 0.05)

    def kernel(self, *words, threads=4):
        """Records a kernel; returns the lines of each pair and the share of them that neighbours exchange."""
        def team(threads):  # threads that wait do not take the CPU from those that work
            return dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")
        done = self.record(KERNELS, *words, env=team(threads))
        alone = run(KERNELS, *words, env=team(1))
        self.assertAlmostEqual(float(done.stdout) / float(alone.stdout), 1, places=6)
        found = self.lines()
        return found, sum(lines for (src, dst), lines in found.items() if abs(src - dst) == 1) / sum(found.values())

    def test_kernels_of_neighbours(self):
        """In mg and lu each thread exchanges planes with the next. Of four threads three of six pairs are neighbours."""
        for words in ("mg", "32", "20"), ("lu", "34", "20"):
            with self.subTest(words):
                found, neighbours = self.kernel(*words)
                self.assertGreater(neighbours, 0.7)
                self.assertGreater(min(found[pair] for pair in ((1, 2), (2, 1), (2, 3), (3, 2))), 3 * found.get((1, 3), 0))

    def test_kernels_of_all_with_all(self):
        """In cg and ft each thread reads from all others alike. Thread 0 has filled the arrays."""
        for words in ("cg", "8000", "20"), ("ft", "128", "20"):
            with self.subTest(words):
                found, neighbours = self.kernel(*words)
                self.assertLess(neighbours, 0.6)
                pairs = [found[src, dst] for src in range(1, 4) for dst in range(4) if src != dst]
                self.assertLess(max(pairs), 1.5 * min(pairs))

    def test_status_of_the_program_is_passed_on(self):
        self.assertIn("status 2", self.record(PROGRAM, "no pattern", status=2).stderr)

    def test_a_starter_that_ignores_sigchld_hides_no_status(self):
        self.record(PROGRAM, "no pattern", status=2, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))

    def test_the_program_ignores_what_nohup_has_it_ignore(self):
        def ignore():
            for number in signal.SIGHUP, signal.SIGINT:
                signal.signal(number, signal.SIG_IGN)
        self.record("/bin/sh", "-c", "kill -HUP $PPID; kill -HUP $$; kill -INT $$; exit 7", status=7, preexec_fn=ignore)

    def test_a_program_that_another_one_executes_is_not_followed(self):
        self.assertIn("called exec", self.record("/usr/bin/env", "A=1", PROGRAM, "pairs", "2", "64", "1").stderr)
        info = self.ondeloc("profile", "info", self.profile)
        self.assertIn("called exec", info)
        self.assertNotIn("was killed", info)

    def test_a_forked_child_is_not_counted(self):
        """The child of system() writes as much as it likes: the parent's account stays right."""
        self.record("/usr/bin/python3", "-c", "import os; os.system('exit 0'); b = bytearray(1 << 20)")
        self.assertIn("complete          true", self.ondeloc("profile", "info", self.profile))

    def test_threads_of_a_forked_child_are_not_counted(self):
        child = "import os, threading as t\nif os.fork() == 0:\n for i in range(3): t.Thread(target=id, args=(i,)).start()\nelse: os.wait()"
        self.record("/usr/bin/python3", "-c", child)
        self.assertEqual(json.loads(self.ondeloc("profile", "info", "--format", "json", self.profile))["threads"], 1)

    def test_a_killed_program_leaves_a_profile(self):
        words = [ONDELOC, "threads", "record", "-o", self.profile, "--", PROGRAM, "ring", "4", "4096", "1000000"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
            time.sleep(1)
            child.send_signal(signal.SIGTERM)
            child.stderr.read()
        self.assertEqual(child.returncode, 128 + signal.SIGTERM)
        found = self.lines()
        self.assertGreater(found[(0, 1)], 100 * found.get((1, 0), 0))
        self.assertIn("was killed", self.ondeloc("profile", "info", self.profile))

    def test_a_warning_signal_reaches_the_program(self):
        """Users ask Slurm for it (sbatch --signal=USR1). A program that handles it goes on and is recorded to its end."""
        script = ("import os, signal as s\n"
                  "for number in s.SIGUSR1, s.SIGUSR2: s.signal(number, lambda *_: None)\n"
                  "for number in s.SIGUSR1, s.SIGUSR2: os.kill(os.getppid(), number); s.sigtimedwait([], 1)\n"
                  "os._exit(7)")
        self.record("/usr/bin/python3", "-c", script, status=7)
        self.assertIn("complete          true", self.ondeloc("profile", "info", self.profile))

    def test_wrong_programs_are_one_sentence(self):
        script = os.path.join(self.folder.name, "script")
        pathlib.Path(script).write_text("#!/bin/sh\n", encoding="ascii")
        os.chmod(script, 0o755)
        self.assertIn("QEMU runs no scripts", self.record(script, status=1).stderr)
        self.assertIn("is not a program", self.record("no_such_program", status=1).stderr)
        self.assertFalse(os.path.exists(self.profile))

    def test_missing_qemu_is_one_sentence(self):
        done = run(ONDELOC, "threads", "record", "-o", self.profile, "--", PROGRAM, env={"PATH": self.folder.name})
        self.assertEqual(done.returncode, 1)
        self.assertIn("install Debian's package qemu-user", done.stderr)

    def test_a_table_without_memory_is_the_reason_that_is_told(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        done = self.record(PROGRAM, "pairs", "2", "64", "1", options=("--table", "64GiB"), status=1, preexec_fn=limit)
        self.assertIn("make it smaller with --table", done.stderr)
        self.assertNotIn("use a qemu-x86_64", done.stderr)

    def test_one_thread_is_not_several(self):
        self.assertIn(" 1 thread read ", self.record("/bin/sh", "-c", "exit 0").stderr)

    def test_ranks_write_a_file_each(self):
        pattern = os.path.join(self.folder.name, "app.%t.prof")
        words = [ONDELOC, "threads", "record", "-o", pattern, "--", PROGRAM, "pairs", "2", "64", "1"]
        for variables in ({"SLURM_PROCID": "7"}, {"SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "8"},
                          {"SLURM_PROCID": "0", "PMIX_RANK": "9"}, {"SLURM_PROCID": "0", "PMI_RANK": "10"}):
            with self.subTest(variables):
                self.assertEqual(run(*words, env=os.environ | variables).returncode, 0)
                self.assertTrue(os.path.exists(os.path.join(self.folder.name, f"app.{max(map(int, variables.values()))}.prof")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
