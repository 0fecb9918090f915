#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# selftests/skips, the table of what may be skipped, and how scripts/run-tests.sh compares it with a test's log.
# timeout: 60
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
TABLE=$TOP/selftests/skips

cat >"$WORK/table" <<-'EOF'
	# a comment
	*                rc     UC has no (acks)
	qemu-newest,uml  rc     one CPU
	?*               rc     too slow: * s
	qemu-oldest      rc     never here
	*                cq     another test's
	qemu-*           mr     no DMA
EOF

# told BED LINE...: what is said of a log of $TEST of these lines
TEST=rc
told() {
	printf '%s\n' "${@:2}" >"$WORK/log"
	skips_told "$WORK/table" "$1" "$TEST" "$WORK/log"
}

ACKS="ok 1 host.rc.uc # SKIP UC has no (acks)"
CPU="ok 2 host.rc.cpu # SKIP one CPU"
echo "TAP version 13"
check "skips that have rows, and rows that have skips: nothing is said" is "$(told uml "$ACKS" "$CPU" "ok 3 good")" ""
check "a row that may have no skip stands for any number" is "$(told uml "$ACKS" "$CPU" "ok 3 x # SKIP too slow: 17 s")" ""
check "a skip without a row is named" is "$(told uml "$ACKS" "$CPU" "ok 3 x # SKIP new")" \
	"skipped without a row in selftests/skips: new"
check "a row of another bed does not count" is "$(told qemu-stable "$ACKS" "$CPU")" \
	"skipped without a row in selftests/skips: one CPU"
check "a row without a skip is named" is "$(told uml "$CPU")" "selftests/skips has a row that is not true: UC has no (acks)"
check "a test that is skipped as a whole needs a row, too" is "$(told qemu-stable "$ACKS" "1..0 # SKIP no tool")" \
	"skipped without a row in selftests/skips: no tool"

TEST=mr
check "a row of several beds" is "$(told qemu-rt "ok 1 x # SKIP no DMA")" ""
check "another bed is none of these" is "$(told uml "ok 1 x # SKIP no DMA")" "skipped without a row in selftests/skips: no DMA"

# Each row names a test and beds that there are
grep -v '^#\|^$' "$TABLE" | cut -d' ' -f1 | tr -d '?' | tr , '\n' | sort -u | while IFS= read -r bed; do
	[[ $bed = *\* ]] || "$TOP/scripts/run-tests.sh" -l -b "$bed" -t cq >/dev/null 2>&1 || echo "there is no bed $bed"
done >"$WORK/out"
while read -r _ name _; do
	[ -e "$TOP/selftests/$name" ] || [ -e "$TOP/selftests/$name.c" ] || echo "$name: no such test"
done < <(grep -v '^#\|^$' "$TABLE" | sort -u -k2,2) >>"$WORK/out"
[ -s "$TABLE" ] && [ ! -s "$WORK/out" ]
report $? "each row of the table names a test and beds that there are"
finish
