#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the selftests on the test beds by prove(1). See -h.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/tests.sh
. "$TOP/scripts/lib/tests.sh"
# shellcheck source=scripts/lib/guest.sh
. "$TOP/scripts/lib/guest.sh"

OUT=$BUILD/test
SLOW_MACHINE=2 # a machine may be this many times slower than expected
SLOW_RACE=3    # with KCSAN, which waits at the accesses that it watches, a further factor
CHUNK=6        # tests of the rota between two looks at the clock
# the flavour of uml-checked; make coverage has its own
export UML_CHECKED=${UML_CHECKED:-checked}

usage() {
	cat <<-EOF
		Usage: scripts/run-tests.sh [-a | -d] [-b BED]... [-t TEST]... [-l] [-k] [-j N] [-m MINUTES]
		       scripts/run-tests.sh -r

		Runs selftests/ on test beds and ends with one line: N passed, N failed, N skipped.
		Without options it runs the tests that cost least, and names what it leaves out.
		  -a       every test on every bed: ${BEDS[*]}
		  -d       what .ci/run does: more tests on more beds, and of all others those that ran longest ago
		  -b BED   on this bed: one of these, uml, ${RARE_BEDS[*]}, or host (tests of the beds themselves)
		  -t TEST  only this test, by its file name without .sh
		  -l       do not run, but list: a bed and a test on each line
		  -k       do not run, but print which UML kernel the run needs
		  -j N     as many tests at the same time on User-Mode Linux, and half as many in QEMU
		  -m N     begin none of the others after N minutes (with -d)
		  -r       record in selftests/seconds what the tests of the last run cost

		What a test says of itself in comment lines at its head: Documentation/testing.rst.
	EOF
}

# selected: the pairs of bed and test of this run (lib/tests.sh). On a bed that was named, each test that was named runs
selected() {
	pairs "${CHOSEN[@]}" | awk -v only="${ONLY[*]}" '
		BEGIN { n = split(only, word, " "); for (i = 1; i <= n; i++) { sub(/\.sh$/, "", word[i]); want[word[i]] } }
		{ name = $2; sub(/\.sh$/, "", name) }
		!n || name in want' | choose "$RUN"
}

# -- one lane: the tests that share what runs them, User-Mode Linux or an emulated machine

prepare_bed() {
	case $1 in
	host) prepare_bed qemu-newest ;;
	qemu-race) host_require qemu uml && build_layer_with_tests race ;;
	qemu-*) host_require qemu && build_layer_with_tests "${1#qemu-}" ;;
	uml) host_require uml && build_layer_with_tests uml && build_uml_layer plain ;;
	uml-checked) host_require uml && build_layer_with_tests uml && build_uml_layer "$UML_CHECKED" ;;
	esac
}

# prove_tests JOBS: those of standard input, "BED/NAME" each. Its state is one of this run, until the run is over
prove_tests() {
	(cd "$OUT" && prove --norc --nocolor --timer -j "$1" --exec ./on-bed --state=save --statefile="state.$LANE" - ||
		echo "$?" >>"status.$LANE")
}

# prove_rules: tests of kmemleak's boot have one guest, so they follow each other, beside all others
prove_rules() {
	printf '%s\n' --- par: '  - seq:'
	awk '$4 == "kmemleak" { print "    - " $1 "/" $2 }' "$OUT/selected"
	echo "  - '**'"
}

