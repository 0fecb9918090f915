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
# shellcheck source=scripts/lib/selection.sh
. "$TOP/scripts/lib/selection.sh"

OUT=$BUILD/test
SLOW_MACHINE=2 # a machine may be this many times slower than expected
SLOW_RACE=3    # with KCSAN, which waits at the accesses that it watches, a further factor
BOOT_SLACK=180 # on top of the tests' own limits, for one boot
BOOT_COST=20   # the cost of a boot in seconds
SHARD_COST=300 # tests that cost more than this together are distributed to several boots, which run side by side

usage() {
	cat <<-EOF
		Usage: scripts/run-tests.sh [-a | -d [-D TURN]] [-b BED]... [-t TEST]... [-l] [-k] [-j N] [-m MINUTES]
		       scripts/run-tests.sh -r

		Runs selftests/ on test beds and ends with one line: N passed, N failed, N skipped.
		Without options it runs the tests that cost least, and names what it leaves out.
		  -a       every test on every bed: ${BEDS[*]}
		  -d       what .ci/run does: more tests on more beds, and a part of all others, by the half of a day
		  -D TURN  the part of that half day, counted since the year began
		  -b BED   on this bed: one of these, uml, ${RARE_BEDS[*]}, or host (tests of the beds themselves)
		  -t TEST  only this test, by its file name without .sh
		  -l       do not run, but list: a bed and a test on each line
		  -k       do not run, but print which UML kernel the run needs
		  -j N     as many jobs at the same time, an emulated guest being two (default 3, given two processors)
		  -m N     begin none of the others after N minutes (with -d)
		  -r       record in selftests/seconds what the tests of the last run cost

		What a test says of itself in comment lines at its head: Documentation/testing.rst.
	EOF
}

# time_limit LIMIT BED: the limit of a test, in seconds. The test's head has the time on an idle machine; other machines
# are slower.
time_limit() {
	local limit=$((SLOW_MACHINE * $1))
	[ "$2" != qemu-race ] || limit=$((limit * SLOW_RACE))
	echo "$limit"
}

wanted() {
	local t
	[ "${#ONLY[@]}" != 0 ] || return 0
	for t in "${ONLY[@]}"; do
		[ "${1%.sh}" != "${t%.sh}" ] || return 0
	done
	return 1
}

