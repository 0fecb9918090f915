#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of Documentation/ that are made of result files: figures.py TREE [--check] | --print NAME FILE

A comment ".. figures: NAME" of a page begins a table, and ".. figures end" ends it. Between them is what this program makes
of a file in Documentation/figures: a results.csv of scripts/bench.sh, or what scripts/contract.sh or scripts/foreign.sh
writes. What counted instructions softmr costs is in scripts/bench/budget.json, which a test compares; the file has those of
others. --check writes nothing; it names the tables that differ from their files, and the status is 1 then. --print shows
the table of a file. performance.rst, "Where the tables come from", says how each file is made.
"""
import collections
import csv
import glob
import json
import os
import re
import sys
import textwrap

import report

BLOCK = re.compile(r"(^\.\. figures: (\w+)\n\n)(.*?)(^\.\. figures end$)", re.M | re.S)


def table(head, rows):
    """Lines of a simple table of reStructuredText"""
    columns = list(zip(head, *rows))
    widths = [max(map(len, column)) for column in columns]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]]
    return [rule, lines[0], rule, *lines[1:], rule]


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


# The places where instructions are counted, and what is counted: label, (place, test, size)
PLACES = {"host": "one host", "veth1500": "veth 1500", "veth9000": "veth 9000"}
COUNTED = {
    "messages": [(f"{op.upper()} {report.human(size)}, {place}", (where, op, size)) for where, place in PLACES.items()
                 for op in ("write", "read", "send") for size in (8, 4096, report.HEAD_BW)],
    "regions": [*((f"{name} {report.human(size)}", ("host", test, size)) for size in (1 << 12, 1 << 21, 1 << 28)
                  for test, name in (("reg", "register"), ("dereg", "deregister"))),
                ("first access on demand", ("host", "odp_fault", 8)), ("prefetch, a page", ("host", "prefetch", 4096))],
    "refused": [("WRITE with a wrong rkey", ("host", "refused", 8)), ("verb with a wrong argument", ("host", "refused_verb", 8))],
    "qps": [(f"{label}, {PLACES[where]}", (where, test, 8)) for where in ("host", "veth1500")
            for label, test in (("1", "write_qps_1"), ("16", "write_qps_16"), ("1000", "write_qps_1000"),
                                ("1, 100,000 regions", "write_mrs_100000"))],
}


def instructions(path):
    """Counted instructions: {(place, test, size): {what: number}}; softmr's are those of the budget"""
    counts = report.Results(report.load(path)[1]).counted()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.json")) as f:
        for row in json.load(f):
            counts[row["where"], row["test"], row["size"]]["softmr"] = row["instructions"]
    return counts


def counted(section, first, *others):
    """Instructions of softmr next to those of others"""
    def lines(path):
        counts = instructions(path)
        whats = ("softmr", *others)
        rows = [[label, *(rounded(counts[key][what]) if what in counts[key] else "" for what in whats)]
                for label, key in COUNTED[section]]
        return [*table([first, *(report.NAMES[what] for what in whats)], rows), ""]
    return lines


def lists(path):
    """Instructions of messages that are posted by lists"""
    counts = instructions(path)
    rows = [[PLACES[where], *(rounded(counts[where, test, 8][what]) for what in ("softmr", "rxe")
                              for test in ("write_list_16", "write_qps_1"))] for where in ("host", "veth1500")]
    return [*table(["where", "softmr, lists", "one by one", "rxe, lists", "one by one"], rows), ""]


def cpus(path):
    """Instructions of messages that several CPUs exchange"""
    counts = report.Results(report.load(path)[1]).counted()
    columns = [(where, what) for where in ("host", "veth1500") for what in ("softmr", "rxe")]
    numbers = sorted({int(test.rpartition("_")[2]) for _, test, _ in counts})
    head = ["CPUs", *(f"{PLACES[where]}, {report.NAMES[what]}" for where, what in columns)]
    rows = [[str(n), *(rounded(counts[where, f"send_cpus_{n}", 8][what]) for where, what in columns)] for n in numbers]
    return [*table(head, rows), ""]


def losses(path):
    """What gets through when packets are lost"""
    results, rows = report.Results(report.load(path)[1]), []
    columns = [(op, "softmr") for op in report.OPS] + [("write", "rxe"), ("write", "tcp")]
    for where, title in report.LOSSY.items():
        rates = results.goodput(where)
        rows += [[f"{title.removeprefix('round trip of ')}, {percent:g} %",
                  *(report.figure(rates[op, percent].get(what)) for op, what in columns)]
                 for percent in sorted({key[1] for key in rates})]
    return [*table(["round trip, lost", "WRITE", "SEND", "READ", "rxe, WRITE", "TCP"], rows), ""]


def walks(path):
    """What a message calls in softmr"""
    rows = collections.defaultdict(dict)
    for row in rows_of(path):
        op, _, part = row["test"].partition("_")
        label = f"{op.upper()} {report.human(int(row['size']))}, {PLACES[row['where']]}" + (f": {part}" if part else "")
        rows[label][row["metric"]] = row["value"]
    metrics = ("calls", "functions", "files", "depth")
    return [*table(["message", *metrics], [[label, *(row[metric] for metric in metrics)] for label, row in rows.items()]), ""]


