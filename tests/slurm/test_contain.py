# SPDX-License-Identifier: Apache-2.0
"""SlurmdParameters=contain_spank: slurmstepd runs its callbacks in short-lived clones with descriptors of their own (Slurm 24.05
and later; older ones ignore the word). A Slurm of its own."""
import pathlib
import subprocess

import counting
import harness

PRIVATE_SLURM = pathlib.Path(__file__).resolve().parents[2] / "etc" / "private-slurm"
DIR = pathlib.Path(harness.ROOT, "contain")


class Contain(counting.Counting):
    @classmethod
    def setUpClass(cls):
        plugin = next(line for line in harness.PLUGSTACK.read_text(encoding="ascii").splitlines()
                      if line.startswith("optional"))
        subprocess.run([PRIVATE_SLURM, "start", DIR, "--plugin", plugin,
                        "--conf", "SlurmdParameters=config_overrides,contain_spank"], check=True)
        cls.addClassCleanup(subprocess.run, [PRIVATE_SLURM, "stop", DIR], check=True)

    def contained(self, *words, ondeloc):
        result = self.srun(*words, ondeloc=ondeloc, timeout=60,
                           env={"SLURM_CONF": f"{DIR}/slurm.conf", "COUNT_OUT": f"{self.dir}/run"})
        self.assert_ran(result)
        return result

    def test_counted_mapped_and_told(self):
        for transport in ("auto", "shm"):
            result = self.contained("-n4", *self.command("send_modes"),
                                    ondeloc=f"online,transport={transport},verbose,report={transport}.json")
            self.assertEqual(counting.of_report(self.report(f"{transport}.json")), self.said())
            # The mapper's last line, which task_exit reads in a clone.
            self.assertRegex(result.stderr, r"ondeloc: \S+: 4 ranks, .* remaps")

    def test_events_alone_are_off_and_said_to_be(self):
        result = self.contained("-n4", *self.command("send_modes"), ondeloc="online,transport=pmix")
        if "contain_spank leaves no place" not in result.stderr:  # an older Slurm: events as ever
            self.assertNotIn("ondeloc:", result.stderr)

    def test_static(self):
        rankfile = self.write("ranks", "rank 0=+n0 slot=0\nrank 1=+n0 slot=1\n")
        result = self.contained("-n2", "-l", "grep", "Cpus_allowed_list", "/proc/self/status", ondeloc=f"static:{rankfile}")
        self.assertEqual([line.split()[-1] for line in sorted(result.stdout.splitlines())], ["0", "1"])

    def test_no_program_of_mpi(self):
        self.assertEqual(self.contained("-n2", "true", ondeloc="online").stderr, "")


if __name__ == "__main__":
    harness.main()
