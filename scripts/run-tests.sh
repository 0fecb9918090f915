#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the selftests on the test beds: scripts/run-tests.sh [-b BED]... [-t TEST]... [-s]
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/schedule.sh
. "$TOP/scripts/lib/schedule.sh"

# The short run is on the first two beds, and scripts run on the third, too. On the others only tests run whose heads
# name that bed in "short", or say "every bed".
BEDS=(qemu-newest uml-checked qemu-stable qemu-oldest qemu-cloud)
SHORT_BEDS=("${BEDS[@]:0:2}")
SHORT_BEDS_OF_SCRIPTS=("${BEDS[@]:0:3}")
OUT=$BUILD/test
DEFAULT_TIMEOUT=120
SLOW_MACHINE=2 # a machine may be this many times slower than expected
SLOW_RACE=3    # and with KCSAN, which waits at the accesses that it watches, this many times again
BOOT_SLACK=180 # on top of the tests' own limits, for one boot

usage() {
	cat <<-EOF
		Usage: scripts/run-tests.sh [-b BED]... [-t TEST]... [-s] [-l] [-j N]

		Runs selftests/ on test beds and ends with one line: N passed, N failed, N skipped.
		  -b BED   ${BEDS[*]} (these by default), uml, qemu-race, or host (tests of the beds themselves)
		  -t TEST  only this test, by its file name without .sh
		  -s       the short run: each test on the beds only that it names for it; else on ${SHORT_BEDS[*]},
		           and scripts on ${SHORT_BEDS_OF_SCRIPTS[2]}
		  -l       do not run, but list: a bed and a test on each line
		  -j N     as many jobs at the same time, an emulated guest being two (default 3, given two processors)

		A test says in comment lines where it can run, where in the short run, if not there, and for how long:
		  # beds: uml-checked qemu-newest   # short: qemu-newest, or none, or every bed
		  # nodes: 1   # timeout: $DEFAULT_TIMEOUT   # boot: own, or kmemleak
	EOF
}

# -- which tests there are, and what they need

