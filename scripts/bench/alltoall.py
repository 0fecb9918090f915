#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Processes of MPI, one on each node, send each other messages, all to all at once, and check what arrives.

alltoall.py NODES: on so many nodes, of those that mpirun names. Prints lines "metric size value". Kernel memory is that of
all nodes together, because they share a kernel.
"""
import glob
import resource
import subprocess
import sys
import time

from mpi4py import MPI

SIZES = (8, 4096, 65536)
ROUNDS = 5
KERNEL = ("Slab", "VmallocUsed", "Percpu", "PageTables", "KernelStack")


def kernel_kib():
    with open("/proc/meminfo", encoding="ascii") as f:
        rows = (line.split() for line in f)
        return sum(int(row[1]) for row in rows if row[0].rstrip(":") in KERNEL)


def counter(name):
    """Of this node's device"""
    total = 0
    for path in glob.glob(f"/sys/class/infiniband/softmr*/ports/1/hw_counters/{name}"):
        with open(path, encoding="ascii") as f:
            total += int(f.read())
    return total


def qps():
    """RC QPs of this node"""
    shown = subprocess.run(["rdma", "resource", "show", "qp"], capture_output=True, text=True, check=True).stdout
    return sum("type RC" in line for line in shown.splitlines())


def pattern(source, target, size):
    return bytes((source * 7 + target * 13 + i) & 0xff for i in range(256)) * (size // 256) + \
        bytes((source * 7 + target * 13 + i) & 0xff for i in range(size % 256))


def exchange(comm, size):
    """Returns the seconds that it took this process"""
    me = comm.rank
    peers = [(me + k) % comm.size for k in range(1, comm.size)]
    out = {peer: pattern(me, peer, size) for peer in peers}
    got = {peer: bytearray(size) for peer in peers}
    comm.Barrier()
    start = time.monotonic()
    requests = [comm.Irecv(got[peer], source=peer) for peer in peers]
    requests += [comm.Isend(out[peer], dest=peer) for peer in peers]
    MPI.Request.Waitall(requests)
    took = time.monotonic() - start
    for peer in peers:
        if got[peer] != pattern(peer, me, size):
            sys.exit(f"node {me + 1}: {size} bytes of node {peer + 1} are wrong")
    return took


def main():
    world = MPI.COMM_WORLD
    first = world.rank == 0

    def say(metric, size, value):
        if first:
            print(metric, size, f"{value:.6g}", flush=True)

    def slowest(value):
        return world.allreduce(value, op=MPI.MAX)

    before = kernel_kib()
    sent_again = counter("retransmits")
    say("connect_and_first_ms", SIZES[0], slowest(exchange(world, SIZES[0])) * 1e3)
    say("kernel_KiB", 0, kernel_kib() - before)
    say("qps", 0, world.allreduce(qps()))
    say("process_MiB", 0, slowest(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
    for size in SIZES:
        exchange(world, size)
        took = min(slowest(exchange(world, size)) for _ in range(ROUNDS))
        say("exchange_ms", size, took * 1e3)
    say("retransmits", 0, world.allreduce(counter("retransmits") - sent_again))


main()
