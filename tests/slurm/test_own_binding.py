# SPDX-License-Identifier: Apache-2.0
"""Open MPI and PSM2 do not bind ranks that ondeloc moves or has bound, and bind ranks of another launcher as without ondeloc."""
import os
import pathlib

import comparing
import harness

HERE = "from mpi4py import MPI; import os; print(MPI.COMM_WORLD.rank, *sorted(os.sched_getaffinity(0)))"
# With two slots for two ranks mpirun binds each rank to a core.
MPIRUN = ["mpirun", "--mca", "plm", "rsh", "--mca", "ras", "^slurm", "-H", "localhost:2", "-n", "2", "python3", "-c", HERE]
VARIABLES = ("OMPI_MCA_hwloc_base_binding_policy", "HFI_NO_CPUAFFINITY")
# Prints the binding policy that Open MPI 4 obeys, and the variables that are left in the environment.
POLICY = """import ctypes, os
from mpi4py import MPI
mpi, integer, value = ctypes.CDLL("libmpi.so.40"), ctypes.c_int(), ctypes.create_string_buffer(4096)
index, handle = ctypes.c_int(), ctypes.c_void_p()
assert mpi.MPI_T_init_thread(0, ctypes.byref(integer)) == 0
found = mpi.MPI_T_cvar_get_index(b"hwloc_base_binding_policy", ctypes.byref(index)) == 0
if found:
    assert mpi.MPI_T_cvar_handle_alloc(index, None, ctypes.byref(handle), ctypes.byref(integer)) == 0
    assert mpi.MPI_T_cvar_read(handle, value) == 0
print("policy", value.value.decode() if found else "unknown", "left", [name for name in %r if name in os.environ])
""" % (VARIABLES,)
IN_MPI_T_FIRST = """import mpi4py
mpi4py.rc.initialize = False
import ctypes
from mpi4py import MPI
assert ctypes.CDLL(None).MPI_T_init_thread(0, ctypes.byref(ctypes.c_int())) == 0
MPI.Init()
""" + POLICY


class Mpirun(comparing.Comparing):
    def test_mpirun_binds_its_ranks_as_without(self):
        self.write("one.txt", "rank 0=localhost slot=0\n")
        for arguments, option in ([], "online"), (["--cpu-bind=map_cpu:0"], "static:one.txt"):
            with self.subTest(option):
                result = self.assert_same("-n1", *arguments, *MPIRUN, ondeloc=option)
                self.assert_ran(result)
                self.assertEqual(sorted(result.stdout.splitlines()), ["0 0", "1 1"], "mpirun binds nobody: this test tests nothing")


class Ranks(harness.Case):
    """A policy in a file of the site or user makes Open MPI 4 bind ranks of srun too."""

    def setUp(self):
        super().setUp()
        self.home = {"HOME": self.dir}
        os.mkdir(f"{self.dir}/.openmpi", 0o755)
        self.write(".openmpi/mca-params.conf", "hwloc_base_binding_policy = core\n")

    def policy(self, program, ondeloc=None, env=None):
        result = self.srun("-n1", "python3", "-c", program, ondeloc=ondeloc, env=self.home | (env or {}))
        self.assert_ran(result)
        return result.stdout.strip()

    def test_open_mpi(self):
        without = self.policy(POLICY)
        self.assertIn(without, ("policy core left []", "policy unknown left []"))
        none = without.replace("core", "none")
        for option, wanted in (("online", none), ("online,transport=pmix", none), ("online,decide=never", without),
                               ("profile:app.prof", without)):
            with self.subTest(option):
                self.assertEqual(self.policy(POLICY, option), wanted)
        self.assertEqual(self.policy(IN_MPI_T_FIRST, "online"), none)
        users = self.policy(POLICY, "online", {"OMPI_MCA_hwloc_base_binding_policy": "core"})
        self.assertEqual(users, without.replace("[]", f"['{VARIABLES[0]}']"))

    def test_every_variable(self):
        """Returns the variables as a library that is loaded after ondeloc's sees them in MPI_Init."""
        tool = {"LD_PRELOAD": f"{harness.RANK_LIB}:{harness.APPS}/libpmpi_tool.so", "PMPI_TOOL_SHOW": ",".join(VARIABLES)}
        for users, wanted in (None, "1"), ("0", "0"):
            env = self.home | tool | ({"HFI_NO_CPUAFFINITY": users} if users else {})
            result = self.srun("-n1", "python3", "-c", HERE, ondeloc="online", env=env)
            self.assert_ran(result)
            self.assertEqual(result.stderr.splitlines(),
                             [f"pmpi_tool: {VARIABLES[0]} is none", f"pmpi_tool: {VARIABLES[1]} is {wanted}"])

    def test_a_rank_that_a_rankfile_gives_all_cpus_keeps_them(self):
        pathlib.Path(self.dir, "all.txt").write_text("rank 0=localhost slot=0-1\n", encoding="ascii")
        for option in "static:all.txt", "static:all.txt,report=r.json":
            self.assertEqual(self.policy(HERE, option), "0 0 1")


if __name__ == "__main__":
    harness.main()
