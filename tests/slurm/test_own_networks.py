# SPDX-License-Identifier: Apache-2.0
"""Steps on two and on four nodes that have a network each: the kernel's counters of bytes confirm the reports, and `ondeloc place`
lowers them as it predicts. Needs ip (Debian: iproute2)."""
import json
import pathlib
import re

import harness
import profiling
import test_nodes


class OwnNetworks(test_nodes.TwoNodes):
    """Each node has a network of its own. The kernel counts what leaves it, headers and Slurm's own messages included."""
    conf = ["--network", "198.51.100"]
    MESSAGES, LENGTH = 300, 65536
    worst = [0, 1, 1, 0]  # the host of each rank: every partner is on another node

    def left_nodes(self):
        """Returns the bytes that have left the nodes so far, as the kernel counts them on the bridge."""
        name = re.search("PRIVATE_SLURM_NETWORK='(.+)'", (test_nodes.DIR / "env").read_text(encoding="ascii"))[1]
        return sum(int(pathlib.Path(f"/sys/class/net/{name}-{node}/statistics/rx_bytes").read_text(encoding="ascii"))
                   for node in range(self.nodes))

    def run_on(self, hosts, name):
        """Returns who sent how much to whom, as the ranks say, the reports, and the bytes that left the nodes."""
        self.write(f"{name}.hosts", "".join(f"node{host}\n" for host in hosts))
        before = self.left_nodes()
        result = self.srun_on_two("partners", "-m", str(self.MESSAGES), "-b", str(self.LENGTH), "-p", "0",
                                  distribution="arbitrary", ondeloc=f"online,decide=never,report={name}-%N.json",
                                  env={"SLURM_HOSTFILE": f"{self.dir}/{name}.hosts", "OMPI_MCA_btl_tcp_if_include": "eth0"})
        left = self.left_nodes() - before
        return self.of_partners(result.stdout), [self.report(f"{name}-node{node}.json") for node in range(self.nodes)], left

    def assert_off_node(self, said, reports, hosts):
        """Checks the matrices of the reports, and returns the bytes between nodes."""
        self.assertEqual(len(said), 2 * self.ranks)
        cells = [cell for report in reports for cell in report["matrix"] + report["off_node_matrix"]]
        self.assertEqual({(cell["src"], cell["dst"]): (cell["bytes"], cell["messages"]) for cell in cells}, said)
        off = sum(length for (src, dst), (length, _) in said.items() if hosts[src] != hosts[dst])
        self.assertEqual(sum(row["bytes"] for report in reports for row in report["off_node"]), off)
        return off

    def assert_seen_by_kernel(self, left, off):
        self.assertGreaterEqual(left, off)
        self.assertLess(left, 1.1 * off + 2e6)

    def test_place_lowers_the_bytes_that_leave_the_nodes_as_predicted(self):
        said, reports, left = self.run_on(self.worst, "before")
        off = self.assert_off_node(said, reports, self.worst)
        self.assertEqual(off, sum(length for length, _ in said.values()))
        self.assert_seen_by_kernel(left, off)
        told = self.run_user(profiling.ONDELOC, "place", *(f"before-node{node}.json" for node in range(self.nodes)), "-H",
                             f"node[0-{self.nodes - 1}]",
                             "-t", "numa:2 core:1 pu:1", "-f", "json", "-o", "best")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        predicted = json.loads(told.stdout)["layouts"][-1]["off_node_bytes"]
        self.assertEqual(predicted, off / 2)
        hosts = [int(host[-1]) for host in pathlib.Path(self.dir, "best.hosts").read_text(encoding="ascii").split()]
        said, reports, left_then = self.run_on(hosts, "placed")
        self.assertEqual(self.assert_off_node(said, reports, hosts), predicted)
        self.assert_seen_by_kernel(left_then, predicted)
        print(f"left the nodes: {left} bytes before ({off} counted), {left_then} placed ({predicted:.0f} predicted)")


class FourNetworks(OwnNetworks):
    nodes, ranks = 4, 8
    worst = [0, 1, 2, 3, 0, 1, 2, 3]


if __name__ == "__main__":
    harness.main()
