#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run other people's suites on softmr, rdma_rxe and siw, and make one table. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/guest.sh
. "$TOP/scripts/lib/guest.sh"

OUT=$BUILD/foreign
DEVICES=(softmr rxe siw)
FLAVOUR=plain
DEFAULT_TIMEOUT=300
SLOW_BED=4 # how many times slower emulation may be than UML
BED_FOR_ALL=
LOSS=

usage() {
	cat <<-EOF
		Usage: scripts/foreign.sh [-t SUITE]... [-d DEVICE]... [-b BED] [-f FLAVOUR] [-p PERCENT] [-o DIR] [-c FILE] [-l]

		Runs the suites of others that selftests/foreign/ knows, each on softmr, rdma_rxe and siw, in guests: on User-Mode
		Linux at native speed, or under QEMU with Debian's newest kernel, which has what UML's lacks. Nothing of others is
		built here. What Debian 13 packages is fetched from its archive. What it does not is taken from the directory that
		the environment variable FOREIGN names; there the user has built it. A suite that is not there is a row of
		the table that says where it is to be had.

		  -t SUITE   only this one; the others' results of earlier runs stay in the table
		  -d DEVICE  only this device: ${DEVICES[*]}
		  -b BED     uml or qemu, whatever a suite's head says; qemu is slow, and has no siw
		  -f FLAVOUR the UML kernel: plain; checked (KASAN, lockdep; slow); or ulps, which is checked, and has NFS, iSER,
		             SRP, RDS and SMC, too
		  -p PERCENT that many percent of the packets are lost; softmr does not copy from process to process then
		  -o DIR     where to write (default $OUT)
		  -c FILE    the results also go into this file of comma-separated values; scripts/bench/figures.py makes the tables
		             in testing.rst of Documentation/figures/foreign.csv
		  -l         list the suites, and what is missing

		Writes table.md, and a log for each suite and device. The exit status is 1 if on softmr a test failed for
		which Documentation/conformance.rst gives no reason.
	EOF
}

# bed_of SUITE: where it runs
bed_of() { echo "${BED_FOR_ALL:-$(foreign_setting "$1" bed)}"; }

# limit_of SUITE: the limit in the suite's head is for native speed
limit_of() {
	local limit
	limit=$(foreign_setting "$1" timeout "$DEFAULT_TIMEOUT")
	[ "$(bed_of "$1")" = "$(foreign_setting "$1" bed)" ] || limit=$((limit * SLOW_BED))
	echo "$limit"
}

# there SUITE: FOREIGN has what it needs
there() {
	local file
	file=$(foreign_setting "$1" foreign)
	[ -z "$file" ] || { [ -n "${FOREIGN:-}" ] && [ -e "$FOREIGN/$file" ]; }
}

list_suites() {
	local suite
	for suite in "${SUITES[@]}"; do
		printf '%-18s %-5s %s\n' "$suite" "$(bed_of "$suite")" "$(foreign_setting "$suite" what)"
		there "$suite" || printf '%-24s missing: FOREIGN/%s: get it from %s\n' "" "$(foreign_setting "$suite" foreign)" \
			"$(foreign_setting "$suite" get)"
	done
}

# result SUITE STATUS WHY [LOG]: a file of "KEY VALUE" lines for each suite and device. STATUS is ran, missing, skipped,
# crashed or hung
result() {
	local counts log=${4:-/dev/null}
	counts=$(tap_counts "${BAD:-}" "$log")
	{
		echo "status $2"
		echo "why $3"
		echo "bed $(bed_of "$1")"
		echo "kernel ${KERNEL:-}"
		echo "version $(sed -n 's/^# version: //p' "$log" | head -n 1)"
		echo "counts $counts"
		sed -nE '/# *(TODO|XFAIL)/d; s/^not ok [0-9]* ?(- )?/failed /p' "$log"
		sed -nE 's/^not ok - the kernel printed: [0-9]*:/splat /p' "$log"
	} >"$OUT/results/$1.$DEVICE"
	[ "$2" = missing ] || printf '  %-8s %-18s %-14s %s  %s\n' "$DEVICE" "$1" "${counts// //}" "$(elapsed $((SECONDS - START)))" "$2${3:+: $3}"
}

