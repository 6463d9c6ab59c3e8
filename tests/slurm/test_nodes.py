# SPDX-License-Identifier: Apache-2.0
"""Two nodes: what goes off the node is counted apart, and world ranks are not local ranks. A Slurm of its own, with two
slurmd on this machine."""
import pathlib
import subprocess

import counting
import harness
import profiling

PRIVATE_SLURM = pathlib.Path(__file__).resolve().parents[2] / "etc" / "private-slurm"
DIR = pathlib.Path(harness.ROOT, "nodes")
# Two "nodes" that share one /dev/shm: Open MPI's shared memory files would be taken for each other. And both are
# 127.0.0.1: ranks that connect to each other at the same moment crash Open MPI 4.1's btl/tcp (seen without ondeloc in 3
# of 25 runs), so they connect in MPI_Init, one after the other (0 of 25).
OVER_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_mpi_preconnect_mpi": "1"}


class TwoNodes(profiling.Profiling):
    @classmethod
    def setUpClass(cls):
        plugin = next(line for line in harness.PLUGSTACK.read_text(encoding="ascii").splitlines()
                      if line.startswith("optional"))
        subprocess.run([PRIVATE_SLURM, "start", DIR, "--nodes", "2", "--plugin", plugin], check=True)
        cls.addClassCleanup(subprocess.run, [PRIVATE_SLURM, "stop", DIR], check=True)

    def srun_on_two(self, program, *arguments, distribution, ondeloc, name="run", env=None):
        result = self.srun("-N2", f"-n{self.ranks}", "-m", distribution, *self.command(program),
                           *arguments, ondeloc=ondeloc,
                           env={"SLURM_CONF": f"{DIR}/slurm.conf",
                                "COUNT_OUT": f"{self.dir}/{name}", **OVER_TCP, **(env or {})},
                           timeout=60)
        self.assert_ran(result)


class Nodes(TwoNodes):
    def run_on_two(self, program, *, distribution, transport, name="run"):
        """{node: report}"""
        self.srun_on_two(program, distribution=distribution, name=name,
                         ondeloc=f"online,decide=never,transport={transport},report={name}-%N.json")
        return {node: self.report(f"{name}-{node}.json") for node in ("node0", "node1")}

    def split(self, cells, here):
        """What the ranks `here` sent: to each other, and each off the node."""
        near = {pair: cell for pair, cell in cells.items() if set(pair) <= here}
        off = {}
        for (src, dst), (length, messages) in cells.items():
            if src in here and dst not in here:
                before = off.get(src, (0, 0))
                off[src] = (before[0] + length, before[1] + messages)
        return near, off

    def assert_exact(self, program, expected_ranks, **keywords):
        reports = self.run_on_two(program, **keywords)
        said = self.said()
        for node, report in reports.items():
            here = {rank["rank"] for rank in report["ranks"]}
            self.assertEqual(here, expected_ranks[node])
            near, off = self.split(said, here)
            self.assertEqual(counting.of_report(report), near)
            self.assertEqual({o["src"]: (int(o["bytes"]), int(o["messages"]))
                              for o in report["off_node"]}, off)
            self.assertTrue(near and off)

    def test_block_and_cyclic_by_shm_and_pmix(self):
        layouts = {"block": {"node0": {0, 1}, "node1": {2, 3}},
                   "cyclic": {"node0": {0, 2}, "node1": {1, 3}}}
        for distribution, expected in layouts.items():
            for transport in "shm", "pmix":
                with self.subTest(distribution=distribution, transport=transport):
                    self.assert_exact("persistent", expected, distribution=distribution,
                                      transport=transport)

    def test_fall_back_learns_the_local_ranks_from_pmix(self):
        """Without the segment there is no table of local ranks either."""
        wrapped = self.write("wrapped", f"#!/bin/sh\nexec {harness.APPS}/close_fds "
                                        f"{harness.APPS}/send_modes\n")
        self.command = lambda program: [wrapped]
        self.assert_exact("send_modes", {"node0": {0, 2}, "node1": {1, 3}}, distribution="cyclic",
                          transport="auto")


class Profiles(TwoNodes):
    def test_two_recordings_are_merged(self):
        """Every message of the step is there once, also those between the nodes."""
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
        self.ondeloc("map", "whole.prof", "-t", "numa:2 core:2 pu:1", "-f", "rankfile")
        self.assertEqual(len(self.profile("merge", *names, names[0], "-o", "bad").stderr.splitlines()), 1)


if __name__ == "__main__":
    harness.main()