# selected: the pairs of bed and test of this run (selection.sh). On a bed that was named on the command line, each test
# that was named there runs.
selected() {
	local line name
	pairs "${CHOSEN[@]}" | while IFS= read -r line; do
		name=${line#* }
		if wanted "${name%% *}"; then echo "$line"; fi
	done | choose "$RUN" "$TURN"
}

# -- one boot

# uml_guest FLAVOUR OPTION...: with a lower priority, so that it uses the processor time that an emulated guest leaves.
# At the same priority it would delay the emulated guest by more than the time that it uses
uml_guest() { nice -n 5 "$TOP/scripts/uml-boot.sh" --flavour "$@"; }

# kmemleak is off (see uml-boot.sh) except for tests whose head asks for it, and these get one CPU. If other guests
# share the processors, lockdep delays the freeing of a netdev beyond the 10 s after which the core complains. Two
# emulated machines get one CPU each: with more they would exceed the host's CPUs, and wait for each other's locks.
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

# judge_skips NAME "PASSED FAILED SKIPPED": print the counts; each difference from the table of skips is a failure. A
# test that failed may not have reached its skips. The table covers BEDS, and of these the ones that the test's head
# names.
judge_skips() {
	local passed failed skipped told=()
	read -r passed failed skipped <<<"$2"
	if [ "$failed" = 0 ] && has_bed "${BEDS[*]}" "$BED" && has_bed "${SETTINGS[${1%.sh} beds]:-${BEDS[*]}}" "$BED"; then
		mapfile -t told < <(skips_told "$TOP/selftests/skips" "$BED" "$1" "$LOGS/$1.1.log")
		failed=${#told[@]}
		[ "$failed" = 0 ] || printf '# run-tests: %s\n' "${told[@]}" >>"$LOGS/$1.1.log"
	fi
	echo "$passed $failed $skipped"
}

# end_test NAME STATUS: judge it by its logs, and report
end_test() {
	local name=$1 status=$2 node counts
	for ((node = 1; node <= NODES; node++)); do
		mv "$SHARE/$name.$node".{log,dmesg} "$LOGS/" 2>/dev/null || true
	done
	counts=$(judge_skips "$name" "$(judge_test "$LOGS" "$name" "$status" "$NODES")")
	tell "$name" "$counts" $((SECONDS - TEST_START))
}

# progress NAME: note that this test of $BED has ended, and print how far the run is: "[tests/of all, minutes left]".
# The remaining time is extrapolated from the cost of the finished tests, once there are some
progress() {
	awk -v bed="$BED" -v name="$1" '$1 == bed && $2 == name { print $6 }' "$OUT/selected" >>"$OUT/done"
	awk -v all="$TOTAL_COST" -v tests="$TOTAL_TESTS" -v spent="$((SECONDS - TESTS_BEGAN))" -v guess="$TESTS_TAKE" '
		{ done += $1; n++ }
		END {
			share = all ? done / all : 1
			left = share > 0.1 ? spent / share - spent : guess - spent
			printf("[%d/%d, %d min left]\n", n, tests, (left > 0 ? left / 60 + 0.5 : 0))
		}' "$OUT/done"
}

# tell NAME "PASSED FAILED SKIPPED" SECONDS: print the result, and add it to the results
tell() {
	local passed failed skipped word=ok results=$OUT/$BED/results
	read -r passed failed skipped <<<"$2"
	echo "$passed $failed $skipped $1 $3" >>"$results"
	[ "$failed" = 0 ] || word=FAILED
	[ "$passed$failed" != 00 ] || word=skipped
	printf '  %-7s %-11s %-28s %3d passed %3d failed %3d skipped  %5s   %s\n' "$word" "$BED" \
		"$1" "$passed" "$failed" "$skipped" "$(elapsed "$3")" "$(progress "$1")"
	[ "$failed" = 0 ] || JOB_FAILED=1
	if [ "$failed" != 0 ]; then
		cat "$LOGS/$1".*.log 2>/dev/null | failures | cut -c 1-200 | head -n 40 | sed 's/^/          /' || true
		echo "          logs: $LOGS/$1.*"
	fi
}

# boot_tests: run the tests in $SHARE/list in one boot. Afterwards the list has the tests that did not run (if a test
# killed the guest). Fails if no test was started.
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
	if grep -q 'so it is booted once more: ' "$dir/stderr"; then echo "$BED/$NODES.$BOOT" >>"$OUT/again"; fi
	if [ -n "$name" ]; then
		guest_lost "$name" "$status" "$dir/stderr"
		sed -i "/^$name /d" "$SHARE/list"
	elif [ -s "$SHARE/list" ]; then
		cat "$dir/stderr"
		return 1
	elif [ "$status" != 0 ] && [ -z "$JOB_FAILED" ]; then
		# no test has failed: a splat at boot, or between tests
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

# Build what its tests boot from. Each job calls this, so that the module for a late bed is built late
prepare_bed() {
	case $1 in
	host) prepare_bed qemu-newest ;;
	qemu-race) host_require qemu uml && build_layer_with_tests race ;;
	qemu-*) host_require qemu && build_layer_with_tests "${1#qemu-}" ;;
	uml*) host_require uml && build_layer_with_tests uml ;;
	esac
}

# flavour_of BED SELECTED: the UML kernel that the bed needs for the pairs in that file, if any. Building it can take
# minutes, and is a job like the others; it gets its share of the processors, because many tests wait for it
flavour_of() {
	local name wants='' KERNEL_OF
	while read -r _ name _; do
		kernel_of "$1" "$name"
		wants+=" $KERNEL_OF"
	done < <(grep "^$1 " "$2")
	case $wants in
	*checked*) echo checked ;;
	*plain*) echo plain ;;
	esac
}

