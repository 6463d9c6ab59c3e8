#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""standard_abi.py BUILD_DIR COMPILER LAUNCHER

Programs linked with libmpi_abi, the standard binary interface of MPI 5: what ondeloc counts against what the programs say. COMPILER
is the mpicc of that interface, or a compiler and the options for its mpi.h and its libmpi_abi.so in one argument. LAUNCHER starts
the ranks (mpiexec.mpich, mpirun.openmpi).

step_of_many gives the ranks the segment of a step. A run in which rank 0 leaves one message out of what it says has to differ by it. With MPICH, collectives are compared with what MPICH
hands to UCX (mpich/truth.py)."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

if len(sys.argv) != 4:
    sys.exit(__doc__)
HERE = pathlib.Path(__file__).resolve().parent
BUILD, COMPILER, LAUNCHER = os.path.abspath(sys.argv[1]), shlex.split(sys.argv[2]), sys.argv[3]
APPS = f"{BUILD}/tests/apps"
RANK_LIBRARY = f"{BUILD}/pmix_hooks/libondeloc_rank.so"
RANKS = 3
OPEN_MPI = "mpirun" in LAUNCHER
# Each with what tells the messages that MPI or the model adds: nothing, a run without the program's messages, or a run of one round.
# The bytes that Open MPI sends for an inter-communicator differ from run to run.
PROGRAMS = [(["send_modes"], None), (["communicators", "3", *(["intra"] if OPEN_MPI else [])], "dry"), (["persistent", "plain"], None),
            (["partitioned", "5"], "once"), (["threads", "3"], "dry"), (["one_sided"], "dry"), (["session_sends"], "dry"),
            (["session_sends", "init"], "dry")]
ENVIRONMENT = {"STEP_LAUNCHER": LAUNCHER, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def compile_program(folder, name, *arguments):
    flags = ["-O1", "-D_GNU_SOURCE", "-w", f"-I{HERE.parent.parent}", "-pthread"]
    subprocess.run([COMPILER[0], *flags, *arguments, "-o", f"{folder}/{name}", *COMPILER[1:]], check=True)


def cells_of(text, before):
    """Lines "[from] peer bytes messages" behind `before`."""
    found = re.findall(rf"^{before}((?:from )?\d+) (\d+) (\d+)$", text, re.MULTILINE)
    return {peer: (int(length), int(messages)) for peer, length, messages in found}


def minus(one, other):
    left = {}
    for key in one.keys() | other.keys():
        a, b = one.get(key, (0, 0)), other.get(key, (0, 0))
        if a != b:
            left[key] = (a[0] - b[0], a[1] - b[1])
    return left


def run(folder, words, **env):
    """(what ondeloc counted, what the program says), by rank and peer"""
    for old in pathlib.Path(folder).glob("out.*"):
        old.unlink()
    out = subprocess.run([f"{APPS}/step_of_many", str(RANKS), RANK_LIBRARY, f"{folder}/{words[0]}", *words[1:]],
                         env={**os.environ, **ENVIRONMENT, "COUNT_OUT": f"{folder}/out", **env},
                         stdout=subprocess.PIPE, text=True, check=True, timeout=300).stdout
    libraries = re.findall(r"^rank \d+ library (\w.*) notes", out, re.MULTILINE)
    if len(libraries) != RANKS:
        sys.exit(f"standard_abi: {words[0]}: not all ranks joined:\n{out}")
    counted, said = {}, {}
    for rank in range(RANKS):
        counted.update({(rank, peer): cell for peer, cell in cells_of(out, f"{rank} ").items()})
        said.update({(rank, peer): cell for peer, cell in cells_of(pathlib.Path(folder, f"out.{rank}").read_text(encoding="ascii"), "").items()})
    return counted, said, libraries[0]


def own_messages(folder, words, how):
    if how == "once":
        counted, said, _ = run(folder, [words[0], "1"])
        return minus(counted, said)
    return run(folder, words, COUNT_DRY="1")[0] if how == "dry" else {}


def check(folder, words, how):
    own = own_messages(folder, words, how)
    counted, said, library = run(folder, words)
    wrong = minus(minus(counted, own), said)
    counted, said, _ = run(folder, words, COUNT_SKIP_ONE="1")
    skipped = minus(minus(counted, own), said)
    exact = not wrong and [cell[1] for cell in skipped.values()] == [1]
    print(f"{library}: {' '.join(words)}: {'exact' if exact else f'WRONG: {wrong}, with one left out {skipped}'}", flush=True)
    return exact, library


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in {words[0] for words, _ in PROGRAMS}:
            compile_program(folder, name, HERE / f"{name}.c", HERE / "counts.c")
        if OPEN_MPI:
            compile_program(folder, "namespace_back.so", "-shared", "-fPIC", HERE / "namespace_back.c")
            ENVIRONMENT["STEP_BEHIND"] = f"{folder}/namespace_back.so"
        results = [check(folder, *program) for program in PROGRAMS]
        faults = sum(not exact for exact, _ in results)
        if results[0][1].startswith("MPICH"):
            compile_program(folder, "truth", HERE / "mpich/collectives_truth.c", HERE / "mpich/cases.c", HERE / "counts.c", "-ldl")
            truth = [sys.executable, "-B", HERE / "mpich/truth.py", BUILD, "--program", f"{folder}/truth"]
            faults += subprocess.run(truth, env={**os.environ, **ENVIRONMENT}, check=False).returncode != 0
    sys.exit(1 if faults else 0)


main()
