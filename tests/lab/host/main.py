# SPDX-License-Identifier: MIT
"""etc/run-lab: options, the run of one machine, and what is written."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import time

from . import figures, guest, mappings, programs, tables, validate
from .machine import Machine

TREE = pathlib.Path(__file__).resolve().parents[3]
WIDEST_WINDOW_NS = 1_000_000  # as plugin/lab.cc allows
ONLINE = "interval=2ms,max-interval=4ms"


def at_least(least, most=None):
    """The type of an option that is a number."""
    def number(text):
        if not text.isdecimal() or int(text) < least or (most and int(text) > most):
            limit = f"from {least} to {most}" if most else f"of {least} or more"
            raise argparse.ArgumentTypeError(f"a whole number {limit} is expected, not '{text}'")
        return int(text)
    return number


def words_of(text):
    """Words that commas join."""
    return list(filter(None, map(str.strip, text.split(","))))


def options(words):
    parser = argparse.ArgumentParser(
        prog="run-lab", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs MPI programs under mappings of their ranks on simulated machines (QEMU, as root; no measurement on hardware).",
        epilog="mappings:\n  " + mappings.HELP.replace("\n", "\n  ") + "\n\nprograms:\n  " + programs.listing().replace("\n", "\n  "))
    parser.add_argument("--machine", default="xeon2", metavar="M[,M...]", help="descriptions in tests/lab/machines, or paths (default: xeon2)")
    parser.add_argument("--program", default="", metavar="P[,P...]", help="programs of the list below; P:SIZE for another size than --size")
    parser.add_argument("--size", type=at_least(1), default=1, help="size of each program (default: 1, some 10 to 30 simulated ms)")
    parser.add_argument("--command", action="append", default=[], metavar="CMD", help="any MPI program of the guest, or of --files; may be repeated")
    parser.add_argument("--files", metavar="DIR", help="a directory that the guest sees as /usr/local/user")
    parser.add_argument("--mappings", default="default,packed,scatter,balance,locality,coordinated,online", metavar="NAME[,NAME...]",
                        help="default: %(default)s")
    parser.add_argument("--online", default=ONLINE, metavar="KEYS", help="keys of the mapping online (default: %(default)s)")
    parser.add_argument("--runs", type=at_least(1), default=3, metavar="N", help="runs of each (default: 3)")
    parser.add_argument("--ranks", type=at_least(0), default=0, help="default: one for each CPU of the machine")
    parser.add_argument("--validate", choices=("quick", "whole", "none"), default="quick", help="what is measured before (default: quick)")
    parser.add_argument("--profile", action="store_true", help="record who talks to whom, for `run-lab --judge`, also where no mapping needs it")
    parser.add_argument("--batch", type=at_least(0), default=0, metavar="N", help="up to N runs in one launch, of C programs whose main can be called again; "
                        "ranks take all memory to where they are to run. Launches take the host far longer than 10 simulated ms do")
    parser.add_argument("--settle", type=at_least(0), default=2000, metavar="MS", help="with online ranks sleep so long before simulated time starts, so that "
                        "the mapper has read the topology by then; 0: its start is part of the time (default: %(default)s)")
    parser.add_argument("--sysctl", action="append", default=[], metavar="NAME=VALUE",
                        help="a setting of the guest's kernel, such as kernel.numa_balancing=0, with which it moves no pages by itself; may be repeated")
    parser.add_argument("--window", type=at_least(1, WIDEST_WINDOW_NS), default=1000, metavar="NS", help="how far vCPUs may be apart (default: 1000)")
    parser.add_argument("--build", default=str(TREE / "build/dev"), help="build directory (default: build/dev)")
    parser.add_argument("--timeout", type=at_least(1), default=24 * 3600, metavar="S", help="most seconds of the host for one machine")
    parser.add_argument("--patience", type=at_least(1), default=3600, metavar="S", help="most seconds of the host for one run, or for each run of a "
                        "batch: then the run is taken to hang, and the guest ends (default: %(default)s)")
    parser.add_argument("-o", "--output", default="lab-results", metavar="DIR", help="JSON, SVG, logs (default: lab-results)")
    parser.add_argument("--judge", nargs="+", metavar="RESULT", help="no run: rank correlation of the cost model with the times in these directories")
    return parser.parse_args(words)


def check_names(option, names):
    """Figures and files are kept by name: two of one name would be averaged."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{option}: two are called {name}; give each its own command, with another -o")