# begin_bed BED: clear its results, and list its tests: "NODES BOOT NAME LIMIT COST", the cheapest first. Tests that
# share a boot are distributed to several boots, BOOT.1 and so on, if they cost much together: the most expensive first,
# each to the cheapest boot so far. But kmemleak scans at the end of one boot, and host tests build in one place.
begin_bed() {
	local dir=$OUT/$1 bed name nodes boot limit cost phase
	rm -rf "${dir:?}"
	mkdir -p "$dir/logs"
	: >"$dir/results"
	while read -r bed name nodes boot limit cost phase; do
		case $boot in
		shared) boot=$phase ;;
		host) boot=host.$phase ;;
		esac
		echo "$nodes $boot $name $(time_limit "$limit" "$bed") $cost"
	done < <(grep "^$1 " "$OUT/selected") | LC_ALL=C sort -k5,5nr -k3,3 | awk -v most="$SHARD_COST" '
		{ line[NR] = $0; group[NR] = $1 " " $2; total[$1 " " $2] += $5 }
		END {
			for (i = 1; i <= NR; i++) {
				g = group[i]
				n = g ~ / (kmemleak|host\.[a-z]*)$/ ? 1 : int((total[g] + most - 1) / most)
				best = 1
				for (k = 2; k <= n; k++) if (load[g, k] < load[g, best]) best = k
				split(line[i], word, " ")
				load[g, best] += word[5]
				print word[1], word[2] (n > 1 ? "." best : ""), word[3], word[4], word[5]
			}
		}' | LC_ALL=C sort -k5,5n -k3,3 >"$dir/tests"
}

# Print its jobs, a line each. The tests of a job share a boot.
bed_jobs() {
	job_list "$1" $((TURN / ROTA_TURNS)) <"$OUT/$1/tests"
	# the leak check counts as a test
	if grep -q ' kmemleak ' "$OUT/$1/tests"; then echo "1 kmemleak kmemleak 0 0" >>"$OUT/$1/tests"; fi
}

# run_job BED NODES BOOT
run_job() {
	BED=$1 NODES=$2 BOOT=$3
	JOB=$OUT/$BED/$NODES.$BOOT SHARE=$OUT/$BED/$NODES.$BOOT/share LOGS=$OUT/$BED/logs BOOTS=0
	mkdir -p "$SHARE"
	if ! prepare_bed "$BED"; then
		warn "the bed $BED could not be made"
		return 1
	fi
	if [ "$BED" = host ]; then
		with_lock host-tests run_host_tests
		return
	fi
	[ "$RUN" = all ] || : >"$SHARE/short"
	# the module must record its objects
	[ "$BED:$(uml_record checked)" != uml-checked:cover ] || : >"$SHARE/recorded"
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
	local name limit status boot
	while read -r _ boot name limit _; do
		[ "$boot" = "$BOOT" ] || continue
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
	*)
		if [ "$MINUTES" ] && [[ $3 =~ ^(host\.)?rota ]] && [ "$SECONDS" -gt $((MINUTES * 60)) ]; then
			awk -v n="$2" -v b="$3" '$1 == n && $2 == b { print $3 }' "$OUT/$1/tests" >>"$OUT/$1/late"
			start_job true
		else
			start_job run_job "$@"
		fi
		;;
	esac </dev/null
}

# bed_job_done STATUS WORD...: after a kernel is built, the beds that wait for it are queued
bed_job_done() {
	local bed
	[ "$1 $2" = "0 make" ] || return 0
	for bed in ${waiting[$3]}; do enqueue < <(bed_jobs "$bed"); done
}

