#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Try the contract of Documentation/semantics.rst on softmr, rdma_rxe and siw. See -h.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

OUT=$BUILD/contract
DEVICES=(softmr rxe siw)
ASKED=()
CSV=
LIMIT=1500 # seconds of a guest; a row that waits for ever has 30

usage() {
	cat <<-EOF
		Usage: scripts/contract.sh [-d DEVICE]... [-o DIR] [-c FILE]

		Runs the tests of the rows of Documentation/semantics.rst (selftests/semantics_*) on each kind of device, in guests
		on User-Mode Linux, and says how many rows each device keeps. Where a row ends the guest, another guest goes on.

		  -d DEVICE  only this device: ${DEVICES[*]}
		  -o DIR     where the logs of the guests are written (default $OUT)
		  -c FILE    the results as a file of comma-separated values; scripts/bench/figures.py makes the table in
		             semantics.rst of Documentation/figures/contract.csv

		The exit status is 1 if softmr breaks a row.
	EOF
}

# rows_of TEST
rows_of() { sed -n 's/^ROW(\([a-z0-9_]*\),.*/\1/p' "$TOP/selftests/$1.c"; }

# answered LOG: the rows that have a result
answered() { sed -nE 's/^(not )?ok [0-9]+ host\.row\.([a-z0-9_]+)\.holds.*/\2/p' "$1"; }

# try_rows DEVICE TEST: the guest's output goes to $OUT/DEVICE.TEST.log. If the guest ends during a row, the log says
# so, and another guest continues with the next row
try_rows() {
	local log=$OUT/$1.$2.log rest=() args row
	: >"$log"
	mapfile -t rest < <(rows_of "$2")
	while [ "${#rest[@]}" -gt 0 ]; do
		args=("${rest[@]/#/-v }")
		"$TOP/scripts/uml-boot.sh" --no-build --flavour plain --timeout "$LIMIT" -- \
			"cd /usr/lib/softmr/selftests && LINK_TYPE=$1 SMR_PATHS=host ./$2 ${args[*]}" >"$OUT/boot.log" 2>&1 </dev/null || true
		cat "$OUT/boot.log" >>"$log"
		row=$(sed -nE 's/^# +RUN +row\.([a-z0-9_]+)\.holds.*/\1/p' "$OUT/boot.log" | tail -n 1)
		[ "$row" ] || die 1 "$2 on $1 has tried no row: see $OUT/boot.log"
		grep -qx "$row" <(answered "$OUT/boot.log") || echo "died at $row" >>"$log"
		mapfile -t rest < <(rows_of "$2" | grep -vxFf <(answered "$log"; sed -n 's/^died at //p' "$log"))
	done
}

# judge DEVICE...: the rows and the result of each device, as CSV
judge() {
	python3 - "$OUT" "$@" 3< <(for test in "${TESTS[@]}"; do rows_of "$test" | sed "s/^/$test /"; done) <<-'END'
		import os, re, sys

		out, devices = sys.argv[1], sys.argv[2:]
		RESULT = re.compile(r"(?:(not )?ok \d+ host\.row\.(\w+)\.holds\b(?: *# *(SKIP))?|died at (\w+))")
		print("row," + ",".join(devices))
		tests = {}
		for line in os.fdopen(3):
		    test, row = line.split()
		    tests.setdefault(test, []).append(row)
		for test, rows in tests.items():
		    said = {}
		    for device in devices:
		        with open(os.path.join(out, f"{device}.{test}.log"), errors="replace") as f:
		            for line in f:
		                if result := RESULT.match(line):
		                    broken, row, skipped, died = result.groups()
		                    what = "died" if died else "broken" if broken else "skipped" if skipped else "kept"
		                    said[device, row or died] = what
		    for row in rows:
		        print(row + "," + ",".join(said[device, row] for device in devices))
	END
}

[ "${1:-}" != --help ] || set -- -h
while getopts d:o:c:h option; do
	case $option in
	d)
		[[ " ${DEVICES[*]} " == *" $OPTARG "* ]] || die 2 "-d takes one of: ${DEVICES[*]}; not '$OPTARG'"
		ASKED+=("$OPTARG")
		;;
	o) OUT=$(realpath -m -- "$OPTARG") ;;
	c) CSV=$(realpath -m -- "$OPTARG") ;;
	h)
		usage
		exit 0
		;;
	*) die 2 "see -h" ;;
	esac
done
[ "$OPTIND" -gt $# ] || die 2 "unknown argument '${*:OPTIND:1}' (see -h)"
[ "${#ASKED[@]}" = 0 ] || DEVICES=("${ASKED[@]}")

mkdir -p "$OUT"
mapfile -t TESTS < <(cd "$TOP/selftests" && printf '%s\n' semantics_*.c | sed 's/\.c$//')
host_require uml
build_layer uml
build_uml_layer plain
for device in "${DEVICES[@]}"; do
	for test in "${TESTS[@]}"; do
		say "  BOOT  $test on $device"
		try_rows "$device" "$test"
	done
done
{
	echo "# $(date +%F), kernel: $(uml_release plain)"
	echo "# $(git -C "$TOP" rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
	judge "${DEVICES[@]}"
} >"$OUT/contract.csv"
[ -z "$CSV" ] || cp "$OUT/contract.csv" "$CSV"
python3 "$TOP/scripts/bench/figures.py" --print contract "$OUT/contract.csv"
for i in "${!DEVICES[@]}"; do
	[ "${DEVICES[i]}" = softmr ] || continue
	! cut -d, -f "1,$((i + 2))" "$OUT/contract.csv" | grep -E ',(broken|died)$' || die 1 "softmr breaks these rows"
done
