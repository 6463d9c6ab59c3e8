# SPDX-License-Identifier: Apache-2.0
"""Steps on two nodes, also with each node as a component of a heterogeneous step: messages that leave the node are counted
apart, and world ranks differ from local ranks. The test starts a Slurm of its own with two slurmd on this machine."""
import errno
import json
import pathlib
import re
import signal
import subprocess
import time

import counting
import harness
import profiling

PRIVATE_SLURM = pathlib.Path(__file__).resolve().parents[2] / "etc" / "private-slurm"
DIR = pathlib.Path(harness.ROOT, "nodes")
# The two "nodes" share one /dev/shm, so Open MPI's shared memory files would be mixed up. Both have the address 127.0.0.1.
OVER_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
WHERE = "echo $SLURM_PROCID $(grep Cpus_allowed_list /proc/self/status)"
# The second node reaches the fence late. The others must not leave it before.
FENCE = """
import ctypes, os, pathlib, sys, time
pmix = ctypes.CDLL("libpmix.so.2")
nothing = (None, ctypes.c_size_t(0))
begun = pmix.PMIx_Init(ctypes.create_string_buffer(4096), *nothing)
if os.environ["SLURM_NODEID"] == "1":
    time.sleep(1)
    pathlib.Path("arrived").touch()
done = pmix.PMIx_Fence(*nothing, *nothing)
waited = pathlib.Path("arrived").exists()
pmix.PMIx_Finalize(*nothing)
sys.exit(0 if waited and begun == done == 0 else f"PMIx_Init: {begun}, PMIx_Fence: {done}, waited: {waited}")
"""
# A crash of Open MPI 5.0 itself, which runs the step again: these words stand together in its standard error. The first message
# of a rank that has left MPI_Init's fence reaches a rank that still waits in that fence, before pml/ob1 knows MPI_COMM_WORLD
# (open-mpi/ompi pull request 13559).
CRASH_OF_OPEN_MPI = ("ompi_mpi_init", "mca_pml_ob1_recv_frag_callback_match")


def crashed_in_open_mpi(errors):
    return all(word in errors for word in CRASH_OF_OPEN_MPI)


class TwoNodes(profiling.Profiling):
    nodes = 2
    conf = []
    topology = None  # of the site, in place of the one that all tests share

    @classmethod
    def setUpClass(cls):
        plugin = next(line for line in harness.PLUGSTACK.read_text(encoding="ascii").splitlines()
                      if line.startswith("optional"))
        if cls.topology:
            plugin = re.sub(r"topology=\S+", f"topology={cls.topology}", plugin)
        subprocess.run([PRIVATE_SLURM, "start", DIR, "--nodes", str(cls.nodes), "--cpus", "2", "--plugin", plugin, *cls.conf], check=True)
        cls.addClassCleanup(subprocess.run, [PRIVATE_SLURM, "stop", DIR], check=True)

    def srun_on_two(self, program, *arguments, distribution, ondeloc, name="run", env=None):
        before = self.files()
        for _ in range(5):
            # The hosts of an arbitrary distribution are those of SLURM_HOSTFILE: Slurm 24.11 refuses -N beside it.
            nodes = [] if distribution == "arbitrary" else [f"-N{self.nodes}"]
            result = self.srun(*nodes, f"-n{self.ranks}", "-m", distribution, *self.command(program),
                               *arguments, ondeloc=ondeloc,
                               env={"SLURM_CONF": f"{DIR}/slurm.conf",
                                    "COUNT_OUT": f"{self.dir}/{name}", **OVER_TCP, **(env or {})})
            if not crashed_in_open_mpi(result.stderr):
                break
            self.remove_all_but(before)
        self.assert_ran(result)
        return result

    def files(self):
        return set(pathlib.Path(self.dir).iterdir())

    def remove_all_but(self, files):
        """Removes the files of a crashed step: the next try has another job id."""
        harness.wait_until_none_left()
        for path in self.files() - files:
            path.unlink(missing_ok=True)

    def split(self, cells, here):
        """Returns what the ranks `here` sent to each other, and what each sent off the node."""
        near = {pair: cell for pair, cell in cells.items() if set(pair) <= here}
        off = {}
        for (src, dst), (length, messages) in cells.items():
            if src in here and dst not in here:
                before = off.get(src, (0, 0))
                off[src] = (before[0] + length, before[1] + messages)
        return near, off

    def assert_counts(self, reports, expected_ranks):
        """Checks the report of each node against what the ranks print."""
        said = self.said()
        for node, report in reports.items():
            here = {rank["rank"] for rank in report["ranks"]}
            self.assertEqual(here, expected_ranks[node])
            near, off = self.split(said, here)
            self.assertEqual(counting.of_report(report), near)
            self.assertEqual({o["src"]: (int(o["bytes"]), int(o["messages"]))
                              for o in report["off_node"]}, off)
            self.assertEqual({(o["src"], o["dst"]): (int(o["bytes"]), int(o["messages"])) for o in report["off_node_matrix"]},
                             {pair: cell for pair, cell in said.items() if pair[0] in here and pair[1] not in here})
            self.assertTrue(near and off)


