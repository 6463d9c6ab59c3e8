# SPDX-License-Identifier: Apache-2.0
"""A node with made-up devices: 8 adapters of 25 virtual functions each, and 8 GPUs, laid over /sys in a mount namespace."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ADAPTERS, FUNCTIONS, GPUS = 8, 25, 8
INSIDE = "ONDELOC_BENCH_NAMESPACE"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="ascii")


def link(path, target):
    """Makes a relative link, as the kernel does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def pci_device(sys_tree, number, address, driver, vendor):
    path = sys_tree / "devices" / f"pci0000:{16 * (number + 1):02x}" / address
    write(path / "numa_node", number % 2)
    write(path / "local_cpulist", number % 2)
    write(path / "vendor", vendor)
    link(path / "driver", sys_tree / "bus/pci/drivers" / driver)
    link(sys_tree / "bus/pci/drivers" / driver / address, path)
    return path


def add_adapter(sys_tree, pci, name):
    path = pci / "infiniband" / name
    link(path / "device", pci)
    port = path / "ports/1"
    for file, text in (("state", "4: ACTIVE"), ("rate", "100 Gb/sec (4X EDR)"), ("link_layer", "InfiniBand"), ("sm_lid", "0x1"),
                       ("gids/0", "fe80:0000:0000:0000:248a:0703:001e:39fe")):
        write(port / file, text)
    link(sys_tree / "class/infiniband" / name, path)
    net = pci / "net" / f"ib{name.split('_')[1]}"
    write(net / "operstate", "up")
    write(net / "speed", "100000")
    link(net / "device", pci)
    link(sys_tree / "class/net" / net.name, net)


def make_tree(sys_tree):
    functions = 0
    for adapter in range(ADAPTERS):
        whole = pci_device(sys_tree, adapter, f"0000:{16 * (adapter + 1):02x}:00.0", "mlx5_core", "0x15b3")
        add_adapter(sys_tree, whole, f"mlx5_{adapter}")
        for number in range(1, FUNCTIONS + 1):
            function = pci_device(sys_tree, adapter, f"0000:{16 * (adapter + 1):02x}:{number // 8:02x}.{number % 8}", "mlx5_core", "0x15b3")
            link(function / "physfn", whole)
            add_adapter(sys_tree, function, f"mlx5_{ADAPTERS + functions}")
            functions += 1
    for gpu in range(GPUS):
        pci_device(sys_tree, gpu, f"0000:{16 * (gpu + 1) + 8:02x}:00.0", "nvidia", "0x10de")


def enter_namespace():
    """Runs this program again in a mount namespace of its own; returns there."""
    if INSIDE not in os.environ:
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


class Devices:
    """Two folders that can be laid over /sys: one with the devices and one without, because the layer itself takes time."""

    def __init__(self, folder):
        self.layers = {with_devices: pathlib.Path(folder, f"layer{with_devices}") for with_devices in (False, True)}
        for with_devices, layer in self.layers.items():
            lower = pathlib.Path(folder, f"sys{with_devices}")
            lower.mkdir()
            layer.mkdir()
            if with_devices:
                make_tree(lower)
            subprocess.run(["mount", "-t", "overlay", "ondeloc-bench", "-o", f"lowerdir={lower}:/sys", layer], check=True)
            subprocess.run(["mount", "--rbind", "/sys/fs", layer / "fs"], check=True)

    @contextlib.contextmanager
    def laid(self, with_devices):
        subprocess.run(["mount", "--rbind", self.layers[with_devices], "/sys"], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", "/sys"], check=True)

    def check(self, ondeloc):
        """Returns an error unless ondeloc sees each adapter and GPU, and no virtual function."""
        with self.laid(True):
            told = subprocess.run([ondeloc, "topology"], capture_output=True, text=True, check=True).stdout
        seen = told.count("InfiniBand adapter"), told.count("NVIDIA GPU")
        return "" if seen == (ADAPTERS, GPUS) else f"launch_cost: ondeloc sees other devices than the made-up ones: {seen}\n{told}"


@contextlib.contextmanager
def made_devices():
    """Yields Devices. Requires enter_namespace(), and that it was called before the private Slurm was started."""
    folder = tempfile.mkdtemp(prefix="ondeloc-bench.")
    try:
        yield Devices(folder)
    finally:
        for layer in pathlib.Path(folder).glob("layer*"):
            subprocess.run(["umount", "--lazy", "--recursive", layer], check=False)
        shutil.rmtree(folder)
