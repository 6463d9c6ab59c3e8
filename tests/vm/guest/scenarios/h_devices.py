# SPDX-License-Identifier: Apache-2.0
"""Devices: network adapters whose NUMA nodes the kernel tells, and ranks that hold a GPU's device file. For the guest with
VM_DEVICES=1 (run_guest): it has a network adapter behind a PCI root of each NUMA node. Its kernel has no driver of a GPU, so the
device file is one of /dev/null's kind under the name of a render node: a GPU that the mapper does not know."""
import json
import os
import pathlib

from harness import check, inside_cpuset, masks, node_of, root, run, scenario, settled, show, wait_for
from steps import OPTIONS, Phase, TALK, step

RENDER = "/dev/dri/renderD128"


def adapters():
    """The network adapters as `ondeloc topology` lists them, by NUMA node."""
    devices = json.loads(run("ondeloc", "topology", "--format", "json").stdout)["devices"]
    return {device["node"]: device for device in devices if device["kind"] == "Ethernet adapter"}


def load_driver():
    root("modprobe", "virtio_net")
    wait_for(lambda: len(list(pathlib.Path("/sys/class/net").glob("e*"))) == 2, "two network adapters")


@scenario("devices")
def adapters_have_their_numa_nodes():
    load_driver()
    found = adapters()
    check(sorted(found) == [0, 1], f"adapters on NUMA nodes {sorted(found)}, not 0 and 1: {found}")
    for node, device in found.items():
        told = pathlib.Path(f"/sys/bus/pci/devices/{device['pci']}/numa_node").read_text().strip()
        check(int(told) == node, f"{device}: the kernel says NUMA node {told}")
        check(device["near"] == ["0-3", "4-7"][node], f"{device}: near CPUs {device['near']}")
    return ", ".join(f"{device['name']} on node {node}" for node, device in sorted(found.items()))


@scenario("devices")
def named_adapter_reaches_the_task():
    load_driver()
    name = adapters()[1]["name"]
    shown = run("srun", "-n1", f"--ondeloc=online,nic={name}", "env").stdout
    for variable in "UCX_NET_DEVICES", "FI_TCP_IFACE", "OMPI_MCA_btl_tcp_if_include":
        check(f"\n{variable}={name}\n" in shown, f"{variable} is not {name}: {shown}")
    kept = run("srun", "-n1", f"--ondeloc=online,nic={name}", "env", env={"FI_TCP_IFACE": "lo"}).stdout
    check("\nFI_TCP_IFACE=lo\n" in kept, f"the user's FI_TCP_IFACE was replaced: {kept}")
    auto = run("srun", "-n1", "--ondeloc=online,nic=auto", "env").stdout
    check("UCX_NET_DEVICES" not in auto, f"nic=auto chose an adapter on one node: {auto}")
    return name


@scenario("devices")
def ranks_that_hold_a_gpu_stay():
    """Slurm binds ranks 0, 2, 4, 6 to node 0 and the others to node 1, and each rank's partner is on the other node. Ranks 0 to 3
    hold the device file: the pairs of the others are brought together around them."""
    os.makedirs(os.path.dirname(RENDER), exist_ok=True)
    if not os.path.exists(RENDER):
        root("mknod", "-m", "666", RENDER, "c", "1", "3")
    wrapper = f'if [ "$SLURM_PROCID" -lt 4 ]; then exec 9< {RENDER}; fi; exec {TALK} "$@"'

    def together(ranks):
        return all(node_of(ranks[one]) is not None and node_of(ranks[one]) == node_of(ranks[one + 1]) for one in (4, 6))
    watched = step("holds_gpu", ["-n8"], ["/bin/sh", "-c", wrapper, "sh"], online=OPTIONS + ",decide=always",
                   phases=[Phase("pair", lambda series: any(together(ranks) for ranks in settled(series, 8)))])
    inside_cpuset(watched.series)
    good = settled(watched.series, 8)
    check(any(together(ranks) for ranks in good), f"ranks 4 to 7 were not brought together: {show(good[-1])}, {watched.report['notes']}")
    for ranks in watched.talking():
        for rank in range(4):
            if rank in ranks and len(masks(ranks)[rank]) == 1:
                check(node_of(ranks[rank]) == rank % 2, f"rank {rank}, which holds a GPU, left node {rank % 2}: {show(ranks)}")
    lines = {line["rank"]: line for line in watched.report["ranks"]}
    check([lines[rank]["gpu_source"] for rank in range(8)] == ["open"] * 4 + [""] * 4, f"the report says {lines}")
    note = "GPUs: ranks 0-3 may not leave the NUMA node"
    check(any(text.startswith(note) for text in watched.report["notes"]), f"no note '{note}': {watched.report['notes']}")
    return f"{watched.report['totals']['remaps']} remaps"
