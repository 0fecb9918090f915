#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How a test is judged: by prove(1) and scripts/lib/guest.sh, and a test in C by a script that runs it
# (selftests/lib/ctest.sh). What nothing explains is a failure. And the table of skips.
# timeout: 60
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
# shellcheck source=scripts/lib/guest.sh
. "$TOP/scripts/lib/guest.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$TOP/selftests/lib/ctest.sh"

# counts STATUS LINE...: "PASSED FAILED SKIPPED" of a test that prints these lines. FAILURES are what its guest adds
FAILURES=()
counts() {
	local bad=''
	printf '%s\n' "${@:2}" | tap_with ${FAILURES[@]+"${FAILURES[@]}"} >"$WORK/tap"
	# shellcheck disable=SC2016 # the inner shell expands it
	printf '#!/bin/sh\ncat "$1"\nexit %s\n' "$1" >"$WORK/run"
	chmod +x "$WORK/run"
	prove --norc -Q --exec "$WORK/run" "$WORK/tap" >/dev/null 2>&1 || bad=$WORK/tap
	tap_counts "$bad" "$WORK/tap"
}

# told LINE...: what the table says of a test that prints these lines
told() {
	printf '%s\n' 'a,b-* test no * here' '?a test maybe' >"$WORK/table"
	printf '%s\n' "$@" >"$WORK/log"
	skips_told "$WORK/table" "$BED" test "$WORK/log" | paste -sd ';'
}

echo "TAP version 13"
check "passed, failed and skipped ones are counted" is "$(counts 1 1..3 "ok 1 a" "not ok 2 b" "ok 3 c # SKIP no tool")" "1 1 1"
check "a failure that is excused has failed" is "$(counts 0 1..2 "ok 1 a" "not ok 2 b # TODO later")" "1 1 0"
check "fewer results than planned" is "$(counts 0 1..2 "ok 1 a")" "1 1 0"
check "no plan" is "$(counts 0 "ok 1 a")" "1 1 0"
check "no result" is "$(counts 0 "a line")" "0 1 0"
check "a status, but no failure" is "$(counts 139 1..1 "ok 1 a")" "1 1 0"
check "all of it is skipped" is "$(counts 0 "1..0 # SKIP no tool")" "0 0 1"
FAILURES=("the kernel printed: BUG")
check "a splat fails a test that passed" is "$(counts 0 1..1 "ok 1 a")" "1 1 0"
check "... and one that is skipped" is "$(counts 0 "1..0 # SKIP no tool")" "0 1 0"
BED=b-1
check "a skip with a row" is "$(told "ok 1 x # SKIP no disk here")" ""
check "a skip without a row" is "$(told "ok 1 x # SKIP no disk here" "ok 2 y # SKIP other")" \
	"skipped without a row in selftests/skips: other"
check "a row without a skip" is "$(told "ok 1 x")" "selftests/skips has a row that is not true: no * here"
BED=c
check "a row of another bed" is "$(told "ok 1 x # SKIP no disk here")" "skipped without a row in selftests/skips: no disk here"

# c_fails STATUS LINE...: how many failures c_test counts of a program that prints these lines
c_fails() {
	{
		echo '#!/bin/sh'
		printf "echo '%s'\n" "${@:2}"
		echo "exit $1"
	} >"$WORK/program"
	chmod +x "$WORK/program"
	(
		TAP_FAILED=0
		c_test path "$WORK/program" >"$WORK/out"
		echo "$TAP_FAILED"
	)
}
check "a test in C that passes" is "$(c_fails 0 1..2 "ok 1 a" "ok 2 b # SKIP no tool")" 0
check "... of which one case fails" is "$(c_fails 1 1..2 "ok 1 a" "not ok 2 b")" 1
check "... that ends with status 1 after its last case" is "$(c_fails 1 1..1 "ok 1 a")" 1
check "... with status 4" is "$(c_fails 4 1..1 "ok 1 a")" 1
check "... that reports fewer cases than planned" is "$(c_fails 0 1..2 "ok 1 a")" 1
check "... that has no plan" is "$(c_fails 0 "ok 1 a")" 1
check "... that reports nothing" is "$(c_fails 0 1..0)" 1
finish
