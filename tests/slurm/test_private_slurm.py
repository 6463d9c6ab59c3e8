# SPDX-License-Identifier: Apache-2.0
"""etc/private-slurm itself: root must not run what another user can write, nor signal a process that it did not start."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

PRIVATE_SLURM = pathlib.Path(__file__).resolve().parents[2] / "etc" / "private-slurm"


def call(*arguments):
    return subprocess.run([PRIVATE_SLURM, *arguments], capture_output=True, text=True, timeout=harness.LONG)


def commands_of(directory):
    """Names of the daemons that were started for this directory."""
    wanted = f"SLURM_CONF={directory}/slurm.conf".encode()
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "comm").read_text().strip())
        except OSError:
            pass
    return sorted(found)


class PrivateSlurm(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="ondeloc-private-"))
        self.addCleanup(shutil.rmtree, self.base)
        self.base.chmod(0o755)
        self.dir = self.base / "slurm"

    def assert_refused(self, sentence, *arguments):
        result = call(*arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stderr, f"private-slurm: {sentence}\n")

    def plant(self, pid_files):
        """Writes the files that start leaves in a directory, without daemons."""
        self.dir.mkdir(mode=0o755, exist_ok=True)
        (self.dir / "env").write_text(f"touch {self.base}/ran\nexport PRIVATE_SLURM_USER=nobody\n")
        (self.dir / "munge").mkdir()
        for name, pid in pid_files.items():
            (self.dir / name).write_text(f"{pid}\n")

    def test_directory_of_another_user(self):
        self.dir.mkdir()
        os.chown(self.dir, harness.USER.pw_uid, harness.USER.pw_gid)
        sentence = f"{self.dir} belongs to another user; name a new directory"
        self.assert_refused(sentence, "start", self.dir)
        self.assertEqual(list(self.dir.iterdir()), [])
        self.plant({})
        self.assert_refused(sentence, "stop", self.dir)
        self.assertFalse((self.base / "ran").exists())

    def test_directory_that_others_may_write_to(self):
        self.dir.mkdir()
        sentence = f"other users may write to {self.dir}; name a new directory"
        for mode in 0o777, 0o775, 0o1777:
            self.dir.chmod(mode)
            self.assert_refused(sentence, "start", self.dir)
        self.plant({})
        self.assert_refused(sentence, "stop", self.dir)
        self.assertFalse((self.base / "ran").exists())

    def test_directory_that_is_not_empty(self):
        self.plant({})
        self.assert_refused(f"{self.dir} is not empty; name a new directory", "start", self.dir)

    def test_pid_of_a_stranger(self):
        """After a reboot the number in a pid file may belong to any process."""
        with subprocess.Popen(["sleep", "60"]) as stranger:
            self.plant({name: stranger.pid for name in ("slurmd-node0.pid", "munge/pid")} | {"slurmd-node1.pid": "x"})
            result = call("stop", self.dir)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIsNone(stranger.poll())
            stranger.kill()
        self.assertFalse(self.dir.exists())

    def test_start_and_stop(self):
        started = call("start", self.dir, "--cpus", "2")
        self.assertEqual((started.returncode, started.stderr), (0, ""))
        self.assertLessEqual({"munged", "slurmctld", "slurmd"}, set(commands_of(self.dir)))
        stopped = call("stop", self.dir)
        self.assertEqual((stopped.returncode, stopped.stderr), (0, ""))
        self.assertEqual(commands_of(self.dir), [])
        self.assertFalse(self.dir.exists())


if __name__ == "__main__":
    harness.main()
