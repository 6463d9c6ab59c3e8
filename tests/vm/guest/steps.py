# SPDX-License-Identifier: Apache-2.0
"""Job steps under ondeloc with the `talk` program: run one, sample it, and what its traffic says about a placement.

A phase of talk lasts until the samples show what the scenario waits for, at most PATIENCE seconds: fast where the machine is
fast, and no claim rests on its being so."""
import glob
import json
import os
import pathlib
import shutil
import time

from harness import Failed, check, finish, masks, node_of, parted, run, sampled, settled, show, start, wait_for

TALK = "/usr/local/vm/programs/talk"
OPTIONS = "interval=300ms,max-interval=600ms"
PATIENCE = 300


def partner(pattern, rank, size):
    """Whom the rank sends to, None for nobody; the same table as in talk.c."""
    return {"pair": rank ^ 1, "last": rank ^ 1 if rank >= size - 2 else None,
            "half": (rank + size // 2) % size, "mirror": size - 1 - rank, "ring": (rank + 1) % size}[pattern]


class Step:
    """The results of one step: its output, the samples of its ranks, ondeloc's report (None without one)."""

    def __init__(self, done, samples, reports, comm):
        self.out, self.err, self.samples, self.reports = done.stdout, done.stderr, samples, reports
        self.report = reports[0] if reports else None
        self.series = samples.ranks(comm)
        self.phases = {}
        for line in self.out.splitlines():
            if line.startswith("phase "):
                _, pattern, edge, time = line.split()
                self.phases.setdefault(pattern.split(":")[0], {})[edge] = float(time)

    def talking(self):
        """The samples between the first and the last phase: in MPI_Init ranks were seen on one CPU after the other, without a
        migration of ours (hwloc visits each CPU)."""
        begin = min(times["begin"] for times in self.phases.values())
        end = max(times["end"] for times in self.phases.values())
        return [ranks for ranks in self.series if all(begin <= p["begin"] and p["t"] <= end for p in ranks.values())]

    def during(self, pattern):
        times = self.phases[pattern]
        return [ranks for ranks in self.series if all(times["begin"] <= p["begin"] and p["t"] <= times["end"] for p in ranks.values())]


class Phase:
    """talk's PATTERN until enough(samples of this phase); then, still in the phase, do()."""

    def __init__(self, pattern, enough, do=None):
        self.pattern, self.enough, self.do, self.begin = pattern, enough, do, None

    def drive(self, job, directory, samples, comm):
        """A phase that never has enough is ended too: what is missing then is told by the checks of the whole run."""
        ended = lambda: job.poll() is not None
        wait_for(lambda: ended() or os.path.exists(f"{directory}/{self.pattern}.begun"), f"phase {self.pattern}", PATIENCE)
        self.begin = time.monotonic()
        while not ended() and time.monotonic() < self.begin + PATIENCE:
            samples.load()
            if self.enough(samples.ranks(comm, since=self.begin)):
                break
            time.sleep(0.2)
        if self.do:
            self.do()
        pathlib.Path(f"{directory}/{self.pattern}.over").touch()


def steady(count, samples=4):
    """For Phase: that many settled samples of all ranks."""
    return lambda series: len(settled(series, count)) >= samples


def step(name, words, program=(), online=OPTIONS, env=None, status=0, comm="talk", timeout=900, period=0.2,
         report="report.json", phases=()):
    """srun WORDS PROGRAM PHASES under --ondeloc=online, sampled."""
    directory = f"/home/user/{name}"
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    os.chown(directory, 1000, 1000)
    option = [f"--ondeloc=online,{online},report={report}"] if online is not None else []
    with sampled(name, period) as samples:
        job = start("srun", *option, *words, *program, *(f"{phase.pattern}:until" for phase in phases), env=env, cwd=directory)
        try:
            for phase in phases:
                phase.drive(job, directory, samples, comm)
        except BaseException:
            job.kill()
            raise
        done = finish(job, timeout, status)
    reports = []
    for file in sorted(glob.glob(f"{directory}/report*.json")):
        shutil.copy(file, f"/run/results/{name}.{os.path.basename(file)}")
        with open(file) as text:
            reports.append(json.load(text))
    check(reports or online is None, f"no report; the step said: {done.stdout[-1500:]} {done.stderr[-1500:]}")
    return Step(done, samples, reports, comm)


def pattern_bytes(pattern, size):
    """(from, to) -> bytes of one round of talk's pattern: every message has one size."""
    return {(rank, partner(pattern, rank, size)): 1000000 for rank in range(size) if partner(pattern, rank, size) is not None}


def report_bytes(report):
    """(from, to) -> bytes, from a report's matrix, without self-sends."""
    return {(cell["src"], cell["dst"]): cell["bytes"] for cell in report["matrix"] if cell["src"] != cell["dst"] and cell["bytes"]}


def remote_share(ranks, traffic):
    """Share of these bytes between NUMA nodes, from the masks that the kernel holds; 1 when a mask spans several nodes."""
    where = {rank: node_of(process) for rank, process in ranks.items()}
    if None in where.values():
        return 1.0
    return sum(size for (src, dst), size in traffic.items() if where[src] != where[dst]) / sum(traffic.values())


def predicted(name, traffic, size, cpuset, algorithm, directory="/run/results"):
    """Returns the remote share of that traffic that `ondeloc map` predicts inside this cpuset."""
    matrix = f"{directory}/{name}{size}.mat"
    with open(matrix, "w") as file:
        for rank in range(size):
            file.write(" ".join(str(traffic.get((rank, to), 0)) for to in range(size)) + "\n")
    text = run("ondeloc", "map", "--topology", "host", "--cpuset", ",".join(map(str, sorted(cpuset))), "--matrix", matrix,
               *(["--algorithm", algorithm] if algorithm else []), "--format", "json").stdout
    try:
        return json.loads(text)["cost"]["remote_share"]
    except (ValueError, KeyError) as error:
        raise Failed(f"ondeloc map --format json: {error!r}: {text[:500]}") from None


def follows(pattern, size, cpuset, algorithm=""):
    """For Phase: the remote share of the pattern's traffic is what the command line predicts, and every rank has PUs of its own."""
    traffic = pattern_bytes(pattern, size)
    wanted = predicted(pattern, traffic, size, cpuset, algorithm)

    def enough(series):
        return parted(series, size) and share_reached(series, traffic, size) <= wanted + 1e-9
    return enough


def share_reached(series, traffic, size):
    """The smallest remote share of any settled sample. (Where an interval ends, a rank that waits for a CPU may not yet have
    sent its part: what is decided on that is right for it, not for the whole pattern.)"""
    return min((remote_share(ranks, traffic) for ranks in settled(series, size)), default=1.0)


def followed(watched, size, patterns, cpuset):
    """In each phase the remote share falls to what the command line predicts for that traffic."""
    said = []
    for pattern in patterns:
        traffic = pattern_bytes(pattern, size)
        series = watched.during(pattern)
        seen = share_reached(series, traffic, size)
        wanted = predicted(pattern, traffic, size, cpuset, watched.report["algorithm"])
        check(seen <= wanted + 1e-9, f"{pattern}: remote share {seen} in /proc, predicted {wanted}: {[show(r) for r in series[-3:]]}; "
              f"report: remaps {watched.report['totals']}, notes {watched.report['notes']}")
        first = next(ranks for ranks in series if len(ranks) == size)
        said.append(f"{pattern} {remote_share(first, traffic):.2f}->{seen:.2f} (predicted {wanted:.2f})")
    check(moved(watched.series), f"no rank moved: {show(watched.series[-1])}, notes {watched.report['notes']}")
    return ", ".join(said) + f"; {watched.report['totals']['remaps']} remaps"


def moved(series):
    """Number of ranks that were seen with more than one mask. (The last sample may have only those that end last.)"""
    seen = {}
    for ranks in series:
        for rank, mask in masks(ranks).items():
            seen.setdefault(rank, set()).add(mask)
    return sum(len(of_rank) > 1 for of_rank in seen.values())