def settings(words):
    """{name: value} of NAME=VALUE."""
    for word in words:
        if not re.fullmatch(r"[a-z0-9_]+(\.[a-zA-Z0-9_-]+)+=[^\n]+", word):
            raise ValueError(f"--sysctl {word}: the form is NAME=VALUE, such as kernel.numa_balancing=0")
    return dict(word.split("=", 1) for word in words)


def make_plan(machine, chosen):
    """Returns the work of the guest in the form that run_plan.py reads."""
    ranks = chosen.ranks or machine.cpus
    if not 1 <= ranks <= machine.cpus:
        raise ValueError(f"--ranks {ranks}: {machine.name} has {machine.cpus} CPUs")
    if chosen.batch and ranks < machine.cpus:
        raise ValueError(f"--batch: ranks move to any CPU, and Slurm gives {ranks} ranks {ranks} CPUs; leave out --batch or --ranks")
    runs_of = [programs.find(word, chosen.size, ranks) for word in words_of(chosen.program)]
    runs_of += [programs.command(text, ranks) for text in chosen.command]
    names = words_of(chosen.mappings) if runs_of else []
    if runs_of and not names:
        raise ValueError("--mappings: no mapping is named")
    ways = [way for name in names for way in mappings.expand(machine, ranks, name, chosen.online)]
    mappings.check_algorithms(chosen.build, ways)
    check_names("--program, --command", [program["name"] for program in runs_of])
    check_names("--mappings", [way["name"] for way in ways])
    checks = [] if chosen.validate == "none" else validate.plan(machine, chosen.validate == "whole")
    if checks and not validate.llc_kib_of(machine):
        print(f"run-lab: {machine.name}: its last-level cache is not measured: for that it has to be eight times as large as a private one", file=sys.stderr)
    if not runs_of and not checks:
        raise ValueError("nothing to run: name a --program or a --command, or leave out --validate none")
    return {"programs": runs_of, "mappings": ways, "runs": chosen.runs, "validate": checks, "profile": chosen.profile, "batch": chosen.batch,
            "llc": f"{machine.json['llc']['kib']} {machine.cpus // machine.llcs}", "settle": chosen.settle, "sysctl": settings(chosen.sysctl)}


class Progress:
    """One line a run, with the time that is left."""

    def __init__(self, machine, plan):
        self.machine, self.begin, self.done = machine, time.monotonic(), 0
        self.first = None
        self.all = len(plan["validate"]) + len(plan["programs"]) * len(plan["mappings"]) * plan["runs"]

    def step(self, line):
        self.done += 1
        now = time.monotonic()
        self.first = self.first or (now, self.done)
        each = (now - self.first[0]) / max(1, self.done - self.first[1])
        left = f"{each * (self.all - self.done) / 60:.0f} min left" if self.done > 2 else ""
        what = " ".join(map(str, line["validate"])) if "validate" in line else f"{line['program']} {line['mapping']} run {line['run']}"
        problem = " FAILED: " + tables.one_line(line["problem"], 200) if "problem" in line else ""
        print(f"{self.machine.name} {self.done}/{self.all} {what}{problem} ({now - self.begin:.0f} s, {left})", file=sys.stderr, flush=True)


def make_room(out):
    """Figures of two commands must not mix: those of an earlier one get a directory of their own."""
    if out.exists() and any(out.iterdir()):
        number = 1
        while (kept := out.with_name(f"{out.name}.{number}")).exists():
            number += 1
        out.rename(kept)
        print(f"run-lab: the results of an earlier command are in {kept} now", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)


