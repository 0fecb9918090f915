#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a message walks through: walks.py FUNCTIONS TEST SIZE TRACE

TRACE is of the function graph tracer, with softmr's functions only; FUNCTIONS has a line "NAME FILE" for each definition.
Prints, for each message: the calls; and the functions, files and depth of all messages. Of a wire, also for the sender, the
receiver and the answer at the sender. The first and last messages are left out. The environment has WHERE.
"""
import collections
import os
import re
import sys

LINE = re.compile(r"^\s*\d+\)\s+\|?\s*(?:(\w+)(?:\.\w+)*(?: \[\w+\])?\(\)\s*(;|\{)|(\}))")
DOORBELL, PACKET = "bell_ioctl", "rx_hook"
SKIP = 20


def files(path):
    found = collections.defaultdict(list)
    with open(path) as f:
        for line in f:
            name, file = line.split()
            found[name].append(file)
    return found


def trees(path, where):
    """The calls of each context: lists of (function, file, depth, kind). kind is that of the root: a doorbell, a packet"""
    stack, tree = [], []
    with open(path) as f:
        for line in f:
            found = LINE.match(line)
            if not found:
                continue
            name, opens, closes = found.groups()
            if closes:
                if stack:
                    stack.pop()
                continue
            known = where.get(name, ["?"])
            caller = stack[-1][1] if stack else None
            file = caller if caller in known else known[0]
            depth = len(stack) - next((i for i, (other, _) in reversed(list(enumerate(stack))) if other == PACKET), 0)
            tree.append((name, file, depth + 1, PACKET if any(n == PACKET for n, _ in stack) or name == PACKET else DOORBELL,
                         len(stack)))
            if opens == "{":
                stack.append((name, file))
    return tree


def main(functions, test, size, trace):
    calls = trees(trace, files(functions))
    bells = [i for i, call in enumerate(calls) if call[0] == DOORBELL]
    if len(bells) < 3 * SKIP:
        sys.exit(f"{len(bells)} doorbells in the trace")
    first, last = bells[SKIP], bells[-SKIP]
    messages = bells.index(last) - SKIP
    calls = calls[first:last]
    parts = {"all": calls, "sender": [call for call in calls if call[3] == DOORBELL]}
    packets, side = collections.defaultdict(list), None
    group = []
    for call in calls:
        if call[3] != PACKET:
            continue
        if call[0] == PACKET:
            group = []
        group.append(call)
        if call[0] == "smr_responder_run":
            side = "receiver"
        elif call[0] == "smr_completer_run":
            side = "answer"
        else:
            continue
        if group:
            packets[side].append(group)
    for side, groups in packets.items():
        seen = {id(group): group for group in groups}
        parts[side] = [call for group in seen.values() for call in group]
    if not packets:
        del parts["sender"]
    for part, some in parts.items():
        name = test if part == "all" else f"{test}_{part}"
        for metric, value in (("calls", round(len(some) / messages)), ("functions", len({call[:2] for call in some})),
                              ("files", len({call[1] for call in some})), ("depth", max(call[2] for call in some))):
            print(f"@ {os.environ['WHERE']},softmr,{name},{size},{metric},{value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