# Times: title, place, and which is softmr's there
TIMES = [("one host", "host", "softmr"), ("one host, by packets", "host", "softmr-wire"),
         ("veth, MTU 1500", "veth1500", "softmr"), ("veth, MTU 9000", "veth9000", "softmr")]
TESTS = [*((f"{op}_bw", report.HEAD_BW, f"ib_{op}_bw 64 KiB, MiB/s") for op in report.OPS),
         *((f"{op}_lat", report.HEAD_LAT, f"ib_{op}_lat 2 B, us") for op in report.OPS)]
def times(where, ours, results):
    """Rows of a place: test, the figures of softmr, rxe and siw, and how many times better than rxe softmr is"""
    rows = []
    for test, size, name in TESTS:
        spans = [results.span(where, what, test, size) for what in (ours, "rxe", "siw") if what != "siw" or ours == "softmr"]
        if spans[0]:
            rows.append([name, *spans, *[""] * (3 - len(spans)), report.figure(results.ratio(where, "rxe", test, size, ours))])
    return rows


def speeds(path):
    """Bandwidth and latency of the devices"""
    results = report.Results(report.load(path)[1])
    rows = [[f"{title}: {row[0]}", *row[1:]] for title, where, ours in TIMES for row in times(where, ours, results)]
    return [*table(["User-Mode Linux", "softmr", "rxe", "siw", "softmr : rxe"], rows), ""]


def speeds_others(path):
    """TCP, and UCX over shared memory"""
    results, rows = report.Results(report.load(path)[1]), []
    tests = [("TCP", "tcp", "write"), *((f"UCX over shared memory, {op.upper()}", "ucx", op) for op in report.OPS)]
    for label, what, op in tests:
        for where in results.wheres():
            spans = [results.span(where, what, f"{op}_{test}", size) for test, size in (("bw", report.HEAD_BW), ("lat", report.HEAD_LAT))]
            rows += [[f"{label}, {report.TITLES[where]}".replace("One", "one"), *spans]] if any(spans) else []
    return [*table(["User-Mode Linux", "64 KiB, MiB/s", "2 B, us"], rows), ""]


def speeds_regions(path):
    """All that is known of memory regions"""
    results = report.Results(report.load(path)[1])
    rows = [[name, *map(results.span_of, keys), report.figure(ratio)] for name, keys, ratio in results.regions("regions")]
    return [*table(["memory regions", "softmr", "rxe", "softmr : rxe"], rows), ""]


def cell(row):
    if not row:
        return ""
    return " ".join(filter(None, [" / ".join(filter(None, (row["passed"], row["failed"], row["skipped"]))), row["remark"]]))


def bed(kernel):
    """A kernel's release in a word"""
    if not kernel.startswith("UML"):
        return "QEMU"
    return "UML" if kernel.endswith("plain") else "UML, KASAN"


def suites(group):
    """A group of the suites of scripts/foreign.sh: passed, failed, skipped"""
    def lines(path):
        results = collections.defaultdict(dict)
        for row in rows_of(path):
            if row["group"] == group:
                results[row["label"]][row["device"]] = row
        rows = [[label, bed(of["softmr"]["kernel"]), *(cell(of.get(device)) for device in ("softmr", "rxe", "siw"))]
                for label, of in results.items()]
        return [*table(["passed / failed / skipped", "kernel", "softmr", "rxe", "siw"], rows), ""]
    return lines


def notes_of(path):
    """What a file says of its run"""
    with open(path) as f:
        return "; ".join(line[1:].strip() for line in f if line.startswith("#"))


# The file of each name, and what is made of it
FIGURES = {
    "contract": ("contract.csv", contract),
    "counted_messages": ("counted.csv", counted("messages", "message", "rxe", "tcp")),
    "counted_regions": ("counted.csv", counted("regions", "region", "rxe")),
    "counted_refused": ("counted.csv", counted("refused", "refused")),
    "counted_qps": ("counted.csv", counted("qps", "QPs", "rxe")),
    "counted_lists": ("counted.csv", lists),
    "cpus": ("cpus.csv", cpus),
    "loss": ("loss.csv", losses),
    "walks": ("walks.csv", walks),
    "speeds": ("speeds.csv", speeds),
    "speeds_others": ("speeds.csv", speeds_others),
    "speeds_regions": ("speeds.csv", speeds_regions),
    "suites": ("foreign.csv", suites("suite")),
    "suites_kernel": ("foreign.csv", suites("kernel")),
}


def written(name, path):
    """The text of a table, with what its file says of the run"""
    notes = [] if FIGURES[name][0] == "foreign.csv" else [notes_of(path)]
    if name.startswith("counted"):
        notes = ["rxe and TCP: " + notes[0], "softmr: scripts/bench/budget.json"]
    notes = [textwrap.fill(f"({'; '.join(notes)})", 120, break_on_hyphens=False), ""] if notes else []
    return "\n".join([*FIGURES[name][1](path), *notes, ""])


def page(text, directory):
    """The page as its files make it"""
    return BLOCK.sub(lambda m: m[1] + written(m[2], os.path.join(directory, FIGURES[m[2]][0])) + m[4], text)


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
        new = page(old, os.path.join(tree, "Documentation/figures"))
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
