# SPDX-License-Identifier: Apache-2.0
"""MPI programs that another launcher than mpi/pmix started: mpirun inside a step, and steps without PMIx. Also MPI programs
that do not call MPI_Init."""
import pathlib

import comparing
import harness

MPIRUN = ["mpirun", "--mca", "plm", "rsh", "--mca", "ras", "^slurm", "--oversubscribe", "-n", "2"]
NOBODY = "no process called MPI_Init with ondeloc's library: nothing was counted or moved"
FOREIGN = "started by another launcher inside the step: left alone"
# mpirun closes all descriptors in its ranks. It has the segment itself, because it replaced a task.
WITH_SEGMENT = """fd=$(expr "$ONDELOC_STEP" : '.* fd=\\([0-9]*\\)')
[ -z "$fd" ] || eval "exec $fd<>/proc/$PPID/fd/$fd" || exit 9
exec python3 -c "$1"
"""
# Task 0 becomes mpirun, with as many ranks as the step has tasks.
ONE_MPIRUN = '[ "$SLURM_PROCID" != 0 ] || exec "$@"'
# Prints rank and size of a program of one rank, and its environment after MPI_Init, to which Open MPI adds variables.
ALONE = """import os
from mpi4py import MPI
name, world = os.environ["SEEN"] + "." + os.environ["SLURM_PROCID"], MPI.COMM_WORLD
got = world.sendrecv(world.rank + 7, dest=0, source=0)
print("task", os.environ["SLURM_PROCID"], "rank", world.rank, "of", world.size, "got", got)
open(name, "wb").write(b"\\0".join(b"=".join(pair) for pair in os.environb.items()))
raise SystemExit(5 if os.environ["SLURM_PROCID"] == "1" else 0)
"""
OURS = {b"ONDELOC_STEP", b"LD_PRELOAD", b"ASAN_OPTIONS", b"SEEN"}


class Mpirun(comparing.Comparing):
    def test_mpirun_inside_a_step(self):
        """The ranks are children of mpirun, which closes the segment's descriptor; the step has one task, their world two ranks.
        They are left alone, and the report says that there was nothing to do."""
        for transport in "auto", "pmix":
            with self.subTest(transport):
                result = self.assert_same("-n1", *MPIRUN, "python3", "-c", comparing.SUM,
                                          ondeloc=f"online,transport={transport},report={transport}.json")
                self.assertEqual(result.stdout, "3\n3\n", result.stderr)
                self.assert_nothing_counted(self.report(f"{transport}.json"), 1)

    def test_ranks_of_mpirun_that_look_like_those_of_the_step(self):
        """mpirun's ranks have the segment, and their world has the size of the step: only PMIX_NAMESPACE tells them apart."""
        script = self.write("with_segment.sh", f"#!/bin/bash\n{WITH_SEGMENT}")
        result = self.assert_same("-n2", "sh", "-c", ONE_MPIRUN, "sh", *MPIRUN, script, comparing.SUM,
                                  ondeloc="online,report=r.json")
        self.assertEqual(result.stdout, "3\n3\n", result.stderr)
        report = self.report("r.json")
        self.assert_nothing_counted(report, 2, f"rank 0: {FOREIGN}")  # or nobody had the segment: this test tests nothing
        self.assertNotIn(NOBODY, report["notes"])

    def assert_nothing_counted(self, report, ranks, why=NOBODY):
        self.assertIn(why, report["notes"])
        self.assertEqual((report["matrix"], report["off_node"]), ([], []))
        self.assertEqual([rank["pid"] for rank in report["ranks"]], [0] * ranks)
        self.assertEqual(report["events"], {"attach": 0, "sample": 0, "row": 0, "detach": 0, "dropped": 0})


class Sessions(comparing.Comparing):
    def test_a_program_of_sessions_alone_is_noted(self):
        self.assert_same("-n2", f"{harness.APPS}/sessions", ondeloc="online,report=r.json")
        notes = self.report("r.json")["notes"]
        self.assertIn("all ranks: MPI Sessions are used: counting begins with the first communicator that is made from one", notes)
        self.assertIn(NOBODY, notes)


class WithoutPmix(comparing.Comparing):
    def test_launches_that_fail(self):
        """Debian's Open MPI supports PMIx only: the program says so and ends."""
        for mpi in "none", "pmi2":
            for ranks in 1, 2:
                with self.subTest(mpi, ranks=ranks):
                    self.assert_same(f"--mpi={mpi}", f"-n{ranks}", "python3", "-c", comparing.SUM)

    def seen(self, name, rank):
        variables = pathlib.Path(self.dir, f"{name}.{rank}").read_bytes().split(b"\0")
        self.assertGreater(len(variables), 20)
        return {comparing.VOLATILE.sub(rb"\1", variable) for variable in variables}

    def run_alone(self, mpi, ranks, ondeloc=None):
        """Every task is a program of one rank: without this variable Open MPI does not recognise it as a task of Slurm."""
        name = f"{mpi}-{ranks}-{'without' if ondeloc is None else 'with'}"
        result = self.srun(f"--mpi={mpi}", f"-n{ranks}", "env", "--unset=SLURM_NODELIST", "python3", "-c", ALONE,
                           ondeloc=ondeloc, env={"SEEN": f"{self.dir}/{name}"})
        return result, [self.seen(name, rank) for rank in range(ranks)]

    def assert_alike(self, mpi, ranks):
        (without, env_without), (with_it, env_with) = (
            self.run_alone(mpi, ranks, option) for option in (None, f"online,report={mpi}-{ranks}.json"))
        self.assertEqual(sorted(without.stdout.splitlines()),
                         [f"task {rank} rank 0 of 1 got 7" for rank in range(ranks)], without.stderr)
        self.assertEqual(without.returncode, 5 if ranks == 2 else 0)
        self.assertEqual(with_it.returncode, without.returncode)
        self.assertEqual(sorted(with_it.stdout.splitlines()), sorted(without.stdout.splitlines()))
        self.assertEqual(self.said(with_it.stderr), self.said(without.stderr))
        for before, after in zip(env_without, env_with):
            self.assertLessEqual({change.split(b"=")[0] for change in before ^ after}, OURS)
        return self.report(f"{mpi}-{ranks}.json")

    def test_programs_that_run_alone(self):
        for mpi in "none", "pmi2":
            with self.subTest(mpi):
                one, two = (self.assert_alike(mpi, ranks) for ranks in (1, 2))
                self.assertNotEqual(one["ranks"][0]["pid"], 0, f"a world of one rank is that of its step: {one}")
                self.assertEqual([rank["pid"] for rank in two["ranks"]], [0, 0])
                self.assertIn("rank 0: MPI_COMM_WORLD has another size than the step: left alone", two["notes"])
                self.assertIn(f"rank 1: {FOREIGN}", two["notes"])
                self.assertEqual((one["matrix"], two["matrix"]), ([], []))


if __name__ == "__main__":
    harness.main()
