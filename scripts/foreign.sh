#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run other people's suites on softmr, rdma_rxe and siw, and make one table. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

OUT=$BUILD/foreign
DEVICES=(softmr rxe siw)
FLAVOUR=plain
BOOT_SLACK=180 # on top of the suites' own limits, for one boot
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

		Writes table.md, table.json, and a log for each suite and device. The exit status is 1 if on softmr a test failed for
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

# -- results: a file of "KEY VALUE" lines for each suite and device

# result SUITE DEVICE STATUS WHY [LOG]: STATUS is ran, missing, skipped, crashed or hung
result() {
	local file=$OUT/results/$1.$2 log=${5:-/dev/null}
	{
		echo "status $3"
		echo "why $4"
		echo "bed $(bed_of "$1")"
		echo "kernel ${KERNEL:-}"
		echo "version $(sed -n 's/^# version: //p' "$log" | head -n 1)"
		echo "counts ${COUNTS:-0 0 0}"
		sed -nE '/# *(TODO|XFAIL)/d; s/^not ok [0-9]* (- )?/failed /p' "$log"
		sed -nE 's/^# run-tests: [0-9]+:/splat /p' "$log" | head -n 3
	} >"$file"
}

# end_suite SUITE STATUS: judge it by its logs
end_suite() {
	local suite=$1 status=$2 dir=$OUT/logs/$DEVICE log word=ran why=''
	log=$dir/$suite.1.log
	mv "$SHARE/$suite.1".{log,dmesg} "$dir/" 2>/dev/null || true
	COUNTS=$(judge_test "$dir" "$suite" "$status" 1)
	case $status in 124 | 137) word=hung why="it was still running at its time limit" ;; esac
	if why_skipped "$log"; then word=skipped why=$WHY; fi
	result "$suite" "$DEVICE" "$word" "$why" "$log"
	tell "$suite" "$word${why:+: $why}"
}

# why_skipped LOG: all tests were skipped, and none has failed; sets WHY
why_skipped() {
	WHY=$(sed -n 's/^1\.\.0 # SKIP //p' "$1")
	[ -n "$WHY" ] && [[ $COUNTS = "0 0 "* ]]
}

# lost_suite SUITE STATUS STDERR: the guest ended in the middle of it
lost_suite() {
	local log=$OUT/logs/$DEVICE/$1.1.log
	mv "$SHARE/$1.1.log" "$log" 2>/dev/null || : >"$log"
	# the missing plan is a failure
	COUNTS=$(tap_counts 0 "$log" | cut -d' ' -f1-3)
	sed 's/^/# guest: /' "$3" >>"$log"
	result "$1" "$DEVICE" crashed "the guest ended during it: $(lost_reason "$3")" "$log"
	tell "$1" crashed
}

# late_splat SUITE STDERR: the guest's kernel complained after this suite, the last one, or when the guest went down
late_splat() {
	local file=$OUT/results/$1.$DEVICE reason
	reason=$(lost_reason "$2")
	sed -i -E "s/^counts ([0-9]+) ([0-9]+)/echo counts \1 \$((\2 + 1))/e" "$file"
	printf '%s\n' "failed after it, the guest's kernel complained" "splat $reason" >>"$file"
	say "  $DEVICE  after $1, the guest's kernel complained: $reason"
}

# lost_reason STDERR: why the kernel died, or its last splat, or the bed's message
lost_reason() {
	local line
	line=$(grep -a -m 1 'Kernel panic' "$1" || true)
	[ -n "$line" ] || line=$(splat_lines "$1" | sed -E 's/^[0-9]+://' | tail -n 1 || true)
	[ -n "$line" ] || line=$(grep -E 'boot\.sh|softmr-run' "$1" | tail -n 1 || true)
	tr -d '\r' <<<"$line" | sed -E 's/^\[ *[0-9.]+\] *//' | cut -c1-160
}

tell() {
	local passed failed skipped
	read -r passed failed skipped <<<"${COUNTS:-0 0 0}"
	printf '  %-8s %-18s %4d passed %3d failed %3d skipped  %s  %s\n' "$DEVICE" "$1" "$passed" "$failed" "$skipped" \
		"$(elapsed $((SECONDS - START)))" "$2"
}

# -- boots

