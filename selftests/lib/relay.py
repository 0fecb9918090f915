#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A cable between two tap or tun netdevs: relay.py tap|tun NETDEV NETNS NETNS

Makes the netdev in each of the two namespaces, prints "ready", and takes each packet from one to the other until it is
ended. What a netdev does not take, because it is down, is lost.
"""
import contextlib
import fcntl
import os
import select
import struct
import sys

TUNSETIFF = 0x400454ca
IFF_NO_PI = 0x1000
KINDS = {"tun": 1, "tap": 2}
MOST = 65536


def make(kind, name, namespace):
    with open(f"/run/netns/{namespace}", encoding="ascii") as f:
        os.setns(f.fileno(), os.CLONE_NEWNET)
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), KINDS[kind] | IFF_NO_PI))
    return fd


def main():
    kind, name, *namespaces = sys.argv[1:]
    ends = [make(kind, name, namespace) for namespace in namespaces]
    print("ready", flush=True)
    while True:
        for fd in select.select(ends, [], [])[0]:
            packet = os.read(fd, MOST)
            with contextlib.suppress(OSError):
                os.write(ends[fd == ends[0]], packet)


main()
