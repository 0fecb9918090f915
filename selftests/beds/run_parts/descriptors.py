# SPDX-License-Identifier: GPL-2.0
"""How many descriptors process 1 of a guest keeps of messages with other than three: run_parts.sh has it answer."""
import array
import os
import socket
import struct
import time


def descriptors():
    with open("/run/softmr/ask", "w") as ask:
        ask.write("?\n")
    answer = os.open("/run/softmr/answer", os.O_RDONLY)
    try:
        return int(os.read(answer, 16))
    finally:
        os.close(answer)


node = socket.socket(socket.AF_UNIX)
node.connect("/run/softmr/node")
time.sleep(0.5)
before = descriptors()
# the length of a request that never becomes complete, and a part of it
for count, byte in zip((1, 2, 3, 1, 2, 4), struct.pack("=Ixx", 1 << 20)):
    node.sendmsg([bytes([byte])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * count))])
    time.sleep(0.2)
time.sleep(0.5)
# those of the message with three stay as long as the request is incomplete
print(descriptors() - before - 3)
