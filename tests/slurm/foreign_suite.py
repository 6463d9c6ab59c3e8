#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""foreign_suite.py BUILD_DIR mpich TESTS [PART...] [--seconds N]
foreign_suite.py BUILD_DIR mpi4py TESTS [PART...] [--seconds N]

Runs the test suite of MPICH or of mpi4py on a private Slurm, each case without ondeloc, with `online`, which moves the
ranks in each interval, and with `profile`, and compares the outcomes. As root; nothing of the suites is part of ondeloc.

mpich: TESTS is the folder test/mpi of MPICH's sources, configured and built with the MPICH that libmpich.so belongs to; a
PART is a folder of it (default: pt2pt coll rma comm datatype). mpi4py: TESTS is the folder test of the release that the
system's python3-mpi4py is; a PART is a pattern of its files (default: test_p2p test_cco test_rma).

A case that differs is run again, without and with ondeloc. It is called unsteady if the outcomes can agree or if they differ
without ondeloc too. A case that takes more than N seconds (default 60) without ondeloc is left out. Exits with 1 if other differences remain."""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

MOST_RANKS = 4
AGAIN = 3
MODES = {"online": "online,interval=20ms,max-interval=40ms,decide=always,report=run.json", "profile": "profile:run.prof"}
PARTS = {"mpich": ["pt2pt", "coll", "rma", "comm", "datatype"], "mpi4py": ["test_p2p", "test_cco", "test_rma"]}

Case = collections.namedtuple("Case", "name ranks command env mpi")


def cases_of_mpich(tests, part):
    """One case for each line of the folder's testlist: a program, a number of ranks, and words KEY=VALUE."""
    for line in (tests / part / "testlist").read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if len(words) < 2 or not words[1].isdigit() or not (tests / part / words[0]).exists():
            continue
        given = [word.partition("=")[::2] for word in words[2:]]
        arguments = [value for key, value in given if key == "arg"]
        env = dict(value.partition("=")[::2] for key, value in given if key == "env")
        yield Case(line.strip(), min(int(words[1]), MOST_RANKS), [f"./{words[0]}", *arguments], env, "pmi2")


def cases_of_mpi4py(tests, part):
    for file in sorted(tests.glob(f"{part}*.py")):
        command = ["/usr/bin/python3", "-B", "runtests.py", "--no-builddir", "--verbose", "--include", f"^{file.stem}$"]
        yield Case(file.stem, 3, command, {}, "pmix")


def outcome_of_mpich(result):
    return f"exit {result.returncode}, {'No Errors' if 'No Errors' in result.stdout else 'no success told'}"


def outcome_of_mpi4py(result):
    """How each test of each rank ended; srun puts the number of the rank before each line."""
    told = re.findall(r"^(\d+): (test\w+ \(.*?\)).*?\.\.\. (\w+)", result.stderr, re.MULTILINE)
    return f"exit {result.returncode}, " + ", ".join(sorted(map(str, collections.Counter(how for *_, how in told).items()))) + \
           f", {hash(frozenset(told)):x}"


SUITES = {"mpich": (cases_of_mpich, outcome_of_mpich), "mpi4py": (cases_of_mpi4py, outcome_of_mpi4py)}


