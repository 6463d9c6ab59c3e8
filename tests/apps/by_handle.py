#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Calls MPI by dlsym on the library's handle, as Julia's MPI.jl and other languages do, so that no preloaded library is called
instead. Each rank sends to the next one. Writes what it sends in the format of counts.h. by_handle.py [mpich]"""

import ctypes
import os
import sys

MESSAGES, LENGTH = 50, 1000

if sys.argv[1:] == ["mpich"]:
    mpi = ctypes.CDLL("libmpich.so.12", os.RTLD_LOCAL | os.RTLD_NOW)
    world, byte = ctypes.c_int(0x44000000), ctypes.c_int(0x4C00010D)
else:
    mpi = ctypes.CDLL("libmpi.so.40", os.RTLD_LOCAL | os.RTLD_NOW)
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
    byte = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_byte"))
outgoing, incoming, status = (ctypes.create_string_buffer(LENGTH) for _ in range(3))

assert mpi.MPI_Init(None, None) == 0
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
rank, size = rank.value, size.value
to, source = (rank + 1) % size, (rank - 1) % size
for _ in range(MESSAGES):
    assert mpi.MPI_Sendrecv(outgoing, LENGTH, byte, to, 7, incoming, LENGTH, byte, source, 7, world, status) == 0
if "COUNT_OUT" in os.environ:
    said = MESSAGES - (1 if rank == 0 and "COUNT_SKIP_ONE" in os.environ else 0)
    with open(f"{os.environ['COUNT_OUT']}.{rank}", "w", encoding="ascii") as out:
        out.write(f"{to} {said * LENGTH} {said}\n")
assert mpi.MPI_Finalize() == 0
