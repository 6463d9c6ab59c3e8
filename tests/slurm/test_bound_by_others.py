# SPDX-License-Identifier: Apache-2.0
"""Ranks that a wrapper or the program itself binds: ondeloc replaces that binding or respects it, and the report says so."""
import os

import harness

REPLACED = "%s: a wrapper, the runtime or the program itself chose other CPUs; ondeloc replaced that binding"
AGAIN = "%s: the program chose other CPUs again after ondeloc had bound it; ondeloc leaves it alone until its next move"
# Two seconds are several intervals. The last rank binds itself as often as the argument says. Without traffic no rank moves.
PROGRAM = """import os, sys, time
from mpi4py import MPI
world, end = MPI.COMM_WORLD, time.monotonic() + 2
binds = {"never": 0, "once": 1, "always": 1000}[sys.argv[1]]
while time.monotonic() < end:
    if world.rank == world.size - 1 and binds > 0:
        os.sched_setaffinity(0, {0})
        binds -= 1
    time.sleep(0.02)
print(world.rank, *sorted(os.sched_getaffinity(0)))
"""
# Slurm puts the two ranks of a pair apart. Every main thread binds itself to CPU 0 again and again; PMIx's threads do not.
PAIRS = """import os, time
from mpi4py import MPI
world, end, more = MPI.COMM_WORLD, time.monotonic() + 2, True
while more:
    os.sched_setaffinity(0, {0})
    mine = time.monotonic() < end
    theirs, _ = world.sendrecv((mine, bytes(1 << 16)), world.rank ^ 1, source=world.rank ^ 1)
    more = mine and theirs
world.Barrier()
others = [os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task") if int(thread) != os.getpid()]
print(world.rank, *sorted(set.union(*others)))
"""
OPTION = "online,interval=100ms,max-interval=200ms,report=r.json"


class BoundByOthers(harness.Case):
    def seen(self, arguments, binds, wrapper=(), option=OPTION):
        """Returns (the CPUs of the ranks at their end, the CPUs in the report, the report's notes about bindings)."""
        result = self.srun("-n2", *arguments, *wrapper, "python3", "-c", PROGRAM, binds, ondeloc=option)
        self.assert_ran(result)
        report = self.report("r.json")
        own = dict(line.split(" ", 1) for line in result.stdout.splitlines())
        return ([own["0"], own["1"]], [rank["final_cpus"] for rank in report["ranks"]],
                sorted(note for note in report["notes"] if "bind" in note or "bound" in note))

    def assert_seen(self, cpus, notes, *arguments, **options):
        self.assertEqual(self.seen(*arguments, **options), (cpus, cpus, notes))

    def test_nobody(self):
        self.assert_seen(["0", "1"], [], ["--cpu-bind=map_cpu:0,1"], "never")
        self.assert_seen(["0", "1"], [], ["--cpu-bind=none"], "never")

    def test_wrapper(self):
        taskset = ("taskset", "-c", "0")
        self.assert_seen(["0", "1"], [REPLACED % "rank 1"], ["--cpu-bind=map_cpu:0,1"], "never", wrapper=taskset)
        self.assert_seen(["0", "1"], [REPLACED % "ranks 0-1"], ["--cpu-bind=none"], "never", wrapper=taskset)

    def test_program(self):
        bound = ["--cpu-bind=map_cpu:0,1"]
        self.assert_seen(["0", "1"], [REPLACED % "rank 1"], bound, "once")
        self.assert_seen(["0", "0"], sorted([AGAIN % "rank 1", REPLACED % "rank 1"]), bound, "always")

    def test_threads_of_a_rank_that_binds_itself_are_moved(self):
        result = self.srun("-n4", "--cpu-bind=map_cpu:0,1,0,1", "python3", "-c", PAIRS, ondeloc=OPTION + ",decide=always")
        self.assertEqual(result.returncode, 0, result.stderr)
        others = dict(line.split(" ", 1) for line in result.stdout.splitlines())
        self.assertEqual((others["0"], others["2"]), (others["1"], others["3"]))
        self.assertEqual({others["0"], others["2"]}, {"0", "1"})

    def test_memory(self):
        """Sets a memory policy as numactl --membind=0 does, without numactl."""
        call = {"x86_64": 238, "aarch64": 237}[os.uname().machine]  # set_mempolicy
        bind = ("import ctypes; mask = ctypes.c_ulong(1); "
                f"assert ctypes.CDLL(None).syscall({call}, 2, ctypes.byref(mask), 64) == 0; ")
        for first, option, wanted in ("", OPTION, []), (bind, OPTION, ["all ranks"]), (bind, OPTION + ",decide=never", []):
            result = self.srun("-n2", "python3", "-c", first + "from mpi4py import MPI", ondeloc=option)
            self.assert_ran(result)
            notes = self.report("r.json")["notes"]
            self.assertEqual([note.split(":")[0] for note in notes if "memory policy" in note], wanted)

    def test_a_mapper_that_only_watches_replaces_nothing(self):
        for binds, wrapper in ("never", ("taskset", "-c", "0")), ("once", ()):
            self.assert_seen(["0", "0"], [], ["--cpu-bind=map_cpu:0,1"], binds, wrapper=wrapper, option=OPTION + ",decide=never")


if __name__ == "__main__":
    harness.main()
