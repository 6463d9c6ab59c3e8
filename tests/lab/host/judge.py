# SPDX-License-Identifier: MIT
"""Does the model order mappings as the machine does? Rank correlation, over the runs that lie in result directories, of simulated time with
what `ondeloc evaluate` predicts. Needs no guest: a changed model is judged on the same runs."""
import json
import pathlib
import subprocess
import tempfile

from . import tables
from .machine import Machine

TERMS = ("total", "congestion", "busiest", "locality", "remote_share", "peak_load")
CHOOSERS = ("total", "busiest", "locality")  # what could choose a mapping


def ranks_of(values):
    """Ranks from 1, the mean for equal values."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for i in order[at:end + 1]:
            ranks[i] = (at + end) / 2 + 1
        at = end + 1
    return ranks


def spearman(a, b):
    """Rank correlation; None where one side says nothing."""
    a, b = ranks_of(a), ranks_of(b)
    mean = (len(a) + 1) / 2
    spread = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / spread ** 0.5 if spread else None


def evaluate(ondeloc, place, program, cpus, machine):
    """Predicted cost of one mapping, with its terms."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as mapping:
        json.dump({"ranks": [{"rank": rank, "numa": machine.node_of(cpu), "pus": [cpu]} for rank, cpu in enumerate(cpus)]}, mapping)
        mapping.flush()
        words = [ondeloc, "evaluate", "-t", place / "results/machine.xml", "-m", place / f"results/{program}/matrix.csv",
                 "--mapping", mapping.name, "--format", "json"]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"--judge {place}: {done.stderr.strip()}")
    said = json.loads(done.stdout)
    return {**said, **said.get("cost", {})}


def traffic_of(place, program):
    """(sender, receiver, messages) of each pair that the profile holds."""
    lines = (place / f"results/{program}/matrix.csv").read_text().splitlines()[1:]
    pairs = [line.split(",") for line in lines]
    return [(int(source), int(target), float(messages[0]) if messages else 0.0) for source, target, _, *messages in pairs]


def messages_far(traffic, cpus, machine):
    """Messages between last-level caches: what counting messages alone says."""
    return sum(messages for source, target, messages in traffic if machine.llc_of(cpus[source]) != machine.llc_of(cpus[target]))


def mean_of_least(values, times):
    """Mean time of the mappings with the least value."""
    least = min(values)
    chosen = [time for value, time in zip(values, times) if value <= least * (1 + 1e-9)]
    return sum(chosen) / len(chosen)


def judge(place, ondeloc):
    """One entry for each program of a result directory."""
    result = json.loads((place / "result.json").read_text())
    if not isinstance(result, dict) or not {"description", "rows"} <= result.keys():
        raise ValueError(f"--judge {place}: result.json there is not one that run-lab wrote")
    machine = Machine(result["description"])
    lines = []
    for program in dict.fromkeys(row["program"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["program"] == program and row.get("cpus") and "@" not in row["mapping"]]
        if len(rows) < 5 or not (place / f"results/{program}/matrix.csv").exists():
            continue
        times = [row["seconds"] for row in rows]
        predicted = [evaluate(ondeloc, place, program, row["cpus"], machine) for row in rows]
        columns = {term: [entry.get(term) for entry in predicted] for term in TERMS if all(entry.get(term) is not None for entry in predicted)}
        traffic = traffic_of(place, program)
        columns["far messages"] = [messages_far(traffic, row["cpus"], machine) for row in rows]
        found = {name: spearman(values, times) for name, values in columns.items()}
        best = min(times)
        picked = {name: mean_of_least(values, times) / best for name, values in columns.items() if name in CHOOSERS}
        lines.append({"machine": machine.name, "program": program, "mappings": len(rows), "spread": max(times) / best,
                      "correlation": found, "chosen_over_best": picked})
    return lines


def main(chosen):
    ondeloc = pathlib.Path(chosen.build) / "mapcore/ondeloc"
    lines = [line for place in chosen.judge for line in judge(pathlib.Path(place), ondeloc)]
    if not lines:
        print("run-lab: no program there has five mappings with known CPUs and a profile (make them with --profile)")
        return 1
    names = list(lines[0]["correlation"])
    print(tables.NOTE.format(name=", ".join(dict.fromkeys(line["machine"] for line in lines))))
    print("rank correlation (Spearman) with simulated time. chosen by: time of the mapping with the least value of that term (the mean of several) over")
    print("the best")
    choosers = [name for name in CHOOSERS if name in lines[0]["chosen_over_best"]]
    print(f"{'machine':8} {'program':10} {'mappings':>8} {'slowest':>8} " + " ".join(f"{name:>13}" for name in names)
          + "   chosen by " + " ".join(f"{name:>13}" for name in choosers))
    for line in lines:
        cells = " ".join(cell(line["correlation"].get(name), 13, 2) for name in names)
        chosen_over = " ".join(cell(line["chosen_over_best"].get(name), 13, 3) for name in choosers)
        print(f"{line['machine']:8} {line['program']:10} {line['mappings']:8} {line['spread']:8.3f} {cells}             {chosen_over}")
    return 0


def cell(value, width, digits):
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"
