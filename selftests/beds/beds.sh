#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The test beds themselves: exit statuses; guests that die, hang or do not boot; and that nothing is left behind. Runs
# on the host ("make test BED=host").
# needs: uml-checked
# timeout: 600
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
export TMPDIR=$WORK # so that files that a run leaves behind are seen
UML_FLAVOUR=checked # one that "make test" builds anyway

# boot BED ARGS...: replaces this shell, so that a signal reaches it; boots what was just built
boot() {
	case $1 in
	qemu) exec "$TOP/scripts/qemu-boot.sh" --no-build "${@:2}" ;;
	uml) exec "$TOP/scripts/uml-boot.sh" --no-build --flavour "$UML_FLAVOUR" "${@:2}" ;;
	esac
}

# expect DESCRIPTION STATUS PATTERN BED ARGS...: the run has this exit status, and its output matches
expect() {
	local what=$1 status=$2 pattern=$3 s=0
	shift 3
	(boot "$@") >"$WORK/out" 2>&1 || s=$?
	[ "$s" = "$status" ] && grep -qE "$pattern" "$WORK/out"
	report $? "$what"
}

# Processes that were given our TMPDIR, and files in it that are not this test's own
leftovers() {
	env -u TMPDIR grep -lsF "TMPDIR=$WORK" /proc/[0-9]*/environ
	find "$WORK" -mindepth 1 ! -name out ! -name left
}

# wait_for TEXT: until the output of a run in the background has it
wait_for() {
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		grep -q "$1" "$WORK/out" && break
		sleep 0.1
	done
}

# interrupted BED SIGNAL: end a run in the middle
interrupted() {
	local bed=$1 pid
	# exec: the signal is for the script itself
	boot "$bed" 'echo running; sleep 100' >"$WORK/out" 2>&1 &
	pid=$!
	wait_for running
	kill "-$2" "$pid"
	wait "$pid"
	sleep 0.5
	leftovers >"$WORK/left"
	sed 's/^/# left behind: /' "$WORK/left"
	[ ! -s "$WORK/left" ]
	report $? "$bed: a run ended by SIG$2 leaves nothing behind"
}

# qemu_of_run: the process ids of QEMU that were given our TMPDIR
qemu_of_run() {
	env -u TMPDIR grep -lsF "TMPDIR=$WORK" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
		if grep -qsaF qemu-system "/proc/$pid/cmdline"; then echo "$pid"; fi
	done
}

# aborted: QEMU dies before the guest's init is there, as it does by itself now and then; the second one lives
aborted() {
	local pid victim='' s=0
	boot qemu 'echo it booted; exit 5' >"$WORK/out" 2>&1 &
	pid=$!
	until [ "$victim" ] || ! kill -0 "$pid" 2>/dev/null; do victim=$(qemu_of_run | head -n 1); done
	kill -ABRT "$victim"
	wait "$pid" || s=$?
	[ "$s" = 5 ] && grep -q '^it booted' "$WORK/out" && grep -q 'booted once more' "$WORK/out"
	report $? "qemu: when QEMU aborts at boot the guest is booted once more"
}

# What a command in the guest finds there, in one boot. shellcheck: the guest's shell expands it.
# shellcheck disable=SC2016
IN_GUEST='ping -c1 -W5 fd00::1 && ping -c1 10.0.0.1 && echo "node $NODE of $NODES" >/mnt/share/file &&
	cat /mnt/share/file; exit 7'
# shellcheck disable=SC2016
REACH_THE_OTHER='for i in 1 2 3 4 5; do ping -c1 -W2 fd00::$((3 - NODE)) && break; done
	exit $((NODE == 2 ? 2 : 0))'

common() {
	local bed=$1
	mkdir -p "$WORK/share"
	expect "$bed: a command has its addresses, its share, its node's number, and its status is the run's" \
		7 '^node 1 of 1$' "$bed" --share "$WORK/share" "$IN_GUEST"
	rm -rf "$WORK/share"
	expect "$bed: a panic is told, with the console" 123 'kernel panicked' "$bed" 'echo c >/proc/sysrq-trigger'
	expect "$bed: a command that hangs is ended" 124 'still running after 15 s' "$bed" --timeout 15 sleep 100
	expect "$bed: a splat fails the run and is shown" 123 'BUG: made by the test' "$bed" \
		'echo "BUG: made by the test" >/dev/kmsg; exit 0'
	expect "$bed: two nodes reach each other, and their output is told apart" \
		2 '^node2: [0-9]+ bytes from fd00::1' "$bed" --nodes 2 "$REACH_THE_OTHER"
	interrupted "$bed" TERM
}

echo "TAP version 13"
expect "qemu: a kernel without an init is a guest that never booted" 125 'never booted' \
	qemu --timeout 100 --cmdline rdinit=/nothing true
grep -q "a guest's init never spoke, so it is booted once more" "$WORK/out"
report $? "and it was booted twice"
aborted
expect "uml: a test without the module has failed" 1 '^not ok 1 softmr can be loaded' \
	uml 'find /lib/modules/ -name softmr.ko\* -delete; exec /usr/lib/softmr/selftests/qp_attrs'
common qemu
common uml
finish
