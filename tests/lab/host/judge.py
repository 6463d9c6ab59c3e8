# SPDX-License-Identifier: MIT
"""Does the model order mappings as the machine does? Rank correlation, over the runs that lie in result directories, of simulated time with
what `ondeloc evaluate` predicts. Needs no guest: a changed model is judged on the same runs."""
import json
import pathlib
import subprocess
import tempfile

from . import tables

TERMS = ("total", "congestion", "locality", "remote_share", "peak_load")


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


def evaluate(ondeloc, place, program, cpus, keys):
    """Predicted cost of one mapping, with its terms."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as mapping:
        nodes = {cpu: node for node, cpus_of in enumerate(keys["nodes"]) for cpu in cpus_of}
        json.dump({"ranks": [{"rank": rank, "numa": nodes[cpu], "pus": [cpu]} for rank, cpu in enumerate(cpus)]}, mapping)
        mapping.flush()
        words = [ondeloc, "evaluate", "-t", place / "results/machine.xml", "-m", place / f"results/{program}/matrix.csv",
                 "--mapping", mapping.name, "--format", "json", *keys["words"]]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"--judge {place}: {done.stderr.strip()}")
    said = json.loads(done.stdout)
    return {**said, **said.get("cost", {})}


def messages_far(place, program, cpus, machine):
    """Messages between last-level caches: what counting messages alone says."""
    llc = lambda cpu: cpu // machine["threads_per_core"] // machine["cores_per_llc"]
    far = 0
    for line in (place / f"results/{program}/matrix.csv").read_text().splitlines()[1:]:
        source, target, _, *messages = line.split(",")
        if messages and llc(cpus[int(source)]) != llc(cpus[int(target)]):
            far += float(messages[0])
    return far


def judge(place, ondeloc):
    """Prints one table for each program of a result directory."""
    result = json.loads((place / "result.json").read_text())
    machine = result["description"]
    each = machine["llcs_per_node"] * machine["cores_per_llc"] * machine["threads_per_core"]
    keys = {"nodes": [range(n * each, n * each + each) for n in range(machine["nodes"])], "words": []}
    lines = []
    for program in dict.fromkeys(row["program"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["program"] == program and row.get("cpus") and "@" not in row["mapping"]]
        if len(rows) < 5 or not (place / f"results/{program}/matrix.csv").exists():
            continue
        times = [row["seconds"] for row in rows]
        predicted = [evaluate(ondeloc, place, program, row["cpus"], keys) for row in rows]
        columns = {term: [entry.get(term) for entry in predicted] for term in TERMS if all(entry.get(term) is not None for entry in predicted)}
        columns["far messages"] = [messages_far(place, program, row["cpus"], machine) for row in rows]
        found = {name: spearman(values, times) for name, values in columns.items()}
        best = min(times)
        picked = times[columns["total"].index(min(columns["total"]))] / best if "total" in columns else None
        lines.append({"machine": machine["name"], "program": program, "mappings": len(rows), "spread": max(times) / best,
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
    print("rank correlation (Spearman) with simulated time; chosen: time of the mapping with the least predicted cost over the best")
    print(f"{'machine':8} {'program':10} {'mappings':>8} {'slowest':>8} " + " ".join(f"{name:>12}" for name in names) + f" {'chosen':>7}")
    for line in lines:
        cells = " ".join(f"{line['correlation'][name]:12.2f}" if line["correlation"].get(name) is not None else f"{'-':>12}" for name in names)
        chosen_over = f"{line['chosen_over_best']:7.3f}" if line["chosen_over_best"] else f"{'-':>7}"
        print(f"{line['machine']:8} {line['program']:10} {line['mappings']:8} {line['spread']:8.3f} {cells} {chosen_over}")
    return 0