def run_machine(machine, plan, chosen, out):
    """Everything on one machine; returns what is written to its result.json."""
    make_room(out)
    progress = Progress(machine, plan)
    result = {"simulated_machine": machine.name, "note": tables.NOTE.format(name=machine.name), "description": machine.json,
              "window_ns": chosen.window, "online": chosen.online, "plan": plan}
    checks, runs = [], []
    with guest.Guest(machine, chosen.build, plan, out, chosen.window, chosen.files) as booted:
        result["problem"] = "not all runs are done"
        try:
            for line in booted.lines(chosen.timeout, chosen.patience * max(1, chosen.batch)):
                if "machine" in line:
                    result["guest"] = line
                elif "validate" in line:
                    checks.append(line)
                    progress.step(line)
                elif "run" in line:
                    runs.append(line)
                    progress.step(line)
                    write(machine, result, checks, figures.join(list(map(dict, runs)), booted.counters()), out)
                elif "problem" in line:
                    print(f"{machine.name} {line['program']}: {tables.one_line(line['problem'], 400)}", file=sys.stderr)
                elif "end" in line:
                    del result["problem"]
            if "problem" in result:
                result["problem"] = f"the guest ended too early; its last words:\n{booted.why()}"
        except guest.Failed as problem:
            result["problem"] = str(problem)
        return write(machine, result, checks, figures.join(runs, booted.counters()), out)


def write(machine, result, checks, runs, out):
    result["validation"] = validate.judge(machine, checks)
    result["rows"] = figures.rows(runs)
    result["runs"] = runs
    fresh = out / "result.json.new"
    fresh.write_text(json.dumps(result, indent=1))
    fresh.rename(out / "result.json")
    return result


def show(machine, result, out):
    """Prints the tables, draws the bars; true when machine and runs are good."""
    if result["validation"]:
        print(tables.validation_table(machine, result["validation"]))
    if result["rows"]:
        print(tables.text_table(machine, result["rows"]))
    for program in dict.fromkeys(row["program"] for row in result["rows"] if "seconds" in row):
        (out / f"{program}.svg").write_text(tables.bars(machine, result["rows"], program))
    if busy := tables.busy_host(result["rows"]):
        print(f"run-lab: {machine.name}: {busy}", file=sys.stderr)
    if "problem" in result:
        print(f"run-lab: {machine.name}: {result['problem']}", file=sys.stderr)
    bad = [row["name"] for row in result["validation"] if not row["ok"]]
    if bad:
        print(f"run-lab: {machine.name} is not as described ({'; '.join(bad)}): do not use these figures", file=sys.stderr)
    return not bad and all("seconds" in row and not row["problems"] for row in result["rows"])


def run_all(chosen):
    """Looks at all machines before the first one boots; one whose guest fails does not stop the others. Returns the exit status."""
    machines = [Machine.named(name, chosen.build) for name in words_of(chosen.machine)]
    if not machines:
        raise ValueError("--machine: no machine is named")
    check_names("--machine", [machine.name for machine in machines])
    status = 0
    for machine, plan in [(machine, make_plan(machine, chosen)) for machine in machines]:
        out = pathlib.Path(chosen.output) / machine.name
        try:
            result = run_machine(machine, plan, chosen, out.resolve())
            good = show(machine, result, out)
            status = max(status, 2 if "problem" in result else 0 if good else 1)
        except (ValueError, OSError, guest.Failed) as problem:
            print(f"run-lab: {machine.name}: {problem}", file=sys.stderr)
            status = 2
        except KeyboardInterrupt:
            if (out / "result.json").exists():
                print(f"run-lab: what was done is in {out / 'result.json'}", file=sys.stderr)
            raise
    return status


def main(words, _):
    chosen = options(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if chosen.judge:
            from . import judge
            return judge.main(chosen)
        if os.geteuid() != 0:
            raise ValueError("run as root: the guest's root file system keeps its owners")
        for program in ("mmdebstrap", "mke2fs"):
            if not shutil.which(program):
                raise ValueError(f"{program} not found: run etc/install-packages --tests")
        if not (pathlib.Path(chosen.build) / "tests/lab/check_machine").exists():
            raise ValueError(f"--build {chosen.build}: the lab is not built there: cmake --preset dev && cmake --build --preset dev")
        if chosen.files and not pathlib.Path(chosen.files).is_dir():
            raise ValueError(f"--files {chosen.files}: this is not a directory")
        return run_all(chosen)
    except (ValueError, OSError, guest.Failed) as problem:
        print(f"run-lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("run-lab: interrupted", file=sys.stderr)
        return 130
