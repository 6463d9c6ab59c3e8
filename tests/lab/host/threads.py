# SPDX-License-Identifier: MIT
"""Profiles of the programs with threads: recorded on the host, because the guest is emulated already."""
import os
import pathlib
import subprocess


def record(build, plan, folder):
    """Writes FOLDER/PROGRAM.prof for each program with threads, if a mapping of the plan needs it. Raises ValueError with one sentence."""
    if not plan["profile"] and not any("algorithm" in mapping for mapping in plan["mappings"]):
        return
    folder.mkdir(parents=True, exist_ok=True)
    for program in (program for program in plan["programs"] if program.get("only_threads")):
        words = [pathlib.Path(build, "mapcore/ondeloc"), "threads", "record", "-o", folder / f"{program['name']}.prof", "--",
                 pathlib.Path(build, "tests/apps", pathlib.Path(program["words"][0]).name), *program["words"][1:]]
        environment = {**os.environ, "OMP_NUM_THREADS": str(program["ranks"]), "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0:
            raise ValueError(f"{program['name']}: no recording of its threads: {done.stderr.strip()[-400:]}")
