#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which lines of kernel/ the tests have executed: report.py SOURCE DIR

SOURCE is the copy of kernel/ that was compiled for coverage, with the .gcno files. The files
gcov.* in DIR are what selftests/record/gcov.c has written: one for each time that the module was
removed. They are added up into .gcda files beside the .gcno files, which gcov(1) reads. DIR gets
summary.txt (a line for each file: lines, branches) and uncovered.txt (what was not executed, by
function).
"""

import glob
import gzip
import json
import os
import struct
import subprocess
import sys

TAG_FUNCTION = 0x01000000
TAG_ARCS = 0x01A10000


def read_dump(path):
    """The .gcda files in a dump: name and contents of each."""
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        name = data[at + 4 : at + 4 + length].decode()
        at += 4 + length
        (length,) = struct.unpack_from("<I", data, at)
        yield name, data[at + 4 : at + 4 + length]
        at += 4 + length


def functions_at(gcda):
    """Where the functions begin: the words of the head depend on gcc's version."""
    words = struct.unpack("<%dI" % (len(gcda) // 4), gcda)
    for at in (3, 4):
        if at == len(words) or words[at] == TAG_FUNCTION:
            return words, at
    raise ValueError("no .gcda file of a gcc that is known")


def add(total, gcda):
    """Add the counters of gcda to those of total. The two have the same layout, or are of different builds."""
    if total is None:
        return list(functions_at(gcda)[0])
    words, at = functions_at(gcda)
    if len(words) != len(total) or list(words[1:at]) != total[1:at]:
        raise ValueError("dumps of different builds")
    while at < len(words):
        tag, length = words[at], words[at + 1]
        # bytes since gcc 12
        size = length // 4 if words[3] != TAG_FUNCTION else length
        at += 2
        if tag == TAG_ARCS:
            for i in range(at, at + size, 2):
                value = words[i] + (words[i + 1] << 32) + total[i] + (total[i + 1] << 32)
                total[i], total[i + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
        at += size
    return total


def write_sums(dumps):
    """Write the .gcda files, and return their names."""
    sums = {}
    for path in dumps:
        try:
            for name, gcda in read_dump(path):
                sums[name] = add(sums.get(name), gcda)
        except (struct.error, ValueError) as error:
            sys.exit("report.py: %s: %s" % (path, error))
    for name, words in sums.items():
        with open(name, "wb") as f:
            f.write(struct.pack("<%dI" % len(words), *words))
    return sorted(sums)


class File:
    """What gcov says of one source file, over all objects that have compiled it"""

    def __init__(self):
        self.lines = {}
        self.branches = {}
        self.function = {}

    def add(self, line):
        """One line as an object has it; a header's lines are in many."""
        n = line["line_number"]
        self.lines[n] = self.lines.get(n, 0) + line["count"]
        self.function[n] = line.get("function_name", "")
        counts = [b["count"] for b in line["branches"]]
        was = self.branches.get(n)
        if was and len(was) == len(counts):
            counts = [a + b for a, b in zip(was, counts)]
        if counts:
            self.branches[n] = counts

    def counts(self):
        """Lines executed, lines, branches taken, branches"""
        taken = [count for counts in self.branches.values() for count in counts]
        return [sum(1 for c in self.lines.values() if c), len(self.lines), sum(1 for c in taken if c), len(taken)]

    def uncovered(self):
        """(function, first line, last line) of each run of lines that were not executed"""
        runs = []
        before = False
        for n in sorted(self.lines):
            bare = not self.lines[n]
            if bare and before and runs[-1][0] == self.function[n]:
                runs[-1][2] = n
            elif bare:
                runs.append([self.function[n], n, n])
            before = bare
        return runs


def run_gcov(source, gcdas):
    """All files below source, by their names in it"""
    files = {}
    for gcda in gcdas:
        out = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities", gcda],
            cwd=os.path.dirname(gcda), check=True, stdout=subprocess.PIPE,
        ).stdout
        if out[:2] == b"\x1f\x8b":
            out = gzip.decompress(out)
        for text in out.decode().splitlines():
            data = json.loads(text)
            for entry in data["files"]:
                path = os.path.normpath(os.path.join(data["current_working_directory"], entry["file"]))
                if not path.startswith(source + "/"):
                    continue
                file = files.setdefault(os.path.relpath(path, source), File())
                for line in entry["lines"]:
                    file.add(line)
    return files


def percent(part, whole):
    """As text"""
    return "%5.1f %%" % (100.0 * part / whole) if whole else "      -"


def summary(files):
    """A line for each file, and one for all"""
    total = [0, 0, 0, 0]
    yield "%-28s %15s %9s %15s %9s" % ("file", "lines", "", "branches", "")
    for name in sorted(files):
        c = files[name].counts()
        total = [a + b for a, b in zip(total, c)]
        yield "%-28s %6d of %5d %s %6d of %5d %s" % (name, c[0], c[1], percent(c[0], c[1]), c[2], c[3], percent(c[2], c[3]))
    c = total
    yield "%-28s %6d of %5d %s %6d of %5d %s" % ("all", c[0], c[1], percent(c[0], c[1]), c[2], c[3], percent(c[2], c[3]))


def uncovered(files):
    """What was not executed"""
    for name in sorted(files):
        for function, first, last in files[name].uncovered():
            yield "%s:%d-%d %s" % (name, first, last, function)


def main():
    """See the head of this file."""
    source, out = os.path.realpath(sys.argv[1]), sys.argv[2]
    dumps = glob.glob(os.path.join(out, "gcov.*"))
    if not dumps:
        sys.exit("report.py: there is nothing to report: no guest has left its counters")
    files = run_gcov(source, write_sums(dumps))
    # files that are linked in for the report itself
    for name in ("gcov.c", "gcov_begin.c"):
        files.pop(name, None)
    text = "\n".join(summary(files)) + "\n"
    with open(os.path.join(out, "summary.txt"), "w") as f:
        f.write(text)
    with open(os.path.join(out, "uncovered.txt"), "w") as f:
        f.write("\n".join(uncovered(files)) + "\n")
    print(text, end="")


main()
