#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make results.md and gnuplot scripts of results.csv: report.py DIR"""
import collections
import csv
import os
import sys

TITLES = {"host": "One host", "veth1500": "veth, MTU 1500", "veth9000": "veth, MTU 9000"}
NAMES = {"softmr": "softmr", "softmr-wire": "softmr, packets", "rxe": "rxe", "siw": "siw", "tcp": "TCP"}
OPS = ("write", "send", "read")
HEAD_BW, HEAD_LAT = 65536, 2


def load(path):
    notes, rows = [], []
    with open(path) as f:
        for line in f:
            if line.startswith("#"):
                notes.append(line[1:].strip())
            else:
                rows.append(line)
    results = {}
    for row in csv.DictReader(rows):
        if row["value"]:
            results[row["where"], row["what"], row["test"], int(row["size"]), row["metric"]] = float(row["value"])
    return notes, results


def better(test, ours, theirs):
    """How many times."""
    return theirs / ours if test.endswith("_lat") else ours / theirs


def figure(value):
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def human(size):
    for unit, power in ("MiB", 20), ("KiB", 10):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


class Results:
    def __init__(self, results):
        self.all = results

    def value(self, where, what, test, size):
        metric = "usec" if test.endswith("_lat") else "MiBps"
        if what == "tcp":
            test = "tcp_lat" if metric == "usec" else "tcp_bw"
        return self.all.get((where, what, test, size, metric))

    def whats(self, where):
        present = {key[1] for key in self.all if key[0] == where}
        return [what for what in NAMES if what in present]

    def others(self, where):
        return [what for what in self.whats(where) if not what.startswith("softmr")]

    def wheres(self):
        return [where for where in TITLES if self.whats(where)]

    def sizes(self, where, test):
        return sorted({key[3] for key in self.all if key[0] == where and key[2] == test})

    def ratio(self, where, what, test, size):
        ours, theirs = self.value(where, "softmr", test, size), self.value(where, what, test, size)
        return better(test, ours, theirs) if ours and theirs else None

    def per_message(self):
        counts = collections.defaultdict(dict)
        for (where, what, test, _, metric), value in self.all.items():
            if metric.startswith("per_message_") and "bytes" not in metric:
                counts[where, what, test][metric[len("per_message_"):]] = value
        return counts


class Report:
    """results.md"""

    def __init__(self, notes, results):
        self.results = results
        self.out = ["# softmr, rdma_rxe, siw and TCP in one boot", ""]
        self.out += [note + "  " for note in notes]
        self.out += ["", "Ratios say how many times better softmr is: above 1 it is faster. TCP is qperf's, message by message.",
                     "", "## In short", ""]
        self.summary()
        self.memcpy()
        self.counts()
        self.details()

    def table(self, head, rows):
        self.out += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        self.out += ["| " + " | ".join(row) + " |" for row in rows] + [""]

    def head(self, where, first):
        return [first, *(NAMES[what] for what in self.results.whats(where)),
                *(f"softmr : {NAMES[what]}" for what in self.results.others(where))]

    def row(self, where, test, size, label):
        return [label, *(figure(self.results.value(where, what, test, size)) for what in self.results.whats(where)),
                *(figure(self.results.ratio(where, what, test, size)) for what in self.results.others(where))]

    def summary(self):
        for where in self.results.wheres():
            rows = [self.row(where, f"{op}_bw", HEAD_BW, f"ib_{op}_bw {human(HEAD_BW)}, MiB/s") for op in OPS]
            rows += [self.row(where, f"{op}_lat", HEAD_LAT, f"ib_{op}_lat {human(HEAD_LAT)}, us") for op in OPS]
            self.out += [f"### {TITLES[where]}", ""]
            self.table(self.head(where, ""), rows)
        rows = [[TITLES[key[0]], figure(value)] for key, value in self.results.all.items() if key[2] == "iperf3"]
        if rows:
            self.out += ["iperf3, which does not wait for each message:", ""]
            self.table(["", "MiB/s"], rows)

    def memcpy(self):
        rows = [[human(key[3]), figure(value)] for key, value in self.results.all.items() if key[2] == "memcpy"]
        if rows:
            self.out += ["## Copying memory, one CPU, user space", ""]
            self.table(["bytes", "MiB/s"], rows)

    def counts(self):
        counts = self.results.per_message()
        if not counts:
            return
        self.out += [f"## What one message of {human(HEAD_BW)} costs", "",
                     "Counters of both devices together, divided by the messages.", ""]
        names = sorted({name for c in counts.values() for name in c})
        self.table(["", *names],
                   [[f"{TITLES[where]}, {NAMES[what]}, {test}", *(figure(c.get(name, 0)) for name in names)]
                    for (where, what, test), c in counts.items()])

    def details(self):
        for where in self.results.wheres():
            for op in OPS:
                for test, unit in (f"{op}_bw", "MiB/s"), (f"{op}_lat", "us, typical"):
                    sizes = self.results.sizes(where, test)
                    if len(sizes) > 1:
                        self.out += [f"## {TITLES[where]}: ib_{test}, {unit}", ""]
                        self.table(self.head(where, "bytes"), [self.row(where, test, s, human(s)) for s in sizes])


def points(sizes, value_of):
    return [f"{size} {value_of(size)}" for size in sizes if value_of(size)] + ["e"]


def plot(results, where, test):
    """A gnuplot script: absolute figures above, softmr's ratio to each of the others below."""
    sizes, name, lat = results.sizes(where, test), f"{where}-{test}", test.endswith("_lat")
    whats, others = results.whats(where), results.others(where)
    script = [
        f"set terminal svg size 900,900 background 'white'; set output '{name}.svg'",
        "set logscale x 2; set logscale y 10; set grid; set key left top; set format x '%.0b%B'",
        "set multiplot layout 2,1",
        f"set title 'ib_{test}: {TITLES[where]}' noenhanced; set ylabel '{'us' if lat else 'MiB/s'}'; set xlabel 'bytes'",
        "plot " + ", ".join(f"'-' title '{NAMES[what]}' with linespoints" for what in whats),
    ]
    for what in whats:
        script += points(sizes, lambda size, what=what: results.value(where, what, test, size))
    script += ["set title 'how many times better softmr is'; set ylabel 'ratio'",
               "plot " + ", ".join(["1 notitle lc 'black'",
                                    *(f"'-' title 'than {NAMES[what]}' with linespoints" for what in others)])]
    for what in others:
        script += points(sizes, lambda size, what=what: results.ratio(where, what, test, size))
    return "\n".join(script + ["unset multiplot"]) + "\n"


def main():
    directory = sys.argv[1]
    notes, results = load(os.path.join(directory, "results.csv"))
    results = Results(results)
    with open(os.path.join(directory, "results.md"), "w") as f:
        f.write("\n".join(Report(notes, results).out) + "\n")
    for where in results.wheres():
        for test in [f"{op}_{kind}" for op in OPS for kind in ("bw", "lat")]:
            if len(results.sizes(where, test)) > 1:
                with open(os.path.join(directory, f"{where}-{test}.gnuplot"), "w") as f:
                    f.write(plot(results, where, test))


main()
