#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of ondeloc at the start and end of a step: `srun -n2 true` with and without it, in turns. As root.

  launch_cost.py BUILD_DIR [RUNS]    RUNS of each (default 30); starts and stops a private Slurm of its own
Prints medians in milliseconds, their difference and ratio, and the difference of the fastest runs, which other load disturbs less;
with machine and versions. "end" comes from runs of `date` in place of `true`: the
time from the output of the last task, just before it exits, to the end of srun.

The lines with "devices" are of online,nic=rail on a node with 8 adapters, 200 virtual functions and 8 GPUs, which are made up and
laid over /sys in a mount namespace; those with "no devices" have the layer without them. Slurm itself takes longer on such a node,
so the price of devices is the difference of two differences; "price of devices" is its median over the runs of one turn, which other
load disturbs less than the medians of each column. On a busy machine `chrt --rr 1 launch_cost.py ...` keeps other programs off the
CPUs while a step starts. A private Slurm that runs already is outside of the namespace: then
only `ondeloc topology` is measured with devices; its CPU time is that of one search for devices, and of what else it does.
"""
import contextlib
import pathlib
import resource
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import made_devices  # noqa: E402 pylint: disable=wrong-import-position
import made_sysfs  # noqa: E402 pylint: disable=wrong-import-position
import on_private_slurm  # noqa: E402 pylint: disable=wrong-import-position

# Name: options without and with ondeloc, and whether the layer over /sys has devices (None: no layer).
PAIRS = {"": ((None, "online"), None), ", no devices": ((None, "online,nic=rail"), False), ", devices": ((None, "online,nic=rail"), True)}


def one_run(harness, option):
    """Returns (`srun -n2 true`, end of `srun -n2 date`) in seconds; date prints the time at which its task is about to exit."""
    def srun(*program):
        return subprocess.run(**harness.as_user([*harness.srun_command(option), "-n2", *program], f"{harness.ROOT}/work"),
                              capture_output=True, check=True).stdout

    start = time.time()
    srun("true")
    whole = time.time() - start
    said = max(float(line) for line in srun("date", "+%s.%N").split())
    return whole, time.time() - said


def measure(harness, devices, pairs, runs):
    """Returns the outcomes of one_run() by pair and whether ondeloc is used."""
    times = {(name, used): [] for name in pairs for used in (False, True)}
    for run in range(-1, runs):  # the first warms the caches
        for (name, used), taken in times.items():
            options, with_devices = PAIRS[name]
            with contextlib.nullcontext() if with_devices is None else devices.laid(with_devices):
                outcome = one_run(harness, options[used])
            if run >= 0:
                taken.append(outcome)
    return times


def measure_topology(ondeloc, devices, runs):
    """Returns the seconds of CPU time that `ondeloc topology` takes without and with the devices, in turns."""
    def cpu_seconds():
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    times = {False: [], True: []}
    for _ in range(runs):
        for with_devices, taken in times.items():
            with devices.laid(with_devices):
                start = cpu_seconds()
                subprocess.run([ondeloc, "topology"], capture_output=True, check=True)
                taken.append(cpu_seconds() - start)
    return times[False], times[True]


def show_line(what, base, other):
    fastest = 1000 * (min(other) - min(base))
    base, other = (1000 * statistics.median(seconds) for seconds in (base, other))
    print(f"{what:<48} {base:>8.1f} {other:>8.1f} {other - base:>8.1f} {other / base:>7.2f} {fastest:>8.1f}")


def show_price(times):
    """The price of devices for `srun -n2 true`, run by run, with the middle half of its values."""
    def more(name):
        return [used[0] - unused[0] for used, unused in zip(times[name, True], times[name, False])]
    prices = [1000 * (with_devices - without) for with_devices, without in zip(more(", devices"), more(", no devices"))]
    low, middle, high = statistics.quantiles(prices, n=4)
    print(f"price of devices, ms: median {middle:.1f}, middle half of the runs {low:.1f} to {high:.1f}")


def show(times, topology, runs):
    print(f"{f'median of {runs}, ms':<48} {'without':>8} {'with':>8} {'more':>8} {'ratio':>7}  fastest")
    for index, part in enumerate(("srun -n2 true", "end of a step")):
        for pair in dict.fromkeys(name for name, _ in times):
            show_line(part + pair, *([run[index] for run in times[pair, used]] for used in (False, True)))
    show_line("ondeloc topology, CPU time: no devices, devices", *topology)
    if runs > 1 and (", devices", True) in times:
        show_price(times)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    is_own = not on_private_slurm.is_running(build)
    made_sysfs.enter_namespace()
    ondeloc = build / "mapcore" / "ondeloc"
    pairs = [name for name, (_, with_devices) in PAIRS.items() if is_own or with_devices is None]
    with made_devices.made_devices() as devices, on_private_slurm.private_slurm(build) as harness:
        if error := devices.check(ondeloc):
            sys.exit(error)
        on_private_slurm.show_machine(harness)
        show(measure(harness, devices, pairs, runs), measure_topology(ondeloc, devices, runs), runs)


if __name__ == "__main__":
    main()
