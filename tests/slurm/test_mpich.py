# SPDX-License-Identifier: Apache-2.0
"""MPICH under srun --mpi=pmi2: point-to-point messages are counted exactly, collectives by a model and apart, ranks are
moved, and a program that started alone is told what to do."""
import json
import re
import subprocess

import counting
import harness


class Mpich(counting.Counting):
    mpi = "pmi2"
    ranks = 2  # waiting ranks of MPICH keep the CPU: more of them than CPUs are slow

    def run_mpich(self, program, *arguments, ondeloc="online,decide=never,report=run.json", env=None, name="run"):
        result = self.srun(f"-n{self.ranks}", f"--mpi={self.mpi}", f"{harness.APPS}/mpich_{program}", *arguments,
                           ondeloc=ondeloc, env={"COUNT_OUT": f"{self.dir}/{name}", **(env or {})})
        self.assert_ran(result)
        return self.report("run.json")


class Counts(Mpich):
    def assert_exact(self, program, *arguments, collectives=False):
        """`collectives`: the program calls some. A run without its messages tells what the model makes of them."""
        modelled = {}
        if collectives:
            modelled = counting.of_report(self.run_mpich(program, *arguments, env={"COUNT_DRY": "1"}, name="dry"))
            self.assertTrue(modelled)
        report = self.run_mpich(program, *arguments)
        self.assertEqual(counting.minus(counting.of_report(report), modelled), self.said())
        skipping = self.run_mpich(program, *arguments, env={"COUNT_SKIP_ONE": "1"}, name="skip")
        self.assert_one_left_out(counting.minus(counting.of_report(skipping), modelled))
        return report

    def test_send_modes(self):
        self.assert_exact("send_modes")

    def test_communicators(self):
        """Handles come back with other ranks behind them, and MPICH's own messages at their making are not the program's."""
        self.assert_exact("communicators", "3")

    def test_persistent(self):
        self.assert_exact("persistent", "plain")

    def test_partitioned(self):
        self.assert_exact("partitioned", "5")

    def test_threads(self):
        report = self.assert_exact("threads", "3")
        self.assertIn("MULTIPLE", " ".join(report["notes"]))

    def test_one_sided(self):
        report = self.assert_exact("one_sided", collectives=True)
        self.assertIn("each transfer is counted", " ".join(report["notes"]))

    def test_sessions(self):
        for how in [], ["init"]:
            with self.subTest(how):
                report = self.assert_exact("session_sends", *how)
                self.assertIn("MPI Sessions are used", " ".join(report["notes"]))

    def test_fortran(self):
        for program in "fortran_mpif", "fortran_f08", "fortran_one_sided_mpif", "fortran_one_sided_f08":
            with self.subTest(program):
                self.assert_exact(program)


class ByHandle(Mpich):
    def test_functions_looked_up_in_the_library(self):
        """The calls go past ondeloc, and the report says so for both ranks. A script that loads MPI and leaves it alone is not
        taken for one."""
        loads = 'import ctypes; ctypes.CDLL("libmpich.so.12").MPI_Get_version'
        for command, noted in (["-B", f"{harness.APPS}/by_handle.py", "mpich"], True), (["-c", loads], False):
            with self.subTest(command):
                self.assert_ran(self.srun("-n2", "--mpi=pmi2", "/usr/bin/python3", *command,
                                          ondeloc="online,decide=never,report=run.json"))
                report = self.report("run.json")
                self.assertEqual(counting.of_report(report), {})
                told = "all ranks: the program looks MPI's functions up in the handle" in " ".join(report["notes"])
                self.assertEqual(told, noted)


class Alone(Mpich):
    def test_a_program_that_started_alone(self):
        """Slurm's PMIx server and no server at all are none that Debian's MPICH knows: each rank is a world of its own."""
        for mpi in "pmix", "none":
            with self.subTest(mpi):
                self.mpi = mpi
                report = self.run_mpich("send_modes", env={"COUNT_OUT": ""})
                self.assertEqual(counting.of_report(report), {})
                self.assertIn("start it with srun --mpi=pmi2", " ".join(report["notes"]))


class Adapter(Mpich):
    def opened(self, ondeloc, env=None):
        """Returns the network devices that UCX opens in a rank."""
        result = self.srun("-n1", f"--mpi={self.mpi}", f"{harness.APPS}/mpich_send_modes", ondeloc=ondeloc,
                           env={"COUNT_OUT": "", "UCX_LOG_LEVEL": "debug", **(env or {})})
        self.assert_ran(result)
        return set(re.findall(r"\btcp/(\w+)", result.stdout + result.stderr))

    def test_ucx_opens_only_the_adapter_that_nic_names(self):
        """UCX also opens lo, and all other interfaces that are up, unless it is told not to."""
        without = self.opened("online")
        self.assertIn("lo", without)
        self.assertEqual(self.opened("online,nic=auto"), without)  # a step on one node
        told = subprocess.run([f"{harness.STAGE}/bin/ondeloc", "topology", "--format", "json"], capture_output=True, check=True).stdout
        for device in json.loads(told)["devices"]:
            if device["kind"] == "Ethernet adapter" and device["name"] in without:
                nic = f"online,nic={device['name']}"
                self.assertEqual(self.opened(nic), {device["name"]})
                self.assertEqual(self.opened(nic, {"UCX_NET_DEVICES": "lo"}), {"lo"})


if __name__ == "__main__":
    harness.main()
