#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One end of a connection by SMC (kernel 6.11 or newer): smc_echo.py server|client ADDRESS PORT BYTES

The client sends random bytes, the server sends them back, and the client compares them. The exit status of the client is 3
if that was done by TCP, because the connection has fallen back.
"""
import os
import random
import socket
import sys
import threading

import smc_netlink

# Python refuses addresses of a family that it does not know, as AF_SMC is
IPPROTO_SMC = 256
FELL_BACK = 3


def receive(sock, size):
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(65536, size - len(data)))
        if not part:
            sys.exit(f"the connection ended after {len(data)} bytes")
        data += part
    return bytes(data)


def main(role, address, port, size):
    before = smc_netlink.fallbacks()
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SMC)
    if role == "server":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, int(port)))
        sock.listen(1)
        peer = sock.accept()[0]
        peer.sendall(receive(peer, int(size)))
        if smc_netlink.fallbacks() != before:
            print("the server: the connection has fallen back to TCP")
        return
    sock.connect((address, int(port)))
    data = random.Random(1).randbytes(int(size))
    sender = threading.Thread(target=sock.sendall, args=(data,))
    sender.start()
    back = receive(sock, len(data))
    sender.join()
    if back != data:
        sys.exit("other bytes came back")
    os._exit(FELL_BACK if smc_netlink.fallbacks() != before else 0)


main(*sys.argv[1:])
