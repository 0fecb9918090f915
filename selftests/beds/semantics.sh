#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each row of Documentation/semantics.rst has its test, and scripts/semantics notices a row that has none.
# timeout: 30
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# found DESCRIPTION PATTERN SED-SCRIPT FILE...: change a copy; then the script fails, and its output matches PATTERN
found() {
	local what=$1 pattern=$2 change=$3 status=0
	shift 3
	rm -rf "$WORK/tree"
	mkdir -p "$WORK/tree"/{Documentation,selftests}
	cp "$TOP/Documentation/semantics.rst" "$WORK/tree/Documentation"
	cp "$TOP"/selftests/semantics_*.c "$WORK/tree/selftests"
	(cd "$WORK/tree" && sed -i "$change" "$@")
	"$TOP/scripts/semantics" "$WORK/tree" >"$WORK/out" 2>&1 || status=$?
	[ "$status" = 1 ] && grep -qE "$pattern" "$WORK/out"
	report $? "$what"
}

PAGE=Documentation/semantics.rst

echo "TAP version 13"
"$TOP/scripts/semantics" "$TOP" >"$WORK/out" 2>&1
report $? "page and tests agree"
found "a row without a test" "reg_hole has no test" '/^ROW(reg_hole,/d' selftests/semantics_reg.c
found "a new row" "reg_new has no test" 's/^   reg_hole .*/&\n   reg_new | something | EINVAL | driver/' "$PAGE"
found "a test without a row" "dereg_close is not on the page" '/^   dereg_close /d' "$PAGE"
found "another answer in the test" "rereg_hole: EFAULT, but .* EINVAL" '/^ROW(rereg_hole,/s/EFAULT/EINVAL/' \
	selftests/semantics_rereg.c
found "another answer on the page" "mw2_length_0: IBV_WC_SUCCESS, but" '/^   mw2_length_0 /s/IBV_WC_[A-Z_]*/IBV_WC_SUCCESS/' "$PAGE"
found "a row twice" "wc_once is there twice" 's/^   wc_once .*/&\n&/' "$PAGE"
found "a test twice" "wc_once is there twice" 's/^ROW(wc_once,.*/&\n&/' selftests/semantics_wc.c
found "a row that lacks a column" "not a row" '/^   wc_once /s/ | driver//' "$PAGE"
finish
