# SPDX-License-Identifier: Apache-2.0
"""Ranks that a wrapper or the program itself binds: what ondeloc does about it, and what the report says of that."""
import os

import harness

REPLACED = "rank %d: it had a binding of its own (by a wrapper, its runtime or itself): it was replaced"
AGAIN = "rank %d: it binds itself again after it was put back: it is left alone until it is moved next"
# Two seconds are several looks. The last rank binds itself as often as the argument says. Without traffic nobody is moved.
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
# Pairs that Slurm has put apart. Every main thread goes back to CPU 0 whatever ondeloc does; those of PMIx do not bind themselves.
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
        """(CPUs that the ranks had at their end, those that the report gives, its notes about bindings)"""
        result = self.srun("-n2", *arguments, *wrapper, "python3", "-c", PROGRAM, binds, ondeloc=option)
        self.assert_ran(result)
        report = self.report("r.json")
        own = dict(line.split(" ", 1) for line in result.stdout.splitlines())
        return ([own["0"], own["1"]], [rank["final_cpus"] for rank in report["ranks"]],
                sorted(note for note in report["notes"] if "bind" in note))

    def assert_seen(self, cpus, notes, *arguments, **options):
        self.assertEqual(self.seen(*arguments, **options), (cpus, cpus, notes))

    def test_nobody(self):
        self.assert_seen(["0", "1"], [], ["--cpu-bind=map_cpu:0,1"], "never")
        self.assert_seen(["0", "1"], [], ["--cpu-bind=none"], "never")

    def test_wrapper(self):
        taskset = ("taskset", "-c", "0")
        self.assert_seen(["0", "1"], [REPLACED % 1], ["--cpu-bind=map_cpu:0,1"], "never", wrapper=taskset)
        self.assert_seen(["0", "1"], [REPLACED % 0, REPLACED % 1], ["--cpu-bind=none"], "never", wrapper=taskset)

    def test_program(self):
        bound = ["--cpu-bind=map_cpu:0,1"]
        self.assert_seen(["0", "1"], [REPLACED % 1], bound, "once")
        self.assert_seen(["0", "0"], [AGAIN % 1, REPLACED % 1], bound, "always")

    def test_threads_of_a_rank_that_binds_itself_are_moved(self):
        result = self.srun("-n4", "--cpu-bind=map_cpu:0,1,0,1", "python3", "-c", PAIRS, ondeloc=OPTION + ",decide=always")
        self.assertEqual(result.returncode, 0, result.stderr)
        others = dict(line.split(" ", 1) for line in result.stdout.splitlines())
        self.assertEqual((others["0"], others["2"]), (others["1"], others["3"]))
        self.assertEqual({others["0"], others["2"]}, {"0", "1"})

    def test_memory(self):
        """As numactl --membind=0 does it, without numactl."""
        call = {"x86_64": 238, "aarch64": 237}[os.uname().machine]  # set_mempolicy
        bind = ("import ctypes; mask = ctypes.c_ulong(1); "
                f"assert ctypes.CDLL(None).syscall({call}, 2, ctypes.byref(mask), 64) == 0; ")
        for first, option, wanted in ("", OPTION, []), (bind, OPTION, ["ranks all"]), (bind, OPTION + ",decide=never", []):
            result = self.srun("-n2", "python3", "-c", first + "from mpi4py import MPI", ondeloc=option)
            self.assert_ran(result)
            notes = self.report("r.json")["notes"]
            self.assertEqual([note.split(":")[0] for note in notes if "memory policy" in note], wanted)

    def test_who_only_watches_replaces_nothing(self):
        for binds, wrapper in ("never", ("taskset", "-c", "0")), ("once", ()):
            self.assert_seen(["0", "0"], [], ["--cpu-bind=map_cpu:0,1"], binds, wrapper=wrapper, option=OPTION + ",decide=never")


if __name__ == "__main__":
    harness.main()