# run_bed BED PHASE JOBS: its tests of that phase, the cheapest first
run_bed() {
	local tests chunk=$CHUNK
	# there they run one after the other
	[ "$1" != host ] || chunk=1
	[ "$2" != main ] || chunk=1000
	mapfile -t tests < <(awk -v bed="$1" -v phase="$2" '
		$1 == bed && $7 == phase && $2 != "kmemleak.sh" { print $6, $1 "/" $2 }' "$OUT/selected" | LC_ALL=C sort -s -k1,1n | cut -d' ' -f2)
	while [ "${#tests[@]}" != 0 ] && ! is_late "$2"; do
		printf '%s\n' "${tests[@]:0:chunk}" | prove_tests "$3"
		tests=("${tests[@]:chunk}")
	done
	# what the tests of this boot have leaked; a failure of an earlier one stays
	if [ -e "$OUT/guests/$1.1.kmemleak.1/pid" ] || grep -q "^$1 kmemleak.sh .* $2\$" "$OUT/selected"; then
		grep -qs '^not ok' "$OUT/$1/logs/kmemleak.sh.tap" || echo "$1/kmemleak.sh" | prove_tests 1
		grep -q "^$1 kmemleak.sh " "$OUT/selected" || echo "$1 kmemleak.sh 1 kmemleak 0 0 $2" >>"$OUT/selected"
	fi
	end_guests "$1"
}

is_late() { [ "$1" = rota ] && [ "$MINUTES" ] && [ "$SECONDS" -ge $((MINUTES * 60)) ]; }

# run_lane LANE JOBS BED...
run_lane() {
	local bed phase
	LANE=$1
	cp "$PROVED/$LANE" "$OUT/state.$LANE" 2>/dev/null || true
	for phase in main rota; do
		for bed in "${@:3}"; do
			if is_late "$phase" || ! grep -q "^$bed .* $phase\$" "$OUT/selected"; then continue; fi
			if prepare_bed "$bed"; then run_bed "$bed" "$phase" "$2"; else warn "the bed $bed could not be made"; fi
		done
	done
}

# end_guests BED: let them end. What one of them says after its last test is a failure of its own
end_guests() {
	local pid dir
	for pid in "$OUT/guests/$1".*/pid; do
		[ -e "$pid" ] || continue
		dir=${pid%/pid}
		guest_end "$dir" | tee -a /dev/stderr >>"$OUT/bad-guests"
		! grep -q 'so it is booted once more: ' "$dir/stderr" || echo "${dir##*/}" >>"$OUT/again"
	done
}

kill_guests() {
	local pid
	# make forwards a signal that this process may have had already
	trap '' INT TERM HUP
	end_jobs
	for pid in "$OUT"/guests/*/pid; do [ ! -e "$pid" ] || guest_kill "${pid%/pid}"; done
}

# -- all of them

# lane_of BED
lane_of() { case $1 in uml*) echo uml ;; *) echo qemu ;; esac; }

# run_lanes: both at a time. An emulated guest has two processors, which also work while they wait for each other; one of
# UML leaves a third of its processor to others
run_lanes() {
	local bed qemu=() uml=() room=${JOBS_AT_ONCE:-$(($(nproc) < 2 ? 1 : $(nproc) * 3 / 2))}
	for bed in "${CHOSEN[@]}"; do if [ "$(lane_of "$bed")" = uml ]; then uml+=("$bed"); else qemu+=("$bed"); fi; done
	mkdir -p "$PROVED"
	if [ "${#qemu[@]}" != 0 ] && [ "${#uml[@]}" != 0 ]; then room=$((room * 2 / 3)); fi
	if [ "${#qemu[@]}" != 0 ]; then start_job run_lane qemu "$((room < 4 ? 1 : room / 2))" "${qemu[@]}"; fi
	if [ "${#uml[@]}" != 0 ]; then start_job run_lane uml "$((room < 2 ? 1 : ${#qemu[@]} ? (room + 1) / 2 : room))" "${uml[@]}"; fi
	wait "${JOBS[@]}" || true
	for bed in qemu uml; do
		[ ! -e "$OUT/state.$bed" ] || { cp "$OUT/state.$bed" "$PROVED/.$bed.$$" && mv "$PROVED/.$bed.$$" "$PROVED/$bed"; }
	done
}

# not_run: print what this run has left out
not_run() {
	[ "$RUN" = all ] || {
		say "Not run: $(pairs host "${BEDS[@]}" "${RARE_BEDS[@]}" | cut -d' ' -f1,2 | sort | comm -23 - <(cut -d' ' -f1,2 "$OUT/selected" | sort) |
			cut -d' ' -f1 | uniq -c | awk '{ printf "%s%d on %s", n++ ? ", " : "", $1, $2 }')."
		say "All of them: make test ALL=1 (hours). One: make test T=NAME BED=BED."
	}
	[ ! -s "$OUT/late" ] || say "Not begun within $MINUTES minutes: $(paste -sd ' ' "$OUT/late")"
	[ ! -s "$OUT/again" ] || say "Guests of QEMU that were booted once more, because their init never spoke: $(paste -sd ' ' "$OUT/again")"
}

# results: add up what the tests have said. prove is the judge: its state says which tests were bad. A test without a
# result has failed, except one of the rota for which the time was over
results() {
	local bed name phase taps=() bad passed failed skipped
	while read -r bed name _ _ _ _ phase; do
		if [ -e "$OUT/$bed/logs/$name.tap" ]; then
			taps+=("$bed/logs/$name.tap")
		elif is_late "$phase"; then
			echo "$bed/$name" >>"$OUT/late"
		else
			echo "$bed/$name: it has no result: its bed could not be made, or its job has ended" >>"$OUT/bad-guests"
		fi
	done <"$OUT/selected"
	bad=$(proved last_result "$OUT"/state.* | awk '$2 != 0 { sub("/", "/logs/", $1); print $1 ".tap" }' |
		grep -xF -f <(printf '%s\n' "${taps[@]}")) || true
	read -r passed failed skipped < <(cd "$OUT" && tap_counts "$bad" "${taps[@]}")
	failed=$((failed + $(wc -l <"$OUT/bad-guests")))
	not_run
	if [ "$failed" != 0 ]; then
		printf '\nFailed:\n'
		printf '%s\n' "$bad" | sed -n 's:^\(.*\)/logs/\(.*\)\.tap$:  \1 \2:p'
		sed 's/^/  /' "$OUT/bad-guests"
	fi
	uml_left_out
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] || return 1
	[ "$passed" != 0 ] || { warn "no test was run" && return 1; }
}

# announce: print how much there is to do, and how long it may take
announce() {
	say "  TESTS $(wc -l <"$OUT/selected"), on $(cut -d' ' -f1 "$OUT/selected" | uniq | sort -u | tr '\n' ' ')- about $(awk '
		{ lane = $1 ~ /^uml/; cost[lane] += $6 }
		END { print int((cost[0] > cost[1] ? cost[0] : cost[1]) / 60) + 1 }' "$OUT/selected"
	) minutes on two processors like those of selftests/seconds, and what is to be built"
	awk '$7 == "rota"' "$OUT/selected" | grep -q . || return 0
	say "  ROTA  $(grep -c ' rota$' "$OUT/selected") of the other tests; the one that has waited longest ran $(
		proved last_run_time "$PROVED"/* | grep -F -f <(awk '$7 == "rota" { print $1 "/" $2 " " }' "$OUT/selected") | awk -v now="$(date +%s)" '
			!oldest || $2 < oldest { oldest = $2 }
			END { print n + NR ? sprintf("%.1f days ago", (now - oldest) / 86400) : "never" }')"
}

# record: write the costs of the last run's tests that passed into selftests/seconds; the lines of other tests are kept
record() {
	{
		grep '^#' "$SECONDS_FILE"
		awk '!/^#/ { seconds[$1 " " $2] = $3 } END { for (pair in seconds) print pair, seconds[pair] }' "$SECONDS_FILE" "$OUT/took" |
			LC_ALL=C sort
	} >"$OUT/seconds"
	cp "$OUT/seconds" "$SECONDS_FILE"
	say "recorded $(wc -l <"$OUT/took") tests in $SECONDS_FILE"
}

ONLY=() CHOSEN=() NAMED='' RUN='' LIST='' KERNEL='' MINUTES='' JOBS_AT_ONCE=''
while getopts 'adb:t:lkj:m:rh' option; do
	case $option in
	a) RUN=all ;;
	d) RUN=daily ;;
	b) CHOSEN+=("$OPTARG") ;;
	t) ONLY+=("$OPTARG") ;;
	l) LIST=1 ;;
	k) KERNEL=1 ;;
	j) JOBS_AT_ONCE=$OPTARG ;;
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
[[ ${JOBS_AT_ONCE:-1} =~ ^[1-9][0-9]*$ ]] || die 2 "-j takes a number, not '$JOBS_AT_ONCE'"
[ "${#CHOSEN[@]}${#ONLY[@]}" = 00 ] || RUN=${RUN:-all}
RUN=${RUN:-"break"}
# a bed that was named runs every test that was named
[ "${#CHOSEN[@]}" = 0 ] || [ "${#ONLY[@]}" = 0 ] || NAMED=1
if [ "${#CHOSEN[@]}" = 0 ]; then
	CHOSEN=(host "${BEDS[@]}")
	[ "$RUN" != daily ] || CHOSEN+=("${RARE_BEDS[@]}")
fi
for bed in "${CHOSEN[@]}"; do
	[[ " host uml ${RARE_BEDS[*]} ${BEDS[*]} " == *" $bed "* ]] ||
		die 2 "there is no bed '$bed'; there are: host uml ${RARE_BEDS[*]} ${BEDS[*]}"
done
read_settings
read_costs
if [ "$LIST" ]; then
	selected | cut -d' ' -f1,2
	exit
elif [ "$KERNEL" ]; then
	selected | while read -r bed name _; do kernel_of "$bed" "$name" && echo "$KERNEL_OF"; done | grep -E 'checked|plain' | sort -ru | head -n 1
	exit
fi
at_exit kill_guests
rm -rf "$OUT"
mkdir -p "$OUT"
# a run without any time left builds nothing for the rota
selected | if [ "$MINUTES" ] && [ "$MINUTES" -le 0 ]; then sed '/ rota$/d'; else cat; fi >"$OUT/selected"
[ -s "$OUT/selected" ] || die 1 "no test was chosen"
# prove keeps the state of tests whose file exists
NAMED='' pairs host uml "${BEDS[@]}" "${RARE_BEDS[@]}" | cat - "$OUT/selected" | while read -r bed name nodes boot limit _; do
	limit=$((SLOW_MACHINE * limit))
	[ "$bed" != qemu-race ] || limit=$((limit * SLOW_RACE))
	mkdir -p "$OUT/$bed/logs"
	echo "$nodes $boot $limit" >"$OUT/$bed/$name"
done
ln -s "$TOP/scripts/on-bed" "$OUT/on-bed"
touch "$OUT"/{bad-guests,late,again,took}
prove_rules >"$OUT/testrules.yml"
mapfile -t CHOSEN < <(awk '!there[$1]++ { print $1 }' "$OUT/selected")
export SHORT=''
[ "$RUN" = all ] || SHORT=1
announce
# first build what all beds need
host_provide prove:perl || exit 1
case ${CHOSEN[*]} in
*qemu-* | *host*) host_require qemu && with_lock image image_make ;;
*) host_require uml && with_lock image image_make ;;
esac || die 1 "the guests' system could not be made"
say_roles
[ ! -e "$UML_SOURCE/.package" ] || say_uml
run_lanes
results
