#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of README and Documentation/ that are made of result files: figures.py TREE [--check] | --print NAME FILE

A comment ".. figures: NAME" of a page begins a table, and ".. figures end" ends it. Between them is what this program makes
of a file in Documentation/figures: a results.csv of scripts/bench.sh, or what scripts/contract.sh or scripts/foreign.sh
writes; or of the list of patches. In README a table is the indented text below a heading of IN_README. What counted
instructions softmr costs is in scripts/bench/budget.json, which a test compares; the file has those of others. --check writes
nothing; it names the tables that differ from their files, and the status is 1 then. --print shows the table of a file.

How each file is made (performance.rst, "How it is measured"): Documentation/figures/NAME.csv is build/bench/results.csv of
  speeds   scripts/bench.sh --quick --boots 5 --part network --part regions
  latency  scripts/bench.sh --part latency --boots 3
  counted  scripts/bench.sh --part counted
  cpus     scripts/bench.sh --part cpus
  loss     scripts/bench.sh --quick --part loss
  walks    scripts/bench.sh --part walks
"""
import collections
import csv
import glob
import json
import os
import re
import subprocess
import sys
import textwrap
from itertools import zip_longest

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


def counted(section, first, *others, labels=None):
    """Instructions of softmr next to those of others: all rows of a section, or those of these labels"""
    def lines(path):
        counts = instructions(path)
        whats = ("softmr", *others)
        rows = [[label, *(rounded(counts[key][what]) if what in counts[key] else "" for what in whats)]
                for label, key in COUNTED[section] if not labels or label in labels]
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


# The messages of the cover letter
LETTER = [f"{message}, {where}" for where in PLACES.values()
          for message in ("WRITE 8 B", "READ 8 B", "WRITE 64 KiB", "READ 64 KiB", "SEND 64 KiB")]

# Times: title, place, and which is softmr's there
TIMES = [("one host", "host", "softmr"), ("one host, by packets", "host", "softmr-wire"),
         ("veth, MTU 1500", "veth1500", "softmr"), ("veth, MTU 9000", "veth9000", "softmr")]
TESTS = [*((f"{op}_bw", report.HEAD_BW, f"ib_{op}_bw 64 KiB, MiB/s") for op in report.OPS),
         *((f"{op}_lat", report.HEAD_LAT, f"ib_{op}_lat 2 B, us") for op in report.OPS)]
# What README leaves out of the names of regions' rows
TEDIOUS = re.compile(r", 4 KiB pages|, \d+ times| each$")


def times(where, ours, results):
    """Rows of a place: test, the figures of softmr, rxe and siw, and how many times better softmr is"""
    others = [what for what in ("rxe", "siw") if ours == "softmr" or what == "rxe"]
    rows = []
    for test, size, name in TESTS:
        spans = [results.span(where, what, test, size) for what in (ours, *others)]
        ratios = [report.figure(results.ratio(where, what, test, size, ours)) for what in others]
        if spans[0]:
            rows.append([name, *spans, *[""] * (3 - len(spans)), *ratios])
    return rows


def region_times(results):
    """Rows of registering, as times() has them; siw is not measured"""
    return [[TEDIOUS.sub("", name), *map(results.span_of, keys), "", report.figure(ratio)]
            for name, keys, ratio in results.regions("regions") if keys[0][2] in ("reg_4k_pages", "many_mrs")]


def letter_speeds(path):
    """Times of the cover letter"""
    results = report.Results(report.load(path)[1])
    rows = [[f"{title}: {row[0]}", *row[1:5]] for title, where, ours in TIMES for row in times(where, ours, results)]
    rows += [row[:5] for row in region_times(results)]
    return [*table(["User-Mode Linux", "softmr", "rxe", "siw", "softmr : rxe"], rows), ""]


def speeds_others(path):
    """A table for each place: softmr, TCP, and what README does not show"""
    results, out = report.Results(report.load(path)[1]), []
    for where in results.wheres():
        whats = [what for what in ("softmr", "softmr-wire", "tcp", "ucx") if what in results.whats(where)]
        rows = [[name, *(results.span(where, what, test, size) for what in whats)] for test, size, name in TESTS]
        out += table([report.TITLES[where], *(report.NAMES[what] for what in whats)], [row for row in rows if any(row[1:])]) + [""]
    return out


def speeds_regions(path):
    """All that is known of memory regions"""
    results = report.Results(report.load(path)[1])
    rows = [[name, *map(results.span_of, keys), report.figure(ratio)] for name, keys, ratio in results.regions("regions")]
    return [*table(["memory regions", "softmr", "rxe", "softmr : rxe"], rows), ""]


# Suites of the cover letter
LETTER_SUITES = ("rdma_core_newest", "rdma_core", "rdma_unit_test")


def letter_suites(path):
    """Other people's suites, for the cover letter"""
    results = collections.defaultdict(dict)
    for row in rows_of(path):
        results[row["suite"]][row["device"]] = row
    rows = [[results[suite]["softmr"]["label"], *(cell(results[suite].get(what)) for what in ("softmr", "rxe", "siw"))]
            for suite in LETTER_SUITES]
    return [*table(["passed / failed / skipped", "softmr", "rxe", "siw"], rows), ""]


