#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""foreign_tool.py BUILD_DIR LIBRARY [openmpi | mpich]

Runs programs that send known messages with a profiling library for this MPI (default: openmpi), for example mpiP's
libmpiP.so, on a private Slurm, with `online` and with `profile`. LIBRARY is preloaded before ondeloc, behind it, and linked
into the program (with the MPI's mpicc). As root; nothing of LIBRARY becomes part of ondeloc. Checks:

- The counts equal what the ranks print that they send. A library that sends messages of its own before it calls
  PMPI_Finalize adds these: their number has to be the same for all programs that send alike, and a program that prints one
  message less than it sends has to differ by this message. Between ranks to which the library sends nothing, bytes are exact.
- The files that the library writes have the same lines as without ondeloc, times apart. Only lines that are there in several
  runs without ondeloc are compared, and a line has to be there in one of several runs with ondeloc: a library may leave out
  calls that took no time. A line that is missing only in a ranking by time shows no fault."""
import collections
import functools
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
APPS = HERE.parent / "apps"
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 2 else ".").resolve()
os.environ["ONDELOC_TEST_WHERE"] = f"{BUILD}/tests/slurm/where"
PROGRAMS = "send_modes", "persistent"
Mpi = collections.namedtuple("Mpi", "prefix ranks arguments srun")
MPIS = {"openmpi": Mpi("", 4, {}, ["--mpi=pmix"]),
        # Waiting ranks of MPICH keep the CPU: more of them than CPUs are slow.
        "mpich": Mpi("mpich_", 2, {"persistent": ["plain"]}, ["--mpi=pmi2"])}
WITHOUT = 3  # runs without ondeloc
WITH = 6  # more runs with ondeloc, at most, for lines that a library does not write in each run
MODES = {"online": "online,decide=never,report=run.json", "profile": "profile:run.prof"}
VARIES = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?e[-+]\d+|\d+\.\d+|\d\d:\d\d:\d\d")


class Checks:
    def __init__(self, library, mpi):
        import profiling  # needs the private Slurm
        self.counting, self.harness = profiling.counting, profiling.harness
        self.case = profiling.Profiling("assert_ran")
        self.case.setUp()
        self.mpi, self.mpicc = MPIS[mpi], f"mpicc.{mpi}"
        self.case.ranks = self.mpi.ranks
        self.tool = f"{self.case.dir}/{library.name}"
        shutil.copy(library, self.tool)
        self.failed = 0

    def check(self, right, text):
        self.failed += not right
        print(f"{'ok' if right else 'WRONG'}: {text}", flush=True)

    def link(self, program):
        linked = f"{self.case.dir}/{program}.linked"
        subprocess.run([self.mpicc, "-w", "-pthread", APPS / f"{program}.c", APPS / "counts.c", "-o", linked, "-Wl,--no-as-needed", self.tool],
                       check=True)
        return linked

    def run(self, program, place, ondeloc, env=None):
        """Returns the lines of the files that the tool wrote, without what differs from run to run."""
        path = self.link(program) if place == "linked" else f"{self.harness.APPS}/{self.mpi.prefix}{program}"
        preload = {"before": self.tool, "behind": f"{self.harness.RANK_LIB}:{self.tool}", "linked": ""}[place]
        before = set(os.listdir(self.case.dir))
        command = [f"-n{self.case.ranks}", *self.mpi.srun, path, *self.mpi.arguments.get(program, [])]
        result = self.case.srun(*command, ondeloc=ondeloc,
                                env={"COUNT_OUT": f"{self.case.dir}/run", **({"LD_PRELOAD": preload} if preload else {}), **(env or {})})
        self.case.assert_ran(result)
        self.harness.wait_until_none_left()
        lines = collections.Counter()
        for name in set(os.listdir(self.case.dir)) - before:
            if not re.fullmatch(r"run\.(\d+|json|prof)|\w+\.linked", name):
                text = pathlib.Path(self.case.dir, name).read_text(encoding="utf-8", errors="replace")
                lines.update(" ".join(VARIES.sub("#", line).split()) for line in text.splitlines())
                os.remove(pathlib.Path(self.case.dir, name))
        return lines

    def counted(self, mode):
        if mode == "profile":
            info = self.case.info("run.prof")
            self.case.assert_whole(info)
            return self.case.recorded("run.prof")
        return self.counting.of_report(self.case.report("run.json"))

    def beyond(self, program, place, mode, env=None):
        """Returns the messages that ondeloc counted and the program did not send, and the lines that the tool wrote."""
        lines = self.run(program, place, MODES[mode], env)
        beyond = self.counting.minus(self.counted(mode), self.case.said())
        for name in "run.json", "run.prof":
            pathlib.Path(self.case.dir, name).unlink(missing_ok=True)
        return beyond, lines

    @functools.cache
    def steady_lines(self, program, place):
        return functools.reduce(operator.and_, (self.run(program, place, "off") for _ in range(WITHOUT)))

    def compare_output(self, program, place, mode, lines):
        steady = self.steady_lines(program, place)
        missing = steady - lines
        for _ in range(WITH):
            if missing:
                missing -= self.run(program, place, MODES[mode])
        self.check(steady.total() > 0 and not missing,
                   f"{program}, tool {place}, {mode}: {steady.total() - missing.total()} of {steady.total()} steady lines "
                   f"of the tool's {lines.total()} are there")
        for line in missing:
            print(f"  missing: {line}")

    def program(self, program, place, mode):
        own, lines = self.beyond(program, place, mode)
        skipping, _ = self.beyond(program, place, mode, {"COUNT_SKIP_ONE": "1"})
        # The tool's own messages may differ in size from run to run, as those of Caliper do.
        one = [(pair[0], cell[1]) for pair, cell in self.counting.minus(skipping, own).items() if cell[1] or pair not in own]
        messages = sum(cell[1] for cell in own.values())
        self.check(one == [(0, 1)], f"{program}, tool {place}, {mode}: exact; {messages} messages are the tool's own")
        self.compare_output(program, place, mode, lines)
        return own

    def all(self):
        for place in "before", "behind", "linked":
            for mode in "online", "profile":
                own = {tuple(sorted((pair, cell[1]) for pair, cell in self.program(program, place, mode).items())) for program in PROGRAMS}
                self.check(len(own) == 1, f"tool {place}, {mode}: the tool's own messages are the same beside {' and '.join(PROGRAMS)}")
        self.case.tearDown()
        return self.failed


def main():
    mpi = sys.argv[3] if len(sys.argv) == 4 else "openmpi"
    if len(sys.argv) not in (3, 4) or mpi not in MPIS:
        sys.exit(__doc__)
    subprocess.run([HERE / "fixture", "start", BUILD], check=True)
    try:
        failed = Checks(pathlib.Path(sys.argv[2]).resolve(), mpi).all()
    finally:
        subprocess.run([HERE / "fixture", "stop", BUILD], check=True)
    sys.exit(1 if failed else 0)


main()
