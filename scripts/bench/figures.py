#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of README and Documentation/ that are made of result files: figures.py TREE [--check] | --print NAME FILE

A comment ".. figures: NAME" of a page begins a table, and ".. figures end" ends it. Between them is what this program makes
of a file in Documentation/figures: the results.csv of scripts/bench.sh, or what scripts/contract.sh or scripts/foreign.sh
writes. In README a table is the indented text below a heading of IN_README. What counted instructions softmr may cost is in
scripts/bench/budget.json; the file has those of others. --check writes nothing; it names the tables that differ from their
files, and the status is 1 then. --print shows the table of a file.
"""
import collections
import csv
import glob
import itertools
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
    rows = rows_of(path)
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


def rows_of(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def counted_rows(path):
    """Of counted.csv, with softmr's instructions of the budget"""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.json")) as f:
        budget = {(row["where"], row["test"], str(row["size"])): row["instructions"] for row in json.load(f)}
    return [{**row, "softmr": budget[row["where"], row["test"], row["size"]]} for row in rows_of(path)]


def counted(section, first, *others, labels=None):
    """Instructions: softmr's of the budget, next to those of others; all rows of a section, or those of these labels"""
    def lines(path):
        rows = [row for row in counted_rows(path) if row["section"] == section and (not labels or row["label"] in labels)]
        head = [first, report.NAMES["softmr"], *(report.NAMES.get(other, other) for other in others)]
        return [*table(head, [[row["label"], rounded(row["softmr"]),
                               *(rounded(row[other]) if row[other] else "" for other in others)] for row in rows]), ""]
    return lines


# The messages of the cover letter
LETTER = [f"{message}, {where}" for where in ("one host", "veth 1500", "veth 9000")
          for message in ("WRITE 8 B", "READ 8 B", "WRITE 64 KiB", "READ 64 KiB", "SEND 64 KiB")]

# -- README

def plain(head, rows):
    """Lines of a table in indented text"""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in itertools.zip_longest(*lines, fillvalue="")]
    return [("    " + "  ".join(map(str.ljust, line, widths))).rstrip() for line in lines]


# What README shows of the counted instructions
SHOWN = ["WRITE 8 B, one host", "SEND 8 B, one host", "WRITE 64 KiB, one host", "WRITE 8 B, veth 1500", "SEND 8 B, veth 1500",
         "WRITE 64 KiB, veth 1500", "SEND 64 KiB, veth 1500", "register 4 KiB", "register 256 MiB", "first access on demand"]
# What README leaves out of the names of regions' rows
TEDIOUS = re.compile(r", 4 KiB pages|, \d+ times| each$")
# The groups of README's times: title, place, and which is softmr's there
TIMES = [("one host", "host", "softmr"), ("one host, by packets", "host", "softmr-wire"),
         ("veth, MTU 1500", "veth1500", "softmr"), ("veth, MTU 9000", "veth9000", "softmr")]


def times(where, title, ours, results):
    """Rows of README's times"""
    others = [what for what in ("rxe", "siw") if ours == "softmr" or what == "rxe"]
    tests = [(f"{op}_bw", report.HEAD_BW, f"ib_{op}_bw 64 KiB, MiB/s") for op in report.OPS]
    tests += [(f"{op}_lat", report.HEAD_LAT, f"ib_{op}_lat 2 B, us") for op in report.OPS]
    rows = [[title]]
    for test, size, name in tests:
        spans = [results.span(where, what, test, size) for what in (ours, *others)]
        if not spans[0]:
            continue
        ratios = [report.figure(results.ratio(where, what, test, size, ours)) for what in others]
        rows.append(["  " + name, *spans, *[""] * (3 - len(spans)), *ratios])
    return rows if rows[1:] else []


