# SPDX-License-Identifier: Apache-2.0
"""mpirun and srun take the files that `ondeloc map` writes: every rank runs where the mapping says.

Two ranks on two CPUs, and random:SEED with a seed that exchanges them, so that "as without the file" is wrong.
"""
import json
import os

import harness

ONDELOC = f"{harness.STAGE}/bin/ondeloc"
SHOW = "echo ${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$SLURM_PROCID}} $(grep Cpus_allowed_list /proc/self/status | cut -f2)"


class MappingFiles(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("bytes.mat", "0 5\n5 0\n")
        for seed in range(1, 20):
            ranks = json.loads(self.map(f"random:{seed}", "json"))["ranks"]
            self.wanted = [f"{rank['rank']} {rank['pus'][0]}" for rank in ranks]
            if self.wanted != ["0 0", "1 1"]:
                self.algorithm = f"random:{seed}"
                return
        self.fail("no seed exchanges the ranks")

    def map(self, algorithm, form, *more):
        result = self.run_user(ONDELOC, "map", "--topology", "host", "--cpuset", "0-1", "--matrix", "bytes.mat",
                               "--algorithm", algorithm, "--format", form, *more)
        self.assert_ran(result)
        return result.stdout

    def assert_where_wanted(self, result):
        self.assert_ran(result)
        self.assertEqual(sorted(result.stdout.splitlines()), self.wanted, result.stderr)

    def test_rankfile_and_mpirun(self):
        for more in (), ("--relative",):
            self.map(self.algorithm, "rankfile", "-o", "ranks.txt", *more)
            self.assert_mpirun_takes_it()

    def assert_mpirun_takes_it(self):
        # Open MPI 5 reads rankfiles through --map-by.
        version = self.run_user("mpirun", "--version").stdout
        how = ["--map-by", "rankfile:file=ranks.txt"] if "Open MPI) 5" in version else ["--rankfile", "ranks.txt"]
        self.assert_where_wanted(self.run_user("mpirun", *how, "-np", "2", "sh", "-c", SHOW))

    def test_rankfile_and_static(self):
        self.map(self.algorithm, "rankfile", "-o", "ranks.txt")
        self.assert_where_wanted(self.srun("-n2", "sh", "-c", SHOW, ondeloc="static:ranks.txt"))

    def test_cpu_bind(self):
        bind = self.map(self.algorithm, "cpu-bind").strip()
        self.assertEqual(bind, "map_cpu:" + ",".join(line.split()[1] for line in self.wanted))
        self.assert_where_wanted(self.srun("-n2", f"--cpu-bind={bind}", "sh", "-c", SHOW))

    def test_mask_of_two_cpus(self):
        """A rank with both CPUs becomes a mask, and in a rankfile a list of cores."""
        self.write("one.mat", "0\n")
        for form, give in (("cpu-bind", lambda text: ("--cpu-bind=" + text.strip(), None)),
                           ("rankfile", lambda text: (None, "static:" + os.path.basename(self.write("r.txt", text))))):
            text = self.run_user(ONDELOC, "map", "--topology", "host", "--cpuset", "0-1", "--matrix", "one.mat",
                                 "-c", "2", "--format", form).stdout
            bind, static = give(text)
            result = self.srun("-n1", *([bind] if bind else []), "sh", "-c", SHOW, ondeloc=static)
            self.assert_ran(result)
            self.assertEqual(result.stdout.split(), ["0", "0-1"], text)


if __name__ == "__main__":
    harness.main()
