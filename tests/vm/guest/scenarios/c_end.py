# SPDX-License-Identifier: Apache-2.0
"""The end of a step leaves nothing behind and takes hardly longer than without ondeloc, whichever process is killed."""
import contextlib
import errno
import json
import os
import pathlib
import signal
import statistics
import time

from harness import check, finish, run, scenario, start, step_clean, step_groups, wait_for
from steps import OPTIONS, PATIENCE, TALK


def processes(name):
    """Pids of processes whose program has this name."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if place.joinpath("cmdline").read_bytes().split(b"\0")[0].decode(errors="replace").split(":")[0].endswith(name):
                found.append(int(place.name))
        except OSError:
            pass
    return found


def end_of_step(*option, last="true"):
    """Seconds from the last task's output to the end of srun; `last`: shell commands that tasks run before they exit."""
    done = run("srun", "-n2", *option, "sh", "-c", f"sleep 1; date +%s.%N; {last}")
    return time.time() - max(map(float, done.stdout.split()))


@scenario("2x4")
def step_end_costs_no_second():
    """Compares medians of steps run in turn, more of them if the host stalls. The yardstick in the same run is a step
    with the second that Slurm needs for a process left to proctrack (not always: if the process dies at once it needs none,
    and such a step is not a yardstick). (In milliseconds, of 20 steps: tests/bench/launch_cost; an emulated machine is too slow for
    that.)"""
    plain, ours, second = [], [], []
    good = False
    while not good and len(plain) < 21:
        plain.append(end_of_step())
        ours.append(end_of_step("--ondeloc=online"))
        second.append(end_of_step(last="sleep 1"))
        without, with_it, more = map(statistics.median, (plain, ours, second))
        good = len(plain) >= 3 and with_it - without < (more - without) / 2
    said = f"medians of {len(plain)}: {with_it:.3f} s with, {without:.3f} s without, {more:.3f} s with a second more"
    check(good, said)
    return said


def phase(pattern, what):
    """Removes talk's files of a step without a directory of its own."""
    return pathlib.Path("/home/user", f"{pattern}.{what}")


def forget_phase(pattern):
    for what in ("begun", "over"):
        phase(pattern, what).unlink(missing_ok=True)


@scenario("2x4")
def mapper_killed():
    forget_phase("pair")
    job = start("srun", "-n4", f"--ondeloc=online,{OPTIONS}", TALK, "pair:until", "half:20")
    wait_for(lambda: phase("pair", "begun").exists(), "first phase", PATIENCE)
    mapper = wait_for(lambda: processes("ondeloc-mapper"), "mapper")
    for pid in mapper:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not processes("ondeloc-mapper"), "end of the mapper")
    phase("pair", "over").touch()
    done = finish(job)
    check(done.stdout.count("sent ") == 8, f"the step did not finish its work: {done.stdout} {done.stderr}")
    step_clean()
    return f"step went on; it said: {done.stderr.strip()[-200:]!r}"


def has_traffic(path):
    """The mapper renames a report into its place, so a reader finds it whole. The first one may come before the first message."""
    return path.exists() and bool(json.loads(path.read_text(encoding="ascii"))["matrix"])


@scenario("2x4")
def step_killed_as_a_whole():
    """A rank crashes, and Slurm's PMIx has the step killed with its mapper: the report is an earlier, preliminary one."""
    forget_phase("pair")
    path = pathlib.Path("/home/user/killed.json")
    path.unlink(missing_ok=True)
    job = start("srun", "-n4", f"--ondeloc=online,report={path},{OPTIONS}", TALK, "pair:until")
    wait_for(lambda: phase("pair", "begun").exists(), "first phase", PATIENCE)
    wait_for(lambda: has_traffic(path), "preliminary report with traffic", PATIENCE)
    os.kill(min(processes("talk")), signal.SIGKILL)
    done = finish(job, status=None)
    check(done.returncode != 0, "the step ended well although a rank was killed")
    report = json.loads(path.read_text(encoding="ascii"))
    check(any(note.startswith("preliminary: ") for note in report["notes"]), f"not said to be preliminary: {report['notes']}")
    check(report["matrix"], "no traffic in the preliminary report")
    check("the mapper was killed with the step: the report is preliminary" in done.stderr, f"nobody said so: {done.stderr}")
    step_clean()
    return f"{report['notes'][0]!r}; {done.stderr.strip()[-300:]!r}"


def removed(group):
    """Waits until the last thread of a killed rank has ended; the process has no command line then."""
    try:
        group.rmdir()
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def after_killed_stepd(*option):
    """Kills slurmstepd of a running step and returns the user's processes that are left a while later. Then it cleans up:
    without slurmstepd, Slurm ends neither the ranks nor srun."""
    forget_phase("pair")
    job = start("srun", "-n4", *option, TALK, "pair:until")
    wait_for(lambda: phase("pair", "begun").exists(), "first phase", PATIENCE)
    for pid in processes("slurmstepd"):
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while processes("ondeloc-mapper") and time.monotonic() < end:
        time.sleep(0.2)
    left = {name: len(processes(name)) for name in ("talk", "ondeloc-mapper")}
    job.kill()
    job.communicate()
    for name in left:
        for pid in processes(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    run("scancel", "--user=1000")
    wait_for(lambda: not processes("talk"), "the end of killed ranks")
    groups = sorted(step_groups(), reverse=True)  # inner ones first
    for group in groups:
        wait_for(lambda: removed(group), f"end of {group}")
    return {**left, "cgroups": len(groups)}


@scenario("2x4")
def slurmstepd_killed():
    """Slurm decides what happens to the ranks; ondeloc has to end the mapper, and the node has to stay in service."""
    plain = after_killed_stepd()
    step_clean()
    ours = after_killed_stepd(f"--ondeloc=online,{OPTIONS}")
    check(ours["ondeloc-mapper"] == 0, f"left: {ours}")
    for what in ("talk", "cgroups"):
        check(ours[what] <= plain[what], f"{what} left: {ours[what]} with, {plain[what]} without")
    step_clean()
    run("srun", "-n8", "true")
    return f"left by Slurm itself {plain}, with ondeloc {ours}"
