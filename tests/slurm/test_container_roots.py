# SPDX-License-Identifier: Apache-2.0
"""Ranks in the roots of another Linux: Debian 11 with its own Open MPI, and a root with musl's C library.

By hand, because the roots are large: tests/slurm/container_roots makes them, and ONDELOC_CONTAINER_ROOTS tells CMake
where they are. ONDELOC_TEST_PODMAN: words that begin a call of podman, where its defaults do not fit the machine.
"""
import os
import pathlib
import re
import shutil
import subprocess

import harness
import test_containers

ROOTS = os.environ["ONDELOC_TEST_ROOTS"]
LIBRARY_DIR = test_containers.LIBRARY_DIR
PODMAN = os.environ.get("ONDELOC_TEST_PODMAN", "podman --cgroup-manager=cgroupfs").split()
PARTNERS = ("/opt/apps/partners", "-m", "200")
MOUNTED, HIDDEN = ("--ro-bind", LIBRARY_DIR, LIBRARY_DIR), ("--tmpfs", LIBRARY_DIR)
SECOND_HALF = re.compile(r"partners: rank (\d+) half 2 first on CPUs \S+ last on CPUs (\S+)")
LOADER = f"'{harness.RANK_LIB}' from LD_PRELOAD cannot be preloaded"


class Roots(harness.Case):
    def run_step(self, name, *command, ranks=4, env=None):
        """Returns what srun said, and the report."""
        result = self.srun(f"-n{ranks}", *command, ondeloc=f"online,decide=always,interval=100ms,report={name}.json", env=env)
        self.assert_ran(result)
        return result, self.report(f"{name}.json")

    def bubblewrap(self, root, *mounts):
        return (test_containers.BWRAP, "--ro-bind", f"{ROOTS}/{root}", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc",
                "--bind", "/sys", "/sys", "--bind", "/tmp", "/tmp", *mounts)

    def cells(self, report):
        return {(cell["src"], cell["dst"]): (cell["bytes"], cell["messages"]) for cell in report["matrix"]}

    def outside(self):
        """The counts of the same program on the node itself."""
        return self.cells(self.run_step("outside", f"{harness.APPS}/partners", *PARTNERS[1:])[1])


class Bubblewrap(Roots):
    def test_ranks_of_debian_11_are_counted_and_moved(self):
        result, report = self.run_step("in11", *self.bubblewrap("debian11", *MOUNTED), *PARTNERS)
        self.assertNotIn("LD_PRELOAD", result.stderr)
        self.assertEqual(self.cells(report), self.outside())
        self.assertTrue(all(rank["pid"] > 0 for rank in report["ranks"]), report["ranks"])
        self.assertGreater(report["totals"]["migrations"], 0)

    def test_one_line_says_that_debian_11_lacks_the_mount(self):
        words = ("/bin/sh", "-c", 'sleep 1; exec "$@"', "sh", *PARTNERS)
        result, report = self.run_step("hidden", *self.bubblewrap("debian11", *HIDDEN), *words)
        self.assertIn(LOADER, result.stderr)
        self.assertEqual(result.stderr.count(f"lacks {LIBRARY_DIR}: not counted; mount it (ondeloc site --containers)"), 1)
        self.assertEqual(report["matrix"], [])

    def test_a_program_of_musl_runs_with_the_mount_and_without(self):
        for name, mounts in (("with", MOUNTED), ("without", HIDDEN)):
            result, report = self.run_step(name, *self.bubblewrap("musl", *mounts), "/opt/apps/musl_program", ranks=2)
            self.assertEqual(result.stdout, "musl ran\n" * 2)
            self.assertNotIn("ERROR", result.stderr)
            self.assertEqual("lacks" in result.stderr, mounts == HIDDEN, result.stderr)
            self.assertEqual(report["matrix"], [])


class Podman(Roots):
    """A root of podman belongs to the user, so the test copies Debian 11. podman needs subordinate ids of its user."""

    @classmethod
    def setUpClass(cls):
        cls.run_as_root("usermod", "--add-subuids", "200000-265535", "--add-subgids", "200000-265535", harness.USER.pw_name)
        cls.home = f"{harness.ROOT}/podman"
        os.mkdir(cls.home)
        cls.run_as_root("cp", "-a", f"{ROOTS}/debian11/.", cls.home)
        cls.run_as_root("chown", "-R", f"{harness.USER.pw_uid}:{harness.USER.pw_gid}", cls.home)

    @classmethod
    def tearDownClass(cls):
        # usermod refuses if the user has processes of another Slurm; the end of the last one removes the user.
        subprocess.run(["usermod", "--del-subuids", "200000-265535", "--del-subgids", "200000-265535", harness.USER.pw_name], check=False)
        shutil.rmtree(cls.home)

    @staticmethod
    def run_as_root(*words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.env = {"HOME": f"{self.dir}/home", "XDG_RUNTIME_DIR": f"{self.dir}/run"}
        for path in self.env.values():
            os.mkdir(path, mode=0o700)
            os.chown(path, harness.USER.pw_uid, harness.USER.pw_gid)

    def tearDown(self):
        """Files of subordinate ids are removed in podman's user namespace, and the process that keeps it ends."""
        self.run_user(*PODMAN, "unshare", "rm", "-rf", f"{self.dir}/home/.local", env=self.env)
        self.run_user(*PODMAN, "system", "migrate", env=self.env)
        super().tearDown()

    def podman(self, *mounts):
        slurm = str(pathlib.Path(harness.SLURM_CONF).parent)
        return (*PODMAN, "--log-level=error", "run", "--rm", "--network", "host", "--pid", "host", "--userns", "keep-id",
                "--env-host", "-v", "/dev/shm:/dev/shm", "-v", f"{slurm}:{slurm}", *mounts, "--rootfs", self.home)

    def test_ranks_of_debian_11_are_counted_by_events(self):
        mount = ("-v", f"{LIBRARY_DIR}:{LIBRARY_DIR}:ro")
        result, report = self.run_step("podman", *self.podman(*mount), *PARTNERS, env=self.env)
        self.assertNotIn("LD_PRELOAD", result.stderr)
        self.assertEqual(self.cells(report), self.outside())
        self.assertEqual(report["events"]["detach"], 4)
        self.assertIn("all ranks: reports by PMIx events (transport=pmix)", report["notes"])
        self.assertNotIn("outside the task", str(report["notes"]))
        self.assertTrue(all(rank["pid"] > 0 for rank in report["ranks"]), report["ranks"])

    def test_ranks_of_debian_11_are_moved_and_see_their_new_cpus(self):
        mount = ("-v", f"{LIBRARY_DIR}:{LIBRARY_DIR}:ro")
        result, report = self.run_step("seen", *self.podman(*mount), PARTNERS[0], "-s", "2", env=self.env)
        last = {int(rank): cpus for rank, cpus in SECOND_HALF.findall(result.stdout)}
        self.assertEqual(last, {rank["rank"]: rank["final_cpus"] for rank in report["ranks"]})
        self.assertTrue(any(rank["final_cpus"] != rank["initial_cpus"] for rank in report["ranks"]), report["ranks"])

    def test_without_the_mount_ranks_run_and_are_not_counted(self):
        result, report = self.run_step("hidden", *self.podman(), *PARTNERS, env=self.env)
        self.assertIn(LOADER, result.stderr)
        self.assertIn("sent to rank", result.stdout)
        self.assertEqual(report["matrix"], [])


if not shutil.which(PODMAN[0]):
    del Podman

if __name__ == "__main__":
    harness.main()