class Run:
    def __init__(self, suite, tests, seconds):
        import harness  # needs the private Slurm
        self.seconds = seconds
        self.harness = harness
        self.cases, self.outcome_of = SUITES[suite]
        self.tests = tests
        self.work = pathlib.Path(harness.ROOT, "work", "suite")
        self.seen = collections.Counter()
        self.environment = {"MPITEST_RETURN_WITH_CODE": "yes"}
        if suite == "mpich":  # ranks of MPICH that wait keep the CPU; this library gives it to other ranks
            self.environment["LD_PRELOAD"] = f"{harness.APPS}/libucx_counts.so"

    def copy(self, part):
        """The ordinary user may not be able to read TESTS."""
        shutil.rmtree(self.work, ignore_errors=True)
        folder = self.tests / part if (self.tests / part).is_dir() else self.tests
        shutil.copytree(folder, self.work, ignore=shutil.ignore_patterns("*.o", "*.lo", ".deps"))
        for path in [self.work, *self.work.rglob("*")]:
            os.chown(path, self.harness.USER.pw_uid, self.harness.USER.pw_gid)

    def outcome(self, case, ondeloc):
        command = ["srun", "--quiet", "--overcommit", "--label", f"-n{case.ranks}", f"--mpi={case.mpi}",
                   f"--ondeloc={ondeloc}", *case.command]
        as_user = self.harness.as_user(command, self.work, {**self.environment, **case.env})
        with subprocess.Popen(stdout=subprocess.PIPE, stderr=subprocess.PIPE, **as_user) as srun:
            try:
                # With ondeloc a case may take longer on a busy machine.
                out, err = srun.communicate(timeout=self.seconds if ondeloc == "off" else 4 * self.seconds)
            except subprocess.TimeoutExpired:
                srun.terminate()
                srun.communicate()
                return "hangs"
        return self.outcome_of(subprocess.CompletedProcess(command, srun.returncode, out, err))

    def note_what_was_seen(self):
        """So that a comparison in which ondeloc did nothing is noticed."""
        report = self.work / "run.json"
        self.harness.wait_for(report.exists, 5)
        if not report.exists():
            return
        seen = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        self.seen["messages"] += sum(int(cell["messages"]) for cell in seen["matrix"])
        self.seen["moves"] += seen["totals"]["migrations"]
        self.seen["steps with messages"] += bool(seen["matrix"])

    def is_unsteady(self, case, mode):
        without = [self.outcome(case, "off") for _ in range(AGAIN)]
        with_it = [self.outcome(case, MODES[mode]) for _ in range(AGAIN)]
        return len(set(without)) > 1 or bool(set(without) & set(with_it))

    def part(self, part):
        """Prints the sums of one part and returns how many outcomes differ."""
        self.copy(part)
        counts, differing = collections.Counter(), 0
        for case in self.cases(self.tests, part):
            outcomes = {"off": self.outcome(case, "off")}
            if outcomes["off"] == "hangs":
                counts["left out"] += 1
                continue
            for mode, option in MODES.items():
                outcomes[mode] = self.outcome(case, option)
                if mode == "online":
                    self.note_what_was_seen()
            counts["cases"] += 1
            counts["pass"] += outcomes["off"].startswith("exit 0")
            for mode in MODES:
                if outcomes[mode] == outcomes["off"]:
                    counts[mode] += 1
                elif self.is_unsteady(case, mode):
                    counts["unsteady"] += 1
                    print(f"  unsteady: {case.name}: off: {outcomes['off']}; {mode}: {outcomes[mode]}", flush=True)
                else:
                    differing += 1
                    print(f"  DIFFERS: {case.name}: off: {outcomes['off']}; {mode}: {outcomes[mode]}", flush=True)
        print(f"{part}: {counts['cases']} cases ({counts['left out']} more take too long), {counts['pass']} pass without ondeloc; the same with online "
              f"{counts['online']}, with profile {counts['profile']}; unsteady {counts['unsteady']}, differing {differing}", flush=True)
        return differing if counts["cases"] else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("tests", type=pathlib.Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    return parser.parse_args()


def main():
    given = arguments()
    build = given.build.resolve()
    os.environ["ONDELOC_TEST_WHERE"] = f"{build}/tests/slurm/where"
    subprocess.run([HERE / "fixture", "start", build], check=True)
    try:
        run = Run(given.suite, given.tests.resolve(), given.seconds)
        differing = sum(run.part(part) for part in given.parts or PARTS[given.suite])
        print(f"with online: {', '.join(f'{n} {what}' for what, n in run.seen.items()) or 'nothing was counted'}")
    finally:
        subprocess.run([HERE / "fixture", "stop", build], check=True)
    sys.exit(1 if differing or not run.seen["messages"] else 0)


main()
