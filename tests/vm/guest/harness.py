# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios: commands as the ordinary user, samples of the kernel's view, and claims about the samples."""
import contextlib
import functools
import json
import os
import pathlib
import signal
import subprocess
import time

import sampler

HERE = pathlib.Path(__file__).parent
USER = {"user": 1000, "group": 1000, "extra_groups": []}
BTL = "self,vader" if os.path.exists("/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_vader.so") else "self,sm"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/home/user", "LANG": "C.UTF-8",
               "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": BTL}
SCENARIOS = []


def scenario(shapes="2x4", since=(22, 5)):
    """Marks a scenario: `shapes` are the machine shapes it is for, "all" for every one; `since` the release of Slurm that brought
    the tested feature: with an older release the scenario is left out."""
    def mark(function):
        if slurm_release() >= since:
            SCENARIOS.append((function.__name__, shapes.split(), function))
        return function
    return mark


def slurm_release():
    """(24, 11) for Slurm 24.11.5."""
    text = subprocess.run(["/usr/sbin/slurmd", "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(int(number) for number in text.split()[-1].split(".")[:2])


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


def start(*words, env=None, cwd=None, **how):
    """Starts a command as the user, with its output in pipes."""
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd=cwd or "/home/user",
                            env={**ENVIRONMENT, **(env or {})}, **{**USER, **how})


def finish(process, timeout=900, status=0):
    """Waits for a command; another exit status than the expected one is a failure (None: any status will do)."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise Failed(f"{' '.join(process.args)}: not done after {timeout} s\n{out[-2000:]}\n{err[-2000:]}") from None
    if status is not None and process.returncode != status:
        raise Failed(f"{' '.join(process.args)}: exit status {process.returncode}\n{out[-2000:]}\n{err[-4000:]}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run(*words, timeout=900, status=0, **how):
    return finish(start(*words, **how), timeout, status)


def root(*words, timeout=600):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    check(done.returncode == 0, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def wait_for(what, text, seconds=180):
    """Polls what() until it is true and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.2)
    raise Failed(f"{text}: not within {seconds} s")


@contextlib.contextmanager
def sampled(name, period=0.2):
    """Runs the sampler beside the block; yields a Samples that is complete when the block ends."""
    file = f"/run/results/{name}.samples"
    pid = os.fork()  # another interpreter would take seconds to start
    if pid == 0:
        with contextlib.suppress(BaseException):
            sampler.write_samples(file, period)
        os._exit(1)
    samples = Samples(file)
    try:
        wait_for(lambda: os.path.exists(file) and os.path.getsize(file), "first sample")
        yield samples
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        samples.load()


class Samples:
    """The samples of one run, in time order."""

    def __init__(self, file):
        self.file = file
        self.all = []
        self.read = 0  # bytes of the file that have been read

    def load(self):
        """Reads new lines; an incomplete line is left for the next call."""
        with open(self.file, "rb") as lines:
            lines.seek(self.read)
            for line in lines:
                if line.endswith(b"\n"):
                    self.read += len(line)
                    self.all.append(json.loads(line))

    def ranks(self, comm, job=None, step=None, since=0):
        """One {rank: process} for each sample that has processes named comm (of that job and step) and began after `since`."""
        series = []
        for sample in self.all:
            if sample["begin"] < since:
                continue
            found = {p["rank"]: {**p, "cpuset": sample["cpusets"][p["cgroup"]], "begin": sample["begin"], "t": sample["t"]}
                     for p in sample["procs"] if p["comm"] == comm[:15] and p["rank"] is not None
                     and main_mask(p)  # not ending
                     and job in (None, p["job"]) and step in (None, p["step"])}
            if found:
                series.append(found)
        return series


def main_mask(process):
    """The mask of the main thread."""
    return frozenset(next((allowed for tid, allowed, _ in process["threads"] if tid == process["pid"]), ()))


