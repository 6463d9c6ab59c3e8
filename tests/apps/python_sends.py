#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mpi4py: buffers, pickled objects, persistent requests and a sub-communicator. Writes what it sends in the format of
counts.h."""

import os
import pickle

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
dry = "COUNT_DRY" in os.environ
persistent = "COUNT_NO_PERSISTENT" not in os.environ
skip = rank == 0 and "COUNT_SKIP_ONE" in os.environ
sent = {}


def count(to, length):
    global skip
    if skip and to != rank:
        skip = False
        return
    length_before, messages = sent.get(to, (0, 0))
    sent[to] = (length_before + length, messages + 1)


def exchange(comm, to, source, world_to, turn):
    outgoing, incoming = bytearray(100 + turn), bytearray(100 + turn)
    comm.Sendrecv(outgoing, to, 1, incoming, source, 1)
    count(world_to, 100 + turn)
    thing = {"turn": turn, "list": list(range(turn))}
    request = comm.isend(thing, to, 2)
    assert comm.recv(source=source, tag=2)["turn"] == turn
    request.wait()
    count(world_to, len(MPI.pickle.dumps(thing)))
    if persistent:
        start_persistent(comm, to, source, world_to, outgoing, incoming)


def start_persistent(comm, to, source, world_to, outgoing, incoming):
    send = comm.Send_init(outgoing, to, 3)
    receive = comm.Recv_init(incoming, source, 3)
    for _ in range(3):
        MPI.Prequest.Startall([receive, send])
        MPI.Request.Waitall([receive, send])
        count(world_to, len(outgoing))
    send.Free()
    receive.Free()


assert pickle  # the module that MPI.pickle wraps
for turn in range(1, 11):
    for step in range(1, size):
        if not dry:
            exchange(world, (rank + step) % size, (rank - step) % size, (rank + step) % size, turn)
    part = world.Split(rank % 2, rank)
    member, members = part.Get_rank(), part.Get_size()
    for step in range(1, members):
        if not dry:
            peer = (member + step) % members
            exchange(part, peer, (member - step) % members, 2 * peer + rank % 2, turn)
    part.Free()

if "COUNT_OUT" in os.environ:
    with open(f"{os.environ['COUNT_OUT']}.{rank}", "w", encoding="ascii") as out:
        for to, (length, messages) in sorted(sent.items()):
            out.write(f"{to} {length} {messages}\n")