# Print each job's report when it arrives, and wait for all
run_beds() {
	local bed flavour
	local -A waiting=()
	for bed in "$@"; do
		begin_bed "$bed"
		[ -s "$OUT/$bed/tests" ] || continue
		flavour=$(flavour_of "$bed" "$OUT/selected")
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
	cut -d' ' -f3 "$OUT/$1/tests" | grep -vxF -f <(cut -d' ' -f4 "$OUT/$1/results"; cat "$OUT/$1/late" 2>/dev/null) | while IFS= read -r name; do
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
	uml_left_out
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

# -- what will run, and what was left out

# The time to build what is missing, in seconds, by the recorded times
build_cost() {
	local cost=0 bed what
	[ -e "$BASE/done" ] || cost=$((cost + ${COST[build image]:-0}))
	[ -e "$UML_SOURCE/.done" ] || cost=$((cost + ${COST[build source]:-0}))
	for what in provider selftests; do
		[ -e "$BUILD/.stamp-$what" ] || cost=$((cost + ${COST[build $what]:-0}))
	done
	for bed in "$@"; do
		case $bed in
		qemu-race) ;;
		qemu-*) [ -e "$BUILD/.stamp-module-${bed#qemu-}" ] || cost=$((cost + ${COST[build module]:-0})) ;;
		uml*) [ -e "$BUILD/.stamp-uml-${bed#uml-}" ] || cost=$((cost + ${COST[build uml]:-0})) ;;
		esac
	done
	echo "$cost"
}

# announce: print how much there is to do, and how long it will take
announce() {
	local building
	building=$(build_cost "${CHOSEN[@]}")
	read -r TOTAL_TESTS TOTAL_COST TESTS_TAKE < <(awk -v room="$ROOM" -v boot="$BOOT_COST" -v shard="$SHARD_COST" '
		{ cost = $1 ~ /^(qemu|host)/ ? 2 * $6 : $6; all += $6; work += cost; beds[$1] += $6 }
		END {
			for (bed in beds) work += 2 * boot * (1 + int(beds[bed] / shard))
			print NR, all + 0, int(work / (room < 2 ? 2 : room))
		}' "$OUT/selected")
	say "  TESTS $TOTAL_TESTS, on $(cut -d' ' -f1 "$OUT/selected" | sort -u | tr '\n' ' ')" \
		"- about $(((building + TESTS_TAKE + 59) / 60)) minutes on two processors like those of selftests/seconds$(
			[ "$building" -lt 60 ] || echo ", $(((building + 30) / 60)) of them to build"
		)"
}

# not_run: print what this run has left out
not_run() {
	local bed names
	[ "$RUN" != all ] || return 0
	names=$(comm -23 <(pairs host "${BEDS[@]}" | cut -d' ' -f2 | sort -u) <(cut -d' ' -f2 "$OUT/selected" | sort -u) | tr '\n' ' ')
	say "Not run: $(pairs host "${BEDS[@]}" "${RARE_BEDS[@]}" | cut -d' ' -f1,2 | sort | comm -23 - <(cut -d' ' -f1,2 "$OUT/selected" | sort) |
		cut -d' ' -f1 | uniq -c | awk '{ printf "%s%d on %s", n++ ? ", " : "", $1, $2 }')."
	[ -z "$names" ] || say "On no bed: $names"
	say "All of them: make test ALL=1 (hours). One: make test T=NAME BED=BED."
	for bed in "$@"; do
		[ ! -s "$OUT/$bed/late" ] || say "Not begun within $MINUTES minutes, on $bed: $(tr '\n' ' ' <"$OUT/$bed/late")"
	done
	[ ! -s "$OUT/again" ] || say "Guests of QEMU that were booted once more, because their init never spoke: $(tr '\n' ' ' <"$OUT/again")"
}

