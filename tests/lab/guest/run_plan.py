# SPDX-License-Identifier: MIT
"""run_plan.py RESULTS: in the guest; runs what plan.json beside it says. Each run is told in one line "LAB {json}" on the console, under
the label that the plugin writes into its counters too."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
LAB = HERE / "lab"
USER = {"user": 1000, "group": 1000, "extra_groups": []}
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/home/user", "LANG": "C.UTF-8",
               "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1"}


def run(words, timeout, env=None, who=USER):
    """(exit status, output, errors); 124 for one that was ended after the timeout."""
    try:
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=timeout, cwd="/home/user", env={**ENVIRONMENT, **(env or {})}, **who)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return 124, str(late.stdout or ""), f"not done after {timeout} s of the guest's host time"


def control(*words):
    subprocess.run([LAB / "lab_control", *map(str, words)], check=True)


UNCOUNTED = 3  # runs that begin a launch of a batch; the second of cg still took 8 % less time than the third and all later ones


class Runner:
    def __init__(self, plan, results):
        self.plan, self.results = plan, pathlib.Path(results)
        self.label, self.cpus, self.profiled = 0, {}, {}

    def tell(self, **fields):
        """One line, for whoever follows the console."""
        print("LAB " + json.dumps(fields), flush=True)

    def new_label(self):
        self.label += 1
        return self.label

    def step(self, program, options, env=None, more="", who=USER):
        """A job step of the program. Its time is simulated from MPI_Init to MPI_Finalize, or over the rounds of a program with threads."""
        tasks, region = ["-n", program["ranks"], "--mpi=pmix"], "lab_region.so"
        if program.get("threads"):
            tasks, region = ["-n", program["tasks"], "-c", program["threads"], "--mpi=pmix"], "lab_threads.so"
        words = ["srun", *tasks, *options, f"--export=ALL,LD_PRELOAD={LAB}/{region}{more}"]
        return run(words + program["words"], program["timeout"], env, who)

    @staticmethod
    def bind(program, cpus):
        """(options of srun, environment) that put each rank, or each thread of the only task, on its CPU; the threads of several tasks are
        free on the CPUs of their task. Without CPUs: Slurm's own binding. A job of fewer ranks than CPUs may use all CPUs if it is exclusive,
        and if it asks for all of them where it says how many CPUs a task has. The runtime of OpenMP drops places that its task may not use,
        without a word."""
        threads = program.get("threads")
        env = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        if not cpus:
            return [], env
        if not threads:
            return ["--exclusive", f"--cpu-bind=map_cpu:{','.join(map(str, cpus))}"], env
        if program.get("only_threads"):
            env.update(OMP_PLACES=",".join(f"{{{cpu}}}" for cpu in cpus), OMP_PROC_BIND="close")
        masks = [hex(sum(1 << cpu for cpu in cpus[at:at + threads])) for at in range(0, len(cpus), threads)]
        return ["--exclusive", "-c", os.cpu_count() // program["tasks"], f"--cpu-bind=mask_cpu:{','.join(masks)}"], env

    def profile(self, program):
        """Records the traffic once: profile and matrix.csv (bytes and messages). In the lab, because outside it ranks that wait take the
        host's CPUs from ranks that work."""
        name = program["name"]
        if name in self.profiled:
            return self.profiled[name]
        place = self.results / name
        place.mkdir(mode=0o777)
        place.chmod(0o777)
        status, out, err = self.record(program, place / "profile")
        if status == 0:
            status, out, err = run(["ondeloc", "profile", "export", place / "profile", "--format", "matrix-csv",
                                    "--output", place / "matrix.csv"], 600)
        self.profiled[name] = place if status == 0 else None
        if status != 0:
            self.tell(program=name, problem=f"no profile: {(err or out)[-400:]}")
        return self.profiled[name]

    def record(self, program, file):
        """Records messages here; threads were recorded on the host."""
        if program.get("only_threads"):
            shutil.copy(LAB / f"profiles/{program['name']}.prof", file)
            return 0, "", ""
        self.tell(begins=f"the recording of {program['name']}")
        control("label", self.new_label())  # of its own: the counters of this run belong to no row of the table
        done = self.step(program, [f"--ondeloc=profile:{file}"])
        control("off")
        return done

    def mapped(self, program, mapping):
        """CPUs of the ranks, None for Slurm's own binding."""
        if "algorithm" not in mapping:
            return mapping.get("cpus")
        key = program["name"], mapping["algorithm"]
        if key not in self.cpus:
            place = self.profile(program)
            if place is None:
                raise ValueError("the program has no profile")
            status, out, err = run(["ondeloc", "profile", "map", place / "profile", "-t", "host", "--algorithm", mapping["algorithm"],
                                    "--format", "json"], 600)
            if status != 0:
                raise ValueError(err.strip()[-400:])
            ranks = sorted(json.loads(out)["ranks"], key=lambda rank: rank["rank"])
            self.cpus[key] = [rank["pus"][0] for rank in ranks]
        return self.cpus[key]

    def default_cpus(self, program):
        """Returns the CPUs to which Slurm binds the ranks by default."""
        key = "default", program["ranks"]
        if key not in self.cpus:
            status, out, err = run(["srun", "-n", program["ranks"], "sh", "-c",
                                    "echo $SLURM_PROCID $(sed -n 's/Cpus_allowed_list:.//p' /proc/self/status)"], 600)
            if status != 0:
                raise ValueError(f"no binding: {err[-300:]}")
            found = dict(line.split() for line in out.splitlines())
            self.cpus[key] = [int(found[str(rank)].split("-")[0].split(",")[0]) for rank in range(program["ranks"])]
        return self.cpus[key]

    def batch(self, program, mappings):
        """All runs of the program under these mappings, some in each launch. As root: memory that ranks share has to move. The first runs of a
        launch take other times than later ones under the same mapping, so some more run first that nobody counts."""
        rounds = [(mapping, number + 1) for number in range(self.plan["runs"]) for mapping in mappings]
        for at in range(0, len(rounds), self.plan["batch"]):
            entries, lines, begin = [], [], time.monotonic()
            for mapping, number in rounds[at:at + self.plan["batch"]]:
                fields = {"label": self.new_label(), "program": program["name"], "mapping": mapping["name"], "run": number}
                try:
                    fields["cpus"] = self.mapped(program, mapping) or self.default_cpus(program)
                    entries.append(fields)
                    lines.append(f"{fields['label']} {' '.join(map(str, fields['cpus']))}\n")
                except ValueError as problem:
                    self.tell(**fields, problem=str(problem))
            if not entries:
                continue
            uncounted = [f"{self.new_label()} {' '.join(map(str, entries[0]['cpus']))}\n" for _ in range(UNCOUNTED)]
            pathlib.Path("/tmp/batch").write_text("".join(uncounted + lines))
            self.tell(begins=f"a launch of {len(entries)} runs of {program['name']}")
            control("distance", 1)  # a control of an earlier program may have ended it
            status, out, err = self.step(program, ["--cpu-bind=none"], more=",LAB_BATCH=/tmp/batch", who={})
            control("off")
            for fields in entries:
                problem = {"problem": f"exit status {status}: {(err or out).strip()[-400:]}"} if status else {}
                self.tell(**fields, **problem, batch=len(entries), wall_s=round((time.monotonic() - begin) / len(entries), 1))

    def once(self, program, mapping, number):
        """One run of the program under the mapping."""
        label = self.new_label()
        fields = {"label": label, "program": program["name"], "mapping": mapping["name"], "run": number}
        begin = time.monotonic()
        try:
            cpus = self.mapped(program, mapping)
        except ValueError as problem:
            return self.tell(**fields, problem=str(problem))
        options, env = self.bind(program, cpus)
        report = self.results / f"report-{label}.json"
        if "ondeloc" in mapping:
            options.append(f"--ondeloc={mapping['ondeloc']},report=/tmp/report.json")
        self.even_memory()
        self.tell(begins=f"{program['name']} {mapping['name']} run {number}")
        control("label", label)
        control("distance", int(mapping.get("distance", True)))
        status, out, err = self.step(program, options + mapping.get("srun", []),
                                     env={**env, **self.settle(), "LAB_STEPS": "/tmp/steps"})
        control("off")
        self.keep_steps(label, program["ranks"])
        if "ondeloc" in mapping and pathlib.Path("/tmp/report.json").exists():
            shutil.move("/tmp/report.json", report)
            fields["report"] = self.summary(report)
        if status != 0:
            fields["problem"] = f"exit status {status}: {(err or out).strip()[-400:]}"
        if cpus:
            fields["cpus"] = cpus
        fields["said"] = out.strip()[-600:]
        self.tell(**fields, wall_s=round(time.monotonic() - begin, 1))

    @staticmethod
    def even_memory():
        """Lets each run find the memory alike. Else later runs of a boot get scattered pages, which share sets of the caches more often."""
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        pathlib.Path("/proc/sys/vm/compact_memory").write_text("1")

    def settle(self):
        """Ranks sleep under every mapping if they do under one."""
        online = any("ondeloc" in mapping for mapping in self.plan["mappings"])
        return {"LAB_SETTLE_MS": str(self.plan["settle"])} if online else {}

    def keep_steps(self, label, ranks):
        """Times at which the steps of the program ended: a line for each step, a column for each rank. Programs of the lab write them."""
        files = [pathlib.Path(f"/tmp/steps.{rank}") for rank in range(ranks)]
        if all(file.exists() for file in files):
            lines = zip(*(file.read_text().split() for file in files))
            (self.results / f"steps-{label}.csv").write_text("".join(",".join(line) + "\n" for line in lines))
        for file in files:
            file.unlink(missing_ok=True)

    @staticmethod
    def summary(report):
        """Returns the moves that the report lists."""
        whole = json.loads(report.read_text())
        return {"thread_cpus": [rank["thread_cpus"] for rank in whole["ranks"]], "remaps": whole["totals"]["remaps"], "migrations": whole["totals"]["migrations"], "notes": whole["notes"],
                "moved": sum(len(interval["moved"]) for interval in whole["intervals"]),
                "intervals": len(whole["intervals"]), "mapper_cpu_ms": whole["totals"]["mapper_cpu_ms"],
                "moves_at_s": [round(interval["t"], 4) for interval in whole["intervals"] if interval["remapped"]]}

    def validate(self, words):
        """One figure of the machine."""
        label = self.new_label()
        self.tell(begins=" ".join(map(str, words)))
        control("label", label)
        status, out, err = run([LAB / "lab_validate", *words], 900, {"LAB_LLC": self.plan["llc"]})
        control("off")
        line = out.strip()
        self.tell(label=label, validate=words, **({"said": json.loads(line)} if status == 0 and line else {"problem": err[-300:]}))

    def describe(self):
        """Prints the machine as the guest's kernel sees it."""
        subprocess.run(["lstopo-no-graphics", "--of", "xml", str(self.results / "machine.xml")], check=False)
        text = subprocess.run(["lstopo-no-graphics", "--no-io", "--of", "console"], capture_output=True, text=True, check=False).stdout
        slurm = subprocess.run(["slurmd", "-C"], capture_output=True, text=True, check=False).stdout
        self.tell(machine=text, slurm=slurm.splitlines()[0] if slurm else "", kernel=pathlib.Path("/proc/version").read_text().strip())

    def set(self, name, value):
        try:
            pathlib.Path("/proc/sys/" + name.replace(".", "/")).write_text(value)
        except OSError as wrong:
            sys.exit(f"the guest's kernel refuses {name}={value}: {wrong.strerror}")

    def all(self):
        for name, value in self.plan["sysctl"].items():
            self.set(name, value)
        self.describe()
        for words in self.plan["validate"]:
            self.validate(words)
        for program in self.plan["programs"]:
            if self.plan["profile"]:
                self.profile(program)
            batch = self.plan["batch"] and not program.get("threads")
            together = [mapping for mapping in self.plan["mappings"] if batch and "ondeloc" not in mapping and mapping["distance"]]
            if together:
                self.batch(program, together)
            for number in range(self.plan["runs"]):
                for mapping in turned(self.plan["mappings"], number):
                    if mapping not in together:
                        self.once(program, mapping, number + 1)
        self.tell(end=True)


def turned(mappings, by):
    """The first of each round is another one, since the first run of a boot finds more memory in one piece."""
    at = by % len(mappings)
    return mappings[at:] + mappings[:at]


if __name__ == "__main__":
    Runner(json.loads((HERE / "plan.json").read_text()), sys.argv[1]).all()