class Nodes(TwoNodes):
    def run_on_two(self, program, *, distribution, transport, name="run"):
        """{node: report}"""
        self.srun_on_two(program, distribution=distribution, name=name,
                         ondeloc=f"online,decide=never,transport={transport},report={name}-%N.json")
        return {node: self.report(f"{name}-{node}.json") for node in ("node0", "node1")}

    def assert_exact(self, program, expected_ranks, **keywords):
        self.assert_counts(self.run_on_two(program, **keywords), expected_ranks)

    def test_block_and_cyclic_by_shm_and_pmix(self):
        layouts = {"block": {"node0": {0, 1}, "node1": {2, 3}},
                   "cyclic": {"node0": {0, 2}, "node1": {1, 3}}}
        for distribution, expected in layouts.items():
            for transport in "shm", "pmix":
                with self.subTest(distribution=distribution, transport=transport):
                    self.assert_exact("persistent", expected, distribution=distribution,
                                      transport=transport)

    def test_a_fence_without_data_waits_for_the_other_node(self):
        """MPI_Init ends with such a fence."""
        self.assert_ran(self.srun("-N2", "-n4", "/usr/bin/python3", "-c", FENCE, env={"SLURM_CONF": f"{DIR}/slurm.conf"}))

    def test_a_report_of_each_node_where_the_name_says_none(self):
        self.srun_on_two("persistent", distribution="block", ondeloc="online,decide=never,report=told")
        self.assertEqual({node: self.report(f"told.{node}")["node"] for node in ("node0", "node1")},
                         {"node0": "node0", "node1": "node1"})

    def test_fall_back_learns_the_local_ranks_from_pmix(self):
        """With transport=pmix the ranks have no segment, and so no table of local ranks."""
        wrapped = self.write("wrapped", f"#!/bin/sh\nexec {harness.APPS}/close_fds "
                                        f"{harness.APPS}/send_modes\n")
        self.command = lambda program: [wrapped]
        self.assert_exact("send_modes", {"node0": {0, 2}, "node1": {1, 3}}, distribution="cyclic",
                          transport="auto")


