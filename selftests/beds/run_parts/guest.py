#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The guest's side of softmr-run's line (userspace/run/wire.h), without a guest: it runs the commands below itself.

  job NAME...       print the job's values of NAME; a value of several lines as it is; env:NAME is that of the environment
  arguments NAME... print the kernel's arguments that begin with NAME
  limits            print which limits of the kernel's are below what they may be raised to
  exit STATUS, hang, die, print N, flood, log TEXT, frame LENGTH
  overrun           print 64 MiB without regard to what is acknowledged
  console           print 32 MiB on the console, and hang

Words of --cmdline: mute (never boots), lacks_seccomp (as UML says it).
"""
import os
import resource
import struct
import sys
import time

HELLO, JOB, START, UP, _, DATA, ACK, CLOSE, SIGNAL, _, EXIT, LOG, DOWN, TAKEN = range(1, 15)
LINE = 3
WINDOW = 65536


def send(kind, data=b"", node=1, stream=0):
    data = struct.pack("=BBHI", kind, node, stream, len(data)) + data
    while data:
        data = data[os.write(LINE, data):]


def frames():
    """What softmr-run sends; each read is acknowledged, as the guest's init does."""
    data = b""
    while True:
        more = os.read(LINE, 65536)
        if not more:
            sys.exit(0)
        send(TAKEN, struct.pack("=i", len(more)))
        data += more
        while len(data) >= 8:
            kind, _, stream, length = struct.unpack("=BBHI", data[:8])
            if len(data) < 8 + length:
                break
            yield kind, stream, data[8:8 + length]
            data = data[8 + length:]


def receive_job(line):
    job = b""
    for kind, _, data in line:
        if kind == START:
            return job.decode().split("\0")[:-1]
        if kind == JOB:
            job += data


def values(job, name):
    of = "env=" + name[4:] if name.startswith("env:") else name
    return [entry[len(of) + 1:] for entry in job if entry.startswith(of + "=")]


def output(line, data):
    """Never more than WINDOW bytes that are not acknowledged"""
    credit = WINDOW
    while data:
        piece = data[:min(4096, credit)]
        if piece:
            send(DATA, piece, stream=1)
            credit -= len(piece)
            data = data[len(piece):]
            continue
        kind, stream, more = next(line)
        if kind == ACK and stream == 1:
            credit += struct.unpack("=i", more)[0]


def words(job, command):
    """job A B arguments C: all that they print, in one line"""
    found, of = [], None
    for word in command:
        if word in ("job", "arguments"):
            of = word
        elif of == "job":
            found += values(job, word)
        else:
            found += [a for a in sys.argv[1:] if a.startswith(word)]
    return " ".join(found).encode() + b"\n"


def main():
    if "mute" in sys.argv:
        time.sleep(1000)
    if "lacks_seccomp" in sys.argv and "seccomp=on" in sys.argv:
        print("SECCOMP userspace requested but not functional!", flush=True)
        sys.exit(1)
    line = frames()
    send(HELLO)
    job = receive_job(line)
    send(UP)
    command = values(job, "arg")
    status, log = 0, b""
    if command[0] in ("job", "arguments"):
        output(line, words(job, command))
    elif command[0] == "limits":
        of = {n: resource.getrlimit(getattr(resource, n)) for n in ("RLIMIT_FSIZE", "RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_NOFILE")}
        output(line, " ".join(n for n, (soft, hard) in of.items() if soft != hard).encode() + b"\n")
    elif command[0] == "exit":
        status = int(command[1])
    elif command[0] == "hang":
        time.sleep(1000)
    elif command[0] == "die":
        sys.exit(0)
    elif command[0] == "print":
        output(line, b"x" * int(command[1]))
    elif command[0] == "flood":
        output(line, b"y\n" * (1 << 24))
    elif command[0] == "overrun":
        for _ in range(1 << 14):
            send(DATA, b"x" * 4096, stream=1)
    elif command[0] == "console":
        for _ in range(32):
            os.write(1, (b"x" * 63 + b"\n") * (1 << 14))
        time.sleep(1000)
    elif command[0] == "log":
        log = command[1].encode() + b"\n"
    elif command[0] == "frame":
        os.write(LINE, struct.pack("=BBHI", DATA, 1, 1, int(command[1])))
        while True:
            os.write(LINE, b"x" * 65536)
    send(EXIT, struct.pack("=i", status))
    if log:
        send(LOG, log)
    send(DOWN)
    for _ in line:
        pass


main()