def speeds(directory):
    """Counted instructions first: they are the same on each machine. Then times"""
    shown = {row["label"]: row for row in counted_rows(f"{directory}/counted.csv")}
    rows = [[label, rounded(row["softmr"]), rounded(row["rxe"]), rounded(row["TCP"]) if row["TCP"] else "",
             report.figure(float(row["rxe"]) / row["softmr"])] for label, row in ((label, shown[label]) for label in SHOWN)]
    lines = plain(["counted instructions, both ends", "softmr", "rxe", "TCP", "softmr : rxe"], rows)
    results = report.Results(report.load(f"{directory}/speeds.csv")[1])
    rows = [row for group in TIMES for row in times(group[1], group[0], group[2], results)]
    rows += [["memory regions"]] + [["  " + TEDIOUS.sub("", name), *map(results.span_of, keys), "", report.figure(ratio)]
                                    for name, keys, ratio in results.regions("regions") if ratio]
    head = ["times, on User-Mode Linux", "softmr", "rxe", "siw", "softmr : rxe", ": siw"]
    return [*lines, "", *plain(head, rows)]


def cell(row):
    if not row:
        return ""
    return " ".join(filter(None, [" / ".join(filter(None, (row["passed"], row["failed"], row["skipped"]))), row["remark"]]))


def bed(kernel):
    """A kernel's release in a word"""
    if not kernel.startswith("UML"):
        return "QEMU"
    return "UML" if kernel.endswith("plain") else "UML, KASAN"


def foreign(group):
    """A group of the suites of scripts/foreign.sh: passed, failed, skipped"""
    def lines(directory):
        results = collections.defaultdict(dict)
        for row in rows_of(f"{directory}/foreign.csv"):
            if row["group"] == group:
                results[row["label"]][row["device"]] = row
        rows = [[label, bed(of["softmr"]["kernel"]), *(cell(of.get(device)) for device in ("softmr", "rxe", "siw"))]
                for label, of in results.items()]
        return plain(["passed / failed / skipped", "kernel", "softmr", "rxe", "siw"], rows)
    return lines


def short(directory):
    """The few figures of README's beginning"""
    suite = {row["device"]: row for row in rows_of(f"{directory}/foreign.csv") if row["suite"] == "rdma_core_newest"}
    results = report.Results(report.load(f"{directory}/speeds.csv")[1])
    total = sum(int(suite["softmr"][name]) for name in ("passed", "failed", "skipped"))
    rows = [[f"{suite['softmr']['label']}: of {total} passed", *(suite[what]["passed"] for what in ("softmr", "rxe"))]]
    rows += [[f"ib_write_bw 64 KiB, {title}, MiB/s", *(report.figure(results.value(where, what, "write_bw", report.HEAD_BW))
                                                       for what in ("softmr", "rxe"))]
             for where, title in (("host", "two processes of one host"), ("veth1500", "veth, MTU 1500"))]
    rows += [[name, *(report.figure(results.all[key]) for key in keys)]
             for name, keys, _ in results.regions("regions") if name.startswith("kernel memory, KiB")]
    return plain(["", "softmr", "rdma_rxe"], rows)


IN_README = {"What it gives you that rdma_rxe does not": short, "How fast": speeds, "Other people's tests": foreign("suite"),
             "Users in the kernel": foreign("kernel")}


def readme(text, directory):
    for title, lines in IN_README.items():
        block = re.compile(rf"(^{re.escape(title)}\n-+\n\n)((?:    .*\n|\n)+)", re.M)
        text = block.sub(lambda m, lines=lines: m[1] + "\n".join(lines(directory)) + "\n\n", text, count=1)
    return text


# The file of each name, and what is made of it
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


def page(path, text, directory):
    """The page as its files make it"""
    if os.path.basename(path) == "README":
        return readme(text, directory)
    return BLOCK.sub(lambda m: m[1] + written(m[2], os.path.join(directory, f"{FIGURES[m[2]][0]}.csv")) + m[4], text)


def main():
    if sys.argv[1] == "--print":
        print(written(*sys.argv[2:]), end="")
        return
    tree, check, status = sys.argv[1], sys.argv[2:] == ["--check"], 0
    pages = glob.glob(os.path.join(tree, "Documentation", "**", "*.rst"), recursive=True)
    for path in [os.path.join(tree, "README"), *sorted(pages)]:
        with open(path) as f:
            old = f.read()
        if old.count(".. figures: ") != len(BLOCK.findall(old)):
            print(f"{os.path.relpath(path, tree)}: a table has no end, or no empty line behind its beginning")
            status = 1
        new = page(path, old, os.path.join(tree, "Documentation/figures"))
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
