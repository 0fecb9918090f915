#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make results.md and gnuplot scripts of results.csv, and a JSON of the counted part: report.py DIR [JSON]"""
import collections
import csv
import json
import os
import statistics
import sys

TITLES = {"host": "One host", "veth1500": "veth, MTU 1500", "veth9000": "veth, MTU 9000"}
NAMES = {"softmr": "softmr", "softmr-wire": "softmr, packets",
         "rxe": "rxe", "siw": "siw", "tcp": "TCP", "ucx": "UCX, memory"}
# The boots that measure memory regions. Their results: (test, metric) and its name, with {} for the size
REGION_TITLES = {"regions": "Memory regions", "hugepages": "Memory regions, a QEMU guest with huge pages"}
REGION_ROWS = {
    ("reg_4k_pages", "reg_ms"): "register {}, 4 KiB pages, ms",
    ("reg_4k_pages", "dereg_ms"): "deregister it, ms",
    ("reg_4k_pages", "kernel_KiB_per_GiB"): "kernel memory, KiB for 1 GiB",
    ("reg_2m_pages", "reg_ms"): "register {}, 2 MiB pages, ms",
    ("reg_2m_pages", "dereg_ms"): "deregister it, ms",
    ("reg_2m_pages", "kernel_KiB_per_GiB"): "kernel memory, KiB for 1 GiB",
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
# Measurements with many QPs, namespaces or links
SCALE_TITLES = {"process": "QPs in one process", "links": "Links in one namespace", "shared": "A link in each namespace, netns shared",
                "exclusive": "Links and QPs in many namespaces, netns exclusive",
                "nodes": "Open MPI on many nodes, all to all"}
# The networks that lose packets
LOSSY = {"rtt100us": "round trip of 0.1 ms", "rtt20ms": "round trip of 20 ms"}
OPS = ("write", "send", "read")
HEAD_BW, HEAD_LAT = 65536, 2
# Many QPs: the size of messages, the metric, its unit
SIDE_BY_SIDE = ((8, "Mmsgps", "millions of messages a second"), (65536, "MiBps", "MiB/s"))


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

    def latencies(self, where):
        """Rows of a table of several boots: what each device took"""
        return [[f"ib_{op}_lat", *(self.span(where, what, f"{op}_lat", HEAD_LAT) for what in self.whats(where))] for op in OPS]

    def whats(self, where):
        present = {key[1] for key in self.all if key[0] == where and not key[4].startswith("instructions")}
        return [what for what in NAMES if what in present]

    def others(self, where):
        return [what for what in self.whats(where) if not what.startswith("softmr")]

    def timed(self):
        """There are others than those of the counted part"""
        return any(not key[4].startswith("instructions") for key in self.all)

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

    def scale(self, where, what):
        """The numbers of things, and rows: what was measured, {number of things: figure}"""
        rows = collections.defaultdict(dict)
        for (place, whose, test, size, metric), value in self.all.items():
            if (place, whose) == (where, what):
                rows[f"{test}: {metric}"][size] = value
        return sorted({size for row in rows.values() for size in row}), rows

    def side_by_side(self, where, size, metric):
        """Of WRITEs of many QPs: {number of QPs: {what: figure}}"""
        table = collections.defaultdict(dict)
        for (place, what, test, qps, name), value in self.all.items():
            if (place, test, name) == (where, f"qps_{size}", metric):
                table[qps][what] = value
        return dict(sorted(table.items()))

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
        self.out = [f"# softmr, rdma_rxe, siw and TCP in {'several boots' if results.several() else 'one boot'}", ""]
        self.out += [note + "  " for note in notes]
        if not results.timed():
            self.out += [""]
            self.counted()
            return
        if results.several():
            self.out += ["", "A figure is the median of the boots (least to most)."]
        self.out += ["", "Ratios say how many times better softmr is: above 1 it is faster. TCP is qperf's, message by message.",
                     "", "## In short", ""]
        self.summary()
        self.memcpy()
        self.counts()
        self.side_by_side()
        self.regions()
        self.counted()
        self.goodput()
        self.scale()
        self.details()

    def table(self, head, rows):
        self.out += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        self.out += ["| " + " | ".join(row) + " |" for row in rows] + [""]

    def head(self, where, first):
        return [first, *(NAMES[what] for what in self.results.whats(where)),
                *(f"softmr : {NAMES[what]}" for what in self.results.others(where))]

    def row(self, where, test, size, label):
        return [label, *(self.results.span(where, what, test, size) for what in self.results.whats(where)),
                *(figure(self.results.ratio(where, what, test, size)) for what in self.results.others(where))]

    def summary(self):
        for where in self.results.wheres():
            rows = [self.row(where, f"{op}_bw", HEAD_BW, f"ib_{op}_bw {human(HEAD_BW)}, MiB/s") for op in OPS]
            rows += [self.row(where, f"{op}_lat", HEAD_LAT, f"ib_{op}_lat {human(HEAD_LAT)}, us") for op in OPS]
            rows = [row for row in rows if any(row[1:])]
            self.out += [f"### {TITLES[where]}", ""]
            self.table(self.head(where, ""), rows)
        rows = [[TITLES[key[0]], figure(value)] for key, value in self.results.all.items() if key[2] == "iperf3"]
        if rows:
            self.out += ["iperf3, which does not wait for each message:", ""]
            self.table(["", "MiB/s"], rows)

    def memcpy(self):
        copies = {test: {key[3]: value for key, value in self.results.all.items() if key[2] == test} for test in ("memcpy", "cma")}
        if copies["memcpy"]:
            self.out += ["## Copying memory, one CPU, MiB/s", ""]
            self.table(["bytes", "memcpy", "CMA"],
                       [[human(size), figure(value), figure(copies["cma"].get(size))] for size, value in copies["memcpy"].items()])

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

    def side_by_side(self):
        for where in self.results.wheres():
            for size, metric, unit in SIDE_BY_SIDE:
                rows = self.results.side_by_side(where, size, metric)
                whats = [what for what in NAMES if any(what in row for row in rows.values())]
                if rows:
                    self.out += [f"## {TITLES[where]}, QPs side by side: WRITE {human(size)}, {unit}", ""]
                    self.table(["QPs", *(NAMES[what] for what in whats)],
                               [[str(qps), *(figure(row.get(what)) for what in whats)] for qps, row in rows.items()])

    def regions(self):
        for where, title in REGION_TITLES.items():
            rows = [[name, *map(self.results.span_of, keys), figure(ratio)] for name, keys, ratio in self.results.regions(where)]
            if rows:
                self.out += [f"## {title}", ""]
                self.table(["", "softmr", "rxe", "softmr : rxe"], rows)

    def counted(self):
        counted = self.results.counted()
        if not counted:
            return
        self.out += ["## Instructions, both ends together", "",
                     "Of a message, of one call of a region's, of a page's first access, of a page's prefetch.", ""]
        whats = [what for what in NAMES if any(what in row for row in counted.values())]
        self.table(["", *(NAMES[what] for what in whats)],
                   [[f"{TITLES[where]}, {test} {human(size)}",
                     *(f"{row[what]:,.0f}" if what in row else "" for what in whats)]
                    for (where, test, size), row in counted.items()])

    def scale(self):
        for where, title in SCALE_TITLES.items():
            for what, name in NAMES.items():
                sizes, rows = self.results.scale(where, what)
                if rows:
                    self.out += [f"## {title}: {name}", ""]
                    self.table(["", *map(str, sizes)],
                               [[row, *(figure(values.get(size)) for size in sizes)] for row, values in rows.items()])

    def goodput(self):
        for where, title in LOSSY.items():
            rows = [[op, f"{loss:g}", *(figure(row.get(what)) for what in ("softmr", "rxe", "tcp")),
                     *(figure(row["softmr"] / row[what]) if row.get("softmr") and row.get(what) else "" for what in ("rxe", "tcp"))]
                    for (op, loss), row in self.results.goodput(where).items()]
            if rows:
                self.out += [f"## Packets are lost, {title}: {human(HEAD_BW)}, MiB/s", ""]
                self.table(["", "lost, %", "softmr", "rxe", "TCP", "softmr : rxe", "softmr : TCP"], rows)

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


def plot_goodput(results, where):
    """A gnuplot script: MiB/s over what is lost, a line for each kind of message."""
    lines = collections.defaultdict(list)
    for (op, loss), row in results.goodput(where).items():
        for what, value in row.items():
            lines[NAMES[what] + ("" if what == "tcp" else f", {op}")].append((loss, value))
    if not lines:
        return ""
    script = [f"set terminal svg size 900,500 background 'white'; set output 'loss-{where}.svg'",
              f"set title 'Packets are lost, {LOSSY[where]}: {human(HEAD_BW)}' noenhanced",
              "set logscale y 10; set grid; set key outside; set ylabel 'MiB/s'; set xlabel '% lost'",
              "plot " + ", ".join(f"'-' title '{name}' noenhanced with linespoints" for name in lines)]
    for values in lines.values():
        script += [f"{loss} {value}" for loss, value in sorted(set(values))] + ["e"]
    return "\n".join(script) + "\n"


def plot_side_by_side(results, where, size, metric, unit):
    """A gnuplot script: over the number of QPs."""
    rows = results.side_by_side(where, size, metric)
    whats = [what for what in NAMES if any(what in row for row in rows.values())]
    if len(rows) < 2:
        return ""
    script = [f"set terminal svg size 900,500 background 'white'; set output 'qps-{where}-{size}.svg'",
              f"set title '{TITLES[where]}: WRITE {human(size)}, QPs side by side' noenhanced",
              f"set logscale x 2; set logscale y 10; set grid; set key outside; set ylabel '{unit}'; set xlabel 'QPs'",
              "plot " + ", ".join(f"'-' title '{NAMES[what]}' noenhanced with linespoints" for what in whats)]
    for what in whats:
        script += points(rows, lambda qps, what=what: rows[qps].get(what))
    return "\n".join(script) + "\n"


def plot_regions(results, where):
    """A gnuplot script: a bar for each row that both have."""
    rows = [(name, ratio) for name, _, ratio in results.regions(where) if ratio]
    return "\n".join([
        f"set terminal svg size 900,{100 + 28 * len(rows)} background 'white'; set output '{where}.svg'",
        f"set title '{REGION_TITLES[where]}: how many times better than rxe softmr is' noenhanced",
        "set logscale x 10; set grid x; set style fill solid; unset key",
        f"set yrange [-0.7:{len(rows) - 0.3:.1f}] reverse",
        "plot '-' using (1):0:(1):2:($0-0.3):($0+0.3):ytic(1) with boxxyerror",
        *(f'"{name}" {ratio}' for name, ratio in rows), "e"]) + "\n" if rows else ""


def main():
    directory = sys.argv[1]
    notes, results = load(os.path.join(directory, "results.csv"))
    results = Results(results)
    with open(os.path.join(directory, "results.md"), "w") as f:
        f.write("\n".join(Report(notes, results).out) + "\n")
    if len(sys.argv) > 2:
        rows = [{"what": what, "where": where, "test": test, "size": size, "instructions": value}
                for (where, test, size), row in results.counted().items() for what, value in row.items()]
        with open(sys.argv[2], "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    for where in REGION_TITLES:
        script = plot_regions(results, where)
        if script:
            with open(os.path.join(directory, f"{where}.gnuplot"), "w") as f:
                f.write(script)
    for where in LOSSY:
        script = plot_goodput(results, where)
        if script:
            with open(os.path.join(directory, f"loss-{where}.gnuplot"), "w") as f:
                f.write(script)
    for where in results.wheres():
        for size, metric, unit in SIDE_BY_SIDE:
            script = plot_side_by_side(results, where, size, metric, unit)
            if script:
                with open(os.path.join(directory, f"qps-{where}-{size}.gnuplot"), "w") as f:
                    f.write(script)
        for test in [f"{op}_{kind}" for op in OPS for kind in ("bw", "lat")]:
            if len(results.sizes(where, test)) > 1:
                with open(os.path.join(directory, f"{where}-{test}.gnuplot"), "w") as f:
                    f.write(plot(results, where, test))


if __name__ == "__main__":
    main()
