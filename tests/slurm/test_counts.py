# SPDX-License-Identifier: Apache-2.0
"""Counts are exact: the matrix in the report equals what the program computes, and what Open MPI's own monitoring saw.
Every comparison is shown to notice one message: a second run leaves one message out of what it prints (COUNT_SKIP_ONE) or
sends one more (COUNT_ONE_MORE)."""
import counting
import harness


class Counts(counting.Exact):
    def test_send_modes(self):
        self.assert_exact("send_modes")

    def test_what_another_step_left_in_the_environment(self):
        """If srun is started inside a larger step, its environment has that step's size; srun sets the size of its own step."""
        self.assert_exact("send_modes", env={"SLURM_STEP_NUM_TASKS": "7", "SLURM_STEP_NUM_NODES": "2"})

    def test_under_the_address_sanitizer(self):
        """Runs a program built with AddressSanitizer; leaks are ignored, because Open MPI leaks at its end."""
        self.assert_exact("send_modes_asan", env={"ASAN_OPTIONS": "detect_leaks=0"})

    def test_communicators(self):
        self.assert_exact("communicators", "20", "intra", makes_communicators=True)

    def test_inter_communicators(self):
        """Open MPI 5 sends process names in messages whose length differs from step to step (seen: by 2 bytes for each
        inter-communicator), so its own bytes in `rounds` rounds are known up to a multiple of that."""
        rounds = 20
        own = counting.of_report(self.run_counted("communicators", str(rounds), env={"COUNT_DRY": "1"}, name="dry"))
        for env, wanted in ({}, {}), ({"COUNT_SKIP_ONE": "1"}, {(0, 1): (5, 1)}):
            with self.subTest(env):
                counted = counting.of_report(self.run_counted("communicators", str(rounds), env=env))
                beyond = counting.minus(counting.minus(counted, own), self.said())
                self.assertEqual(counting.clean({pair: (length % rounds, messages)
                                                 for pair, (length, messages) in beyond.items()}), wanted)

    def test_persistent(self):
        self.assert_exact("persistent")

    def test_threads(self):
        report = self.assert_exact("threads", makes_communicators=True)
        self.assertIn("MULTIPLE", " ".join(report["notes"]))

    def test_one_sided(self):
        """Open MPI moves the data below its table of messages, and sends a few messages of its own to synchronise windows."""
        for transport in "shm", "pmix":
            with self.subTest(transport):
                report = self.assert_exact("one_sided", makes_communicators=True, transport=transport)
                self.assertIn("each transfer is counted", " ".join(report["notes"]))

    def test_one_sided_of_fortran(self):
        for program in "fortran_one_sided_mpif", "fortran_one_sided_f08":
            with self.subTest(program):
                self.assert_exact(program, makes_communicators=True)

    def test_collectives_without_messages(self):
        """coll/sm moves the data of collectives through shared memory, past the table of messages."""
        for priority in "0", "100":
            with self.subTest(priority):
                report = self.run_counted("collectives", env={"OMPI_MCA_coll_sm_priority": priority})
                told = "collectives bypass Open MPI's table" in " ".join(report["notes"])
                self.assertEqual(told, priority == "100")
                self.assertEqual(bool(report["modelled"]), priority == "100")

    def test_data_of_collectives_without_messages(self):
        """They are counted as if each rank gave its data directly to those that need them, and apart."""
        for env, left_out in ({}, 0), ({"COUNT_SKIP_ONE": "1"}, 1):
            with self.subTest(env):
                report = self.run_counted("direct_collectives", env={"OMPI_MCA_coll_sm_priority": "100", **env})
                said = {rank: [0, 0] for rank in range(self.ranks)}
                for (rank, _), (length, messages) in self.said().items():
                    said[rank][0] += length
                    said[rank][1] += messages
                modelled = {int(one["src"]): [int(one["bytes"]), int(one["messages"])] for one in report["modelled"]}
                self.assertEqual({rank: cell[1] - said[rank][1] for rank, cell in modelled.items()},
                                 {rank: left_out if rank == 0 else 0 for rank in range(self.ranks)})
                self.assertEqual(modelled == said, left_out == 0)

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

    def test_mpi_by_the_handle_of_its_library(self):
        """The program looks MPI_Init up in the library's handle, so ondeloc notices it only in Open MPI's own initialisation."""
        report = self.assert_exact("by_handle.py")
        self.assertEqual(report["events"]["detach"], self.ranks)

    def test_persistent_by_the_handle(self):
        """MPI_Start, MPI_Startall and MPI_Request_free go past ondeloc; the starts are met in the requests."""
        self.assert_exact("persistent_by_handle")

    def test_no_memory_to_count_in(self):
        """The report names traffic that is not counted; messages on other communicators are counted."""
        report = self.run_counted("no_memory")
        self.assertIn("rank 0: memory for counters ran out", " ".join(report["notes"]))
        messages = counting.of_report(report)[0, 1][1]
        self.assertGreaterEqual(messages, 50)
        self.assertLess(messages, 100)


class AgainstMonitoring(counting.AgainstMonitoring):
    """Without persistent requests, which pml/monitoring does not see."""

    def assert_all_three(self, program, env=None):
        """Both equal what the program prints, and differ when the program leaves one message out of what it prints."""
        self.assertEqual(self.assert_same(program, env=env), self.said())
        for matrix in self.both(program, env={**(env or {}), "COUNT_SKIP_ONE": "1"}, name="skip"):
            self.assert_one_left_out(matrix)

    def assert_same_and_one_more(self, program, *arguments, env=None):
        """For programs that do not know what the library sends: both matrices show one message more if one more is sent."""
        before = self.assert_same(program, *arguments, env=env)
        for matrix in self.both(program, *arguments, env={**(env or {}), "COUNT_ONE_MORE": "1"}, name="more"):
            self.assertEqual(counting.minus(matrix, before), {(0, 1): (1, 1)})

    def test_send_modes(self):
        self.assert_all_three("send_modes")

    def test_communicators(self):
        """Without inter-communicators: Open MPI's monitoring of collectives crashes when one is freed (5.0.7 always, 4.1.4 in 2 of
        50 runs, without ondeloc too). Class Counts tests them."""
        self.assert_same_and_one_more("communicators", "20", "intra")

    def test_alltoall(self):
        self.assert_all_three("alltoall", env=counting.LINEAR)
        self.assert_all_three("alltoall", env=counting.PAIRWISE)

    def test_collectives(self):
        self.assert_same_and_one_more("collectives")

    def test_collectives_of_basic(self):
        self.assert_same_and_one_more("collectives", env={"OMPI_MCA_coll": "^tuned"})

    NO_PERSISTENT = {"COUNT_NO_PERSISTENT": "1"}

    def test_fortran_f08(self):
        self.assert_all_three("fortran_f08", env=self.NO_PERSISTENT)

    def test_fortran_mpif_and_mpi4py(self):
        """The tools split the world. A run without the tools' own messages tells how many messages that takes."""
        for program in "fortran_mpif", "python_sends.py":
            with self.subTest(program):
                own = self.assert_same(program, env={**self.NO_PERSISTENT, "COUNT_DRY": "1"}, name="dry")
                both = self.assert_same(program, env={**self.NO_PERSISTENT, "COUNT_SKIP_ONE": "1"})
                self.assert_one_left_out(counting.minus(both, own), "run")


if __name__ == "__main__":
    harness.main()
