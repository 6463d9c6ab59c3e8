# SPDX-License-Identifier: MIT
"""Names of mappings, as --mappings takes them."""
import pathlib
import random
import re
import subprocess

HELP = """default            as Slurm binds without being asked
packed             rank i on CPU i
scatter            neighbouring ranks on different nodes and last-level caches
random:N           N random orders (seeds 1 to N); random:A-B seeds A to B
swapped:N          N mappings between packed and random: 1 to 6 swaps
map:0+4+1+5+...    these CPUs
online[:KEY=V+...] ondeloc re-binds the ranks while they run, from Slurm's binding; with these keys beside those of --online
NAME@near          without the cost of distance: the control
online@MAPPING     online from that start; of random:N and swapped:N from the one with seed N
anything else      an algorithm of `ondeloc algorithms`, applied once from a recorded profile: locality, coordinated, ..."""


def scatter(machine):
    """Round the nodes, then round the caches of each node, then the cores."""
    threads, cores = machine.threads, machine.cores_per_llc
    order = [(thread, core, llc, node) for thread in range(threads) for core in range(cores)
             for llc in range(machine.llcs_per_node) for node in range(machine.nodes)]
    return [(((node * machine.llcs_per_node) + llc) * cores + core) * threads + thread for thread, core, llc, node in order]


def seeds(text):
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)", text)
    low, high = (int(found[1] or 1), int(found[2])) if found else (1, 0)
    if not 1 <= low <= high:
        raise ValueError("a number from 1 on is expected after the colon, or a range of seeds, such as 2-5")
    return range(low, high + 1)


def swapped(cpus, seed):
    source = random.Random(seed)
    order = list(range(cpus))
    for _ in range(1 + seed % 6):
        a, b = source.sample(range(cpus), 2)
        order[a], order[b] = order[b], order[a]
    return order


def joined(keys, more):
    """KEY=V,... of both; where both have a key, that of `more`."""
    words = {word.partition("=")[0]: word for word in [*keys.split(","), *more.split("+")] if word}
    return ",".join(words.values())


def expand(machine, ranks, text, online_keys):
    """The list of mappings that one word of --mappings stands for."""
    try:
        return ways(machine, ranks, text, online_keys)
    except ValueError as problem:
        raise ValueError(f"--mappings {text}: {problem}") from None


def ways(machine, ranks, text, online_keys):
    name = text.removesuffix("@near")
    near = text[len(name):]
    mapping = {"name": text, "distance": not near}
    name, at, start = name.partition("@")
    kind, colon, argument = name.partition(":")
    if at and kind != "online":
        raise ValueError("only online takes a start after '@', and @near ends a word")
    if name == "default":
        return [mapping]
    if name == "packed":
        return [{**mapping, "cpus": list(range(ranks))}]
    if name == "scatter":
        return [{**mapping, "cpus": scatter(machine)[:ranks]}]
    if kind == "random" and colon:
        return [{**mapping, "name": f"random:{seed}{near}", "cpus": random.Random(seed).sample(range(machine.cpus), ranks)} for seed in seeds(argument)]
    if kind == "swapped" and colon:
        return [{**mapping, "name": f"swapped:{seed}{near}", "cpus": swapped(machine.cpus, seed)[:ranks]} for seed in seeds(argument)]
    if kind == "map":
        return [{**mapping, "cpus": cpu_list(machine, ranks, argument)}]
    if kind == "online":
        first = ways(machine, ranks, start, online_keys)[-1] if start else {}
        if (at and not start) or "ondeloc" in first or "-" in start:
            raise ValueError("one mapping that is not online is expected after '@'")
        return [{**first, **mapping, "ondeloc": f"online,{joined(online_keys, argument)}"}]
    return [{**mapping, "algorithm": name}]


def cpu_list(machine, ranks, text):
    cpus = [int(cpu) if cpu.isdecimal() else -1 for cpu in text.split("+")]
    if len(cpus) != ranks or not set(cpus) <= set(range(machine.cpus)):
        raise ValueError(f"a CPU for each of {ranks} ranks is expected, from 0 to {machine.cpus - 1}, joined by '+'")
    return cpus


def check_algorithms(build, mappings):
    """Asks ondeloc whether it knows the algorithms, by a mapping of two ranks."""
    for algorithm in dict.fromkeys(mapping["algorithm"] for mapping in mappings if "algorithm" in mapping):
        words = [pathlib.Path(build, "mapcore/ondeloc"), "map", "-t", "numa:2 pu:1", f"--algorithm={algorithm}", "-"]
        done = subprocess.run(words, input="src,dst,bytes\n0,1,1\n", capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"--mappings {algorithm}: {done.stderr.strip().removeprefix('ondeloc: ')}")
