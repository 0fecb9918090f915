#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the selftests on the test beds: scripts/run-tests.sh [-b BED]... [-t TEST]...
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

BEDS=(qemu-7.2 uml-kasan qemu-6.12 uml-lockdep)
OUT=$BUILD/test
DEFAULT_TIMEOUT=120
SLOW_MACHINE=2 # how much slower than thought a machine may be
BOOT_SLACK=180 # on top of the tests' own limits, for one boot

usage() {
	cat <<-EOF
		Usage: scripts/run-tests.sh [-b BED]... [-t TEST]... [-j N]

		Runs selftests/ on test beds and ends with one line: N passed, N failed, N skipped.
		  -b BED   ${BEDS[*]} (these by default), uml, or host (tests of the beds themselves)
		  -t TEST  only this test, by its file name without .sh
		  -j N     beds at the same time (default 2, given two processors)

		A test says in comment lines where it runs and for how long:
		  # beds: uml-kasan qemu-7.2   # nodes: 1   # timeout: $DEFAULT_TIMEOUT   # boot: own, or kmemleak
	EOF
}

# -- which tests there are, and what they want

# test_setting NAME KEY DEFAULT
test_setting() {
	local name=${1%.sh} value
	value=$(cat "$TOP/selftests/$name".{sh,c} 2>/dev/null |
		sed -nE "s,^(#|//|[[:space:]]\*)[[:space:]]*$2:[[:space:]]*(.*[^[:space:]*/])[[:space:]]*(\*/)?\$,\2,p" | head -n 1)
	echo "${value:-$3}"
}

# The limit of a test, in seconds. It says what a machine with nothing else to do needs; others are slower.
time_limit() { echo $((SLOW_MACHINE * $(test_setting "$1" timeout "$DEFAULT_TIMEOUT"))); }

all_tests() {
	find "$LAYER/$SELFTESTS_DIR" -maxdepth 1 -type f -perm -u+x -printf '%f\n' 2>/dev/null | LC_ALL=C sort
}

wanted() {
	local t
	[ "${#ONLY[@]}" != 0 ] || return 0
	for t in "${ONLY[@]}"; do
		[ "${1%.sh}" != "${t%.sh}" ] || return 0
	done
	return 1
}

runs_on() {
	# a bed named by hand is good for every test named by hand
	[ "${#ONLY[@]}" != 0 ] && [ "$BEDS_CHOSEN" = 1 ] && return
	[[ " $(test_setting "$1" beds "${BEDS[*]} uml") " == *" $2 "* ]]
}

# boot_of NAME BED: which boot a test shares with others. kmemleak is a matter of uml-kasan.
boot_of() {
	local boot
	boot=$(test_setting "$1" boot shared)
	case $boot:$2 in
	own:*) echo "$1" ;;
	kmemleak:uml-kasan) echo kmemleak ;;
	*) echo shared ;;
	esac
}

# Tests of a bed, a line each: "nodes boot name timeout"; those that can share a boot stand together
bed_tests() {
	local name
	all_tests | while IFS= read -r name; do
		if ! wanted "$name" || ! runs_on "$name" "$1"; then continue; fi
		echo "$(test_setting "$name" nodes 1) $(boot_of "$name" "$1") $name $(time_limit "$name")"
	done | sort -k1n,1 -k2,2 -s
}

# -- one boot

# kmemleak takes half of the time of a guest that has it, and more of one that other work holds up: all CPUs wait for
# its lock. So there it is off, but for the tests that are also for it.
# Two emulated machines get one CPU each: together they would have more than the host has, and wait for each other's
# locks.
boot_guest() {
	local bed=$1 leaks=off
	shift
	case $bed in
	qemu-*) "$TOP/scripts/qemu-boot.sh" --kernel "${bed#qemu-}" --cpus "$((NODES == 1 ? 2 : 1))" "$@" ;;
	uml) "$TOP/scripts/uml-boot.sh" --flavour plain "$@" ;;
	uml-kasan)
		[ "$BOOT" != kmemleak ] || leaks=on
		"$TOP/scripts/uml-boot.sh" --flavour kasan --cmdline "kmemleak=$leaks" "$@"
		;;
	uml-*) "$TOP/scripts/uml-boot.sh" --flavour "${bed#uml-}" "$@" ;;
	esac
}

