#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One end of a connection by AF_SMC: smc_echo.py server|client ADDRESS PORT BYTES [DEVICE]

The client sends random bytes, the server sends them back, and the client compares them. The client also looks whether SMC
has a QP on DEVICE: otherwise the connection has fallen back to TCP.
"""
import os
import random
import socket
import subprocess
import sys
import threading

AF_SMC = 43


def receive(sock, size):
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(65536, size - len(data)))
        if not part:
            sys.exit(f"the connection ended after {len(data)} bytes")
        data += part
    return bytes(data)


def main(role, address, port, size, device=None):
    sock = socket.socket(AF_SMC, socket.SOCK_STREAM, 0)
    if role == "server":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, int(port)))
        sock.listen(1)
        # a socket of another family cannot tell Python its peer's address
        peer = socket.socket(AF_SMC, socket.SOCK_STREAM, 0, fileno=sock._accept()[0])
        peer.sendall(receive(peer, int(size)))
        return
    sock.connect((address, int(port)))
    data = random.Random(1).randbytes(int(size))
    sender = threading.Thread(target=sock.sendall, args=(data,))
    sender.start()
    back = receive(sock, len(data))
    sender.join()
    if back != data:
        sys.exit("other bytes came back")
    qps = subprocess.run(["rdma", "resource", "show", "qp", "link", device], capture_output=True, text=True, check=True).stdout
    if "smc" not in qps:
        sys.exit("the connection has fallen back to TCP:\n" + qps)
    os._exit(0)


main(*sys.argv[1:])
