#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of Documentation/ that are made of result files: figures.py TREE [--check] | --print NAME FILE

A comment ".. figures: NAME" of a page begins a table, and ".. figures end" ends it. Between them stands what this writes
of a file in Documentation/figures: the results.csv of scripts/bench.sh, or what scripts/contract.sh writes. What counted
instructions softmr may cost is in scripts/bench/budget.json; the file has those of others. --check writes nothing; it
names the tables that differ from their files, and the status is 1 then. --print shows the table of a file.
"""
import collections
import csv
import glob
import json
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


def latencies(path):
    """A table for each place: what each device took, median of the boots, least and most"""
    results, out = report.Results(report.load(path)[1]), []
    for where in results.wheres():
        head = [report.TITLES[where], *(report.NAMES[what] for what in results.whats(where))]
        out += table(head, results.latencies(where)) + [""]
    return out


def contract(path):
    """How many rows of the contract each device keeps"""
    with open(path) as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    head = ["device", f"of {len(rows)} rows kept", "broken", "skipped", "that ended the guest"]
    lines = []
    for device in list(rows[0])[1:]:
        count = collections.Counter(row[device] for row in rows)
        lines.append([report.NAMES[device], *(str(count[what]) for what in ("kept", "broken", "skipped", "died"))])
    return [*table(head, lines), ""]


def rounded(number):
    """Three digits say more than boots agree in"""
    number = float(number)
    unit = 10 ** max(len(str(int(number))) - 3, 0)
    return f"{round(number / unit) * unit:,}"


def counted(section, first, *others, labels=None):
    """Instructions: softmr's of the budget, beside those of others; all rows of a section, or those of these labels"""
    def lines(path):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.json")) as f:
            budget = {(row["where"], row["test"], str(row["size"])): row["instructions"] for row in json.load(f)}
        with open(path) as f:
            rows = [row for row in csv.DictReader(line for line in f if not line.startswith("#"))
                    if row["section"] == section and (not labels or row["label"] in labels)]
        head = [first, report.NAMES["softmr"], *(report.NAMES.get(other, other) for other in others)]
        return [*table(head, [[row["label"], rounded(budget[row["where"], row["test"], row["size"]]),
                               *(rounded(row[other]) if row[other] else "" for other in others)] for row in rows]), ""]
    return lines


# The messages of the cover letter
LETTER = [f"{message}, {where}" for where in ("one host", "veth 1500", "veth 9000")
          for message in ("WRITE 8 B", "READ 8 B", "WRITE 64 KiB", "READ 64 KiB", "SEND 64 KiB")]

# The file of each name, and its tables
FIGURES = {
    "latency": ("latency", latencies),
    "contract": ("contract", contract),
    "counted_messages": ("counted", counted("messages", "message", "rxe", "TCP")),
    "counted_regions": ("counted", counted("regions", "region", "rxe")),
    "counted_qps": ("counted", counted("qps", "QPs", "rxe")),
    "counted_letter": ("counted", counted("messages", "message", "rxe", "TCP", labels=LETTER)),
}


def written(name, path):
    """The text of a table, with what its file says of the run"""
    with open(path) as f:
        notes = [line[1:].strip() for line in f if line.startswith("#")]
    return "\n".join([*FIGURES[name][1](path), f"({'; '.join(notes)})", "", ""])


def main():
    if sys.argv[1] == "--print":
        print(written(*sys.argv[2:]), end="")
        return
    tree, check, status = sys.argv[1], sys.argv[2:] == ["--check"], 0
    for path in sorted(glob.glob(os.path.join(tree, "Documentation", "**", "*.rst"), recursive=True)):
        with open(path) as f:
            old = f.read()
        if old.count(".. figures: ") != len(BLOCK.findall(old)):
            print(f"{os.path.relpath(path, tree)}: a table has no end, or no empty line behind its beginning")
            status = 1
        new = BLOCK.sub(lambda m: m[1] + written(m[2], os.path.join(tree, "Documentation/figures", f"{FIGURES[m[2]][0]}.csv"))
                        + m[4], old)
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
