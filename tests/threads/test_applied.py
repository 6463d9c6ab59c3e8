#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A mapping of threads, applied to an OpenMP program by what `ondeloc map` writes: each thread runs on the CPUs that the mapping
gives it.  test_applied.py ONDELOC OPENMP_CPUS"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ONDELOC, PROGRAM = sys.argv[1:3]


class Applied(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        own = sorted(os.sched_getaffinity(0))
        self.threads, self.cpuset = len(own), ",".join(map(str, own))
        self.matrix = pathlib.Path(folder.name, "threads.mat")
        self.matrix.write_text("\n".join(" ".join("0" if row == column else "4096" for column in range(self.threads))
                                         for row in range(self.threads)) + "\n")
        # A mapping that is not the order of the CPUs, if there are several.
        for seed in range(1, 100):
            self.algorithm = f"random:{seed}"
            self.wanted = [set(rank["pus"]) for rank in json.loads(self.map("json"))["ranks"]]
            if self.threads == 1 or self.wanted != sorted(self.wanted, key=min):
                break
        self.assertEqual(len(self.wanted), self.threads)

    def map(self, form, *more):
        result = subprocess.run([ONDELOC, "map", self.matrix, "-a", self.algorithm, "--cpuset", self.cpuset, "-f", form, *more],
                                capture_output=True, text=True, check=True)
        return result.stdout.rstrip("\n")

    def cpus_of_threads(self, before=(), **environment):
        """The CPUs of each thread of the program."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
        result = subprocess.run([*before, PROGRAM], env=clean | {"OMP_NUM_THREADS": str(self.threads)} | environment,
                                capture_output=True, text=True, check=True)
        lines = [line.split(":") for line in result.stdout.splitlines()]
        self.assertEqual([int(thread) for thread, _ in lines], list(range(self.threads)))
        return [set(map(int, cpus.split())) for _, cpus in lines]

    def test_omp_places(self):
        self.assertEqual(self.cpus_of_threads(OMP_PLACES=self.map("omp-places"), OMP_PROC_BIND="close"), self.wanted)

    def test_gomp(self):
        self.assertEqual(self.cpus_of_threads(GOMP_CPU_AFFINITY=self.map("gomp")), self.wanted)

    def test_taskset(self):
        self.assertEqual(self.cpus_of_threads(["taskset", "-c", self.map("taskset")]), [set().union(*self.wanted)] * self.threads)

    def test_likwid(self):
        """The list of likwid-pin has the order of the threads; the program itself is not run here."""
        self.assertEqual([{int(cpu)} for cpu in self.map("likwid").split(",")], self.wanted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