# record: write the costs of the last run's tests into selftests/seconds; the lines of other tests are kept
record() {
	local bed
	for bed in host uml "${BEDS[@]}" "${RARE_BEDS[@]}"; do
		[ ! -e "$OUT/$bed/results" ] || awk -v bed="$bed" '$2 == 0 && $4 !~ /^boot\./ { print bed, $4, $5 }' "$OUT/$bed/results"
	done >"$OUT/recorded"
	# only complete builds, not those that had little to do
	awk '
		/ guest image$/ { part = "image" }
		/ Linux source for UML$/ { part = "source" }
		/ provider$/ || / selftests$/ { part = $2 }
		/ modules for Debian/ { part = "module" }
		/ modules for UML/ { part = "uml" }
		part && $1 > most[part] { most[part] = $1 }
		{ part = "" }
		END { for (part in most) print "build", part, most[part] }' "$LOGS/steps" >>"$OUT/recorded"
	{
		grep '^#' "$SECONDS_FILE"
		awk '!/^#/ { seconds[$1 " " $2] = $3 } END { for (pair in seconds) print pair, seconds[pair] }' \
			"$SECONDS_FILE" "$OUT/recorded" | LC_ALL=C sort
	} >"$OUT/seconds"
	cp "$OUT/seconds" "$SECONDS_FILE"
	say "recorded $(wc -l <"$OUT/recorded") tests in $SECONDS_FILE"
}

ONLY=() CHOSEN=() NAMED='' RUN='' TURN=$(($(date -u +'2 * %-j + %-H / 12'))) LIST='' KERNEL='' MINUTES=''
while getopts 'adD:b:t:lkj:m:rh' option; do
	case $option in
	a) RUN=all ;;
	d) RUN=daily ;;
	D) TURN=$OPTARG ;;
	b) CHOSEN+=("$OPTARG") ;;
	t) ONLY+=("$OPTARG") ;;
	l) LIST=1 ;;
	k) KERNEL=1 ;;
	j) ROOM=$OPTARG ;;
	m) MINUTES=$OPTARG ;;
	r)
		record
		exit
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
[[ ${MINUTES:-0} =~ ^-?[0-9]+$ ]] || die 2 "-m takes minutes, not '$MINUTES'"
[[ $TURN =~ ^[0-9]+$ ]] || die 2 "-D takes the number of a half day, not '$TURN'"
[ "${#CHOSEN[@]}${#ONLY[@]}" = 00 ] || RUN=${RUN:-all}
RUN=${RUN:-"break"}
# a bed that was named runs every test that was named
[ "${#CHOSEN[@]}" = 0 ] || [ "${#ONLY[@]}" = 0 ] || NAMED=1
if [ "${#CHOSEN[@]}" = 0 ]; then
	CHOSEN=(host "${BEDS[@]}")
	[ "$RUN" != daily ] || CHOSEN+=("${RARE_BEDS[@]}")
fi
for bed in "${CHOSEN[@]}"; do
	[[ " host uml uml-plain ${RARE_BEDS[*]} ${BEDS[*]} " == *" $bed "* ]] ||
		die 2 "there is no bed '$bed'; there are: host uml ${RARE_BEDS[*]} ${BEDS[*]}"
done
read_settings
read_costs
if [ "$LIST" ]; then
	selected | cut -d' ' -f1,2
	exit
fi
mkdir -p "$OUT"
if [ "$KERNEL" ]; then
	selected >"$OUT/kernel"
	cut -d' ' -f1 "$OUT/kernel" | sort -u | while read -r bed; do flavour_of "$bed" "$OUT/kernel"; done | sort -u
	exit
fi
at_exit end_jobs
selected >"$OUT/selected"
rm -f "$OUT"/{done,again}
: >"$OUT/done"
# a run without any time left builds nothing for the rota
if [ "$MINUTES" ] && [ "$MINUTES" -le 0 ]; then sed -i '/ rota$/d' "$OUT/selected"; fi
[ -s "$OUT/selected" ] || die 1 "no test was chosen"
mapfile -t CHOSEN < <(awk '!there[$1]++ { print $1 }' "$OUT/selected")
announce
# first build what all beds need
case ${CHOSEN[*]} in
*qemu-* | *host*) host_require qemu && with_lock image image_make ;;
*) host_require uml && with_lock image image_make ;;
esac || die 1 "the guests' system could not be made"
say_roles
[ ! -e "$UML_SOURCE/.package" ] || say_uml
TESTS_BEGAN=$SECONDS
run_beds "${CHOSEN[@]}"
not_run "${CHOSEN[@]}"
summary "${CHOSEN[@]}"
