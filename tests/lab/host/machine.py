# SPDX-License-Identifier: MIT
"""A machine description as the host needs it: QEMU's words, and the figures that the guest has to measure."""
import json
import pathlib
import re
import subprocess

PLACE = pathlib.Path(__file__).parent.parent / "machines"
THREAD_TO_THREAD_NS = 8  # of a description that does not tell; plugin/machine.cc has it too and says why
MEMORY_MIB = 3072  # below the hole of the PC's address map, so that each node is one range


class Machine:
    def __init__(self, description, path=None):
        self.json, self.path = description, path
        self.name, self.nodes = self.json["name"], self.json["nodes"]
        self.llcs_per_node, self.cores_per_llc = self.json["llcs_per_node"], self.json["cores_per_llc"]
        self.threads = self.json["threads_per_core"]
        self.llcs = self.nodes * self.llcs_per_node
        self.cores = self.llcs * self.cores_per_llc
        self.cpus = self.cores * self.threads
        self.node_mib = MEMORY_MIB // self.nodes
        self.routes = self._routes()
        self.way = [[sum(self.json["links"][link]["latency_ns"] for link in route) for route in row] for row in self.routes]

    @classmethod
    def named(cls, name, build):
        """The machine of a file: a name in tests/lab/machines, or a path with a slash. The plugin's parser says what is wrong in it."""
        path = pathlib.Path(name) if "/" in name else PLACE / f"{name}.json"
        if not path.exists():
            known = ", ".join(sorted(path.stem for path in PLACE.glob("*.json")))
            raise ValueError(f"--machine {name}: {path} does not exist; known are {known}, or give a path with a slash")
        try:
            description = json.loads(path.read_bytes())
        except ValueError as problem:
            raise ValueError(f"{path}: this is not JSON: {problem}") from None
        checked = subprocess.run([pathlib.Path(build, "tests/lab/check_machine"), path], capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            raise ValueError(checked.stderr.strip())
        if not re.fullmatch(r"\w[\w.-]*", description["name"], re.ASCII):
            raise ValueError(f"{path}: name: a word of letters, digits, '_', '.' and '-' has to be there, for it names a directory, "
                             f"not '{description['name']}'")
        return cls(description, path)

    def _routes(self):
        """The numbers of the links from node to node, as plugin/routes.cc chooses them: least latency, then fewest links, then the first found."""
        cost = [[(0, 0) if a == b else (float("inf"), 0) for b in range(self.nodes)] for a in range(self.nodes)]
        routes = [[[] for _ in range(self.nodes)] for _ in range(self.nodes)]
        directed = [(i, *pair) for i, link in enumerate(self.json["links"]) for pair in (link["between"], link["between"][::-1])]
        better = True
        while better:
            better = False
            for number, a, b in directed:
                for start in range(self.nodes):
                    latency, links = cost[start][a]
                    found = latency + int(self.json["links"][number]["latency_ns"] * 1000), links + 1
                    if found < cost[start][b] and latency < float("inf"):
                        cost[start][b], routes[start][b] = found, [*routes[start][a], number]
                        better = True
        return routes

    def core_of(self, cpu):
        return cpu // self.threads

    def llc_of(self, cpu):
        return self.core_of(cpu) // self.cores_per_llc

    def node_of(self, cpu):
        return self.llc_of(cpu) // self.llcs_per_node

    def first_cpu(self, node):
        return node * self.cpus // self.nodes

    # ---- QEMU ---------------------------------------------------------------------------------------------
    def qemu_words(self):
        words = ["-smp", f"{self.cpus},sockets={self.nodes},dies={self.llcs_per_node},cores={self.cores_per_llc},threads={self.threads}",
                 "-m", str(self.node_mib * self.nodes)]
        each = self.cpus // self.nodes
        near = self.json["memory"]["latency_ns"] + self.json["llc"]["latency_ns"]
        for node in range(self.nodes):
            words += ["-object", f"memory-backend-ram,id=m{node},size={self.node_mib}M",
                      "-numa", f"node,nodeid={node},cpus={node * each}-{node * each + each - 1},memdev=m{node}"]
            for other in range(node):
                far = min(254, round(10 * (near + self.way[node][other]) / near)) if near else 254
                words += ["-numa", f"dist,src={other},dst={node},val={far}"]
        return words

    # ---- what validation expects ----------------------------------------------------------------------------
    def instruction_ns(self, shared=False):
        """`shared`: the other hardware thread of the core runs too."""
        core = self.json["core"]
        return 1 / core["instructions_per_ns"] / (core["smt_share"] if shared else 1)

    def chase_ns(self, level, cpu=0, node=0):
        """private, llc or memory; eight loads and a branch of two instructions."""
        hop = self.instruction_ns() * 10 / 8
        if level == "private":
            return hop
        if level == "llc":
            return self.json["llc"]["latency_ns"] + hop
        return self._line_ns([cpu], node, [self._memory_ns(cpu, node) + hop])[0]

    def handover_ns(self, a, b, home):
        """A write that takes the line from the other, and the other's read that fetches it; five instructions from there to its own write, and half
        of the three of a poll, for the write falls between two polls."""
        if self.core_of(a) == self.core_of(b):
            return self.json["core"].get("thread_to_thread_ns", THREAD_TO_THREAD_NS) + 6.5 * self.instruction_ns(shared=True)
        from_node, to_node = self.node_of(a), self.node_of(b)
        cost = 2 * self.json["llc"]["latency_ns"] + self.json["llc"]["core_to_core_ns"] + 6.5 * self.instruction_ns()
        if self.llc_of(a) == self.llc_of(b):
            return cost
        around = (self.way[from_node][home] + self.way[home][to_node] + self.way[to_node][from_node]) / 2
        return cost + 2 * (self.json["fabric"]["latency_ns"] + around)

    def stream_gbytes(self, cpus, node):
        """Returns the rate of all these CPUs of one node together that read memory of `node`: requests under way hide latency."""
        cores = [self.core_of(cpu) for cpu in cpus]
        fixed = [self.instruction_ns(cores.count(self.core_of(cpu)) > 1) * 1.4 + self._memory_ns(cpu, node) / self.json["core"]["stream_depth"]
                 for cpu in cpus]
        return sum(64 / line for line in self._line_ns(cpus, node, fixed))

    def _memory_ns(self, cpu, node):
        return self.json["llc"]["latency_ns"] + self.json["memory"]["latency_ns"] + self.way[node][self.node_of(cpu)]

    def _line_ns(self, cpus, node, fixed):
        """The time in which each of these CPUs of one node gets a line of `node`: its part of `fixed`, and the M/D/1 queues at the controller, at each
        link of the route and at the port of its cache. A CPU waits for one line at a time."""
        stages = [(64 / self.json["memory"]["gbytes_per_s"], None)]
        stages += [(72 / self.json["links"][link]["gbytes_per_s"], None) for link in self.routes[node][self.node_of(cpus[0])]]
        port = self.json["fabric"]["port_gbytes_per_s"]
        stages += [(64 / port, llc) for llc in {self.llc_of(cpu) for cpu in cpus} if port]
        lines = list(fixed)
        for _ in range(1000):
            loads = [sum(service / line for cpu, line in zip(cpus, lines) if llc in (None, self.llc_of(cpu))) for service, llc in stages]
            for i, cpu in enumerate(cpus):
                met = [(service, load) for (service, llc), load in zip(stages, loads) if llc in (None, self.llc_of(cpu))]
                queued = fixed[i] + sum(service * rho / (2 * (1 - rho)) for service, rho in ((service, min(0.95, load)) for service, load in met))
                lines[i] = 0.9 * lines[i] + 0.1 * max(queued, lines[i] * max(load for _, load in met))
        return lines