# end_test BED NAME STATUS: judge it by its logs, and tell
end_test() {
	local bed=$1 name=$2 status=$3 share=$OUT/$1/share node logs=$OUT/$1/logs counts
	for ((node = 1; node <= NODES; node++)); do
		mv "$share/$name.$node".{log,dmesg} "$logs/" 2>/dev/null || true
	done
	counts=$(judge_test "$logs" "$name" "$status" "$NODES")
	tell "$bed" "$name" "$counts" $((SECONDS - TEST_START))
}

# tell BED NAME "PASSED FAILED SKIPPED" SECONDS: to the terminal and into the results
tell() {
	local passed failed skipped word=ok
	read -r passed failed skipped <<<"$3"
	echo "$passed $failed $skipped $2 $4" >>"$OUT/$1/results"
	[ "$failed" = 0 ] || word=FAILED
	[ "$passed$failed" != 00 ] || word=skipped
	DONE_TESTS=$((DONE_TESTS + 1))
	printf '  %-7s %-11s %3s %-28s %3d passed %3d failed %3d skipped  %s\n' "$word" "$1" \
		"$DONE_TESTS/$TESTS" "$2" "$passed" "$failed" "$skipped" "$(elapsed "$4")"
	if [ "$failed" != 0 ]; then
		grep -hE '^(not ok|# run-tests:)' "$OUT/$1/logs/$2".*.log 2>/dev/null | head -n 8 | sed 's/^/          /' || true
		echo "          logs: $OUT/$1/logs/$2.*"
	fi
}

# boot_tests BED: run the tests in share/list in one boot. What is left afterwards (a test killed the
# guest) is in share/list again. False if not even one test was begun.
boot_tests() {
	local bed=$1 dir=$OUT/$1 share=$OUT/$1/share line name='' status=0 limit failed_before
	BOOTS=$((BOOTS + 1))
	cp "$TOP/scripts/guest/run-tests" "$share/run-tests"
	limit=$(($(awk '{ s += $2 + 30 } END { print s }' "$share/list") + BOOT_SLACK))
	failed_before=$(failures "$bed")
	mkdir -p "$dir/boot.$BOOTS"
	while IFS= read -r line; do
		line=${line#node1: }
		case $line in
		@start\ *)
			name=${line#* }
			TEST_START=$SECONDS
			;;
		@end\ *)
			end_test "$bed" "$name" "${line##* }"
			sed -i "/^$name /d" "$share/list"
			name=
			;;
		@status\ *) status=${line#* } ;;
		*) echo "$line" >>"$dir/boot.$BOOTS/stderr" ;;
		esac
	done < <(
		s=0
		boot_guest "$bed" --no-build --nodes "$NODES" --share "$share" --timeout "$limit" --log "$dir/boot.$BOOTS" \
			-- bash /mnt/share/run-tests "/$SELFTESTS_DIR" 2>"$dir/boot.$BOOTS/stderr" || s=$?
		echo "@status $s"
	)
	if [ -n "$name" ]; then
		guest_lost "$bed" "$name" "$status"
		sed -i "/^$name /d" "$share/list"
	elif [ -s "$share/list" ]; then
		cat "$dir/boot.$BOOTS/stderr"
		return 1
	elif [ "$status" != 0 ] && [ "$(failures "$bed")" = "$failed_before" ]; then
		# nothing else has failed: a splat at boot, or between tests
		cp "$dir/boot.$BOOTS/stderr" "$dir/logs/boot.$BOOTS.log"
		tail -n 40 "$dir/boot.$BOOTS/stderr"
		tell "$bed" "boot.$BOOTS" "0 1 0" 0
	fi
}

failures() { awk '{ f += $2 } END { print f + 0 }' "$OUT/$1/results"; }

# The guest ended in the middle of a test: that test failed, and the console tells how
guest_lost() {
	local bed=$1 name=$2 node dir=$OUT/$1
	for ((node = 1; node <= NODES; node++)); do
		mv "$dir/share/$name.$node".log "$dir/logs/" 2>/dev/null || true
	done
	{
		echo "# run-tests: the guest was lost during this test (status $3):"
		cat "$dir/boot.$BOOTS/stderr"
	} >>"$dir/logs/$name.1.log"
	grep -m 1 -A 12 'printed this:$' "$dir/boot.$BOOTS/stderr" | sed 's/^/          /' || true
	tell "$bed" "$name" "0 1 0" $((SECONDS - TEST_START))
}

# -- one bed

