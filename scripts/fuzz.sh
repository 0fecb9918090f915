#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make fuzz: run the fuzzers of selftests/ for any time, each in a guest of uml-checked. See -h.
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
		Usage: scripts/fuzz.sh [-t SECONDS] [-s SEED] [-f FUZZER]... [-r LOG]

		Runs each fuzzer, and ends with its numbers: what it has done, what code that has executed, what was found.
		  -t SECONDS  how long, each (600 by default)
		  -s SEED     the numbers that are drawn
		  -f FUZZER   only this one: ${FUZZERS[*]}
		  -r LOG      wire only: the very programs of an earlier run, which has left this log

		Logs are in $OUT: fuzz_FUZZER.log, and the kernel's in fuzz_FUZZER/.
	EOF
}

is_fuzzer() { [[ " ${FUZZERS[*]} " == *" $1 "* ]]; }

LENGTH=600 SETTINGS=() CHOSEN=() REPLAY=''
while getopts 't:s:f:r:h' option; do
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
for fuzzer in "${CHOSEN[@]}"; do run_long "$OUT" "fuzz_$fuzzer" "$LENGTH" "${SETTINGS[@]}" || failed=1; done
exit "$failed"
