# SPDX-License-Identifier: Apache-2.0
"""Devices: network adapters and GPUs whose NUMA nodes the kernel tells, and ranks that hold a GPU's device file. For the guest with
VM_DEVICES=1 (run_guest): it has a network adapter and a virtio GPU behind a PCI root of each NUMA node. Both GPUs have a render node
of the kernel's driver. vgem is a render node without a device behind it, so its place is unknown."""
import json
import os
import pathlib

from harness import check, inside_cpuset, masks, node_of, root, run, scenario, settled, show, wait_for
from steps import OPTIONS, Phase, TALK, step

# A file of /dev/null's kind under the name of a render node: a GPU that the machine does not list.
UNLISTED = "/dev/dri/renderD190"


def adapters():
    """The network adapters as `ondeloc topology` lists them, by NUMA node."""
    devices = json.loads(run("ondeloc", "topology", "--format", "json").stdout)["devices"]
    return {device["node"]: device for device in devices if device["kind"] == "Ethernet adapter"}


def told_node(device):
    return int(pathlib.Path(f"/sys/bus/pci/devices/{device['pci']}/numa_node").read_text())


def gpus():
    """The GPUs as `ondeloc topology` lists them, by NUMA node; -1: unknown."""
    devices = json.loads(run("ondeloc", "topology", "--format", "json").stdout)["devices"]
    return {device["node"]: device for device in devices if device["name"].startswith("renderD")}


def load_gpus():
    for module in "virtio-gpu", "vgem":
        root("modprobe", module)
    wait_for(lambda: len(list(pathlib.Path("/dev/dri").glob("renderD*"))) >= 3, "three render nodes")
    root("chmod", "666", *pathlib.Path("/dev/dri").glob("renderD*"))


def load_driver():
    root("modprobe", "virtio_net")
    wait_for(lambda: len(list(pathlib.Path("/sys/class/net").glob("e*"))) == 2, "two network adapters")


@scenario("devices")
def adapters_have_their_numa_nodes():
    load_driver()
    found = adapters()
    check(sorted(found) == [0, 1], f"adapters on NUMA nodes {sorted(found)}, not 0 and 1: {found}")
    for node, device in found.items():
        check(told_node(device) == node, f"{device}: the kernel says NUMA node {told_node(device)}")
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
def gpus_have_their_numa_nodes():
    load_gpus()
    found = gpus()
    check(sorted(found) == [-1, 0, 1], f"GPUs on NUMA nodes {sorted(found)}, not 0, 1 and unknown: {found}")
    for node in 0, 1:
        check(told_node(found[node]) == node, f"{found[node]}: the kernel says NUMA node {told_node(found[node])}")
        check(found[node]["near"] == ["0-3", "4-7"][node], f"{found[node]}: near CPUs {found[node]['near']}")
    driver = os.path.basename(os.path.realpath(f"/sys/class/drm/{found[-1]['name']}/device"))
    check(driver == "vgem", f"the GPU of unknown place is not vgem's: {found[-1]}, {driver}")
    return ", ".join(f"{device['name']} on node {node}" for node, device in sorted(found.items()))


@scenario("devices")
def ranks_that_hold_a_gpu_stay():
    """Slurm binds ranks 0, 2, 4, 6 to node 0 and the others to node 1, and each rank's partner is on the other node. Ranks 0 and 1
    hold the GPU of the other node: each goes there. Rank 2 holds a GPU that is not listed, and rank 3 holds vgem: each stays. The
    pairs of the others, which hold none, are brought together around them."""
    load_gpus()
    if not os.path.exists(UNLISTED):
        root("mknod", "-m", "666", UNLISTED, "c", "1", "3")
    found = {node: f"/dev/dri/{device['name']}" for node, device in gpus().items()}
    held = [found[1], found[0], UNLISTED, found[-1]]
    cases = " ".join(f"{rank}) exec 9<> {file};;" for rank, file in enumerate(held))
    wrapper = f'case "$SLURM_PROCID" in {cases} esac; exec {TALK} "$@"'

    def together(ranks):
        return all(node_of(ranks[one]) is not None and node_of(ranks[one]) == node_of(ranks[one + 1]) for one in (4, 6))

    def arranged(ranks):
        return together(ranks) and [node_of(ranks[rank]) for rank in range(4)] == [1, 0, 0, 1]
    watched = step("holds_gpu", ["-n8"], ["/bin/sh", "-c", wrapper, "sh"], online=OPTIONS + ",decide=always",
                   phases=[Phase("pair", lambda series: any(arranged(ranks) for ranks in settled(series, 8)))])
    inside_cpuset(watched.series)
    good = settled(watched.series, 8)
    check(any(together(ranks) for ranks in good), f"ranks 4 to 7 were not brought together: {show(good[-1])}, {watched.report['notes']}")
    check(any(arranged(ranks) for ranks in good), f"ranks 0 and 1 are not at their GPUs: {show(good[-1])}, {watched.report['notes']}")
    reached = False
    for ranks in watched.talking():
        for rank in 2, 3:
            if rank in ranks and len(masks(ranks)[rank]) == 1:
                check(node_of(ranks[rank]) == rank % 2, f"rank {rank}, which holds a GPU, left node {rank % 2}: {show(ranks)}")
        near = {rank: node_of(ranks[rank]) == 1 - rank for rank in (0, 1) if rank in ranks}
        reached = reached or near == {0: True, 1: True}
        check(not reached or all(near.values()), f"a rank left the NUMA node of its GPU: {show(ranks)}")
    lines = {line["rank"]: line for line in watched.report["ranks"]}
    check([lines[rank]["gpu_source"] for rank in range(8)] == ["open"] * 4 + [""] * 4, f"the report says {lines}")
    names = [[os.path.basename(file)] if file != UNLISTED else [] for file in held]
    check([lines[rank]["gpus"] for rank in range(4)] == names, f"the report says {lines}, not {names}")
    for rank in 0, 1:
        near = [lines[rank][key] for key in ("gpus_near_at_start", "gpus_near_at_end")]
        check(near == [False, True], f"rank {rank}: near its GPU at start and end: {near}")
    note = "GPUs: ranks 2-3 may not leave the NUMA node"
    check(any(text.startswith(note) for text in watched.report["notes"]), f"no note '{note}': {watched.report['notes']}")
    return f"{watched.report['totals']['remaps']} remaps"
