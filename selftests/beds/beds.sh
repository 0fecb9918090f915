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

# What a person types at the shell of the first of two nodes; script(1) is the terminal
typed() {
	local bed=$1 s=0 keys
	case $bed in
	qemu) set -- "$TOP/scripts/qemu-boot.sh" --no-build --nodes 2 ;;
	uml) set -- "$TOP/scripts/uml-boot.sh" --no-build --flavour "$UML_FLAVOUR" --nodes 2 ;;
	esac
	mkfifo "$WORK/in"
	exec {keys}<>"$WORK/in"
	rm "$WORK/in"
	timeout 120 script -qec "$*" /dev/null <&"$keys" >"$WORK/out" 2>&1 &
	wait_for 'root@node1:'
	# shellcheck disable=SC2016 # the guest's shell expands it
	echo 'ping -c1 -W5 fd00::2; echo "this is node $NODE of $NODES"; exit 3' >&"$keys"
	wait "$!" || s=$?
	exec {keys}>&-
	[ "$s" = 3 ] && grep -q '^this is node 1 of 2' "$WORK/out" && grep -q ' 0% packet loss' "$WORK/out"
	report $? "$bed: a shell on the first of two nodes, and its end is that of the run"
}

# making_interrupted: the directory in which an image is made is removed, too, if the script is ended
making_interrupted() {
	local cache=$WORK/cache pid tries
	mkdir -p "$cache"
	XDG_CACHE_HOME=$cache exec_build >"$WORK/out" 2>&1 &
	pid=$!
	for ((tries = 0; tries < 600; tries++)); do
		compgen -G "$cache/softmr/tmp.linux-source.*/*" >/dev/null && break
		sleep 0.1
	done
	kill -TERM "$pid"
	wait "$pid"
	compgen -G "$cache/softmr/tmp.*" >"$WORK/left"
	sed 's/^/# left behind: /' "$WORK/left"
	[ "$tries" -lt 600 ] && [ ! -s "$WORK/left" ]
	report $? "a directory that is being made is removed when its making is ended"
	rm -rf "$cache"
}
exec_build() { exec "$TOP/scripts/build.sh" uml-source; }

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
	typed "$bed"
}

echo "TAP version 13"
expect "qemu: a kernel without an init is a guest that never booted" 125 'never booted' \
	qemu --timeout 100 --cmdline rdinit=/nothing true
grep -q "a guest's init never spoke, so it is booted once more" "$WORK/out"
report $? "and it was booted twice"
aborted
# shellcheck disable=SC2016 # the guest's shell expands it
expect "qemu: each process has a library at the same address, so that its code is translated once" \
	0 '^libc at [0-9a-f]+' qemu 'at() { sed -n "/libc/{s/-.*//p;q}" /proc/self/maps; }; a=$(at); b=$(at); echo "libc at $a, $b"; [ "$a" = "$b" ]'
# shellcheck disable=SC2016 # the guest's shell expands it
expect "qemu: it is one that knows of code that another CPU changes, from 8.1 on" 0 '^machine ' qemu '
	v=$(cat /sys/class/dmi/id/product_version); echo "machine $v"
	printf "8.1\n%s\n" "${v#pc-q35-}" | sort -CV'
expect "uml: a test without the module has failed" 1 '^not ok 1 softmr can be loaded' \
	uml 'find /lib/modules/ -name softmr.ko\* -delete; exec /usr/lib/softmr/selftests/qp_attrs'
common qemu
common uml
making_interrupted
finish
