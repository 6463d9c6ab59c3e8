# SPDX-License-Identifier: Apache-2.0
"""Extern and interactive steps, and the programs that a user runs in them, are left alone. The test starts a Slurm of its own:
PrologFlags=Contain gives every job an extern step, LaunchParameters=use_interactive_step runs salloc's shell in a step."""
import os
import pathlib
import subprocess

import harness

PRIVATE_SLURM = pathlib.Path(__file__).resolve().parents[2] / "etc" / "private-slurm"
DIR = pathlib.Path(harness.ROOT, "other-steps")
# Takes the place of the interactive step's shell: prints its environment and starts a normal step.
SHELL = "env > interactive.env; srun -n1 --overlap env > normal.env"


def of_ondeloc(pid):
    """Returns the traces of ondeloc in a process: variables, libraries and the segment."""
    process = pathlib.Path("/proc", str(pid))
    found = [word for word in (process / "environ").read_bytes().decode().split("\0")
             if word.startswith(("ONDELOC_STEP=", "LD_PRELOAD="))]
    found += [line.split()[-1] for line in (process / "maps").read_text().splitlines() if "libondeloc_rank" in line]
    return found + [link for link in (os.readlink(fd) for fd in (process / "fd").iterdir()) if "memfd:ondeloc" in link]


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def variable(pid, name):
    words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return next(word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}="))


def stepds(title):
    """The slurmstepds with that title. Later releases of Slurm clear the environment by which they could be recognised."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().rstrip(b"\0 ").decode() == title:
                found.append(int(process.name))
        except OSError:
            continue
    return found


class OtherSteps(harness.Case):
    @classmethod
    def setUpClass(cls):
        plugin = next(line for line in harness.PLUGSTACK.read_text(encoding="ascii").splitlines()
                      if line.startswith("optional"))
        subprocess.run([PRIVATE_SLURM, "start", DIR, "--cpus", "2", "--plugin", plugin, "--conf", "PrologFlags=Contain",
                        "--conf", "LaunchParameters=use_interactive_step",
                        "--conf", f"InteractiveStepOptions=\"--interactive --preserve-env sh -c '{SHELL}'\""],
                       check=True)
        cls.addClassCleanup(subprocess.run, [PRIVATE_SLURM, "stop", DIR], check=True)

    ENV = {"SLURM_CONF": f"{DIR}/slurm.conf"}

    def test_extern_step(self):
        end = pathlib.Path(self.dir, "end")
        os.mkfifo(end)  # the task ends when somebody has opened it
        running = subprocess.Popen(stdout=subprocess.PIPE, stderr=subprocess.PIPE, **harness.as_user(
            [*harness.srun_command("online"), "-n1", "cat", end], self.dir, self.ENV))
        self.addCleanup(running.kill)
        self.assertTrue(harness.wait_for(lambda: harness.pids_of("cat") and harness.pids_of("ondeloc-mapper"), 60))
        task = harness.pids_of("cat")[0]
        title = f"slurmstepd: [{variable(task, 'SLURM_JOB_ID')}.extern]"
        # Up to Slurm 24.11 at least, the extern step has a process of its own, which has slurmstepd's title until it execs; in 26.05
        # there is none.
        self.assertTrue(harness.wait_for(lambda: len(stepds(title)) == 1, 60))
        harness.wait_for(lambda: len(stepds(title)) == 1 and children_of(stepds(title)[0]), 5)
        extern = stepds(title)[0]
        for pid in extern, *children_of(extern):
            self.assertEqual(of_ondeloc(pid), [])
        # Shows that this can fail: the normal step has every trace that the test looks for.
        harness.wait_for(lambda: any("libondeloc_rank" in word for word in of_ondeloc(task)), 60)  # the loader is done
        seen = " ".join(of_ondeloc(task))
        for part in "ONDELOC_STEP=", "LD_PRELOAD=", "libondeloc_rank", "memfd:ondeloc":
            self.assertIn(part, seen)
        self.assertEqual(len(harness.pids_of("ondeloc-mapper")), 1)
        end.write_bytes(b"")
        running.communicate(timeout=harness.LONG)
        self.assertEqual(running.returncode, 0)

    def test_interactive_step(self):
        result = self.run_user("script", "-qec", "salloc --quiet -n1 --ondeloc=online", "/dev/null", env=self.ENV)
        self.assert_ran(result)
        text = {name: pathlib.Path(self.dir, f"{name}.env").read_text() for name in ("interactive", "normal")}
        # Slurm 26.05 writes the same number as -6.
        self.assertRegex(text["interactive"], "SLURM_STEP_ID=(4294967290|-6)\n", "this was no interactive step")
        self.assertNotIn("ONDELOC_STEP=", text["interactive"])
        self.assertNotIn("LD_PRELOAD=", text["interactive"])
        self.assertIn("ONDELOC_STEP=", text["normal"], "salloc's option reaches the steps inside")


if __name__ == "__main__":
    harness.main()
