# SPDX-License-Identifier: Apache-2.0
"""The Debian package is installed on a clean system with one line in plugstack.conf, used, and removed without a trace."""
import pathlib
import subprocess

from harness import HERE, check, inside_cpuset, root, run, scenario, settled
from steps import OPTIONS, Phase, TALK, steady, step

PLUGSTACK = pathlib.Path("/etc/slurm/plugstack.conf")


def files():
    """Every file of the system except dpkg's own and those that Slurm keeps writing."""
    out = subprocess.run(["find", "/usr", "/etc", "/opt", "/var/lib", "-xdev", "(", "-path", "/var/lib/dpkg", "-o",
                          "-path", "/var/lib/vm-slurm", ")", "-prune", "-o", "-print"],
                         capture_output=True, text=True, check=True).stdout
    return set(out.splitlines())


@scenario("3+1")
def debian_package():
    package = next(iter(HERE.glob("ondeloc-slurm*.deb")), None)
    check(package, f"no package in {HERE}")
    release = ".".join(run("sinfo", "-V").stdout.split()[1].split(".")[:2])
    check(package.name.startswith(f"ondeloc-slurm{release}_"), f"{package.name} does not carry Slurm's release {release}")
    before, line = files(), PLUGSTACK.read_text()
    root("dpkg", "-i", package)
    try:
        PLUGSTACK.write_text("include /etc/slurm/plugstack.conf.d/*.conf\n")
        watched = step("package", ["-n4"], [TALK], online=OPTIONS, phases=[Phase("mirror", steady(4))])
        check(run("sh", "-c", "command -v ondeloc").stdout, "no ondeloc on the path")
    finally:
        PLUGSTACK.write_text(line)
    inside_cpuset(watched.series)
    check(watched.report["matrix"], "the report has no traffic")
    check(settled(watched.series, 4), "no settled sample")
    root("dpkg", "--purge", package.name.split("_")[0])
    left = files() - before
    check(not left, f"left after removal: {sorted(left)}")
    return package.name
