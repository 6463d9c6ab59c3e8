# SPDX-License-Identifier: MIT
"""From the runs and the plugin's counters to one row for each program and mapping."""
import math
import statistics

# Student's t for 95 %, by degrees of freedom.
STUDENT = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
NORMAL = statistics.NormalDist().inv_cdf(0.975)


def student(degrees):
    """From the table, else by the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5)."""
    if degrees < len(STUDENT):
        return STUDENT[degrees]
    z = NORMAL
    return z + (z ** 3 + z) / (4 * degrees) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2)


def interval(values):
    """Half the width of the 95 % interval of the mean; None of one value."""
    if len(values) < 2:
        return None
    return student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def memory_of(entry):
    """Returns one dump of the plugin under the names of the table."""
    every = entry["all"]
    load = lambda parts: [{"bytes": part["bytes"], "delay_ns": round(part["delay_ns"], 1)} for part in parts]
    return {"llc_misses": every["llc_misses"], "memory_local": every["memory_local"], "memory_remote": every["memory_remote"],
            "cache_same_llc": every["cache_same_llc"], "cache_same_node": every["cache_same_node"], "cache_other_node": every["cache_other_node"],
            "controllers": load(entry["controllers"]),
            "links": [{"from": link["from"], "to": link["to"], "bytes": link["bytes"], "delay_ns": round(link["delay_ns"], 1)} for link in entry["links"]],
            "ports": [{"bytes": llc["port_in"]["bytes"] + llc["port_out"]["bytes"], "delay_ns": round(llc["port_in"]["delay_ns"], 1)} for llc in entry["llcs"]],
            "waits": every["waits"], "timeouts": every["timeouts"], "set_backs": every["set_backs"], "set_back_ms": every["set_back_ps"] / 1e9,
            "simulated_s": entry["simulated_s"], "host_s": entry["host_s"], "host_load": entry["host_load"]}


def join(runs, counters):
    """Adds to each run what the plugin wrote under its label; a run without that has a problem."""
    for run in runs:
        entries = [entry for entry in counters.get(run["label"], []) if entry["tag"] == 1]
        if entries:
            run["memory"] = memory_of(entries[-1])
        elif "problem" not in run:
            run["problem"] = "no counters: MPI_Init or MPI_Finalize was not seen; the program has to load the guest's Open MPI as a shared library"
    return runs


def mean_of(good, name):
    return statistics.fmean(run["memory"][name] for run in good)


def row(program, mapping, runs):
    """One row of the table."""
    good = [run for run in runs if "problem" not in run]
    result = {"program": program, "mapping": mapping, "runs": len(good), "problems": [run["problem"] for run in runs if "problem" in run]}
    if not good:
        return result
    times = [run["memory"]["simulated_s"] for run in good]
    result.update(seconds=statistics.fmean(times), interval_s=interval(times), times=times, cpus=good[0].get("cpus"))
    for name in ("llc_misses", "memory_local", "memory_remote", "cache_same_llc", "cache_same_node", "cache_other_node", "waits", "timeouts",
                 "set_backs", "host_load"):
        result[name] = mean_of(good, name)
    result["slow_down"] = mean_of(good, "host_s") / result["seconds"]
    for kind in ("controllers", "links", "ports"):
        result[kind] = [{**part, "bytes": statistics.fmean(run["memory"][kind][i]["bytes"] for run in good),
                         "delay_ns": statistics.fmean(run["memory"][kind][i]["delay_ns"] for run in good)}
                        for i, part in enumerate(good[0]["memory"][kind])]
    reports = [run["report"] for run in good if "report" in run]
    if reports:
        result["remaps"] = statistics.fmean(report["remaps"] for report in reports)
        result["moved"] = statistics.fmean(report["moved"] for report in reports)
    return result


def rows(runs):
    """In the order in which they came first, each normalised to Slurm's default binding of the same program (else to the first)."""
    groups = {}
    for run in runs:
        groups.setdefault((run["program"], run["mapping"]), []).append(run)
    table = [row(program, mapping, found) for (program, mapping), found in groups.items()]
    for entry in table:
        same = [other for other in table if other["program"] == entry["program"] and "seconds" in other]
        base = next((other for other in same if other["mapping"] == "default"), same[0] if same else None)
        if base and "seconds" in entry:
            entry["normalised"] = entry["seconds"] / base["seconds"]
            entry["normalised_to"] = base["mapping"]
    return table
