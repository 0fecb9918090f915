#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make results.md of results.csv, and a JSON of the counted part: report.py DIR [JSON]"""
import collections
import csv
import json
import os
import statistics
import sys

TITLES = {"host": "One host", "veth1500": "veth, MTU 1500", "veth9000": "veth, MTU 9000"}
NAMES = {"softmr": "softmr", "softmr-wire": "softmr, packets",
         "rxe": "rxe", "siw": "siw", "tcp": "TCP", "ucx": "UCX, memory"}
REGION_ROWS = {
    ("reg_4k_pages", "reg_ms"): "register {}, 4 KiB pages, ms",
    ("reg_4k_pages", "dereg_ms"): "deregister it, ms",
    ("reg_4k_pages", "kernel_KiB_per_GiB"): "kernel memory, KiB for 1 GiB",
    ("many_mrs", "reg_usec_each"): "register 4 KiB, {} times, us each",
    ("many_mrs", "dereg_usec_each"): "deregister them, us each",
    ("many_mrs", "kernel_bytes_each"): "kernel memory, bytes each",
    ("odp_fault", "first_access_usec"): "first access to an on-demand page, us",
    ("odp_fault", "next_access_usec"): "next access, us",
    ("odp_fault", "fault_usec"): "minor fault, us",
    ("odp_writes", "cold_usec"): "WRITE of {}, on-demand, first, us",
    ("odp_writes", "prefetched_usec"): "WRITE of {}, prefetched, us",
    ("odp_writes", "hot_usec"): "WRITE of {}, next, us",
    ("odp_writes", "prefetch_gain_times"): "prefetch's gain, first : prefetched",
    ("odp_writes", "prefetch_usec_per_page"): "prefetch, us a page",
    **{(f"{kind}_{op}_bw", "MiBps"): f"ib_{op}_bw {{}}, {name}, MiB/s"
       for op in ("write", "send", "read") for kind, name in (("pinned", "pinned"), ("odp", "on demand, hits"))},
    **{(f"odp_to_pinned_{op}", "times"): f"{op}: on demand : pinned" for op in ("write", "send", "read")},
}
# The networks that lose packets
LOSSY = {"rtt100us": "round trip of 0.1 ms", "rtt20ms": "round trip of 20 ms"}
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
    results = collections.defaultdict(list)
    for row in csv.DictReader(rows):
        if row["value"]:
            results[row["where"], row["what"], row["test"], int(row["size"]), row["metric"]].append(float(row["value"]))
    return notes, results


def more_is_better(metric):
    return metric == "MiBps" or metric.endswith("times")


def better(test, ours, theirs):
    """How many times."""
    return theirs / ours if test.endswith("_lat") else ours / theirs


def figure(value):
    if value is None:
        return ""
    if 0 < abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def human(size):
    for unit, power in ("MiB", 20), ("KiB", 10):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


class Results:
    """What was measured, in several boots the median"""

    def __init__(self, results):
        self.boots = results
        self.all = {key: statistics.median(values) for key, values in results.items()}

    @staticmethod
    def key(where, what, test, size):
        metric = "usec" if test.endswith("_lat") else "MiBps"
        if what == "tcp":
            test = "tcp_lat" if metric == "usec" else "tcp_bw"
        return where, what, test, size, metric

    def value(self, where, what, test, size):
        return self.all.get(self.key(where, what, test, size))

    def several(self):
        """Something was measured in several boots"""
        return max(map(len, self.boots.values()), default=0) > 1

    def span_of(self, key):
        """The figure; of several boots the median, the least and the most"""
        values = self.boots.get(key)
        if not values or len(values) == 1:
            return figure(values and values[0])
        return f"{figure(statistics.median(values))} ({figure(min(values))} to {figure(max(values))})"

    def span(self, where, what, test, size):
        return self.span_of(self.key(where, what, test, size))

    def whats(self, where):
        present = {key[1] for key in self.all if key[0] == where and not key[4].startswith("instructions")}
        return [what for what in NAMES if what in present]

    def wheres(self):
        return [where for where in TITLES if self.whats(where)]

    def sizes(self, where, test):
        return sorted({key[3] for key in self.all if key[0] == where and key[2] == test})

    def ratio(self, where, what, test, size, whose="softmr"):
        ours, theirs = self.value(where, whose, test, size), self.value(where, what, test, size)
        return better(test, ours, theirs) if ours and theirs else None

    def regions(self, where):
        """Rows: name, the keys of softmr's figure and of rxe's, how many times better ours is"""
        for (test, metric), name in REGION_ROWS.items():
            for size in self.sizes(where, test):
                keys = [(where, what, test, size, metric) for what in ("softmr", "rxe")]
                ours, theirs = map(self.all.get, keys)
                ratio = None
                if ours and theirs and ours > 0 and theirs > 0:
                    ratio = ours / theirs if more_is_better(metric) else theirs / ours
                if ours is not None or theirs is not None:
                    yield name.format(size if test == "many_mrs" else human(size)), keys, ratio

    def counted(self):
        """Instructions: {(where, test, size): {what: number}}"""
        table = collections.defaultdict(dict)
        for (where, what, test, size, metric), value in self.all.items():
            if metric == "instructions":
                table[where, test, size][what] = value
        return table

    def goodput(self, where):
        """MiB/s: {(test, percent that are lost): {what: number}}. TCP has one kind of message."""
        table = collections.defaultdict(dict)
        for (place, what, test, _, metric), value in self.all.items():
            if place == where and metric.startswith("loss_"):
                for op in OPS if what == "tcp" else (test,):
                    table[op, float(metric.split("_")[1])][what] = value
        return dict(sorted(table.items(), key=lambda item: (OPS.index(item[0][0]), item[0][1])))


def report(notes, results):
    """Lines of results.md: of each place a table, a row for each figure, a column for each device"""
    yield from [f"# softmr and others in {'several boots: the median (least to most)' if results.several() else 'one boot'}", ""]
    yield from [note + "  " for note in notes]
    for where in dict.fromkeys(key[0] for key in results.all):
        rows = list(dict.fromkeys((test, size, metric) for place, _, test, size, metric in results.all if place == where))
        present = {key[1] for key in results.all if key[0] == where}
        whats = [what for what in NAMES if what in present] + sorted(present - set(NAMES))
        yield from ["", f"## {TITLES.get(where, where)}", "", "| | " + " | ".join(NAMES.get(what, what) for what in whats) + " |",
                    "|" + "---|" * (len(whats) + 1)]
        for test, size, metric in rows:
            cells = (results.span_of((where, what, test, size, metric)) for what in whats)
            yield f"| {test} {size}, {metric} | " + " | ".join(cells) + " |"


def main():
    directory = sys.argv[1]
    notes, results = load(os.path.join(directory, "results.csv"))
    results = Results(results)
    with open(os.path.join(directory, "results.md"), "w") as f:
        f.write("\n".join(report(notes, results)) + "\n")
    if len(sys.argv) > 2:
        rows = [{"what": what, "where": where, "test": test, "size": size, "instructions": value}
                for (where, test, size), row in results.counted().items() for what, value in row.items()]
        with open(sys.argv[2], "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
