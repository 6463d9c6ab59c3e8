# SPDX-License-Identifier: MIT
"""A machine description as the host needs it: QEMU's words, and the figures that the guest has to measure."""
import json
import pathlib
import re
import subprocess

PLACE = pathlib.Path(__file__).parent.parent / "machines"
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
        self.way = self._ways()

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

    def _ways(self):
        """Nanoseconds that a request from node to node and its answer lose."""
        way = [[0 if a == b else float("inf") for b in range(self.nodes)] for a in range(self.nodes)]
        for link in self.json["links"]:
            a, b = link["between"]
            way[a][b] = way[b][a] = min(way[a][b], link["latency_ns"])
        for over in range(self.nodes):
            for a in range(self.nodes):
                for b in range(self.nodes):
                    way[a][b] = min(way[a][b], way[a][over] + way[over][b])
        return way

    def llc_of(self, cpu):
        return cpu // self.threads // self.cores_per_llc

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
                far = min(254, round(10 * (near + self.way[node][other]) / near))
                words += ["-numa", f"dist,src={other},dst={node},val={far}"]
        return words

    # ---- what validation expects ----------------------------------------------------------------------------
    def instruction_ns(self):
        return 1 / self.json["core"]["instructions_per_ns"]

    def chase_ns(self, level, cpu=0, node=0):
        """private, llc or memory; eight loads and a branch of two instructions."""
        hop = self.instruction_ns() * 10 / 8
        if level == "private":
            return hop
        llc = self.json["llc"]["latency_ns"]
        if level == "llc":
            return llc + hop
        return llc + self.json["memory"]["latency_ns"] + self.way[self.node_of(cpu)][node] + hop

    def handover_ns(self, a, b, home):
        """A write that takes the line from the other, and the other's read that fetches it; five instructions from there to its own write, and half
        of the three of a poll, for the write falls between two polls."""
        from_node, to_node = self.node_of(a), self.node_of(b)
        cost = 2 * self.json["llc"]["latency_ns"] + self.json["llc"]["core_to_core_ns"] + 6.5 * self.instruction_ns()
        if self.llc_of(a) == self.llc_of(b):
            return cost
        around = (self.way[from_node][home] + self.way[home][to_node] + self.way[to_node][from_node]) / 2
        return cost + 2 * (self.json["fabric"]["latency_ns"] + around)

    def stream_gbytes(self, count, remote_node=None):
        """Returns the rate of `count` cores that read one node's memory: requests under way hide latency, M/D/1 queues on the way add delay."""
        latency = self.json["llc"]["latency_ns"] + self.json["memory"]["latency_ns"] + self.way[remote_node or 0][0]
        fixed = self.instruction_ns() * 1.4 + latency / self.json["core"]["stream_depth"]
        stages = [64 / self.json["memory"]["gbytes_per_s"]]
        if remote_node is not None:
            stages.append(72 / self.links_between(remote_node, 0)["gbytes_per_s"])
        line_ns = fixed
        for _ in range(400):
            wait = 0
            for service in stages:
                rho = min(0.95, count * service / line_ns)
                wait += rho / (2 * (1 - rho)) * service
            line_ns = 0.9 * line_ns + 0.1 * max(fixed + wait, count * max(stages))
        return count * 64 / line_ns

    def links_between(self, a, b):
        return next((link for link in self.json["links"] if set(link["between"]) == {a, b}), None)
