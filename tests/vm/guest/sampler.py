# SPDX-License-Identifier: Apache-2.0
"""Samples the kernel's view without any code of the project: write_samples(FILE, PERIOD) writes one JSON line a period until its
process is terminated: {"begin" and "t": seconds of CLOCK_MONOTONIC when the sample was begun and complete, "cpusets":
{cgroup: CPUs}, "procs": [{"pid", "ppid", "comm", "job", "step", "rank", "cgroup", "threads": [[tid, allowed CPUs, CPU now]]}]} for
every process of the ordinary user. Runs as root, reads /proc and cgroup files."""
import json
import os
import time

UID = 1000
CGROUP = "/sys/fs/cgroup"


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cpu_list(text):
    cpus = []
    for part in text.strip().split(","):
        if part:
            low, _, high = part.partition("-")
            cpus += range(int(low), int(high or low) + 1)
    return cpus


class Sampler:
    """Remembers facts that do not change in the life of a process."""

    def __init__(self):
        self.known = {}

    def identity(self, pid, start):
        """job, step and rank from the environment, read again after an exec. During an exec the environment is empty."""
        key = (pid, start)
        if not self.known.get(key, {}).get("job"):
            words = dict(word.split("=", 1) for word in read(f"/proc/{pid}/environ").split("\0") if "=" in word)
            self.known[key] = {"job": words.get("SLURM_JOB_ID"), "step": words.get("SLURM_STEP_ID"),
                               "rank": int(words["SLURM_PROCID"]) if "SLURM_PROCID" in words else None}
        return self.known[key]

    def process(self, pid, cpusets):
        stat = read(f"/proc/{pid}/stat").rpartition(")")
        if not stat[2]:
            return None
        fields = stat[2].split()
        if fields[0] in "ZX":
            return None
        comm = stat[0].partition("(")[2]
        group = self.group(read(f"/proc/{pid}/cgroup"))
        if group not in cpusets:
            cpusets[group] = self.cpuset(group)
        threads = []
        for tid in os.listdir(f"/proc/{pid}/task"):
            status = read(f"/proc/{pid}/task/{tid}/status")
            now = read(f"/proc/{pid}/task/{tid}/stat").rpartition(")")[2].split()
            if "Cpus_allowed_list:" in status and len(now) > 36:
                allowed = status.split("Cpus_allowed_list:")[1].split("\n", 1)[0]
                threads.append([int(tid), cpu_list(allowed), int(now[36])])
        return {"pid": pid, "ppid": int(fields[1]), "comm": comm, "cgroup": group, "threads": threads,
                **self.identity(pid, fields[19] + comm)}

    @staticmethod
    def group(text):
        """The directory of the process's cpuset below /sys/fs/cgroup: that of version 1 if it is mounted."""
        groups = dict(line.split(":", 2)[1:] for line in text.splitlines())
        return "/cpuset" + groups["cpuset"] if "cpuset" in groups else groups.get("", "/")

    @staticmethod
    def cpuset(group):
        """The nearest ancestor that constrains CPUs."""
        while group and group != "/":
            text = read(f"{CGROUP}{group}/cpuset.cpus.effective") or read(f"{CGROUP}{group}/cpuset.effective_cpus")
            if text:
                return cpu_list(text)
            group = os.path.dirname(group)
        return cpu_list(read("/sys/devices/system/cpu/online"))

    def sample(self):
        begin, cpusets, procs = time.monotonic(), {}, []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    if os.stat(f"/proc/{name}").st_uid == UID:
                        procs.append(self.process(int(name), cpusets))
                except OSError:
                    pass
        return {"begin": begin, "t": time.monotonic(), "cpusets": cpusets, "procs": [p for p in procs if p]}


def write_samples(file, period):
    sampler = Sampler()
    with open(file, "w") as out:
        while True:
            begin = time.monotonic()
            out.write(json.dumps(sampler.sample()) + "\n")
            out.flush()
            time.sleep(max(0.02, period - (time.monotonic() - begin)))