# The settings at the heads of the tests: SETTINGS["NAME KEY"]; the names of the beds' own tests begin with beds/
declare -A SETTINGS=()
read_settings() {
	local name key value
	while read -r name key value; do
		SETTINGS[$name $key]=${SETTINGS[$name $key]:-$value}
	done < <(cd "$TOP/selftests" && grep -HE '^(#|//| \*) *(beds|short|nodes|timeout|boot): ' -- *.sh *.c beds/*.sh |
		sed -E 's,^(.*)\.(sh|c):[^a-z]*([a-z]+): *(.*)$,\1 \3 \4,')
}

# test_setting NAME KEY DEFAULT
test_setting() { echo "${SETTINGS[${1%.sh} $2]:-$3}"; }

# time_limit NAME BED: the limit of a test, in seconds. A test's head has the time on a quiet machine; other machines are
# slower.
time_limit() {
	local limit=$((SLOW_MACHINE * $(test_setting "$1" timeout "$DEFAULT_TIMEOUT")))
	[ "$2" != qemu-race ] || limit=$((limit * SLOW_RACE))
	echo "$limit"
}

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
	# a bed that was named on the command line runs every test that was named there
	[ "${#ONLY[@]}" != 0 ] && [ "$BEDS_CHOSEN" = 1 ] && return
	local beds short=("${SHORT_BEDS[@]}")
	beds=$(test_setting "$1" beds "${BEDS[*]} uml qemu-race")
	[[ " $beds " == *" $2 "* ]] || return
	[ "$SHORT" ] || return 0
	[[ $1 != *.sh ]] || short=("${SHORT_BEDS_OF_SCRIPTS[@]}")
	beds=$(test_setting "$1" short "${short[*]}")
	[[ "$beds" == "every bed" || " $beds " == *" $2 "* ]]
}

# boot_of NAME BED: the boot that a test shares with others. Only uml-checked has the boot kmemleak. Guests of UML boot
# quickly, but wait for their kernel first: so they have two boots, one for scripts, which run side by side.
boot_of() {
	local boot
	boot=$(test_setting "$1" boot shared)
	case $boot:$2 in
	own:*) echo "$1" ;;
	kmemleak:uml-checked) echo kmemleak ;;
	*:uml*) [[ $1 = *.sh ]] && echo scripts || echo shared ;;
	*) echo shared ;;
	esac
}

# tests_of BED: its tests, a line each: "nodes boot name timeout"
tests_of() {
	local name
	if [ "$1" = host ]; then
		for name in "$TOP"/selftests/beds/*.sh; do
			name=$(basename "$name")
			[ -z "$SHORT" ] || [ "$(test_setting "beds/$name" short host)" != none ] || continue
			if wanted "$name"; then echo "1 host $name $(test_setting "beds/$name" timeout 300)"; fi
		done
		return
	fi
	all_tests | while IFS= read -r name; do
		if ! wanted "$name" || ! runs_on "$name" "$1"; then continue; fi
		echo "$(test_setting "$name" nodes 1) $(boot_of "$name" "$1") $name $(time_limit "$name" "$1")"
	done
}

# -- one boot

# uml_guest FLAVOUR OPTION...: with a lower priority, so that it uses the processor time that an emulated guest leaves.
# At the same priority it would slow the emulated guest down by more than the time that it uses
uml_guest() { nice -n 5 "$TOP/scripts/uml-boot.sh" --flavour "$@"; }

# kmemleak is off (see uml-boot.sh) but for the tests that are also for it, and these get one CPU.
# Lockdep, when other guests have the processors too, frees a netdev later than the 10 s after which the core complains.
# Two emulated machines get one CPU each: together they would have more than the host has, and wait for each other's
# locks.
boot_guest() {
	local bed=$1 leaks='' cpus=2
	shift
	case $bed in
	qemu-*) "$TOP/scripts/qemu-boot.sh" --kernel "${bed#qemu-}" --cpus "$((NODES == 1 ? 2 : 1))" "$@" ;;
	uml | uml-plain) uml_guest plain "$@" ;;
	uml-checked)
		[ "$BOOT" != kmemleak ] || leaks=kmemleak=on cpus=1
		uml_guest checked --cpus "$cpus" \
			--cmdline "$leaks sysctl.net.core.netdev_unregister_timeout_secs=30" "$@"
		;;
	esac
}

# end_test NAME STATUS: judge it by its logs, and report
end_test() {
	local name=$1 status=$2 node counts
	for ((node = 1; node <= NODES; node++)); do
		mv "$SHARE/$name.$node".{log,dmesg} "$LOGS/" 2>/dev/null || true
	done
	counts=$(judge_test "$LOGS" "$name" "$status" "$NODES")
	tell "$name" "$counts" $((SECONDS - TEST_START))
}

# tell NAME "PASSED FAILED SKIPPED" SECONDS: print the result, and add it to the results
tell() {
	local passed failed skipped word=ok results=$OUT/$BED/results
	read -r passed failed skipped <<<"$2"
	echo "$passed $failed $skipped $1 $3" >>"$results"
	[ "$failed" = 0 ] || word=FAILED
	[ "$passed$failed" != 00 ] || word=skipped
	printf '  %-7s %-11s %3s %-28s %3d passed %3d failed %3d skipped  %s\n' "$word" "$BED" \
		"$(wc -l <"$results")/$(wc -l <"$OUT/$BED/tests")" "$1" "$passed" "$failed" "$skipped" "$(elapsed "$3")"
	[ "$failed" = 0 ] || JOB_FAILED=1
	if [ "$failed" != 0 ]; then
		cat "$LOGS/$1".*.log 2>/dev/null | failures | cut -c 1-200 | head -n 40 | sed 's/^/          /' || true
		echo "          logs: $LOGS/$1.*"
	fi
}

# boot_tests: run the tests in $SHARE/list in one boot. Tests that did not run (a test killed the guest) are in the list
# afterwards. Fails if not even one test was begun.
boot_tests() {
	local line name='' status=0 limit dir
	BOOTS=$((BOOTS + 1))
	dir=$JOB/boot.$BOOTS
	JOB_FAILED=
	cp "$TOP/scripts/guest/run-tests" "$SHARE/run-tests"
	limit=$(($(awk '{ s += $2 + 30 } END { print s }' "$SHARE/list") + BOOT_SLACK))
	mkdir -p "$dir"
	while IFS= read -r line; do
		line=${line#node1: }
		case $line in
		@start\ *)
			name=${line#* }
			TEST_START=$SECONDS
			;;
		@end\ *)
			end_test "$name" "${line##* }"
			sed -i "/^$name /d" "$SHARE/list"
			name=
			;;
		@status\ *) status=${line#* } ;;
		*) echo "$line" >>"$dir/stderr" ;;
		esac
	done < <(
		s=0
		boot_guest "$BED" --no-build --nodes "$NODES" --share "$SHARE" --timeout "$limit" --log "$dir" \
			-- bash /mnt/share/run-tests "/$SELFTESTS_DIR" 2>"$dir/stderr" || s=$?
		echo "@status $s"
	)
	if [ -n "$name" ]; then
		guest_lost "$name" "$status" "$dir/stderr"
		sed -i "/^$name /d" "$SHARE/list"
	elif [ -s "$SHARE/list" ]; then
		cat "$dir/stderr"
		return 1
	elif [ "$status" != 0 ] && [ -z "$JOB_FAILED" ]; then
		# nothing else has failed: a splat at boot, or between tests
		name=boot.$(basename "$JOB").$BOOTS
		cp "$dir/stderr" "$LOGS/$name.1.log"
		tail -n 40 "$dir/stderr"
		tell "$name" "0 1 0" 0
	fi
}

# guest_lost NAME STATUS STDERR: the guest ended in the middle of a test: that test failed, and the console shows the
# reason
guest_lost() {
	local name=$1 node
	for ((node = 1; node <= NODES; node++)); do
		mv "$SHARE/$name.$node".log "$LOGS/" 2>/dev/null || true
	done
	{
		echo "# run-tests: the guest was lost during this test (status $2):"
		cat "$3"
	} >>"$LOGS/$name.1.log"
	grep -m 1 -A 12 'printed this:$' "$3" | sed 's/^/          /' || true
	tell "$name" "0 1 0" $((SECONDS - TEST_START))
}

# -- one bed

# Work before any test, because all tests need it or because it is short
prepare_bed() {
	case $1 in
	host) prepare_bed qemu-newest && prepare_bed uml ;;
	qemu-race) host_require qemu uml && build_layer_with_tests race ;;
	qemu-*) host_require qemu && build_layer_with_tests "${1#qemu-}" ;;
	uml*) host_require uml && build_layer_with_tests uml ;;
	esac
}

# flavour_of BED: the UML kernel that it needs, if any. Building it can take minutes, and is a job among the others; it
# gets its share of the processors, because many tests wait for it
flavour_of() {
	case $1 in
	host) echo checked ;;
	uml) echo plain ;;
	uml-*) echo "${1#uml-}" ;;
	esac
}

# begin_bed BED: clear its results, and list its tests
begin_bed() {
	local dir=$OUT/$1
	rm -rf "${dir:?}"
	mkdir -p "$dir/logs"
	: >"$dir/results"
	tests_of "$1" >"$dir/tests"
}

# Print its jobs, a line each: the seconds that it may take, and "bed nodes boot". The tests of a job share a boot
bed_jobs() {
	awk -v bed="$1" '{ limit[$1 " " $2] += $4 } END { for (job in limit) print limit[job], bed, job }' "$OUT/$1/tests"
	# the leak check counts as a test
	if grep -q ' kmemleak ' "$OUT/$1/tests"; then echo "1 kmemleak kmemleak 0" >>"$OUT/$1/tests"; fi
}

# run_job BED NODES BOOT
run_job() {
	BED=$1 NODES=$2 BOOT=$3
	JOB=$OUT/$BED/$NODES.$BOOT SHARE=$OUT/$BED/$NODES.$BOOT/share LOGS=$OUT/$BED/logs BOOTS=0
	if [ "$BED" = host ]; then
		run_host_tests
		return
	fi
	mkdir -p "$SHARE"
	[ -z "$SHORT" ] || : >"$SHARE/short"
	awk -v n="$NODES" -v b="$BOOT" '$1 == n && $2 == b && $4 { print $3, $4 }' "$OUT/$BED/tests" >"$SHARE/list"
	run_boots
}

run_boots() {
	local before
	while [ -s "$SHARE/list" ]; do
		before=$(wc -l <"$SHARE/list")
		if ! boot_tests || [ "$(wc -l <"$SHARE/list")" -ge "$before" ]; then
			while read -r name _; do
				echo "# run-tests: the guest could not be used; see $JOB/boot.$BOOTS" >"$LOGS/$name.1.log"
				tell "$name" "0 1 0" 0
			done <"$SHARE/list"
			return
		fi
	done
}

# The beds' own tests run on the host: selftests/beds/
run_host_tests() {
	local name limit status
	while read -r _ _ name limit; do
		TEST_START=$SECONDS
		status=0
		timeout "$limit" "$TOP/selftests/beds/$name" </dev/null >"$LOGS/$name.1.log" 2>&1 || status=$?
		end_test "$name" "$status"
	done <"$OUT/host/tests"
}

# -- all of them

start_bed_job() {
	case $1 in
	make) start_job build_uml_layer "$2" ;;
	*) start_job run_job "$@" ;;
	esac </dev/null
}

# bed_job_done STATUS WORD...: after a kernel was built, the beds that wait for it are queued
bed_job_done() {
	local bed
	[ "$1 $2" = "0 make" ] || return 0
	for bed in ${waiting[$3]}; do enqueue < <(bed_jobs "$bed"); done
}

# Print each job's report when it comes, and wait for all
run_beds() {
	local bed flavour
	local -A waiting=()
	for bed in "$@"; do
		begin_bed "$bed"
		[ -s "$OUT/$bed/tests" ] || continue
		flavour=$(flavour_of "$bed")
		if [ "$flavour" ]; then waiting[$flavour]+=" $bed"; else enqueue < <(bed_jobs "$bed"); fi
	done
	for flavour in "${UML_FLAVOURS[@]}"; do
		[ ! "${waiting[$flavour]:-}" ] || enqueue <<<"1000000 make $flavour"
	done
	run_queue start_bed_job bed_job_done
	for bed in "$@"; do untold "$bed"; done
}

# untold BED: tests without a result. Their kernel was not built, or their job was ended: they count as failed
untold() {
	local name
	BED=$1 LOGS=$OUT/$1/logs
	cut -d' ' -f3 "$OUT/$1/tests" | grep -vxF -f <(cut -d' ' -f4 "$OUT/$1/results") | while IFS= read -r name; do
		echo "# run-tests: the kernel for this test could not be made, or the job that was to run it has ended" >"$LOGS/$name.1.log"
		tell "$name" "0 1 0" 0
	done || true
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

ONLY=() CHOSEN=() BEDS_CHOSEN=0 SHORT='' LIST=''
while getopts 'b:t:slj:h' option; do
	case $option in
	b) CHOSEN+=("$OPTARG") BEDS_CHOSEN=1 ;;
	t) ONLY+=("$OPTARG") ;;
	s) SHORT=1 ;;
	l) LIST=1 ;;
	j) ROOM=$OPTARG ;;
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
	[[ " host uml uml-plain qemu-race ${BEDS[*]} " == *" $bed "* ]] ||
		die 2 "there is no bed '$bed'; there are: host uml qemu-race ${BEDS[*]}"
done
read_settings
if [ "$LIST" ]; then
	for bed in "${CHOSEN[@]}"; do tests_of "$bed" | sed -E "s/([^ ]+ ){2}([^ ]+) .*/$bed \\2/"; done
	exit
fi
at_exit end_jobs
for bed in "${CHOSEN[@]}"; do
	prepare_bed "$bed" || die 1 "the bed $bed could not be made"
done
say_roles
[ ! -e "$UML_SOURCE/.package" ] || say_uml
mkdir -p "$OUT"
run_beds "${CHOSEN[@]}"
summary "${CHOSEN[@]}"
