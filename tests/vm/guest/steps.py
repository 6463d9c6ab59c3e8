# SPDX-License-Identifier: Apache-2.0
"""Job steps under ondeloc with the `talk` program: run one, sample it, and what its traffic says about a placement."""
import glob
import json
import os
import shutil

from harness import Failed, check, masks, node_of, run, sampled, settled

TALK = "/usr/local/vm/programs/talk"
OPTIONS = "interval=300ms,max-interval=600ms"


def partner(pattern, rank, size):
    """Whom the rank sends to, None for nobody; the same table as in talk.c."""
    return {"pair": rank ^ 1, "last": rank ^ 1 if rank >= size - 2 else None,
            "half": (rank + size // 2) % size, "mirror": size - 1 - rank, "ring": (rank + 1) % size}[pattern]


class Step:
    """What one step left: its output, the samples of its ranks, ondeloc's report (None without one)."""

    def __init__(self, done, samples, reports, comm):
        self.out, self.err, self.samples, self.reports = done.stdout, done.stderr, samples, reports
        self.report = reports[0] if reports else None
        self.series = samples.ranks(comm)
        self.phases = {}
        for line in self.out.splitlines():
            if line.startswith("phase "):
                _, pattern, edge, time = line.split()
                self.phases.setdefault(pattern.split(":")[0], {})[edge] = float(time)

    def during(self, pattern):
        times = self.phases[pattern]
        return [ranks for ranks in self.series if all(times["begin"] <= p["t"] <= times["end"] for p in ranks.values())]

    def last(self, pattern, count):
        """The last settled sample of a phase."""
        good = settled(self.during(pattern), count)
        check(good, f"no settled sample in phase {pattern}")
        return good[-1]


def step(name, words, program=(), online=OPTIONS, env=None, status=0, comm="talk", timeout=300, period=0.2,
         report="report.json"):
    """srun WORDS PROGRAM under --ondeloc=online, sampled."""
    directory = f"/home/user/{name}"
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    os.chown(directory, 1000, 1000)
    option = [f"--ondeloc=online,{online},report={report}"] if online is not None else []
    with sampled(name, period) as samples:
        done = run("srun", *option, *words, *program, env=env, cwd=directory, timeout=timeout, status=status)
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
    """Share of these bytes between NUMA nodes, from the masks that the kernel holds."""
    where = {rank: node_of(process) for rank, process in ranks.items()}
    check(None not in where.values(), f"a rank's mask spans NUMA nodes: {masks(ranks)}")
    return sum(size for (src, dst), size in traffic.items() if where[src] != where[dst]) / sum(traffic.values())


def predicted(name, traffic, size, cpuset, algorithm, directory="/run/results"):
    """What `ondeloc map` says the remote share of that traffic will be inside this cpuset."""
    matrix = f"{directory}/{name}{size}.mat"
    with open(matrix, "w") as file:
        for rank in range(size):
            file.write(" ".join(str(traffic.get((rank, to), 0)) for to in range(size)) + "\n")
    text = run("ondeloc", "map", "--topology", "host", "--cpuset", ",".join(map(str, sorted(cpuset))), "--matrix", matrix,
               "--algorithm", algorithm, "--format", "json").stdout
    try:
        return json.loads(text)["cost"]["remote_share"]
    except (ValueError, KeyError) as error:
        raise Failed(f"ondeloc map --format json: {error!r}: {text[:500]}") from None


def moved(series):
    """Number of ranks that were seen with more than one mask."""
    return sum(len({masks(ranks)[rank] for ranks in series if rank in ranks}) > 1 for rank in series[-1])
