# SPDX-License-Identifier: Apache-2.0
"""Counts are exact: the matrix in the report is what the program computes that it sent, and what Open MPI's own
monitoring saw. Every comparison with a program is shown to fail when the program leaves one message out."""
import counting
import harness


class Counts(counting.Counting):
    def assert_exact(self, program, *arguments, makes_communicators=False, env=None):
        """`makes_communicators`: the MPI library sends messages of its own to make them; how many,
        a run without the program's messages tells."""
        env = env or {}
        own = {}
        if makes_communicators:
            dry = self.run_counted(program, *arguments, env={**env, "COUNT_DRY": "1"}, name="dry")
            own = counting.of_report(dry)
            self.assertTrue(own)
        report = self.run_counted(program, *arguments, env=env)
        counted = counting.minus(counting.of_report(report), own)
        self.assertEqual(counted, self.said())
        self.run_counted(program, *arguments, env={**env, "COUNT_SKIP_ONE": "1"}, name="skip")
        self.assertNotEqual(counted, self.said("skip"), "a miscount was not seen")
        return report

    def test_send_modes(self):
        self.assert_exact("send_modes")

    def test_communicators(self):
        self.assert_exact("communicators", "20", makes_communicators=True)

    def test_persistent(self):
        self.assert_exact("persistent")

    def test_threads(self):
        report = self.assert_exact("threads", makes_communicators=True)
        self.assertIn("MULTIPLE", " ".join(report["notes"]))

    def test_alltoall_linear(self):
        self.assert_exact("alltoall", env=counting.LINEAR)

    def test_alltoall_pairwise(self):
        self.assert_exact("alltoall", env=counting.PAIRWISE)

    def test_fortran_mpif(self):
        self.assert_exact("fortran_mpif", makes_communicators=True)

    def test_fortran_f08(self):
        self.assert_exact("fortran_f08")

    def test_mpi4py(self):
        self.assert_exact("python_sends.py", makes_communicators=True)


class AgainstMonitoring(counting.Counting):
    """In one and the same run; without persistent requests, which pml/monitoring does not see."""

    def both(self, program, *arguments, env=None, name="run"):
        """(ondeloc's matrix, Open MPI's) of one run"""
        prefix = f"{self.dir}/{name}.monitoring"
        report = self.run_counted(program, *arguments, name=name, env={
            "OMPI_MCA_pml_monitoring_enable": "2", "OMPI_MCA_pml_monitoring_enable_output": "3",
            "OMPI_MCA_pml_monitoring_filename": prefix, **(env or {})})
        monitored = self.monitored(prefix)
        self.assertTrue(monitored)
        return counting.of_report(report), monitored

    def assert_same(self, program, *arguments, env=None):
        ours, theirs = self.both(program, *arguments, env=env)
        self.assertEqual(ours, theirs)
        return ours

    def assert_all_three(self, program, env=None):
        """The program says the same, and does not when it leaves one message out of what it says."""
        ours = self.assert_same(program, env=env)
        self.assertEqual(ours, self.said())
        _, theirs = self.both(program, env={**(env or {}), "COUNT_SKIP_ONE": "1"}, name="skip")
        self.assertNotEqual(theirs, self.said("skip"), "a miscount was not seen")

    def test_send_modes(self):
        self.assert_all_three("send_modes")

    def test_communicators(self):
        """Open MPI 5's monitoring crashes where an inter-communicator is freed (5.0.7, without ondeloc, too)."""
        version = self.run_user("ompi_info", "--version").stdout.split()[2]
        self.assert_same("communicators", "20", *(["intra"] if version.startswith("v5.") else []))

    def test_alltoall(self):
        self.assert_all_three("alltoall", env=counting.LINEAR)
        self.assert_all_three("alltoall", env=counting.PAIRWISE)

    def test_collectives(self):
        self.assert_same("collectives")

    def test_collectives_of_basic(self):
        self.assert_same("collectives", env={"OMPI_MCA_coll": "^tuned"})


if __name__ == "__main__":
    harness.main()
