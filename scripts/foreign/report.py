#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make one table of the results of other people's suites, for scripts/foreign.sh.

report.py OUT SUITES-DIR PAGE [CSV]
OUT/results has a file for each suite and device. Prints a table, and writes it to OUT/table.md. PAGE is
Documentation/conformance.rst, whose rows "   SUITE | TEST | why" give the reasons for which softmr may fail a test; TEST is
a pattern. Prints the failures on softmr without such a row, and the status is 1 then. CSV is
Documentation/figures/foreign.csv: the results of this run replace what it has of these suites and devices.
"""
import csv
import datetime
import fnmatch
import os
import re
import sys

DEVICES = ("softmr", "rxe", "siw")
TITLES = {"softmr": "softmr", "rxe": "rdma_rxe", "siw": "siw"}
# A test's arguments may have brackets, which would be a set in a pattern
ROW = re.compile(r"^   ([a-z0-9_]+) +\| (.+?) +\| (.+)$")


def read_result(path):
    day = datetime.date.fromtimestamp(os.path.getmtime(path))
    result = {"failing": [], "splats": [], "date": day.isoformat()}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            key, _, value = line.rstrip("\n").partition(" ")
            if key in ("failed", "splat"):
                result["failing" if key == "failed" else "splats"].append(value)
            else:
                result[key] = value
    counts = [int(n) for n in result.pop("counts", "0 0 0").split()[:3]]
    result.update(zip(("passed", "failed", "skipped"), counts))
    return result


def read_heads(directory):
    heads = {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".sh"):
            continue
        head = heads[name[:-3]] = {}
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            for line in f:
                if not line.startswith("#"):
                    break
                found = re.match(r"# (what|group|foreign|get|bed): *(.*)", line)
                if found:
                    head[found[1]] = found[2]
    return heads


def read_reasons(page):
    reasons = []
    inside = False
    with open(page, encoding="utf-8") as f:
        for line in f:
            if line.startswith("Other people's tests"):
                inside = True
            elif inside and re.match(r"^[=-]{4,}$", line):
                continue
            elif inside and line.startswith("Where softmr is different"):
                break
            row = ROW.match(line.rstrip("\n")) if inside else None
            if row and row[1] != "suite":
                reasons.append(row.groups())
    return reasons


def reason(reasons, suite, test):
    for of, pattern, why in reasons:
        if of == suite and fnmatch.fnmatchcase(test, pattern.replace("[", "[[]")):
            return why
    return None


def unused(reasons, results):
    """The rows of suites that came to their end on softmr, whose tests do not fail any more; but rare failures"""
    lines = []
    for of, pattern, why in reasons:
        result = results.get((of, "softmr"))
        if not result or result.get("status") != "ran" or "rare" in why or "busy" in why:
            continue
        if not any(reason([(of, pattern, why)], of, test) for test in result["failing"]):
            lines.append(f"{of} | {pattern}")
    return lines


def cell(result):
    if not result:
        return ""
    counts = "{passed} / {failed} / {skipped}".format(**result)
    status = result.get("status")
    if status == "missing":
        return "missing"
    if status == "skipped":
        return "not possible"
    if result["splats"]:
        status = "splat" if status == "ran" else status
    return counts if status == "ran" else f"{counts} {status}"


def rows(heads, results):
    for suite, head in heads.items():
        of = {device: results[suite, device] for device in DEVICES if (suite, device) in results}
        if not of:
            continue
        version = next((r["version"] for r in of.values() if r.get("version")), "")
        yield suite, head, version, of


def notes(of):
    """What is to be said of a suite below the table: (device, text)"""
    for device, result in of.items():
        title = TITLES[device]
        if result.get("why"):
            yield f"{title}: {result['status']}: {result['why']}"
        for splat in result["splats"]:
            yield f"{title}: the kernel printed: {splat}"
        for test in result["failing"]:
            yield f"{title}: failed: {test}"


def kernels(results):
    return sorted({r["kernel"] for r in results.values() if r.get("kernel")})


def markdown(table, results):
    yield "Passed / failed / skipped. Kernels: " + ", ".join(kernels(results)) + "."
    yield ""
    yield "| suite | version | bed | " + " | ".join(TITLES[d] for d in DEVICES) + " |"
    yield "|---" * (3 + len(DEVICES)) + "|"
    for suite, head, version, of in table:
        cells = [cell(of.get(device)) for device in DEVICES]
        if all(c == "missing" for c in cells if c):
            yield f"| {suite}: {head['what']} | | | missing: FOREIGN/{head.get('foreign', '')}: get it from {head.get('get', '')} | | |"
        else:
            beds = "+".join(sorted({r["bed"] for r in of.values()}))
            yield f"| {suite}: {head['what']} | {version} | {beds} | " + " | ".join(cells) + " |"
    for suite, _, _, of in table:
        lines = list(notes({d: r for d, r in of.items() if r.get("status") != "missing"}))
        if lines:
            yield ""
            yield f"{suite}:"
            yield ""
            yield from ("- " + line for line in lines)


def remark(result):
    """What the counts do not say"""
    status = result.get("status")
    if status == "hung":
        return "cut off"
    if status == "skipped":
        return result["why"]
    return "splat" if status == "ran" and result["splats"] else "" if status == "ran" else status


def record(path, heads, results):
    with open(path, encoding="utf-8") as f:
        lines = f.readlines()
    notes = [line for line in lines if line.startswith("#")]
    table = csv.DictReader(line for line in lines if not line.startswith("#"))
    rows = {(row["suite"], row["device"]): row for row in table}
    labels = {row["suite"]: row["label"] for row in rows.values()}
    for (suite, device), result in results.items():
        if result.get("status") == "missing":
            continue
        counts = {name: result[name] for name in ("passed", "failed", "skipped")}
        if result.get("status") in ("skipped", "crashed"):
            counts = dict.fromkeys(counts, "")
        head = heads[suite]
        rows[suite, device] = {"suite": suite, "group": head.get("group", "suite"), "label": labels.get(suite, head["what"]),
                               "device": device, **counts, "remark": remark(result), "kernel": result["kernel"],
                               "date": result["date"]}
    suites = list(labels) + sorted({suite for suite, _ in rows} - set(labels))
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(notes)
        out = csv.DictWriter(f, table.fieldnames, lineterminator="\n")
        out.writeheader()
        out.writerows(rows[suite, device] for suite in suites for device in DEVICES if (suite, device) in rows)


def main(out, suites, page, figures=None):
    heads = read_heads(suites)
    results = {}
    for name in sorted(os.listdir(os.path.join(out, "results"))):
        suite, _, device = name.rpartition(".")
        if suite in heads:
            results[suite, device] = read_result(os.path.join(out, "results", name))
    text = "\n".join(markdown(list(rows(heads, results)), results))
    with open(os.path.join(out, "table.md"), "w", encoding="utf-8") as f:
        f.write(text + "\n")
    if figures:
        record(figures, heads, results)
    print(text)
    reasons = read_reasons(page)
    bad = []
    for (suite, device), result in results.items():
        if device != "softmr" or result.get("status") in ("missing", "skipped"):
            continue
        unexplained = [t for t in result["failing"] if not reason(reasons, suite, t)]
        bad += [f"{suite}: {t}" for t in unexplained]
        if result.get("status") != "ran" or result["splats"]:
            bad.append(f"{suite}: {result.get('status')}: {result.get('why') or result['splats'][0]}")
        elif result["failed"] > len(result["failing"]):
            bad.append(f"{suite}: it failed, and names no test")
    if bad:
        print("\nFailed on softmr, without a reason in conformance.rst:")
        print("\n".join("  " + line for line in bad))
    idle = unused(reasons, results)
    if idle:
        print("\nThese rows of conformance.rst explain nothing that has failed:")
        print("\n".join("  " + line for line in idle))
    return 1 if bad else 0


if len(sys.argv) not in (4, 5):
    sys.exit(__doc__)
sys.exit(main(*sys.argv[1:]))
