#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make coverage: run the tests with a module that counts executed lines, and report the lines that are not executed:
# scripts/coverage.sh [-b uml|uml-checked] [-t TEST]... [-d] [-j N]. The bed is uml-checked by default, because it has
# fault injection; -t, -d and -j are those of run-tests.sh.
set -euo pipefail
TOP=$(cd "$(dirname "$0")/.." && pwd)
# keep its build results apart from the others
export SOFTMR_BUILD=${SOFTMR_BUILD:-$TOP/build}/coverage SOFTMR_RECORD=gcov
# shellcheck source=scripts/lib/all.sh
. "$TOP/scripts/lib/all.sh"

BED=uml-checked OPTIONS=() OUT=$BUILD/counted
while getopts 'b:t:dj:' option; do
	case $option in
	b) BED=$OPTARG ;;
	t) OPTIONS+=(-t "$OPTARG") ;;
	d) OPTIONS+=(-d) ;;
	j) OPTIONS+=(-j "$OPTARG") ;;
	*) die 2 "usage: scripts/coverage.sh [-b uml|uml-checked] [-t TEST]... [-d] [-j N]" ;;
	esac
done

case $BED in
uml-checked) FLAVOUR=checked ;;
uml) FLAVOUR=plain ;;
*) die 2 "on the bed $BED nothing is counted" ;;
esac
have gcov || die 1 "there is no gcov, which comes with the gcc that makes the UML kernels"
rm -rf "$BUILD/test"
# failed tests have executed code, too
status=0
"$TOP/scripts/run-tests.sh" -b "$BED" "${OPTIONS[@]}" || status=$?
rm -rf "$OUT"
mkdir -p "$OUT"
find "$BUILD/test" -name 'gcov.*' -size +0 -exec mv {} "$OUT" \;
# with the host's gcov, because the host's gcc has compiled this module
"$TOP/scripts/coverage/report.py" "$BUILD/uml-$FLAVOUR/kernel" "$OUT"
say "Each file: $OUT/summary.txt; what was not executed: $OUT/uncovered.txt"
exit "$status"
