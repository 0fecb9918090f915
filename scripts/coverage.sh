#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make coverage: run the tests of uml-checked with a module that counts executed lines (CONFIG_GCOV_KERNEL), and let gcovr
# report what is not executed: scripts/coverage.sh [OPTION of run-tests.sh]...
set -euo pipefail
TOP=$(cd "$(dirname "$0")/.." && pwd)
# keep its build results apart from the others
export SOFTMR_BUILD=${SOFTMR_BUILD:-$TOP/build}/coverage UML_CHECKED=gcov
# shellcheck source=scripts/lib/all.sh
. "$TOP/scripts/lib/all.sh"

OUT=$BUILD/counted
SOURCE=$BUILD/uml-gcov/kernel

host_provide gcovr:gcovr gcov-tool:gcc || exit 1
# failed tests have executed code, too
status=0
"$TOP/scripts/run-tests.sh" -b uml-checked "$@" || status=$?
rm -rf "$OUT"
mkdir -p "$OUT"
# each guest has counters of its own, by the absolute paths of the objects
for counted in "$BUILD"/test/guests/*/{share/gcov,gcov.*}; do
	[ -d "$counted$SOURCE" ] || continue
	if [ -d "$OUT/sum" ]; then
		gcov-tool merge -o "$OUT/new" "$OUT/sum" "$counted$SOURCE" >"$OUT/merge.log" 2>&1 || die 1 "the counters cannot be added up: $OUT/merge.log"
		rm -r "$OUT/sum"
		mv "$OUT/new" "$OUT/sum"
	else
		cp -r "$counted$SOURCE" "$OUT/sum"
	fi
done
[ -d "$OUT/sum" ] || die 1 "there is nothing to report: no guest has left its counters"
find "$SOURCE" -name '*.gcda' -delete
cp -r "$OUT/sum/." "$SOURCE"
# with the host's gcov, because the host's gcc has compiled this module
(cd "$SOURCE" && gcovr --root . --csv "$OUT/summary.csv" --txt "$OUT/uncovered.txt" --print-summary .)
say "Each file: $OUT/summary.csv; the lines that were not executed: $OUT/uncovered.txt"
exit "$status"
