# SPDX-License-Identifier: Apache-2.0
"""A node with made-up devices: 8 adapters of 25 virtual functions each, and 8 GPUs, laid over /sys in a mount namespace."""
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "slurm"))
from made_sysfs import Layer, add_adapter, link, pci_device  # noqa: E402 pylint: disable=wrong-import-position

ADAPTERS, FUNCTIONS, GPUS = 8, 25, 8


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


class Devices:
    """Two layers for /sys: one with the devices and one without, because the layer itself takes time."""

    def __init__(self, folder):
        self.layers = {with_devices: Layer(folder, with_devices, make_tree if with_devices else None) for with_devices in (False, True)}

    def laid(self, with_devices):
        return self.layers[with_devices].laid()

    def check(self, ondeloc):
        """Returns an error unless ondeloc sees each adapter and GPU, and no virtual function."""
        with self.laid(True):
            told = subprocess.run([ondeloc, "topology"], capture_output=True, text=True, check=True).stdout
        seen = told.count("InfiniBand adapter"), told.count("NVIDIA GPU")
        return "" if seen == (ADAPTERS, GPUS) else f"launch_cost: ondeloc sees other devices than the made-up ones: {seen}\n{told}"


@contextlib.contextmanager
def made_devices():
    """Yields Devices. Requires made_sysfs.enter_namespace(), called before the private Slurm was started."""
    folder = tempfile.mkdtemp(prefix="ondeloc-bench.")
    devices = Devices(folder)
    try:
        yield devices
    finally:
        for layer in devices.layers.values():
            layer.remove()
        shutil.rmtree(folder)
