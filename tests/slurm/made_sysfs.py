# SPDX-License-Identifier: Apache-2.0
"""Made-up devices, laid over /sys in a mount namespace. The folders have the form of the kernel's: relative links into devices/."""
import contextlib
import os
import pathlib
import subprocess
import sys

INSIDE = "ONDELOC_TEST_NAMESPACE"


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


def add_nodes(sys_tree):
    """CPU 0 is NUMA node 0, CPU 1 is NUMA node 1."""
    for node in range(2):
        write(sys_tree / f"devices/system/node/node{node}/cpulist", node)
        write(sys_tree / f"devices/system/node/node{node}/distance", ["10 21", "21 10"][node])


def enter_namespace():
    """Runs this program again in a mount namespace of its own; returns there. In a chroot / is not a mount: then the mounts below it
    have to be private already, as those of etc/platform-trixie are."""
    if INSIDE not in os.environ:
        run = 'mount --make-rprivate / 2> /dev/null || true; exec "$@"'
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", run, "sh", sys.executable, "-B", *sys.argv],
                   {**os.environ, INSIDE: "1"})


class Layer:
    """A folder like /sys with more in it. Requires enter_namespace(); make_tree(folder) makes what is added."""

    def __init__(self, folder, name, make_tree=None):
        self.path = pathlib.Path(folder, f"layer-{name}")
        lower = pathlib.Path(folder, f"sys-{name}")
        for new in lower, self.path:
            new.mkdir()
        if make_tree:
            make_tree(lower)
        subprocess.run(["mount", "-t", "overlay", "ondeloc-test", "-o", f"lowerdir={lower}:/sys", self.path], check=True)
        subprocess.run(["mount", "--rbind", "/sys/fs", self.path / "fs"], check=True)

    @contextlib.contextmanager
    def laid(self):
        subprocess.run(["mount", "--rbind", self.path, "/sys"], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", "/sys"], check=True)

    def remove(self):
        subprocess.run(["umount", "--lazy", "--recursive", self.path], check=False)
