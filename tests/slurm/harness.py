# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests on the private Slurm: running srun as the ordinary user, reports, leftovers.

A test file ends with `harness.main()`, which fails if no test ran or one was skipped.
"""
import fnmatch
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["ONDELOC_TEST_WHERE"]).read_text(encoding="ascii").strip()
STAGE = f"{ROOT}/stage"
APPS = f"{ROOT}/apps"
SLURM_CONF = f"{ROOT}/slurm/slurm.conf"
PLUGSTACK = pathlib.Path(ROOT, "slurm", "plugstack.conf")
RANK_LIB = f"{STAGE}/lib/ondeloc/libondeloc_rank.so"
MAPPER = f"{STAGE}/libexec/ondeloc/ondeloc-mapper"
# A program that crashes leaves a core (stacks() prints it): srun passes the limit on to the tasks.
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)


def _user():
    for line in pathlib.Path(ROOT, "slurm", "env").read_text(encoding="ascii").splitlines():
        if line.startswith("export PRIVATE_SLURM_USER="):
            return pwd.getpwnam(line.split("=", 1)[1].strip("'"))
    raise RuntimeError("no user in the environment file of the private Slurm")


USER = _user()


def environment(extra=None):
    """The user's environment: it has only the path in common with the caller's."""
    env = {"PATH": "/usr/bin:/bin", "HOME": f"{ROOT}/work", "USER": USER.pw_name, "LC_ALL": "C",
           "SLURM_CONF": SLURM_CONF,
           # There are more ranks than CPUs: without this setting, ranks that wait keep ranks that work off the CPU.
           "OMPI_MCA_mpi_yield_when_idle": "1",
           # All ranks are on one machine. Open MPI 5's btl/tcp prints warnings if lo is the only network; Open MPI 5 calls vader sm.
           "OMPI_MCA_btl": "self,vader"}
    env.update(extra or {})
    return env


def as_user(command, cwd, env=None):
    """Keyword arguments for subprocess that run the command as the ordinary user."""
    return {"args": [str(word) for word in command], "cwd": cwd, "env": environment(env),
            "user": USER.pw_uid, "group": USER.pw_gid, "extra_groups": [],
            "stdin": subprocess.DEVNULL, "text": True, "errors": "replace"}


# Seconds that a program may take before it counts as hanging. LAMMPS of 10 s was seen to take over 120 s on a busy machine.
LONG = 500


def slurmd_logs():
    """The text of the logs of every slurmd. (Other folders of the private Slurm come and go with steps.)"""
    logs = list(pathlib.Path(ROOT, "slurm").glob("slurmd-*.log"))
    assert logs, "no slurmd has a log"
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)


def srun_command(ondeloc):
    option = [] if ondeloc is None else [f"--ondeloc={ondeloc}"]
    return ["srun", "--quiet", "--overcommit", *option]


class Case(unittest.TestCase):
    """Gives each test a directory of the user, and checks after each test that nothing of ondeloc is left."""

    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=f"{ROOT}/work", prefix=self.id().rsplit(".", 1)[-1] + ".")
        os.chown(self.dir, USER.pw_uid, USER.pw_gid)

    def tearDown(self):
        left = wait_until_none_left()
        unfinished = [path.name for path in pathlib.Path(self.dir).rglob("*.json.*")]
        shutil.rmtree(self.dir, ignore_errors=True)
        self.assertEqual(left, [], "processes of the user are left")
        self.assertEqual(unfinished, [], "temporary files of reports are left")

    def run_user(self, *command, env=None, timeout=LONG):
        return subprocess.run(**as_user(command, self.dir, env), capture_output=True,
                              timeout=timeout, check=False)

    def srun(self, *arguments, ondeloc=None, env=None, timeout=LONG):
        """Runs srun with --ondeloc=<ondeloc> (None: without the option); any number of ranks share all CPUs."""
        self.forget_reports(ondeloc)
        return self.run_user(*srun_command(ondeloc), *arguments, env=env, timeout=timeout)

    def start_srun(self, *arguments, ondeloc=None, env=None):
        """Starts srun in the background; the caller waits for it. If the test fails before that, srun and its step end with the test."""
        self.forget_reports(ondeloc)
        running = subprocess.Popen(
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **as_user([*srun_command(ondeloc), *arguments], self.dir, env))
        self.addCleanup(end_step, running)
        return running

    def assert_ran(self, result):
        if result.returncode != 0:
            self.fail(f"status {result.returncode}\nstdout: {result.stdout}\nstderr: {result.stderr}\n{self.stacks()}")

    def stacks(self):
        """The stacks of programs that crashed in the test's directory, where the kernel leaves cores and gdb is there. Open MPI's
        own lines about a crash end before the caller of a null function pointer."""
        return "\n".join(stacks_of(path) for path in sorted(pathlib.Path(self.dir).glob("core*"))) if shutil.which("gdb") else ""

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        os.chown(path, USER.pw_uid, USER.pw_gid)
        return path

    def forget_reports(self, ondeloc):
        """Removes reports of earlier steps of the test that have the name that this option names. A %-word may stand for any text.
        Reports in other directories stay."""
        if match := re.search(r"\breport=([^,]+)", ondeloc or ""):
            for path in pathlib.Path(self.dir).iterdir():
                if path.is_file() and fnmatch.fnmatch(path.name, re.sub("%.", "*", match[1])):
                    path.unlink()

    def report(self, name):
        """Returns the report that the mapper writes before the step ends, or soon after. While the step runs, the mapper writes
        preliminary reports under the same name."""
        path = pathlib.Path(self.dir, name)

        def read():
            return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"complete": False}
        self.assertTrue(wait_for(lambda: read()["complete"], 60), f"no complete report {name}")
        return read()


def stacks_of(core):
    def gdb(*arguments):
        return subprocess.run(["gdb", "-batch", "-nx", *arguments, core], capture_output=True, text=True, errors="replace", check=False).stdout
    program = re.search(r"^exe = '([^ ']+)", gdb("-ex", "info proc exe", "-core"), re.MULTILINE)
    return gdb("-ex", "thread apply all bt", program[1]) if program else f"{core}: of no program that gdb knows"


def wait_for(condition, seconds):
    """Returns whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def end_step(srun):
    """Ends srun and its step if they still run: the next test must not meet them."""
    if srun.poll() is None:
        srun.kill()
        srun.communicate()
        wait_until_none_left()


def is_ours(process):
    """Returns whether /proc/PID belongs to this private Slurm: the user may have processes under another one.

    The mapper has an environment of its own; the path of its program tells.
    """
    return any(ROOT.encode() in (process / name).read_bytes() for name in ("environ", "cmdline"))


def processes_of_user():
    """(pid, command line) of the ordinary user's live processes that belong to this private Slurm."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != USER.pw_uid:
                continue
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state not in "ZX":
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if is_ours(entry):
                    found.append((int(entry.name), command))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_until_none_left(seconds=60):
    wait_for(lambda: not processes_of_user(), seconds)
    return processes_of_user()


def pids_of(name):
    """Processes of the ordinary user whose program file has this name."""
    return [pid for pid, command in processes_of_user()
            if os.path.basename(command.split(" ", 1)[0]) == name]


def name_of_process(pid):
    """The name that the process gave itself; nothing if it has ended since it was found."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def main():
    result = unittest.main(verbosity=2, exit=False).result
    if result.testsRun == 0 or result.skipped or not result.wasSuccessful():
        print(f"{result.testsRun} tests ran, {len(result.skipped)} were skipped")
        sys.exit(1)
