#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sessions_of_open_mpi.py BUILD_DIR: counts of a program that uses MPI sessions of Open MPI against what the program says.

Under srun such a program cannot make a communicator, because Slurm's PMIx server has no groups. So mpirun starts the ranks,
and step_of_many gives them the segment of a step. A run without the program's messages tells what Open MPI sends by itself; a run
in which rank 0 leaves one message out of what it says has to differ by it."""
import os
import pathlib
import subprocess
import sys
import tempfile

APPS = f"{os.path.abspath(sys.argv[1])}/tests/apps"
RANK_LIBRARY = f"{os.path.abspath(sys.argv[1])}/pmix_hooks/libondeloc_rank.so"
RANKS = 3
MPIRUN = {"STEP_LAUNCHER": "mpirun.openmpi", "STEP_BEHIND": f"{APPS}/libnamespace_back.so", "OMPI_ALLOW_RUN_AS_ROOT": "1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def add(cells, src, words, sign=1):
    dst, length, messages = (int(word) for word in words)
    before = cells.get((src, dst), (0, 0))
    cells[src, dst] = (before[0] + sign * length, before[1] + sign * messages)


def run(arguments, **env):
    """(what ondeloc counted, what the program says)"""
    counted, said = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([f"{APPS}/step_of_many", str(RANKS), RANK_LIBRARY, f"{APPS}/session_sends", *arguments],
                             env={**os.environ, **MPIRUN, "COUNT_OUT": f"{folder}/out", **env},
                             stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout
        for line in out.splitlines():
            words = line.split()
            if len(words) == 4 and all(word.isdigit() for word in words):
                add(counted, int(words[0]), words[1:])
        for rank in range(RANKS):
            for line in pathlib.Path(folder, f"out.{rank}").read_text(encoding="ascii").splitlines():
                add(said, rank, line.split())
    if out.count("library Open MPI") != RANKS:
        sys.exit(f"sessions: not all ranks joined:\n{out}")
    return counted, said


def beyond(counted, *others):
    left = dict(counted)
    for other in others:
        for (src, dst), (length, messages) in other.items():
            add(left, src, (dst, length, messages), -1)
    return {pair: cell for pair, cell in left.items() if cell != (0, 0)}


for how in [], ["init"]:
    own, _ = run(how, COUNT_DRY="1")
    if wrong := beyond(*run(how), own):
        sys.exit(f"sessions {how}: counted beyond what the program says: {wrong}")
    skipped = beyond(*run(how, COUNT_SKIP_ONE="1"), own)
    if [(pair, cell[1]) for pair, cell in skipped.items()] != [((0, 2), 1)]:
        sys.exit(f"sessions {how}: one message left out was seen as {skipped}")
print("sessions: exact")
