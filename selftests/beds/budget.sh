#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What softmr's messages and regions cost, in instructions, by the counted part of scripts/bench.sh: nothing exceeds its
# budget in scripts/bench/budget.json by more than 2 %. That is an array as --json writes it.
# timeout: 900
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
BUDGET=$TOP/scripts/bench/budget.json

# compare BUDGET COUNTED: a result in TAP for each row of the budget
compare() {
	python3 - "$@" <<-'END'
		import json, sys

		def table(path):
		    return {(row["where"], row["test"], row["size"]): row["instructions"]
		            for row in json.load(open(path)) if row["what"] == "softmr"}

		budget, counted = map(table, sys.argv[1:])
		for key, most in budget.items():
		    name = "{}: {} of {} bytes".format(*key)
		    if key not in counted:
		        print(f"not ok 0 {name} was counted")
		        continue
		    cost = f"{counted[key]:,.0f} instructions, the budget is {most:,.0f}"
		    print(("not " if counted[key] > most * 1.02 else "") + f"ok 0 {name} is within its budget")
		    if not 0.98 <= counted[key] / most <= 1.02:
		        print(f"# {cost}" + (": lower the budget" if counted[key] < most else ""))
	END
}

# noticed DESCRIPTION FACTOR COUNT: with the counted figures multiplied by FACTOR, COUNT rows exceed the budget
noticed() {
	python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))
json.dump([dict(row, instructions=row["instructions"] * float(sys.argv[2])) for row in rows], sys.stdout)' "$BUDGET" "$2" >"$WORK/other"
	compare "$BUDGET" "$WORK/other" >"$WORK/out"
	[ "$(grep -c '^not ok' "$WORK/out")" = "$3" ]
	report $? "$1"
}

echo "TAP version 13"
ROWS=$(grep -c '"what": "softmr"' "$BUDGET")
noticed "a cost of 3 % more would be noticed" 1.03 "$ROWS"
noticed "a cost of 1 % more would not" 1.01 0
"$TOP/scripts/bench.sh" --part counted --quick --what softmr --out "$WORK/bench" --json "$WORK/counted" >"$WORK/out" 2>&1
report $? "instructions can be counted"
if [ -e "$WORK/counted" ]; then
	compare "$BUDGET" "$WORK/counted" >"$WORK/compared"
	tap_include "$WORK/compared"
fi
finish
