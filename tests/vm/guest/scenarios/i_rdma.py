# SPDX-License-Identifier: Apache-2.0
"""Two guests with two network adapters each, one on each NUMA node, and software RDMA over them (VM_NODES=2 of run_guest): the
kernel's counters tell which adapter carried the bytes of a step."""
import json
import pathlib

from harness import check, run, scenario
from steps import TALK

MESSAGES, LENGTH = 16, 262144
# Environments in which Open MPI sends over RDMA with this library. With the IPv4 address of an adapter UCX 1.13 ended with a timeout,
# although the kernel had received its datagrams, so it is told to take the IPv6 address. With queues of the usual length libfabric
# 1.17 could not make them in software RDMA.
LIBRARIES = {
    "UCX": {"OMPI_MCA_pml": "ucx", "UCX_IB_GID_INDEX": "0"},
    "libfabric": {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm",
                  "FI_OFI_RXM_TX_SIZE": "128", "FI_OFI_RXM_RX_SIZE": "128", "FI_OFI_RXM_MSG_TX_SIZE": "64",
                  "FI_OFI_RXM_MSG_RX_SIZE": "64", "FI_UNIVERSE_SIZE": "4"}}
# UCX is told to use datagrams (ud), which it repeats itself: over connections, whose packets the kernel repeats, 6 of 8 steps without
# ondeloc never ended on Linux 6.1. The program gets the variable from env, because with UCX_TLS in the step's environment nic=
# leaves UCX alone.
COMMANDS = {"UCX": ["env", "UCX_TLS=ud,self", TALK], "libfabric": [TALK]}


def counters():
    """{adapter: (RDMA packets sent, received, bytes sent, received by the network adapter below)} of this guest, node 0."""
    def read(*path):
        return int(pathlib.Path("/sys/class", *path).read_text())
    found = {}
    for adapter in 0, 1:
        rdma = f"infiniband/rxe{adapter}"
        net = pathlib.Path("/sys/class", rdma, "parent").read_text().strip()
        found[adapter] = (*(read(rdma, "ports/1/hw_counters", name) for name in ("sent_pkts", "rcvd_pkts")),
                          *(read("net", net, "statistics", name) for name in ("tx_bytes", "rx_bytes")))
    return found


def sent(option, library, env=None):
    """Runs a step of two ranks that send to each other; returns what counters() grew by, and node 0's report."""
    before = counters()
    done = run("srun", "-N2", "-n2", f"--ondeloc=online,decide=never,report=rdma.%N.json{option}", *COMMANDS[library], "--bytes", LENGTH,
               f"pair:{MESSAGES}", timeout=180, env={**LIBRARIES[library], **(env or {})})
    check(done.stdout.count(f"{MESSAGES * LENGTH}\n") == 2, f"the ranks say: {done.stdout} {done.stderr}")
    after = counters()
    with open("/home/user/rdma.node0.json") as text:
        report = json.load(text)
    return {key: tuple(new - old for new, old in zip(after[key], before[key])) for key in after}, report


def went_through(chosen, grown, what):
    """Checks that all bytes of both ranks went through the chosen adapter, and no packet of RDMA through the other."""
    *packets, sent_bytes, received_bytes = grown[chosen]
    check(min(sent_bytes, received_bytes) >= MESSAGES * LENGTH, f"{what}: too few bytes went through it: {grown}")
    check(min(packets) >= MESSAGES * LENGTH / 4096, f"{what}: too few RDMA packets went through it: {grown}")
    check(grown[1 - chosen][:2] == (0, 0), f"{what}: RDMA packets went through the other: {grown}")


@scenario("rdma")
def adapters_are_listed_where_the_kernel_says():
    devices = json.loads(run("ondeloc", "topology", "--format", "json").stdout)["devices"]
    found = {device["name"]: (device["kind"], device["node"]) for device in devices if device["name"].startswith("rxe")}
    wanted = {f"rxe{node}": ("InfiniBand adapter", node) for node in (0, 1)}
    check(found == wanted, f"the adapters are {found}, not {wanted}")
    return str(found)


@scenario("rdma")
def named_adapter_carries_the_bytes():
    """The same step through each adapter in turn: all its bytes are counted at the named one, none at the other."""
    said = []
    for library, chosen in ("UCX", 1), ("UCX", 0), ("libfabric", 1):
        grown, report = sent(f",nic=rxe{chosen}", library)
        went_through(chosen, grown, f"{library}, nic=rxe{chosen}")
        check(f"=rxe{chosen}" in report["ranks"][0]["nic"], f"the report says {report['ranks']}")
        told = {line["name"]: line["near_bytes"] + line["far_bytes"] for line in report["adapters"]}
        check(told == {f"rxe{chosen}": MESSAGES * LENGTH}, f"the report says {report['adapters']}")
        said.append(f"{library} rxe{chosen}: {grown[chosen][:2]} packets")
    return ", ".join(said)


@scenario("rdma")
def choice_of_the_user_carries_the_bytes():
    """The user's variable wins over nic=."""
    grown, report = sent(",nic=rxe0", "UCX", {"UCX_NET_DEVICES": "rxe1:1"})
    went_through(1, grown, "UCX_NET_DEVICES=rxe1:1")
    return f"{grown[1][:2]} packets; the report says {report['ranks'][0]['nic']}"
