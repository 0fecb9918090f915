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
# Which task handles the packets of a side
TASKS = {"receiver": "smr_responder_run", "answer": "smr_completer_run"}
Call = collections.namedtuple("Call", "name file depth packet")
SKIP = 20


def files(path):
    found = collections.defaultdict(list)
    with open(path) as f:
        for line in f:
            name, file = line.split()
            found[name].append(file)
    return found


def calls_of(path, where):
    """Each call. Its packet is the number of the hook's call that it is below, or None; its depth begins there"""
    stack, calls = [], []
    with open(path) as f:
        for line in f:
            found = LINE.match(line)
            if not found:
                continue
            name, opens, closes = found.groups()
            if closes:
                del stack[-1:]
                continue
            caller = stack[-1] if stack else Call(None, None, 0, None)
            known = where.get(name, ["?"])
            file = caller.file if caller.file in known else known[0]
            depth, packet = (1, len(calls)) if name == PACKET else (caller.depth + 1, caller.packet)
            calls.append(Call(name, file, depth, packet))
            if opens == "{":
                stack.append(calls[-1])
    return calls


def main(functions, test, size, trace):
    calls = calls_of(trace, files(functions))
    bells = [i for i, call in enumerate(calls) if call.name == DOORBELL]
    messages = len(bells) - 2 * SKIP
    if messages < SKIP:
        sys.exit(f"{len(bells)} doorbells in the trace")
    calls = calls[bells[SKIP]:bells[-SKIP]]
    packets = collections.defaultdict(list)
    for call in calls:
        packets[call.packet].append(call)
    parts = {"all": calls}
    if len(packets) > 1:
        parts["sender"] = packets.pop(None)
        for side, task in TASKS.items():
            parts[side] = [call for group in packets.values() if any(call.name == task for call in group) for call in group]
    for part, some in parts.items():
        if not some:
            continue
        name = test if part == "all" else f"{test}_{part}"
        for metric, value in (("calls", round(len(some) / messages)), ("functions", len({(call.name, call.file) for call in some})),
                              ("files", len({call.file for call in some})), ("depth", max(call.depth for call in some))):
            print(f"@ {os.environ['WHERE']},softmr,{name},{size},{metric},{value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
