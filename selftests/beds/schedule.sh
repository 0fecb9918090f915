#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In which order scripts/run-tests.sh does its jobs, and how many at a time.
# timeout: 60
# shellcheck disable=SC2317 # functions are called by what schedule.sh has
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/lib/schedule.sh
. "$TOP/scripts/lib/schedule.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# chooses DESCRIPTION EXPECTED KIND...: the job that begins while these run, of the QUEUE
chooses() {
	local next
	next=$(next_job "${@:3}")
	check "$1" is "${next:+${QUEUE[next]#* }}" "$2"
}

echo "TAP version 13"

# -- which one is next

ROOM=3
QUEUE=()
chooses "an empty queue: none" ""
enqueue <<<$'20 uml-a\n30 qemu-b\n40 qemu-a\n10 host-a'
check "the longest is first" is "${QUEUE[*]}" "40 qemu-a 30 qemu-b 20 uml-a 10 host-a"
enqueue </dev/null
check "an empty list adds no job" is "${#QUEUE[@]}" 4
enqueue <<<"1000 make a"
chooses "none runs: the longest" "make a"
chooses "one runs: the longest of another kind" "qemu-a" make
chooses "two run: the longest of a third kind" "make a" uml uml
chooses "an emulated guest is two" "" make qemu
chooses "and so are the tests of the beds" "" make host
chooses "three others are as many as there may be" "" make uml uml
QUEUE=("40 qemu-a" "20 uml-a")
chooses "no room for a long one: another" "uml-a" uml make
QUEUE=("40 host-a")
chooses "no tests of the beds beside an emulated guest" "" qemu
QUEUE=("20 uml-a")
chooses "the same kind, if there is no other" "uml-a" uml
QUEUE=("40 qemu-a" "30 qemu-b")
chooses "one emulated guest is enough" "" qemu
ROOM=6
chooses "but for a larger machine" "qemu-a" qemu uml
ROOM=1
chooses "on the smallest, what is too large alone" "qemu-a"
chooses "and nothing beside it" "" qemu

# -- the jobs of a bed

# order WEEK: the jobs of some tests, in the order in which they begin
order() {
	QUEUE=()
	enqueue < <(job_list qemu-a "$1" <<<$'1 main a 9 5\n1 rota.1 b 9 9\n1 rota.2 c 9 8\n1 rota.1 d 9 1\n2 rota e 9 7')
	printf '%s\n' "${QUEUE[@]}" | cut -d' ' -f3- | tr '\n' ' '
}
check "the rota comes last, its longest job first" is "$(order 0)" "1 main 1 rota.1 1 rota.2 2 rota "
check "a week later another one of it is first" is "$(order 1)" "1 main 2 rota 1 rota.1 1 rota.2 "
check "... and two weeks later the third" is "$(order 2)" "1 main 1 rota.2 2 rota 1 rota.1 "
check "... and then the longest again" is "$(order 3)" "$(order 0)"

# -- all of them

# A job runs until its end has been told, so what runs is counted here
RUNNING=0 EMULATED=0
start() {
	RUNNING=$((RUNNING + 1))
	case $1 in qemu-* | host) EMULATED=$((EMULATED + 1)) ;; esac
	echo "$RUNNING" >>"$WORK/counts"
	echo "$EMULATED" >>"$WORK/emulated"
	{ sleep 0.3; [ "$*" != "make bad" ]; } &
	job=$!
}

ended() {
	RUNNING=$((RUNNING - 1))
	case $2 in qemu-* | host) EMULATED=$((EMULATED - 1)) ;; esac
	echo "$*" >>"$WORK/ended"
	case $* in
	"0 make good") enqueue <<<$'5 uml-late 1\n6 uml-late 2' ;;
	esac
}

most() { sort -n "$WORK/$1" | tail -n 1; }

ROOM=3
QUEUE=()
enqueue < <(
	echo "100 make good"
	echo "100 make bad"
	for n in 1 2 3 4; do printf '%s\n' "$n qemu-x $n" "$n uml-x $n"; done
	echo "7 host x"
)
run_queue start ended
check "each job and each that is added runs once; each end is reported" is "$(LC_ALL=C sort "$WORK/ended")" "$(
	LC_ALL=C sort <<-END
		0 make good
		1 make bad
		$(printf '0 %s\n' qemu-x\ {1..4} uml-x\ {1..4} uml-late\ {1..2})
		0 host x
	END
)"
check "three at a time, at most" is "$(most counts)" 3
check "or one that is emulated" is "$(most emulated)" 1
rm "$WORK"/{counts,ended,emulated}
ROOM=1
enqueue <<<$'1 qemu-x 1\n3 uml-x 1\n2 qemu-x 2'
run_queue start ended
check "one at a time: the longest first" is "$(cat "$WORK/ended")" $'0 uml-x 1\n0 qemu-x 2\n0 qemu-x 1'
check "no other job runs beside it" is "$(most counts)" 1
finish
