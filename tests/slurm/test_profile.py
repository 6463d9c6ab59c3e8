# SPDX-License-Identifier: Apache-2.0
"""Profile once, map, run static: recorded messages are exactly those sent, and the binding is what the file says."""
import contextlib
import json
import os
import pathlib

import counting
import harness
import profiling
from test_results import LJ


class Exact(profiling.Profiling):
    def test_events_are_exact(self):
        for program in ("send_modes", "persistent"):
            with self.subTest(program):
                name = f"{program}.prof"
                self.record(program, name=name)
                self.assert_whole(self.info(name))
                self.assertEqual(self.recorded(name), self.said(name))

    def test_one_sided(self):
        """Fetched data is recorded from its source to the rank that fetched it; the rest are Open MPI's own messages."""
        self.record("one_sided", env={"COUNT_DRY": "1"}, name="dry.prof")
        self.record("one_sided")
        self.assert_whole(self.info())
        self.assertEqual(counting.minus(self.recorded(), self.recorded("dry.prof")), self.said("app.prof"))

    def test_threads(self):
        self.record("threads")
        info = self.info()
        self.assertEqual(info["messages"] + info["dropped_messages"], info["counted_messages"])

    def test_memory_volumes(self):
        """Memory volumes are there for every rank, or for none and the profile says why. A file always provides them."""
        self.record("partners", "-m", "200")
        info = self.info()
        self.assertTrue(info["notes"][0].startswith("memory volumes: "))
        metrics = json.loads(self.ondeloc("metrics", "app.prof", "-f", "json").stdout)
        self.assertIn(info["notes"][0], metrics["memory"])
        if info["memory_ranks"] == 0:
            self.assertIsNone(metrics["CommR"])
        else:
            self.assertEqual(info["memory_ranks"], self.ranks)
            self.assertGreater(metrics["CommR"], 0)
        self.write("volumes", "".join(f"{rank},{metrics['Lcomm']},1000\n".replace(".0,", ",")
                                      for rank in range(self.ranks)))
        given = json.loads(self.ondeloc("metrics", "app.prof", "-f", "json", "--memory",
                                        "volumes").stdout)
        self.assertAlmostEqual(given["CommR"], 1 / self.ranks)
        self.assertAlmostEqual(given["DramR"], 1000 / metrics["Lcomm"])

    def test_online_report_is_a_profile(self):
        self.run_counted("send_modes", name="run")
        self.ondeloc("info", "run.json")
        self.ondeloc("heatmap", "run.json", "-o", "run.png")
        self.ondeloc("map", "run.json", "-t", "numa:2 core:4 pu:1")

    def test_bad_options(self):
        for text in ("profile", "profile:a%q", "profile:a,report=b", "profile:a,cells=0", "online,cells=9"):
            result = self.srun("-n1", "/bin/true", ondeloc=text)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)


class EndToEnd(profiling.Profiling):
    """Records a program, classifies, draws and maps it, and runs it bound by the file."""

    def map(self):
        """Writes the rankfile ranks.txt and returns its {rank: CPUs}."""
        share = ["--cpuset", "0-1", "--oversubscribe"]  # the CPUs of this Slurm
        for form, name in (("rankfile", "ranks.txt"), ("json", "ranks.json")):
            self.ondeloc("map", "app.prof", *share, "-f", form, "-o", name)
        mapping = json.loads(pathlib.Path(self.dir, "ranks.json").read_text(encoding="ascii"))
        self.assertEqual(mapping["algorithm"], "coordinated:30")
        self.ondeloc("map", "app.prof", *share, "-a", "deloc")
        return {entry["rank"]: set(entry["pus"]) for entry in mapping["ranks"]}

    def look(self):
        for what in "classify", "metrics", "clusters":
            self.ondeloc(what, "app.prof")
        self.ondeloc("heatmap", "app.prof", "-o", "who.png")
        self.ondeloc("timeline", "app.prof", "-o", "when.svg")
        for name in ("who.png", "when.svg"):
            self.assertGreater(pathlib.Path(self.dir, name).stat().st_size, 1000)

    def bindings(self, program):
        """Returns {rank: CPUs} of the step's processes that run this program."""
        bound = {}
        for pid in harness.pids_of(program):
            with contextlib.suppress(OSError, KeyError):  # it ends
                variables = dict(item.split(b"=", 1) for item in
                                 pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if b"=" in item)
                bound[int(variables[b"SLURM_PROCID"])] = os.sched_getaffinity(pid)
        return bound

    def assert_bound(self, wanted, program, *arguments):
        with self.start_srun(f"-n{self.ranks}", *arguments, ondeloc="static:ranks.txt") as run:
            # Slurm sets the mask of a process last, just before it execs the program.
            same = harness.wait_for(lambda: self.bindings(program) == wanted, 60)
            found = self.bindings(program)
            out, err = run.communicate(timeout=harness.LONG)
        self.assertEqual(run.returncode, 0, out + err)
        self.assertTrue(same, f"{found} is not {wanted}")

    def test_partners(self):
        said = self.of_partners(self.record("partners", "-m", "200", "-b", "4096").stdout)
        self.assertEqual(len(said), 2 * self.ranks)
        self.assert_whole(self.info())
        self.assertEqual(self.recorded(), said)
        self.look()
        self.assert_bound(self.map(), "partners", f"{harness.APPS}/partners", "-s", "2")

    def test_cpus_per_task(self):
        """A map of the profile gives the rank as many CPUs as it had; a file that gives fewer is obeyed, and the user is told."""
        step = ["srun", "--quiet", "-n1", "-c2"]
        where = ["grep", "Cpus_allowed_list", "/proc/self/status"]
        self.assert_ran(self.run_user(*step, "--ondeloc=profile:app.prof", f"{harness.APPS}/send_modes"))
        info = self.info()
        self.assertEqual((info["cpus_per_rank"], info["step_cpus"]), (2, "0-1"))
        self.ondeloc("map", "app.prof", "--cpuset", "0-1", "-f", "rankfile", "-o", "two.txt")
        both = self.run_user(*step, "--ondeloc=static:two.txt", *where)
        self.assert_ran(both)
        self.assertEqual((both.stdout.split()[-1], both.stderr), ("0-1", ""))
        self.ondeloc("map", "app.prof", "--cpuset", "0-1", "-c", "1", "-f", "rankfile", "-o", "one.txt")
        one = self.run_user(*step, "--ondeloc=static:one.txt", *where)
        self.assert_ran(one)
        self.assertIn(one.stdout.split()[-1], ("0", "1"))
        self.assertEqual(one.stderr, "ondeloc: rankfile 'one.txt': rank 0 gets 1 CPU, but the step has 2 for each rank; "
                                     "name more CPUs in the file or use a smaller srun -c\n")

    def test_lammps(self):
        """Compares with Open MPI's own monitoring in the same run."""
        lammps = ["lmp", "-in", LJ, "-log", "none", "-var", "steps"]
        prefix = f"{self.dir}/monitoring"
        self.assert_ran(self.srun(
            f"-n{self.ranks}", *lammps, "200", ondeloc="profile:app.prof",
            env={**counting.MONITORING, "OMPI_MCA_pml_monitoring_filename": prefix}))
        self.assert_whole(self.info())
        self.assertEqual(self.recorded(), self.monitored(prefix))
        self.look()
        self.assert_bound(self.map(), "lmp", *lammps, "1500")


if __name__ == "__main__":
    harness.main()