# run_suite SUITE: in the guest, which is booted if there is none; one in which a suite hangs is not used again
run_suite() {
	local suite=$1 dir=$OUT/logs/$DEVICE log status word=ran why='' more=()
	log=$dir/$suite.1.log
	START=$SECONDS
	guest_lives "$GUEST" || boot "$(bed_of "$suite")"
	if guest_test "$GUEST" 1 "$suite.sh" "$(limit_of "$suite")"; then
		status=$(<"$GUEST/share/$suite.sh.1.status")
	else
		status=$(cat "$GUEST/status" 2>/dev/null || echo 125)
		[ -e "$GUEST/share/$suite.sh.1.log" ] || die 1 "the guest ran nothing (status $status); see $GUEST"
		word=crashed why="the guest ended during it: $(lost_reason)" more=("the guest ended during it")
	fi
	for file in log dmesg; do mv "$GUEST/share/$suite.sh.1.$file" "$dir/$suite.1.$file" 2>/dev/null || : >"$dir/$suite.1.$file"; done
	if splat_lines "$dir/$suite.1.dmesg" >"$GUEST/splats"; then more+=("the kernel printed: $(head -n 1 "$GUEST/splats")"); fi
	tap_with ${more[@]+"${more[@]}"} <"$log" >"$GUEST/tap"
	mv "$GUEST/tap" "$log"
	case $status in
	124 | 137)
		word=hung why="it was still running at its time limit"
		guest_kill "$GUEST"
		;;
	esac
	if [ "${#more[@]}" = 0 ] && ! grep -q '^ok\|^not ok' "$log" && grep -q '^1\.\.0' "$log"; then
		word=skipped why=$(sed -n 's/^1\.\.0 # SKIP //p' "$log")
	fi
	# neither its plan nor a failure says that it went wrong
	BAD=
	if { [ "$status" != 0 ] && [ "$status" != 4 ]; } || [ "$(grep -cE '^(not )?ok' "$log")" != "$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | tail -n 1)" ]; then BAD=$log; fi
	[ "${#more[@]}$word" = 0ran ] || : >"$GUEST/failed"
	result "$suite" "$word" "$why" "$log"
	LAST=$suite
}

# end_guest: what its kernel complains of after the last suite is a failure of that
end_guest() {
	[ -n "$(guest_end "$GUEST")" ] || return 0
	sed -i -E "s/^counts ([0-9]+) ([0-9]+)/echo counts \1 \$((\2 + 1))/e" "$OUT/results/$LAST.$DEVICE"
	printf '%s\n' "failed after it, the guest's kernel complained" "splat $(lost_reason)" >>"$OUT/results/$LAST.$DEVICE"
	say "  $DEVICE  after $LAST, the guest's kernel complained: $(lost_reason)"
}

# lost_reason: why the kernel died, or its last splat, or the bed's message
lost_reason() {
	{
		grep -E 'boot\.sh|softmr-run' "$GUEST/stderr" || true
		splat_lines "$GUEST/stderr" | sed -E 's/^[0-9]+://' || true
		grep -a -m 1 'Kernel panic' "$GUEST/stderr" || true
	} | tail -n 1 | tr -d '\r' | sed -E 's/^\[ *[0-9.]+\] *//' | cut -c1-160
}

# -- boots