prepare_bed() {
	case $1 in
	host) prepare_bed qemu-7.2 && prepare_bed uml-lockdep ;;
	qemu-*) host_require qemu && build_layer_with_tests "${1#qemu-}" ;;
	uml) host_require uml && build_layer_with_tests uml && build_uml_layer plain ;;
	uml-*) host_require uml && build_layer_with_tests uml && build_uml_layer "${1#uml-}" ;;
	esac
}

run_group() {
	local bed=$1 share=$OUT/$1/share before
	while [ -s "$share/list" ]; do
		before=$(wc -l <"$share/list")
		if ! boot_tests "$bed" || [ "$(wc -l <"$share/list")" -ge "$before" ]; then
			while read -r name _; do
				echo "# run-tests: the guest could not be used; see $OUT/$bed/boot.$BOOTS" >"$OUT/$bed/logs/$name.1.log"
				tell "$bed" "$name" "0 1 0" 0
			done <"$share/list"
			return
		fi
	done
}

run_bed() {
	local bed=$1
	BOOTS=0 DONE_TESTS=0 TESTS=1
	rm -rf "${OUT:?}/$bed"
	mkdir -p "$OUT/$bed/logs" "$OUT/$bed/share"
	: >"$OUT/$bed/results"
	if [ "$bed" = host ]; then
		run_host_tests
		return
	fi
	bed_tests "$bed" >"$OUT/$bed/tests"
	TESTS=$(wc -l <"$OUT/$bed/tests")
	# the leak check counts as one
	! grep -q ' kmemleak ' "$OUT/$bed/tests" || TESTS=$((TESTS + 1))
	while read -r NODES BOOT; do
		rm -rf "$OUT/$bed/share"
		mkdir "$OUT/$bed/share"
		awk -v n="$NODES" -v b="$BOOT" '$1 == n && $2 == b { print $3, $4 }' "$OUT/$bed/tests" >"$OUT/$bed/share/list"
		run_group "$bed"
	done < <(awk '{ print $1, $2 }' "$OUT/$bed/tests" | uniq)
}

# The beds' own tests run on the host: selftests/beds/
run_host_tests() {
	local test tests=() name status
	NODES=1
	for test in "$TOP"/selftests/beds/*.sh; do
		if wanted "$(basename "$test")"; then tests+=("$test"); fi
	done
	TESTS=${#tests[@]}
	for test in "${tests[@]}"; do
		name=$(basename "$test")
		TEST_START=$SECONDS
		status=0
		timeout "$(test_setting "beds/$name" timeout 300)" "$test" </dev/null >"$OUT/host/logs/$name.1.log" 2>&1 || status=$?
		end_test host "$name" "$status"
	done
}

# -- all of them

# Print each bed's report as it comes, and wait for all
run_beds() {
	local bed running=0
	for bed in "$@"; do
		if [ "$running" -ge "$JOBS_MAX" ]; then
			wait -n || true
			running=$((running - 1))
		fi
		start_job run_bed "$bed"
		running=$((running + 1))
	done
	wait || true
}

summary() {
	local totals
	totals=$(for bed in "$@"; do cat "$OUT/$bed/results"; done |
		awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }')
	if [ "$(cut -d' ' -f3 <<<"$totals")" != 0 ]; then
		echo
		echo "Failed:"
		for bed in "$@"; do awk -v b="$bed" '$2 { print "  " b, $4 }' "$OUT/$bed/results"; done
	fi
	echo "$totals"
	case $totals in
	"0 passed, 0 failed"*)
		warn "no test was run"
		return 1
		;;
	*" 0 failed,"*) return 0 ;;
	*) return 1 ;;
	esac
}

ONLY=() CHOSEN=() BEDS_CHOSEN=0
JOBS_MAX=$(($(nproc) < 2 ? 1 : 2))
while getopts 'b:t:j:h' option; do
	case $option in
	b) CHOSEN+=("$OPTARG") BEDS_CHOSEN=1 ;;
	t) ONLY+=("$OPTARG") ;;
	j) JOBS_MAX=$OPTARG ;;
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
[ "${#CHOSEN[@]}" != 0 ] || CHOSEN=(host "${BEDS[@]}")
for bed in "${CHOSEN[@]}"; do
	[[ " host uml uml-plain ${BEDS[*]} " == *" $bed "* ]] || die 2 "there is no bed '$bed'; there are: host uml ${BEDS[*]}"
done
at_exit end_jobs
for bed in "${CHOSEN[@]}"; do
	prepare_bed "$bed" || die 1 "the bed $bed could not be made"
done
mkdir -p "$OUT"
run_beds "${CHOSEN[@]}"
summary "${CHOSEN[@]}"