class Profiles(TwoNodes):
    def test_two_recordings_are_merged(self):
        """Every message of the step is recorded once, messages between the nodes included."""
        self.srun_on_two("persistent", distribution="cyclic", ondeloc="profile:app.%j.prof")
        names = sorted(path.name for path in pathlib.Path(self.dir).glob("app.*"))
        self.assertEqual([name.rsplit(".", 1)[1] for name in names], ["node0", "node1"])
        parts = [self.info(name) for name in names]
        for part, node in zip(parts, ("node0", "node1")):
            self.assert_whole(part)
            self.assertEqual((part["node"], part["ranks"], part["ranks_recorded"]), (node, 4, 2))
        told = self.ondeloc("merge", *names, "-o", "whole.prof").stdout
        whole = self.info("whole.prof")
        self.assert_whole(whole)
        self.assertEqual(whole["messages"], sum(part["messages"] for part in parts))
        self.assertEqual(self.recorded("whole.prof"), self.said())
        self.assertEqual([(c["node"], c["source"]) for c in whole["clocks"]],
                         [("node0", "system clock"), ("node1", "system clock")])
        self.assertEqual(whole["clocks"][0]["shift_seconds"], 0)
        for node in "node0", "node1":
            self.assertIn(f"{node}: times shifted by", told)
        self.assertIn("map the profile of each node", self.profile("map", "whole.prof").stderr)
        self.assertEqual(len(self.profile("merge", *names, names[0], "-o", "bad").stderr.splitlines()), 1)

    def test_each_node_is_mapped_and_the_step_runs_so(self):
        self.srun_on_two("persistent", distribution="cyclic", ondeloc="profile:app")
        ranks = ""
        for node in "node0", "node1":
            ranks += self.ondeloc("map", f"app.{node}", "-t", "numa:2 core:1 pu:1", "-f", "rankfile").stdout
        self.write("ranks", ranks)
        self.assertEqual(sorted(re.findall(r"rank (\d)=(\w+) slot=[01]", ranks)),
                         [("0", "node0"), ("1", "node1"), ("2", "node0"), ("3", "node1")])
        result = self.srun("-N2", "-n4", "-m", "cyclic", "sh", "-c", WHERE, ondeloc="static:ranks",
                           env={"SLURM_CONF": f"{DIR}/slurm.conf"})
        self.assert_ran(result)
        bound = dict(re.findall(r"^(\d) Cpus_allowed_list: (\S+)$", result.stdout, re.MULTILINE))
        self.assertEqual(bound, dict(re.findall(r"rank (\d)=\w+ slot=(\d)", ranks)))

    def test_ranks_are_placed_over_nodes_and_the_step_runs_so(self):
        """The reports of the placed step count exactly the bytes between nodes that were predicted."""
        self.srun_on_two("persistent", distribution="block", ondeloc="profile:app")
        told = self.run_user(f"{harness.STAGE}/bin/ondeloc", "place", "app.node0", "app.node1", "-H", "node[0-1]",
                             "-t", "numa:2 core:1 pu:1", "-f", "json", "-o", "best")
        self.assertEqual(told.returncode, 0, told.stderr)
        rows = {row["name"]: row for row in json.loads(told.stdout)["layouts"]}
        self.assertLessEqual(rows["placed"]["cost"], min(rows["block"]["cost"], rows["cyclic"]["cost"]))
        hosts = pathlib.Path(self.dir, "best.hosts").read_text(encoding="ascii").split()
        self.assertEqual(sorted(hosts), ["node0", "node0", "node1", "node1"])
        self.srun_on_two("persistent", distribution="arbitrary", env={"SLURM_HOSTFILE": f"{self.dir}/best.hosts"},
                         ondeloc="online,decide=never,report=placed-%N.json")
        reports = [self.report(f"placed-{node}.json") for node in ("node0", "node1")]
        for report in reports:
            self.assertEqual([rank["rank"] for rank in report["ranks"]],
                             [rank for rank, host in enumerate(hosts) if host == report["node"]])
        self.assertEqual(sum(row["bytes"] for report in reports for row in report["off_node"]), rows["placed"]["off_node_bytes"])
        self.assertLessEqual(rows["placed"]["off_node_bytes"], min(rows[name]["off_node_bytes"] for name in ("block", "cyclic")))
        result = self.srun("-n4", "-m", "arbitrary", "sh", "-c", WHERE, ondeloc="static:best.ranks",
                           env={"SLURM_CONF": f"{DIR}/slurm.conf", "SLURM_HOSTFILE": f"{self.dir}/best.hosts"})
        self.assert_ran(result)
        bound = dict(re.findall(r"^(\d) Cpus_allowed_list: (\S+)$", result.stdout, re.MULTILINE))
        ranks = pathlib.Path(self.dir, "best.ranks").read_text(encoding="ascii")
        self.assertEqual(bound, dict(re.findall(r"rank (\d)=\w+ slot=(\d)", ranks)))