# share SUITE...: the files for the guest: the suites, their library, and what they need of FOREIGN, at the same path as
# here
share() {
	local suite top share=$GUEST/share
	rm -rf "$GUEST"
	mkdir -p "$share/suites"
	cp "$FOREIGN_SUITES"/*.sh "$share/suites"
	cp -r "$TOP/selftests/lib" "$share/lib"
	for suite in "$@"; do
		top=$(foreign_setting "$suite" foreign)
		top=${top%%/*}
		[ -z "$top" ] || [ -e "$share/foreign/$top" ] || { mkdir -p "$share/foreign" && cp -a "$FOREIGN/$top" "$share/foreign/"; }
	done
}

# The guest's first command
# shellcheck disable=SC2016 # the guest's shell expands it
GUEST_COMMAND='if [ "$2" ] && [ -d /mnt/share/foreign ]; then mkdir -p "$2" && mount --bind /mnt/share/foreign "$2"; fi
	export LINK_TYPE=$1 FOREIGN=$2 SMR_LOSS=$3 PYTHONDONTWRITEBYTECODE=1
	exec bash /mnt/share/run-tests /mnt/share/suites'

boot() {
	local machine
	case $1 in
	# UCX's tests need more than 2G; with 6G they touch more at once than UML can map
	uml) machine=("$TOP/scripts/uml-boot.sh" --flavour "$FLAVOUR" ${UML_LAYER[@]+"${UML_LAYER[@]}"} --mem 3G) ;;
	# fabtests register 1.6 GB in each of two processes
	qemu) machine=("$TOP/scripts/qemu-boot.sh" --kernel newest --layer "$BUILD/foreign/qemu.erofs" --mem 6G) ;;
	esac
	GUEST_RUNS=(bash -c "$GUEST_COMMAND" guest "$DEVICE" "${FOREIGN:-}" "$LOSS")
	guest_boot "$GUEST" "${machine[@]}" --no-build
}

# run_device BED: all selected suites of that bed
run_device() {
	local bed=$1 suite suites=()
	for suite in "${SUITES[@]}"; do
		[ "$(bed_of "$suite")" = "$bed" ] || continue
		if there "$suite"; then suites+=("$suite"); else result "$suite" missing "get it from $(foreign_setting "$suite" get)"; fi
	done
	[ "${#suites[@]}" != 0 ] || return 0
	case $bed in
	uml) KERNEL="UML $(uml_release "$FLAVOUR")" ;;
	qemu) KERNEL=$(kernel_release newest) ;;
	esac
	KERNEL+=${LOSS:+, $LOSS % lost}
	mkdir -p "$OUT/logs/$DEVICE"
	GUEST=$WORK/$DEVICE.$bed
	share "${suites[@]}"
	for suite in "${suites[@]}"; do run_suite "$suite"; done
	end_guest
}

# needs BED: an available suite runs on it
needs() {
	local suite
	for suite in "${SUITES[@]}"; do
		[ "$(bed_of "$suite")" != "$1" ] || ! there "$suite" || return 0
	done
	return 1
}

# Suites that need no package need no layer
prepare() {
	if needs qemu || [ -n "$(foreign_packages)" ]; then
		build_foreign || return
		UML_LAYER=(--layer "$(foreign_base)/layer")
	fi
	if needs uml; then
		host_require uml && build_layer_with_tests uml && build_uml_layer "$FLAVOUR" || return
	fi
	if needs qemu; then
		host_require qemu && build_layer_with_tests newest && build_foreign_qemu || return
	fi
}

# shellcheck disable=SC2317 # called by at_exit
foreign_cleanup() {
	end_jobs
	[ -z "$GUEST" ] || [ ! -e "$GUEST/pid" ] || guest_kill "$GUEST"
	[ -z "${WORK:-}" ] || rm -rf "$WORK"
}

SUITES=() CHOSEN=() UML_LAYER=() LIST='' CSV='' KERNEL='' GUEST=''
while getopts 't:d:b:f:p:o:c:lh-:' option; do
	case $option in
	t)
		[ -e "$FOREIGN_SUITES/$OPTARG.sh" ] || die 2 "there is no suite '$OPTARG'; there are: $(foreign_suites | paste -sd ' ')"
		SUITES+=("$OPTARG")
		;;
	d)
		[[ " ${DEVICES[*]} " == *" $OPTARG "* ]] || die 2 "there is no device '$OPTARG'; there are: ${DEVICES[*]}"
		CHOSEN+=("$OPTARG")
		;;
	b)
		[[ $OPTARG = uml || $OPTARG = qemu ]] || die 2 "-b: there is no bed '$OPTARG'; there are: uml qemu"
		BED_FOR_ALL=$OPTARG
		;;
	f)
		uml_check_flavour "$OPTARG"
		FLAVOUR=$OPTARG
		;;
	p)
		[[ $OPTARG =~ ^[0-9]{1,2}(\.[0-9]+)?$ ]] || die 2 "-p: '$OPTARG' is not a number of percent below 100"
		LOSS=$OPTARG
		;;
	o) OUT=$OPTARG ;;
	c)
		[ -r "$OPTARG" ] || die 2 "-c: there is no file '$OPTARG'"
		CSV=$OPTARG
		;;
	l) LIST=1 ;;
	h | -)
		usage
		exit
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
done
[ -z "${FOREIGN:-}" ] || FOREIGN=$(realpath "$FOREIGN")
[ "${#SUITES[@]}" != 0 ] || mapfile -t SUITES < <(foreign_suites)
[ "${#CHOSEN[@]}" != 0 ] || CHOSEN=("${DEVICES[@]}")
if [ -n "$LIST" ]; then
	list_suites
	exit
fi
at_exit foreign_cleanup
prepare || die 1 "what the guests boot from could not be made"
mkdir -p "$OUT/results"
OUT=$(realpath "$OUT")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/softmr-foreign.XXXXXX")
for DEVICE in "${CHOSEN[@]}"; do
	for bed in uml qemu; do run_device "$bed"; done
done
"$TOP/scripts/foreign/report.py" "$OUT" "$FOREIGN_SUITES" "$TOP/Documentation/conformance.rst" ${CSV:+"$CSV"}
