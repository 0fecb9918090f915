#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make soak: tests that find more the longer they run, in a guest of uml-checked. See -h.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/long.sh
. "$TOP/scripts/lib/long.sh"
at_exit end_jobs

# The default number of rounds of each test, and the variable for it
TESTS=(soak teardown_orders kill_often disturb)
declare -A TIMES=([teardown_orders]=200 [kill_often]=1000 [disturb]=200)
declare -A VARIABLE=([teardown_orders]=SMR_ROUNDS [kill_often]=SMR_KILLS [disturb]=SMR_TIMES)

usage() {
	cat <<-EOF
		Usage: scripts/soak.sh [-t SECONDS] [-s SEED] [-f TEST [-n TIMES]]

		Without -f, all kinds of work at once on a bad network. TEST is one of: ${TESTS[*]}
		  -t SECONDS  how long (1800 by default); with -f, at most
		  -n TIMES    so many rounds of teardown_orders (200), kills (1000), disturbances of each kind (200)
		  -s SEED     the numbers that are drawn

		With -f, kmemleak looks at the end. Logs are in build/soak.
	EOF
}

LENGTH=1800 SETTINGS=() TEST=soak COUNT=''
while getopts 't:s:f:n:h' option; do
	case $option in
	t) LENGTH=$OPTARG ;;
	s) SETTINGS+=("SMR_SEED=$OPTARG") ;;
	f)
		[[ " ${TESTS[*]} " == *" $OPTARG "* ]] || die 2 "there is no test '$OPTARG'; there are: ${TESTS[*]}"
		TEST=$OPTARG
		;;
	n) COUNT=$OPTARG ;;
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
SETTINGS+=("SMR_SOAK_SECONDS=$LENGTH")
# shellcheck disable=SC2034 # run_long reads it
[ "$TEST" = soak ] || LEAKS=1 SETTINGS+=("${VARIABLE[$TEST]}=${COUNT:-${TIMES[$TEST]}}")
NAME=$TEST
[ -x "$TOP/selftests/$NAME" ] || [ ! -x "$TOP/selftests/$NAME.sh" ] || NAME=$TEST.sh
run_long "$BUILD/soak" "$NAME" "$LENGTH" "${SETTINGS[@]}"
