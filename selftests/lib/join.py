#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make a netdev a member of multicast groups, until killed: join.py NETDEV GROUP..."""
import signal
import socket
import struct
import sys


def join(index, group):
    if ":" in group:
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                     socket.inet_pton(socket.AF_INET6, group) + struct.pack("i", index))
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                     socket.inet_aton(group) + socket.inet_aton("0.0.0.0") + struct.pack("i", index))
    return s


members = [join(socket.if_nametoindex(sys.argv[1]), group) for group in sys.argv[2:]]
print("joined", flush=True)
signal.pause()
