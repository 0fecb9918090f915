#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How a test is judged by its output: scripts/run-tests.sh judges a log (scripts/lib/tap.sh), and a script judges a test in C
# that it runs (selftests/lib/ctest.sh). What nothing explains is a failure.
# timeout: 60
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$TOP/selftests/lib/ctest.sh"

# counts STATUS LINE...: "PASSED FAILED SKIPPED WHY" of a log of these lines
counts() {
	printf '%s\n' "${@:2}" >"$WORK/log"
	tap_counts "$1" "$WORK/log"
}

echo "TAP version 13"
check "passed, failed and skipped ones are counted" is "$(counts 1 1..3 "ok 1 a" "not ok 2 b" "ok 3 c # SKIP no tool")" "1 1 1 "
check "a failure that is excused has failed" is "$(counts 0 1..2 "ok 1 a" "not ok 2 b # TODO later")" "1 1 0 "
check "fewer results than planned" is "$(counts 0 1..2 "ok 1 a")" "1 1 0 it planned 2 tests and reported 1"
check "no plan" is "$(counts 0 "ok 1 a")" "1 1 0 it printed no plan"
check "no result" is "$(counts 0 "a line")" "0 1 0 it reported no test"
for status in 1 4 139; do
	check "status $status, but no failure" is "$(counts "$status" 1..1 "ok 1 a")" "1 1 0 no test failed, but it did"
done
check "all of it is skipped" is "$(counts 4 "1..0 # SKIP no tool")" "0 0 1"
check "no log" is "$(tap_counts 0 "$WORK/none")" "0 1 0 it left no log"

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