# share SUITE...: the files for the guest: the suites, their library, and what they need of FOREIGN, at the same path as
# here
share() {
	local suite top
	rm -rf "${SHARE:?}"/*
	mkdir "$SHARE/suites"
	cp "$FOREIGN_SUITES"/*.sh "$SHARE/suites"
	cp -r "$TOP/selftests/lib" "$SHARE/lib"
	cp "$TOP/scripts/guest/run-tests" "$SHARE/run-tests"
	for suite in "$@"; do
		echo "$suite.sh $(limit_of "$suite")" >>"$SHARE/list"
		top=$(foreign_setting "$suite" foreign)
		top=${top%%/*}
		[ -z "$top" ] || [ -e "$SHARE/foreign/$top" ] || { mkdir -p "$SHARE/foreign" && cp -a "$FOREIGN/$top" "$SHARE/foreign/"; }
	done
}

# The guest's first command
# shellcheck disable=SC2016 # the guest's shell expands it
GUEST='if [ "$2" ] && [ -d /mnt/share/foreign ]; then mkdir -p "$2" && mount --bind /mnt/share/foreign "$2"; fi
	export LINK_TYPE=$1 FOREIGN=$2 SMR_LOSS=$3 PYTHONDONTWRITEBYTECODE=1 END_AFTER_HANG=1
	exec bash /mnt/share/run-tests /mnt/share/suites'

boot() {
	local bed=$1 limit=$2 dir=$3
	local args=(--no-build --share "$SHARE" --timeout "$limit" --log "$dir")
	local command=(bash -c "$GUEST" guest "$DEVICE" "${FOREIGN:-}" "$LOSS")
	case $bed in
	uml)
		# UCX's tests need more than 2G; with 6G they touch more at once than UML can map
		"$TOP/scripts/uml-boot.sh" --flavour "$FLAVOUR" "${UML_LAYER[@]}" "${args[@]}" --mem 3G -- "${command[@]}"
		;;
	qemu)
		# fabtests register 1.6 GB in each of two processes
		"$TOP/scripts/qemu-boot.sh" --kernel newest --layer "$BUILD/foreign/qemu.erofs" "${args[@]}" --mem 6G -- \
			"${command[@]}"
		;;
	esac
}

# boot_into PIPE BED LIMIT DIR
# shellcheck disable=SC2317 # a job
boot_into() { boot "${@:2}" >"$1" 2>"$4/stderr" </dev/null; }

# boot_suites BED: run the suites in $SHARE/list in one boot; afterwards the list has those that did not run
boot_suites() {
	local bed=$1 dir=$OUT/logs/$DEVICE/boot.$1.$BOOTS line name='' last='' splat='' status=0 limit before
	mkdir -p "$dir"
	before=$(wc -l <"$SHARE/list")
	limit=$(($(awk '{ s += $2 + 40 } END { print s }' "$SHARE/list") + BOOT_SLACK))
	# a job, so that it ends with this script
	start_job boot_into "$PIPE" "$bed" "$limit" "$dir"
	while IFS= read -r line; do
		case $line in
		@start\ *) name=${line#* } name=${name%.sh} START=$SECONDS ;;
		@end\ *)
			mv "$SHARE/$name.sh.1.log" "$SHARE/$name.1.log"
			mv "$SHARE/$name.sh.1.dmesg" "$SHARE/$name.1.dmesg"
			end_suite "$name" "${line##* }"
			sed -i "/^$name\.sh /d" "$SHARE/list"
			if grep -q '^splat ' "$OUT/results/$name.$DEVICE"; then splat=1; fi
			last=$name name=
			;;
		esac
	done <"$PIPE"
	wait "$job" || status=$?
	if [ -n "$name" ]; then
		mv "$SHARE/$name.sh.1.log" "$SHARE/$name.1.log" 2>/dev/null || true
		lost_suite "$name" "$status" "$dir/stderr"
		sed -i "/^$name\.sh /d" "$SHARE/list"
	elif [ "$(wc -l <"$SHARE/list")" = "$before" ]; then
		cat "$dir/stderr" >&2
		die 1 "the guest ran nothing (status $status); see $dir"
	elif [ "$status" = 123 ] && [ -z "$splat" ]; then
		late_splat "$last" "$dir/stderr"
	fi
}

# run_device BED: all selected suites of that bed
run_device() {
	local bed=$1 suite suites=()
	for suite in "${SUITES[@]}"; do
		[ "$(bed_of "$suite")" = "$bed" ] || continue
		if there "$suite"; then
			suites+=("$suite")
		else
			COUNTS='' result "$suite" "$DEVICE" missing "get it from $(foreign_setting "$suite" get)"
		fi
	done
	[ "${#suites[@]}" != 0 ] || return 0
	case $bed in
	uml) KERNEL="UML $(uml_release "$FLAVOUR")" ;;
	qemu) KERNEL=$(kernel_release newest) ;;
	esac
	KERNEL+=${LOSS:+, $LOSS % lost}
	mkdir -p "$OUT/logs/$DEVICE"
	share "${suites[@]}"
	while [ -s "$SHARE/list" ]; do
		BOOTS=$((BOOTS + 1))
		boot_suites "$bed"
	done
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
	[ -z "${SHARE:-}" ] || rm -rf "$SHARE" "$PIPE"
}

SUITES=() CHOSEN=() UML_LAYER=() LIST='' CSV='' BOOTS=0 KERNEL='' COUNTS=''
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
SHARE=$(mktemp -d "${TMPDIR:-/tmp}/softmr-foreign.XXXXXX")
PIPE=$SHARE.output
mkfifo "$PIPE"
for DEVICE in "${CHOSEN[@]}"; do
	for bed in uml qemu; do run_device "$bed"; done
done
"$TOP/scripts/foreign/report.py" "$OUT" "$FOREIGN_SUITES" "$TOP/Documentation/conformance.rst" ${CSV:+"$CSV"}
