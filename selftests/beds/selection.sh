#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which tests scripts/run-tests.sh runs on which bed: each test on all beds, except where the bed's kernel lacks
# something; fewer in the short run.
# timeout: 120
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# listed FILE OPTION...: "BED TEST" for each test that would run
listed() { "$TOP/scripts/run-tests.sh" -l "${@:2}" >"$WORK/$1" 2>"$WORK/out"; }

# on BED FILE
on() { sed -n "s/^$1 //p" "$WORK/$2" | sort; }

# lacks BED TEST...: all tests but these run there
lacks() {
	local bed=$1
	shift
	comm -23 "$WORK/tests" <(on "$bed" all) >"$WORK/out"
	printf '%s\n' "$@" | diff - "$WORK/out" >/dev/null
	report $? "$bed: everything but $*"
}

echo "TAP version 13"
listed all
report $? "the tests of the whole run are listed"
{
	printf '%s\n' "$TOP"/selftests/*.sh
	grep -l '^VT_HARNESS_MAIN' "$TOP"/selftests/*.c | sed 's/\.c$//'
} | sed 's,.*/,,' | sort >"$WORK/tests"
before=(data_fail fuzz_rings fuzz_verbs fuzz_wire)
after=(soak verbs_fail_nth window_trace.sh)
lacks qemu-newest "${before[@]}" link_fail_nth mr_fail_nth "${after[@]}"
lacks qemu-stable "${before[@]}" interop_rxe.sh link_fail_nth mr_fail_nth programs_rxe.sh "${after[@]}"
lacks qemu-oldest "${before[@]}" interop_rxe.sh link_fail_nth mr_fail_nth programs_rxe.sh rc_persist "${after[@]}"
lacks uml-checked ipsec.sh mr_hwpoison nfs.sh rc_persist ulp_nodes.sh
listed short -s
report $? "the tests of the short run are listed"
sort "$WORK/short" | comm -13 <(sort "$WORK/all") - >"$WORK/out"
[ ! -s "$WORK/out" ] && [ "$(wc -l <"$WORK/short")" -lt "$(wc -l <"$WORK/all")" ]
report $? "the short run is a part of the whole one"
cut -d' ' -f2 "$WORK/short" | sort -u | comm -23 "$WORK/tests" - |
	grep -vxF -f <(grep -lE '^(#| \*) short: none$' "$TOP"/selftests/*.sh "$TOP"/selftests/*.c | sed 's,.*/,,; s/\.c$//') >"$WORK/out"
[ ! -s "$WORK/out" ]
report $? "in the short run every test runs somewhere but those whose heads say none"
listed named -t netem -b uml-checked -s
[ "$(<"$WORK/named")" = "uml-checked netem.sh" ]
report $? "a bed and a test that are named are run, whatever the test says"
! listed none -b nothing && grep -q "there is no bed 'nothing'; there are: " "$WORK/out"
report $? "a bed that there is not is refused"
finish
