# SPDX-License-Identifier: Apache-2.0
"""Benches that start steps: they use the private Slurm of the Slurm tests, or start and stop one of their own."""
import contextlib
import os
import pathlib
import platform
import subprocess
import sys

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "slurm" / "fixture"


def is_running(build):
    """True if the Slurm of the tests runs, which private_slurm() then yields."""
    return (pathlib.Path(build).resolve() / "tests" / "slurm" / "where").exists()


@contextlib.contextmanager
def private_slurm(build):
    """Yields the module `harness` of the Slurm tests. `build` is a build folder with tests. As root."""
    build = pathlib.Path(build).resolve()
    where = build / "tests" / "slurm" / "where"
    started = not is_running(build)
    if started:
        subprocess.run([FIXTURE, "start", build], check=True)
    try:
        os.environ["ONDELOC_TEST_WHERE"] = str(where)
        sys.path.insert(0, str(FIXTURE.parent))
        sys.dont_write_bytecode = True
        import harness  # pylint: disable=import-outside-toplevel
        yield harness
    finally:
        if started:
            subprocess.run([FIXTURE, "stop", build], check=True)


def ask(harness, *command):
    return subprocess.run(command, env=harness.environment(), capture_output=True, text=True, check=True).stdout.strip()


def show_machine(harness):
    print(f"machine: {platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}, "
          f"load {os.getloadavg()[0]:.1f}")
    config = dict(line.split("=", 1) for line in ask(harness, "scontrol", "show", "config").splitlines() if "=" in line)
    proctrack = next(value.strip() for key, value in config.items() if key.strip() == "ProctrackType")
    print(f"{ask(harness, 'sinfo', '--version')}, {proctrack}")
