# SPDX-License-Identifier: Apache-2.0
"""Counts are exact for a component that only Open MPI 4 has."""
import counting
import harness


class OpenMpi4(counting.AgainstMonitoring):
    def test_one_sided_by_messages(self):
        """Open MPI 4 can make messages of all transfers. They are counted as messages, and their calls are not counted too."""
        self.assert_same("one_sided", env={"OMPI_MCA_osc": "pt2pt"})


if __name__ == "__main__":
    harness.main()
