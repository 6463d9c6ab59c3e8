# SPDX-License-Identifier: MIT
"""The programs of the lab: tests/lab/programs and what Debian has."""
import shlex

# name: what it stands for. Each takes one number, its size; 1 is some 10 to 30 simulated ms.
OWN = {
    "cg": "conjugate gradients: rows of a process grid, transposed partner, two reductions an iteration",
    "lu": "wavefront over a process grid: many small messages to two neighbours",
    "mg": "multigrid: a halo exchange at each of several levels",
    "ft": "all-to-all of a transposed array",
    "is": "buckets: an all-to-all of uneven counts",
    "stencil": "3D stencil: six neighbours, faces of 3 sizes",
    "pme": "many to few: particle ranks send to a quarter of the ranks, which transpose among themselves",
    "pairs": "exchange with rank^1, and a sweep over own memory",
    "phases": "the same with rank^1 for the first half, rank^(n/2) for the second",
}

# Programs whose command find() builds.
OTHER = {
    "hybrid": "ranks with two threads each in a ring: sweeps over own memory, messages by the main thread; no algorithms",
    "lammps": "LAMMPS of Debian: Lennard-Jones melt of 2048 atoms, 50 steps a size",
    "hpcc": "HPC Challenge of Debian: all its tests, matrices of 200 x 200 a size",
}

# Kernels of OpenMP (tests/apps/thread_kernels.c): one task with a thread for each CPU. Name: the grid, the rounds of size 1.
KERNELS = {"omp-cg": (8000, 30), "omp-mg": (32, 20), "omp-lu": (34, 40), "omp-ft": (128, 30)}
HYBRID_THREADS, SECONDS_BEFORE = 2, 8  # the mapper looks at the threads every half second


def find(word, size, ranks):
    """Returns the data of the program PROGRAM or PROGRAM:SIZE that run_plan.py needs."""
    name, colon, own_size = word.partition(":")
    if colon:
        if not own_size.isdecimal() or int(own_size) == 0:
            raise ValueError(f"--program {word}: a size of 1 or more is expected after the colon")
        size = int(own_size)
    if name == "pairs":
        words = ["/usr/local/vm/lab/lab_phases", str(size), "pairs"]
    elif name in OWN:
        words = [f"/usr/local/vm/lab/lab_{name}", str(size)]
    elif name in KERNELS:
        grid, rounds = KERNELS[name]
        words = ["/usr/local/vm/lab/thread_kernels", name[4:], str(grid), str(rounds * size)]
        return {"name": name, "words": words, "ranks": ranks, "timeout": 3000, "tasks": 1, "threads": ranks, "only_threads": True}
    elif name == "hybrid":
        words = ["/usr/local/vm/lab/hybrid", str(8 * size), str(SECONDS_BEFORE)]
        tasks = max(1, ranks // HYBRID_THREADS)
        return {"name": name, "words": words, "ranks": tasks * HYBRID_THREADS, "timeout": 3000, "tasks": tasks, "threads": HYBRID_THREADS}
    elif name == "lammps":
        words = ["lmp", "-log", "none", "-screen", "none", "-var", "steps", str(50 * size), "-in", "/usr/local/vm/lab/in.melt"]
    elif name == "hpcc":
        words = ["/usr/local/vm/lab/hpcc.sh", str(200 * size)]
    else:
        raise ValueError(f"--program {name}: known are {', '.join([*OWN, *KERNELS, *OTHER])}; other programs are run by --command")
    return {"name": name, "words": words, "ranks": ranks, "timeout": 3000}


def command(text, ranks):
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"--command {text}: {error}") from error
    if not words:
        raise ValueError("--command: a command is missing")
    name = words[0].rsplit("/", 1)[-1]
    if name in ("", ".", ".."):  # it names a directory of results
        raise ValueError(f"--command {text}: {words[0]!r} is a directory; a program is expected there")
    return {"name": name, "words": words, "ranks": ranks, "timeout": 3000}


def listing():
    own, other = ([f"{name:10} {text}" for name, text in group.items()] for group in (OWN, OTHER))
    kernels = "omp-cg, omp-mg, omp-lu, omp-ft: the same shapes as one program of OpenMP; its threads are mapped"
    return "\n".join([*own, kernels, *other])
