# SPDX-License-Identifier: MIT
"""Names of mappings, as --mappings takes them."""
import random

HELP = """default            as Slurm binds without being asked
packed             rank i on CPU i
scatter            neighbouring ranks on different nodes and last-level caches
random:N           N random orders (seeds 1 to N); random:A-B seeds A to B
swapped:N          N mappings between packed and random: 1 to 6 swaps
map:0+4+1+5+...    these CPUs
online[:KEY=V+...] ondeloc re-binds the ranks while they run, from Slurm's binding; with these keys beside those of --online
NAME@near          without the cost of distance: the control
NAME@MAPPING       online@packed: online from that start
anything else      an algorithm of `ondeloc algorithms`, applied once from a recorded profile: locality, coordinated, ..."""


def scatter(machine):
    """Round the nodes, then round the caches of each node, then the cores."""
    threads, cores = machine.threads, machine.cores_per_llc
    order = [(thread, core, llc, node) for thread in range(threads) for core in range(cores)
             for llc in range(machine.llcs_per_node) for node in range(machine.nodes)]
    return [(((node * machine.llcs_per_node) + llc) * cores + core) * threads + thread for thread, core, llc, node in order]


def seeds(text):
    low, dash, high = text.partition("-")
    return range(int(low), int(high) + 1) if dash else range(1, int(low) + 1)


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
    name, near, _ = text.partition("@near")
    mapping = {"name": text, "distance": not near}
    name, at, start = name.partition("@")
    kind, _, argument = name.partition(":")
    try:
        if kind == "default":
            return [mapping]
        if kind == "packed":
            return [{**mapping, "cpus": list(range(ranks))}]
        if kind == "scatter":
            return [{**mapping, "cpus": scatter(machine)[:ranks]}]
        if kind == "random" and argument:
            return [{**mapping, "name": f"random:{seed}{near}", "cpus": random.Random(seed).sample(range(machine.cpus), ranks)} for seed in seeds(argument)]
        if kind == "swapped" and argument:
            return [{**mapping, "name": f"swapped:{seed}{near}", "cpus": swapped(machine.cpus, seed)[:ranks]} for seed in seeds(argument)]
        if kind == "map":
            return [{**mapping, "cpus": cpu_list(machine, ranks, argument)}]
        if kind == "online":
            first = expand(machine, ranks, start, online_keys)[0] if at else {}
            return [{**first, **mapping, "ondeloc": f"online,{joined(online_keys, argument)}"}]
    except ValueError:
        expected = f"a CPU for each of {ranks} ranks is expected, joined by '+'" if kind == "map" else "numbers are expected after the colon"
        raise ValueError(f"--mappings {text}: {expected}") from None
    return [{**mapping, "algorithm": name}]


def cpu_list(machine, ranks, text):
    cpus = [int(cpu) for cpu in text.replace("+", ",").split(",")]
    if len(cpus) != ranks or not set(cpus) <= set(range(machine.cpus)):
        raise ValueError
    return cpus