def letter_series(path):
    """The patches and their sizes"""
    scripts = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    kernel = os.path.join(os.path.dirname(path), "../../kernel")
    done = subprocess.run([os.path.join(scripts, "export.d/series"), path, kernel], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    patches = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    rows = [[str(n), subject.removeprefix("softmr: "), f"{round(int(lines), -2):,}"]
            for n, (lines, subject) in enumerate(patches, 1)]
    return [*table(["no.", "patch", "lines, about"], rows), ""]


# -- README

def plain(head, rows):
    """Lines of a table in indented text"""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    return [("    " + "  ".join(map(str.ljust, line, widths))).rstrip() for line in lines]


# What README shows of the counted instructions
SHOWN = ["WRITE 8 B, one host", "SEND 8 B, one host", "WRITE 64 KiB, one host", "WRITE 8 B, veth 1500", "SEND 8 B, veth 1500",
         "WRITE 64 KiB, veth 1500", "SEND 64 KiB, veth 1500", "register 4 KiB", "register 256 MiB", "first access on demand"]


def notes_of(path):
    """What a file says of its run"""
    with open(path) as f:
        return "; ".join(line[1:].strip() for line in f if line.startswith("#"))


def speeds(directory):
    """Counted instructions first: they hardly differ from boot to boot. Then times"""
    counts, keys, rows = instructions(f"{directory}/counted.csv"), dict(COUNTED["messages"] + COUNTED["regions"]), []
    for label in SHOWN:
        of = counts[keys[label]]
        rows.append([label, *(rounded(of[what]) if what in of else "" for what in ("softmr", "rxe", "tcp")),
                     report.figure(of["rxe"] / of["softmr"])])
    lines = plain(["counted instructions, both ends", "softmr", "rxe", "TCP", "softmr : rxe"], rows)
    results = report.Results(report.load(f"{directory}/speeds.csv")[1])
    rows = []
    for title, group in [*((title, times(where, ours, results)) for title, where, ours in TIMES),
                         ("memory regions", region_times(results))]:
        rows += [[title], *(["  " + row[0], *row[1:]] for row in group)] if group else []
    head = ["times, on User-Mode Linux", "softmr", "rxe", "siw", "softmr : rxe", ": siw"]
    notes = textwrap.wrap(f"times: {notes_of(f'{directory}/speeds.csv')}", 116, break_on_hyphens=False)
    return [*lines, "", *plain(head, rows), "", *("    " + line for line in notes)]


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


# Of which messages README's beginning has the instructions: those that gain, and one that loses
SHORT = ["WRITE 8 B, one host", "WRITE 64 KiB, one host", "WRITE 64 KiB, veth 1500", "SEND 8 B, veth 1500"]


def short(directory):
    """The few figures of README's beginning"""
    whats = ("softmr", "rxe", "siw")
    counts, keys = instructions(f"{directory}/counted.csv"), dict(COUNTED["messages"])
    rows = [["instructions, counted, both ends together"]]
    for label in SHORT:
        of = counts[keys[label]]
        rows.append(["  " + label, rounded(of["softmr"]), rounded(of["rxe"]), "", report.figure(of["rxe"] / of["softmr"])])
    results = report.Results(report.load(f"{directory}/speeds.csv")[1])
    rows.append(["on User-Mode Linux" + (", median of several boots" if results.several() else ", one boot")])
    rows += [[f"  ib_write_bw 64 KiB, {title}, MiB/s",
              *(report.figure(results.value(where, what, "write_bw", report.HEAD_BW)) for what in whats),
              report.figure(results.ratio(where, "rxe", "write_bw", report.HEAD_BW))]
             for title, where, ours in TIMES if ours == "softmr"]
    rows += [["  " + TEDIOUS.sub("", name), *(report.figure(results.all[key]) for key in keys), "", report.figure(ratio)]
             for name, keys, ratio in results.regions("regions") if name.startswith("kernel memory, KiB")]
    rows.append(["what works"])
    suite = {row["device"]: row for row in rows_of(f"{directory}/foreign.csv") if row["suite"] == "rdma_core_newest"}
    total = sum(int(suite["softmr"][name]) for name in ("passed", "failed", "skipped"))
    rows.append([f"  {suite['softmr']['label']}: passed, of {total}", *(suite[what]["passed"] for what in whats)])
    contract_rows = rows_of(f"{directory}/contract.csv")
    rows.append([f"  memory contract: rows kept, of {len(contract_rows)}",
                 *(str(sum(row[what] == "kept" for row in contract_rows)) if what in contract_rows[0] else "" for what in whats)])
    return plain(["", "softmr", "rdma_rxe", "siw", "softmr : rxe"], rows)


IN_README = {"What it gives you that rdma_rxe does not": short, "How fast": speeds, "Other people's tests": foreign("suite"),
             "Users in the kernel": foreign("kernel")}


def readme(text, directory):
    for title, lines in IN_README.items():
        block = re.compile(rf"(^{re.escape(title)}\n-+\n\n)((?:    .*\n|\n)+)", re.M)
        text = block.sub(lambda m, lines=lines: m[1] + "\n".join(lines(directory)) + "\n\n", text, count=1)
    return text


# The file of each name, and what is made of it
FIGURES = {
    "latency": ("latency.csv", latencies),
    "contract": ("contract.csv", contract),
    "counted_messages": ("counted.csv", counted("messages", "message", "rxe", "tcp")),
    "counted_regions": ("counted.csv", counted("regions", "region", "rxe")),
    "counted_refused": ("counted.csv", counted("refused", "refused")),
    "counted_qps": ("counted.csv", counted("qps", "QPs", "rxe")),
    "counted_lists": ("counted.csv", lists),
    "counted_letter": ("counted.csv", counted("messages", "message", "rxe", "tcp", labels=LETTER)),
    "cpus": ("cpus.csv", cpus),
    "loss": ("loss.csv", losses),
    "walks": ("walks.csv", walks),
    "speeds_others": ("speeds.csv", speeds_others),
    "speeds_regions": ("speeds.csv", speeds_regions),
    "letter_speeds": ("speeds.csv", letter_speeds),
    "letter_suites": ("foreign.csv", letter_suites),
    "letter_series": ("../upstream/series", letter_series),
}


def written(name, path):
    """The text of a table, with what its file says of the run"""
    notes = [] if name in ("letter_suites", "letter_series") else [notes_of(path)]
    if name.startswith("counted"):
        notes = ["rxe and TCP: " + notes[0], "softmr: scripts/bench/budget.json"]
    notes = [textwrap.fill(f"({'; '.join(notes)})", 120, break_on_hyphens=False), ""] if notes else []
    return "\n".join([*FIGURES[name][1](path), *notes, ""])


def page(path, text, directory):
    """The page as its files make it"""
    if os.path.basename(path) == "README":
        return readme(text, directory)
    return BLOCK.sub(lambda m: m[1] + written(m[2], os.path.join(directory, FIGURES[m[2]][0])) + m[4], text)


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
