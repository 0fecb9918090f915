#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of Documentation/ that are made of result files: figures.py TREE [--check]

A comment ".. figures: NAME" of a page begins a table, and ".. figures end" ends it. Between them stands what this writes
of Documentation/figures/NAME.csv, a results.csv of scripts/bench.sh. --check writes nothing; it names the tables that
differ from their files, and the status is 1 then.
"""
import glob
import os
import re
import sys

import report

BLOCK = re.compile(r"(^\.\. figures: (\w+)\n\n)(.*?)(^\.\. figures end$)", re.M | re.S)


def table(head, rows):
    """Lines of a simple table of reStructuredText"""
    columns = list(zip(head, *rows))
    widths = [max(map(len, column)) for column in columns]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]]
    return [rule, lines[0], rule, *lines[1:], rule]


def latencies(results):
    """A table for each place: what each device took, median of the boots, least and most"""
    out = []
    for where in results.wheres():
        head = [report.TITLES[where], *(report.NAMES[what] for what in results.whats(where))]
        out += table(head, results.latencies(where)) + [""]
    return out


# Of which results.csv each name is, and what it is made to
FIGURES = {"latency": latencies}


def written(tree, name):
    """The text of a table, with what its file says of the run"""
    notes, results = report.load(os.path.join(tree, "Documentation/figures", f"{name}.csv"))
    return "\n".join([*FIGURES[name](report.Results(results)), f"({'; '.join(notes)})", "", ""])


def main():
    tree, check, status = sys.argv[1], sys.argv[2:] == ["--check"], 0
    for path in sorted(glob.glob(os.path.join(tree, "Documentation", "*.rst"))):
        with open(path) as f:
            old = f.read()
        if old.count(".. figures: ") != len(BLOCK.findall(old)):
            print(f"{os.path.relpath(path, tree)}: a table has no end, or no empty line behind its beginning")
            status = 1
        new = BLOCK.sub(lambda m: m[1] + written(tree, m[2]) + m[4], old)
        if new == old:
            continue
        if check:
            print(f"{os.path.relpath(path, tree)}: a table is not what its file in Documentation/figures makes: "
                  "run scripts/bench/figures.py .")
            status = 1
        else:
            with open(path, "w") as f:
                f.write(new)
    sys.exit(status)


main()
