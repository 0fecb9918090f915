#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make fuzz: the fuzzers of selftests/ for as long as one likes, each in a guest of uml-checked. See -h.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/long.sh
. "$TOP/scripts/lib/long.sh"
at_exit end_jobs

FUZZERS=(wire verbs rings)
OUT=$BUILD/fuzz

usage() {
	cat <<-EOF
		Usage: scripts/fuzz.sh [-t SECONDS] [-s SEED] [-f FUZZER]... [-r LOG | -p | -b BUG]

		Runs each fuzzer, and ends with its numbers: what it has done, what code that has executed, what was found.
		  -t SECONDS  how long, each (600 by default)
		  -s SEED     the numbers that are drawn
		  -f FUZZER   only this one: ${FUZZERS[*]}
		  -r LOG      wire only: the very programs of an earlier run, which has left this log
		  -p          put each bug of selftests/planted into a copy of the module, one after the other: the
		              fuzzer or test that its file names must find it in that time
		  -b BUG      only this one

		Logs are in $OUT: fuzz_FUZZER.log, and the kernel's in fuzz_FUZZER/.
	EOF
}

is_fuzzer() { [[ " ${FUZZERS[*]} " == *" $1 "* ]]; }

# found DIR TEST: print what it has found, or the kernel's first splat
found() {
	local log
	grep -m 1 '^# found: \|^not ok' "$1/$2.log" && return
	for log in "$1/$2"/*; do
		splat_lines "$log" | head -n 1 | cut -d: -f2- | grep . && return
	done
	return 1
}

# find_bug NAME: the test that the planted bug names, with a module that has the bug, must find it
find_bug() {
	local bug=$TOP/selftests/planted/$1 test begin=$SECONDS what
	test=$(sed -n 's/^test: //p' "$bug")
	[ ! -e "$TOP/selftests/$test.sh" ] || test=$test.sh
	rm -rf "$OUT/planted/$test" "$OUT/planted/$test.log"
	say "  BUG   $1: $(sed -n 's/^# //p' "$bug" | tail -n 1)"
	SOFTMR_PLANT=$1 run_long "$OUT/planted" "$test" "$LENGTH" "${SETTINGS[@]}" >"$OUT/planted/$1.out" 2>&1 || true
	if what=$(found "$OUT/planted" "$test"); then
		say "  FOUND $1 by ${test%.sh}, in $(elapsed $((SECONDS - begin))) with building and booting: $(cut -c 1-100 <<<"$what")"
		return
	fi
	tail -n 20 "$OUT/planted/$1.out"
	warn "${test%.sh} has not found $1 in $(elapsed "$LENGTH")"
	return 1
}

LENGTH=600 SETTINGS=() CHOSEN=() REPLAY='' BUGS=()
while getopts 't:s:f:r:pb:h' option; do
	case $option in
	t) LENGTH=$OPTARG ;;
	s) SETTINGS+=("SMR_SEED=$OPTARG") ;;
	f)
		is_fuzzer "$OPTARG" || die 2 "there is no fuzzer '$OPTARG'; there are: ${FUZZERS[*]}"
		CHOSEN+=("$OPTARG")
		;;
	r)
		[ -e "$OPTARG" ] || die 2 "there is no log '$OPTARG'"
		REPLAY=$OPTARG CHOSEN=(wire)
		;;
	p) mapfile -t BUGS < <(ls "$TOP/selftests/planted") ;;
	b)
		[ -e "$TOP/selftests/planted/$OPTARG" ] || die 2 "there is no bug '$OPTARG'; there are: $(echo "$TOP"/selftests/planted/*)"
		BUGS+=("$OPTARG")
		;;
	h)
		usage
		exit
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
done
need_seconds -t "$LENGTH"
[ "${#CHOSEN[@]}" != 0 ] || CHOSEN=("${FUZZERS[@]}")
SETTINGS+=("SMR_FUZZ_SECONDS=$LENGTH")
if [ "$REPLAY" ]; then
	mkdir -p "$OUT"
	cp "$REPLAY" "$OUT/replay"
	SETTINGS+=(SMR_REPLAY=/mnt/share/replay)
fi
failed=0
if [ "${#BUGS[@]}" != 0 ]; then
	mkdir -p "$OUT/planted"
	for bug in "${BUGS[@]}"; do find_bug "$bug" || failed=1; done
	exit "$failed"
fi
for fuzzer in "${CHOSEN[@]}"; do run_long "$OUT" "fuzz_$fuzzer" "$LENGTH" "${SETTINGS[@]}" || failed=1; done
exit "$failed"
