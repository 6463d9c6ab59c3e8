# SPDX-License-Identifier: Apache-2.0
"""Shared by the counting tests: what ondeloc counted, what a program says it sent, what Open MPI's own monitoring saw.
A matrix here is {(src, dst): (bytes, messages)} by world rank, without the diagonal and without empty cells."""
import pathlib
import re

import harness

# Fixed algorithms, so that every rank sends each block straight to its owner.
LINEAR = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_alltoall_algorithm": "1",
          "OMPI_MCA_coll_tuned_alltoallv_algorithm": "1"}
PAIRWISE = {**LINEAR, "OMPI_MCA_coll_tuned_alltoall_algorithm": "2",
            "OMPI_MCA_coll_tuned_alltoallv_algorithm": "2"}
MONITORING = {"OMPI_MCA_pml_monitoring_enable": "2", "OMPI_MCA_pml_monitoring_enable_output": "3"}
PROFILE_LINE = re.compile(r"^[EI]\s+(\d+)\s+(\d+)\s+(\d+) bytes\s+(\d+) msgs", re.MULTILINE)


def clean(cells):
    return {pair: cell for pair, cell in cells.items() if pair[0] != pair[1] and cell != (0, 0)}


def of_report(report):
    return clean({(c["src"], c["dst"]): (int(c["bytes"]), int(c["messages"])) for c in report["matrix"]})


def minus(a, b):
    zero = (0, 0)
    return clean({p: (a.get(p, zero)[0] - b.get(p, zero)[0], a.get(p, zero)[1] - b.get(p, zero)[1])
                  for p in {*a, *b}})


class Counting(harness.Case):
    ranks = 4

    def command(self, program):
        path = f"{harness.APPS}/{program}"
        return ["/usr/bin/python3", path] if program.endswith(".py") else [path]

    def run_counted(self, program, *arguments, transport="auto", env=None, wrapper=(), name="run"):
        """Runs a program under ondeloc and returns its report."""
        result = self.srun(f"-n{self.ranks}", *wrapper, *self.command(program), *arguments,
                           ondeloc=f"online,decide=never,transport={transport},report={name}.json",
                           env={"COUNT_OUT": f"{self.dir}/{name}", **(env or {})})
        self.assert_ran(result)
        return self.report(f"{name}.json")

    def said(self, name="run"):
        """The matrix that the ranks print: what they sent."""
        cells = {}
        for rank in range(self.ranks):
            text = pathlib.Path(self.dir, f"{name}.{rank}").read_text(encoding="ascii")
            for line in text.splitlines():
                *fetched, peer, length, messages = line.split()
                pair = (int(peer), rank) if fetched else (rank, int(peer))
                before = cells.get(pair, (0, 0))
                cells[pair] = (before[0] + int(length), before[1] + int(messages))
        self.assertTrue(clean(cells), "the program says that it sent nothing")
        return clean(cells)

    def assert_one_left_out(self, counted, name="skip"):
        """Checks a run with COUNT_SKIP_ONE: the counts equal what the ranks print, except for one message of rank 0."""
        left_out = minus(counted, self.said(name))
        self.assertEqual([(pair[0], cell[1]) for pair, cell in left_out.items()], [(0, 1)],
                         "a miscount was not seen as one message")

    def monitored(self, prefix):
        """Open MPI's pml/monitoring: messages of the program (E) and of the library (I)."""
        cells = {}
        for rank in range(self.ranks):
            text = pathlib.Path(f"{prefix}.{rank}.prof").read_text(encoding="ascii")
            for match in PROFILE_LINE.finditer(text):
                src, dst, length, messages = (int(g) for g in match.groups())
                before = cells.get((src, dst), (0, 0))
                cells[src, dst] = (before[0] + length, before[1] + messages)
        return clean(cells)


class Exact(Counting):
    def assert_exact(self, program, *arguments, makes_communicators=False, env=None, transport="auto"):
        """`makes_communicators`: the MPI library sends messages of its own to make communicators. A run
        without the program's messages tells how many."""
        env = env or {}
        own = {}
        if makes_communicators:
            dry = self.run_counted(program, *arguments, transport=transport, env={**env, "COUNT_DRY": "1"}, name="dry")
            own = of_report(dry)
            self.assertTrue(own)
        report = self.run_counted(program, *arguments, transport=transport, env=env)
        counted = minus(of_report(report), own)
        self.assertEqual(counted, self.said())
        skipping = self.run_counted(program, *arguments, transport=transport, env={**env, "COUNT_SKIP_ONE": "1"},
                                    name="skip")
        self.assert_one_left_out(minus(of_report(skipping), own))
        return report


class AgainstMonitoring(Counting):
    """Compares with Open MPI's own monitoring in one run."""

    def both(self, program, *arguments, env=None, name="run"):
        """Returns (ondeloc's matrix, Open MPI's matrix) of one run."""
        prefix = f"{self.dir}/{name}.monitoring"
        report = self.run_counted(program, *arguments, name=name, env={
            **MONITORING, "OMPI_MCA_pml_monitoring_filename": prefix, **(env or {})})
        monitored = self.monitored(prefix)
        self.assertTrue(monitored)
        return of_report(report), monitored

    def assert_same(self, program, *arguments, env=None, name="run"):
        ours, theirs = self.both(program, *arguments, env=env, name=name)
        self.assertEqual(ours, theirs)
        return ours
