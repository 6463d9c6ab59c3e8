# SPDX-License-Identifier: Apache-2.0
"""Steps on two nodes with two network adapters each, which are made up: nic= chooses for each rank the adapter of its NUMA node, and
static: warns if a rankfile puts a rank away from its adapter. CPU 0 and mlx5_0 are on NUMA node 0, CPU 1 and mlx5_1 on NUMA node 1.
"""
import pathlib
import shutil
import tempfile

import harness
import made_sysfs
import test_nodes

XML = pathlib.Path(__file__).resolve().parents[1] / "data/topologies/made-2n-2gpu.xml"
SHOW = "echo $SLURM_PROCID $(grep Cpus_allowed_list /proc/self/status | cut -f2) $UCX_NET_DEVICES"


def make_tree(sys_tree):
    made_sysfs.add_nodes(sys_tree)
    for number, address in enumerate(("0000:14:00.0", "0000:24:00.0")):
        made_sysfs.add_adapter(sys_tree, made_sysfs.pci_device(sys_tree, number, address, "mlx5_core", "0x15b3"), f"mlx5_{number}")


class Adapters(test_nodes.TwoNodes):
    topology = f"{harness.ROOT}/adapters.xml"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="ondeloc-adapters.", dir=harness.ROOT)
        cls.addClassCleanup(shutil.rmtree, folder)
        layer = made_sysfs.Layer(folder, "adapters", make_tree)
        cls.addClassCleanup(layer.remove)
        laid = layer.laid()
        laid.__enter__()  # pylint: disable=unnecessary-dunder-call
        cls.addClassCleanup(laid.__exit__, None, None, None)
        shutil.copy(XML, cls.topology)
        super().setUpClass()

    def step(self, ondeloc, *program, nodes=2, env=None):
        result = self.srun(f"-N{nodes}", f"-n{2 * nodes}", "-m", "block", *(program or ("sh", "-c", SHOW)), ondeloc=ondeloc,
                           env={"SLURM_CONF": f"{test_nodes.DIR}/slurm.conf", **(env or {})})
        self.assert_ran(result)
        return result

    def rankfile(self, *cpus):
        """A file for two ranks on each node."""
        return self.write("ranks.txt", "".join(f"rank {rank}=+n{rank // 2} slot={cpu}\n" for rank, cpu in enumerate(cpus)))

    def chosen(self, ondeloc, **how):
        """Returns a line for each rank: its CPUs and the variable."""
        return sorted(self.step(ondeloc, **how).stdout.splitlines())

    def test_auto_chooses_the_adapter_of_each_ranks_numa_node(self):
        near = [f"{rank} {rank % 2} mlx5_{rank % 2}:1" for rank in range(4)]
        self.assertEqual(self.chosen("online,nic=auto"), near)
        self.assertEqual(self.chosen("online,nic=auto", nodes=1), ["0 0", "1 1"])  # the step stays on its node
        self.assertEqual(self.chosen("online,nic=auto", env={"UCX_NET_DEVICES": "all"}), [f"{rank} {rank % 2} all" for rank in range(4)])

    def test_the_choice_follows_the_rankfile(self):
        self.rankfile(1, 0, 0, 1)
        self.assertEqual(self.chosen("static:ranks.txt,nic=auto"), [f"{rank} {cpu} mlx5_{cpu}:1" for rank, cpu in enumerate((1, 0, 0, 1))])

    def test_the_report_says_what_was_set_and_why(self):
        # The mapper has to see each rank while it runs: a program of some milliseconds may end before.
        self.srun_on_two("partners", "-s", "1", distribution="block", ondeloc="online,decide=never,nic=auto,report=nic-%N.json")
        for node in "node0", "node1":
            for index, rank in enumerate(self.report(f"nic-{node}.json")["ranks"]):
                self.assertIn(f"UCX_NET_DEVICES=mlx5_{index}:1 ", rank["nic"])
                self.assertIn(f"; mlx5_{index} is on the rank's NUMA node {index}", rank["nic"])

    def test_a_rankfile_away_from_the_adapter_is_told_of_in_one_line(self):
        user = {"env": {"UCX_NET_DEVICES": "mlx5_1:1"}}
        line = "^ondeloc: rankfile 'ranks.txt': rank [0-3] is bound to CPUs 0, away from its network adapter mlx5_1, [^\n]*\n$"
        self.rankfile(0, 0, 0, 0)
        self.assertRegex(self.step("static:ranks.txt", "true", **user).stderr, line)
        self.assertRegex(self.step("static:ranks.txt,nic=mlx5_1", "true").stderr, line)
        self.assertEqual(self.step("static:ranks.txt,nic=auto", "true").stderr, "")  # the near one is chosen
        self.rankfile(0, 0)
        self.assertEqual(self.step("static:ranks.txt", "true", nodes=1, **user).stderr, "")  # nothing leaves the node
        self.rankfile(0, 1, 0, 1)  # no CPU near the adapter is left over
        self.assertEqual(self.step("static:ranks.txt", "true", **user).stderr, "")
        self.rankfile(1, 1, 1, 1)
        self.assertEqual(self.step("static:ranks.txt", "true", **user).stderr, "")


if __name__ == "__main__":
    made_sysfs.enter_namespace()
    harness.main()