def masks(ranks):
    return {rank: main_mask(process) for rank, process in ranks.items()}


def settled(series, count, same=1):
    """The samples with all `count` ranks whose masks equal those of the `same` samples before: none was taken during a remap."""
    seen = [masks(ranks) for ranks in series]
    return [series[i] for i in range(same, len(series))
            if len(seen[i]) == count and all(seen[j] == seen[i] for j in range(i - same, i))]


def inside_cpuset(series, allowed=None):
    """Checks every thread of every rank in every sample: its mask is inside its cgroup's CPUs and inside `allowed`, and so is the
    CPU that it is on. (If a cpuset shrinks, a sleeping thread keeps its old CPU until it wakes.)"""
    check(series, "no sample has a rank")
    for ranks in series:
        for rank, process in ranks.items():
            limit = set(process["cpuset"]) & (set(allowed) if allowed is not None else set(process["cpuset"]))
            for tid, mask, now in process["threads"]:
                check(set(mask) <= limit, f"rank {rank} thread {tid}: mask {mask} outside {sorted(limit)} (cgroup {process['cgroup']})")
                check(allowed is None or now in limit, f"rank {rank} thread {tid} is on CPU {now} outside {sorted(limit)}")


STEADY = 3  # the mapper moves ranks one after the other: if it waits for a CPU in between, two ranks share a PU for some samples


def shared_pu(ranks):
    """A sentence that names the PUs that two ranks share; empty if each rank has PUs of its own."""
    owner = {}
    for rank, mask in masks(ranks).items():
        for cpu in mask:
            if cpu in owner:
                return f"PU {cpu} is in the masks of ranks {owner[cpu]} and {rank}: {show(ranks)}"
            owner[cpu] = rank
    return ""


def alone(series, count):
    """Checks that no PU is in the masks of two ranks in any settled sample."""
    good = settled(series, count, STEADY)
    check(good, f"no settled sample with {count} ranks among {len(series)}")
    for ranks in good:
        check(not shared_pu(ranks), shared_pu(ranks))


def parted(series, count):
    """Returns whether the newest samples are settled and every rank has PUs of its own."""
    good = settled(series[-STEADY - 1:], count, STEADY)
    return bool(good) and not shared_pu(good[-1])


def show(ranks):
    return {rank: sorted(mask) for rank, mask in sorted(masks(ranks).items())}


@functools.cache
def numa_of_cpus():
    """CPU -> NUMA node from sysfs, before any CPU was unplugged."""
    nodes = {}
    for place in pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"):
        for cpu in place.glob("cpu[0-9]*"):
            nodes[int(cpu.name[3:])] = int(place.name[4:])
    return nodes


def node_of(process):
    """The NUMA node of a rank's mask, None when it spans several."""
    table = numa_of_cpus()
    nodes = {table[cpu] for cpu in main_mask(process)}
    return nodes.pop() if len(nodes) == 1 else None


def step_groups():
    """Cgroup directories of steps and their contents, inner ones last; they may vanish during the walk."""
    return [pathlib.Path(place) for place, _, _ in os.walk("/sys/fs/cgroup") if "/step_" in place]


def step_clean():
    """Checks that nothing of a step is left: no process of the user, no step cgroup, node idle and not drained."""
    def left():
        procs = [p for p in os.listdir("/proc") if p.isdigit() and owner(p) == 1000]
        groups = step_groups()
        return procs, groups
    end = time.monotonic() + 180
    while any(left()) and time.monotonic() < end:
        time.sleep(0.2)
    procs, groups = left()
    check(not procs, f"processes left: {[command(p) for p in procs]}")
    check(not groups, f"cgroups left: {groups}")
    wait_for(lambda: state() in ("idle", "drained", "draining", "down"), "node idle")
    check(state() == "idle", f"node is {state()}: {root('sinfo', '-R')}")


def state():
    return root("sinfo", "-h", "-o", "%T").strip()


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return pid


def owner(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