class Reports(TwoNodes):
    """The reports of an ordinary online run are enough to place ranks over nodes."""

    def place(self, *files):
        told = self.run_user(profiling.ONDELOC, "place", *files, "-H", "node[0-1]", "-t", "numa:2 core:1 pu:1", "-f", "json")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        return told.stdout

    def test_reports_place_ranks_as_profiles_do(self):
        for transport in "shm", "pmix":
            with self.subTest(transport):
                self.srun_on_two("persistent", distribution="block",
                                 ondeloc=f"online,decide=never,transport={transport},report={transport}-%N.json")
                self.ondeloc("merge", f"{transport}-node0.json", f"{transport}-node1.json", "-o", f"{transport}.json")
        self.srun_on_two("persistent", distribution="cyclic", ondeloc="profile:app")
        expected = self.place("app.node0", "app.node1")
        for files in (["shm-node0.json", "shm-node1.json"], ["shm.json"], ["pmix.json"]):
            with self.subTest(files):
                self.assertEqual(self.place(*files), expected)


class Heterogeneous(TwoNodes):
    """srun ... : ...: two components, each a job with a slurmstepd of its own, and one world of four ranks."""
    # Only sched/backfill starts such jobs, every half minute unless told otherwise.
    conf = ["--conf", "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1"]
    RANKS = {"node0": {0, 1}, "node1": {2, 3}}

    def run_parts(self, *command, ondeloc=None, env=None):
        """In Debian 12's srun the threads of the components share data of mpi/pmix without a lock. Its agent: about one run in 30
        hangs after its tasks have ended, without ondeloc too, and rarely one thread closes the descriptor that the other's agent
        waits for (EBADF). The process mapping: rarely both threads free it (helgrind shows the race in mpi_p_client_fini without
        ondeloc). Such a run is repeated."""
        before = self.files()
        for _ in range(5):
            part = ["-N1", "-n2", *command]
            running = self.start_srun(*part, ":", *part, ondeloc=ondeloc, env={
                "SLURM_CONF": f"{DIR}/slurm.conf", "COUNT_OUT": f"{self.dir}/run", **OVER_TCP, **(env or {})})
            hung = self.hangs(running)
            if hung:
                running.kill()
            out, err = running.communicate(timeout=harness.LONG)
            freed_twice = running.returncode == -signal.SIGABRT and "double free" in err
            closed = re.search(rf"_abort_conn_read: .* \(-{errno.EBADF}\)$", err, re.MULTILINE)
            if not hung and not freed_twice and not closed and not crashed_in_open_mpi(err):
                return subprocess.CompletedProcess(command, running.returncode, out, err)
            self.remove_all_but(before)
        raise AssertionError(f"tried five times: {err}")

    @staticmethod
    def hangs(running):
        """Returns whether srun still runs some seconds after everything that it started has ended."""
        tasks_seen, alone_since = False, time.monotonic()
        while running.poll() is None:
            if any(not command.startswith("srun ") for _, command in harness.processes_of_user()):
                tasks_seen, alone_since = True, time.monotonic()
            if time.monotonic() > alone_since + (8 if tasks_seen else 60):
                return True
            time.sleep(0.05)
        return False

    def test_world_ranks_by_shm_and_pmix(self):
        for transport in "auto", "shm", "pmix":
            with self.subTest(transport):
                result = self.run_parts(*self.command("persistent"),
                                        ondeloc=f"online,decide=never,transport={transport},report={transport}-%N.json")
                self.assert_ran(result)
                self.assertEqual(result.stderr, "")
                reports = {node: self.report(f"{transport}-{node}.json") for node in self.RANKS}
                self.assert_counts(reports, self.RANKS)
                self.assertEqual(len({report["job"] for report in reports.values()}), 1)

    def test_profiles_of_the_components_are_merged(self):
        self.assert_ran(self.run_parts(*self.command("persistent"), ondeloc="profile:app"))
        parts = [f"app.{node}" for node in self.RANKS]
        self.ondeloc("merge", *parts, "-o", "whole.prof")
        self.assert_whole(self.info("whole.prof"))
        self.assertEqual(self.recorded("whole.prof"), self.said())

    def test_a_component_alone(self):
        """The step of one component has a world of its own and the job id of the whole."""
        env = {"SLURM_CONF": f"{DIR}/slurm.conf", "COUNT_OUT": f"{self.dir}/run"}
        self.ranks = 2
        for group, node in enumerate(self.RANKS):
            step = ["srun", "--quiet", "--overcommit", f"--het-group={group}", "-n2",
                    f"--ondeloc=online,decide=never,report={node}.json", *self.command("persistent")]
            self.assert_ran(self.run_user("salloc", "--quiet", "--overcommit", "-N1", "-n2", ":", "-N1", "-n2", *step, env=env))
            report = self.report(f"{node}.json")
            self.assertEqual((report["node"], {rank["rank"] for rank in report["ranks"]}), (node, {0, 1}))
            self.assertEqual(counting.of_report(report), self.said())

    def test_a_rankfile_of_all_components(self):
        # Binds the ranks the other way round than Slurm does.
        self.write("good", "rank 0=node0 slot=1\nrank 1=+n0 slot=0\nrank 2=node1 slot=1\nrank 3=+n1 slot=0\n")
        cpus = {}
        for name, ondeloc in ("without", None), ("with", "static:good"):
            result = self.run_parts("sh", "-c", WHERE, ondeloc=ondeloc)
            self.assert_ran(result)
            cpus[name] = dict(re.findall(r"^(\d) Cpus_allowed_list: (\S+)$", result.stdout, re.MULTILINE))
        self.assertEqual(cpus["without"], {"0": "0", "1": "1", "2": "0", "3": "1"})
        self.assertEqual(cpus["with"], {"0": "1", "1": "0", "2": "1", "3": "0"})

    def test_the_option_of_the_first_precedes_the_variable(self):
        for value, lines in (None, 4), ("off", 0):
            with self.subTest(value):
                result = self.run_parts("env", ondeloc=value, env={"ONDELOC": "online"})
                self.assert_ran(result)
                self.assertEqual(len(re.findall("^ONDELOC_STEP=", result.stdout, re.MULTILINE)), lines)

    def test_components_in_an_ordinary_job(self):
        """srun makes one heterogeneous step of a job that is not heterogeneous."""
        salloc = self.run_user("salloc", "--no-shell", "--overcommit", "-N2", "-n4",
                               env={"SLURM_CONF": f"{DIR}/slurm.conf"})
        job = re.search(r"Granted job allocation (\d+)", salloc.stderr)[1]
        try:
            result = self.run_parts(*self.command("persistent"), env={"SLURM_JOB_ID": job},
                                    ondeloc="online,decide=never,report=in-%N.json")
            self.assert_ran(result)
            self.assertEqual(result.stderr, "")
            self.assert_counts({node: self.report(f"in-{node}.json") for node in self.RANKS}, self.RANKS)
            self.write("good", "rank 0=node0 slot=1\nrank 1=+n0 slot=0\nrank 2=node1 slot=1\nrank 3=node1 slot=0\n")
            result = self.run_parts("sh", "-c", WHERE, ondeloc="static:good", env={"SLURM_JOB_ID": job})
            self.assert_ran(result)
            self.assertEqual(dict(re.findall(r"^(\d) Cpus_allowed_list: (\S+)$", result.stdout, re.MULTILINE)),
                             {"0": "1", "1": "0", "2": "1", "3": "0"})
        finally:
            self.run_user("scancel", job, env={"SLURM_CONF": f"{DIR}/slurm.conf"})

    def test_a_bad_rankfile_ends_all_components(self):
        """The tasks of the other component would wait forever: ondeloc has to end them."""
        self.write("bad", "rank 0=node0 slot=0\nrank 1=node0 slot=1\nrank 2=node1 slot=0\nrank 3=node1 slot=9\n")
        result = self.run_parts("sleep", "10000", ondeloc="static:bad")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(re.findall("^ondeloc: rankfile 'bad': line 4: rank 3: ", result.stderr, re.MULTILINE)), 1,
                         result.stderr)


if __name__ == "__main__":
    harness.main()
