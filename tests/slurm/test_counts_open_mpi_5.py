# SPDX-License-Identifier: Apache-2.0
"""Counts are exact for calls and components that Open MPI has from series 5 on."""
import counting
import harness


class OpenMpi5(counting.Exact):
    def test_partitioned(self):
        """Open MPI's messages that set up partitioned requests are the same in any number of rounds."""
        once = counting.of_report(self.run_counted("partitioned", "1", name="once"))
        for env, wanted in ({}, []), ({"COUNT_SKIP_ONE": "1"}, [((0, 1), 1)]):
            with self.subTest(env):
                counted = counting.of_report(self.run_counted("partitioned", "6", env=env))
                beyond = counting.minus(counting.minus(counted, once), counting.minus(self.said(), self.said("once")))
                self.assertEqual([(pair, cell[1]) for pair, cell in beyond.items()], wanted)

    def test_one_sided_by_the_way_of_the_network(self):
        """osc/rdma of Open MPI 5 moves the data by the components of the network. None of it passes the table of messages."""
        self.assert_exact("one_sided", "1", makes_communicators=True, env={"OMPI_MCA_osc": "rdma"})


if __name__ == "__main__":
    harness.main()
