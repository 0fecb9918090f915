#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Two processes of MPI send each other messages of several sizes, and check what arrives."""
import sys

from mpi4py import MPI

SIZES = (1, 4096, 65537, 1 << 20, 16 << 20)


def pattern(rank, size):
    return bytearray((i * 7 + rank) & 0xff for i in range(256)) * (size // 256 + 1)


def main():
    comm = MPI.COMM_WORLD
    me, peer = comm.rank, comm.size - 1 - comm.rank
    for size in SIZES:
        got = bytearray(size)
        comm.Sendrecv(pattern(me, size)[:size], peer, recvbuf=got, source=peer)
        if got != pattern(peer, size)[:size]:
            sys.exit(f"rank {me}: {size} bytes are wrong")
    print(f"rank {me} of {comm.size} on {MPI.Get_processor_name()}: {size} bytes right", flush=True)


main()
