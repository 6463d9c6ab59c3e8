# SPDX-License-Identifier: Apache-2.0
"""Spack recipe. In a checkout of ondeloc:

    spack repo add etc/packaging/spack
    spack dev-build -d . ondeloc@main ^slurm@RELEASE

The plugin fits the Slurm release that it is built with: name that of the cluster, as an external package of Spack."""
from spack.package import *


class Ondeloc(CMakePackage):
    """Slurm plugin that places MPI ranks, while a job runs, on the cores and NUMA nodes where they talk cheaply."""

    license("Apache-2.0 AND MIT")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("slurm")
    depends_on("pmix")
    depends_on("hwloc@2.4:")
    depends_on("zstd")
    depends_on("cairo")
    depends_on("ncurses")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("cli11")

    generator("ninja")

    conflicts("%gcc@:10", msg="ondeloc is written in C++20")
    conflicts("platform=darwin", msg="Slurm's plugins need Linux")

    def cmake_args(self):
        return [
            self.define("ONDELOC_TESTS", False),
            self.define("ONDELOC_SLURM_INCLUDE", self.spec["slurm"].prefix.include),
        ]
