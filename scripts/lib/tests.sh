# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The tests, their requirements and costs, and the choice of tests for a run.
#
# The head of a test says where it can run and what it needs (testing.rst). selftests/seconds has the cost of each test on
# each bed; prove's saved state ($CACHE/proved) when it last ran.
#
#   break  what `make test` runs: on BREAK_BED each test of at most BREAK_COST seconds, and the tests whose heads name a
#          bed in "break"; host tests that boot no guest of UML. It compiles no kernel
#   daily  what .ci/run runs: the break; on uml-checked each test of at most DAILY_COST seconds, and the tests whose
#          heads name a bed in "daily"; and a part of the rota
#   all    every test on every bed
#
# The rota has the tests that the daily run would leave out: those that ran longest ago come first, and one of ROTA_PARTS
# parts of their cost runs each time. With two runs a day that is each of them within four days.

BEDS=(qemu-newest uml-checked qemu-stable qemu-oldest qemu-cloud qemu-rt)
# Beds that only the rota and -b run
RARE_BEDS=(qemu-race)
BREAK_BED=qemu-newest
BREAK_COST=12
DAILY_COST=24
ROTA_PARTS=7
# The tests that the rota runs on the kernels between the newest and the oldest, by the beginnings of their names
WIRE='^(capture|ecn|egress|hostile_wire|ipsec|link_|mcast|offloads|packet|perftest|pingpong|raw_|rc_|rdmacm|semantics_|srq|two_nodes|uc_|ud_|unreliable|xrc|xsrq)'
# A test without a recorded cost is assumed to cost this fraction of its limit
UNKNOWN_PART=5
DEFAULT_TIMEOUT=120
SECONDS_FILE=$TOP/selftests/seconds
PROVED=$CACHE/proved

# The settings at the heads of the tests: SETTINGS["NAME KEY"]; the names of the beds' own tests begin with beds/
declare -A SETTINGS=()
read_settings() {
	local name key value
	while read -r name key value; do
		SETTINGS[$name $key]=${SETTINGS[$name $key]:-$value}
	done < <(cd "$TOP/selftests" && grep -HE '^(#|//| \*) *(beds|break|daily|race|needs|nodes|timeout|boot): ' -- *.sh *.c beds/*.sh |
		sed -E 's,^(.*)\.(sh|c):[^a-z]*([a-z]+): *(.*)$,\1 \3 \4,')
}

# The costs of tests: COST["BED NAME"], in seconds
declare -A COST=()
read_costs() {
	local bed name seconds
	while read -r bed name seconds; do
		case $bed in '#'* | '') ;; *) COST[$bed $name]=$seconds ;; esac
	done <"$SECONDS_FILE"
}

# proved KEY FILE...: "BED/NAME VALUE" of each test in these states of prove's: last_run_time, last_result
proved() {
	cat "${@:2}" 2>/dev/null | awk -v key="$1:" '
		/^  [^ ]+:$/ { test = substr($1, 1, length($1) - 1) }
		$1 == key && /^    / { print test, $2 }'
}

# has_bed LIST BED: the list is of words
has_bed() { [[ " $1 " == *" $2 "* ]]; }

# pairs BED...: each test that can run on each of these beds, a line each: "BED NAME NODES BOOT LIMIT COST". LIMIT is in
# seconds on an idle machine
pairs() {
	local bed name file boot limit dir
	for bed in "$@"; do
		dir=$TOP/selftests
		[ "$bed" != host ] || dir+=/beds
		for file in "$dir"/*.{c,sh}; do
			name=${file##*/} name=${name%.c} boot=shared
			[ -e "$file" ] || continue
			if [ "$bed" = host ]; then
				limit=${SETTINGS[beds/${name%.sh} timeout]:-300}
			else
				has_bed "${SETTINGS[${name%.sh} beds]:-${BEDS[*]} ${RARE_BEDS[*]} uml}" "$bed" || [ "$NAMED" ] || continue
				# the name of the boot that it shares with others; only uml-checked has kmemleak
				case ${SETTINGS[${name%.sh} boot]:-}:$bed in
				own:*) boot=$name ;;
				kmemleak:uml-checked) boot=kmemleak ;;
				esac
				limit=${SETTINGS[${name%.sh} timeout]:-$DEFAULT_TIMEOUT}
			fi
			echo "$bed $name ${SETTINGS[${name%.sh} nodes]:-1} $boot $limit ${COST[$bed $name]:-$((limit / UNKNOWN_PART))}"
		done
	done
}

# in_break BED NAME COST
in_break() {
	case $1 in
	host) [ "$3" -le "$BREAK_COST" ] && [ -z "${SETTINGS[beds/${2%.sh} needs]:-}" ] ;;
	*)
		has_bed "${SETTINGS[${2%.sh} break]:-}" "$1" && return
		[ "$1" = "$BREAK_BED" ] && [ "$3" -le "$BREAK_COST" ] && [ "${SETTINGS[${2%.sh} nodes]:-1}" = 1 ]
		;;
	esac
}

# in_daily BED NAME COST
in_daily() {
	in_break "$@" && return
	case $1 in
	host) kernel_of "$1" "$2" && [ "$3" -le "$DAILY_COST" ] && [ "$KERNEL_OF" != plain ] ;;
	uml-checked) [ "$3" -le "$DAILY_COST" ] || has_bed "${SETTINGS[${2%.sh} daily]:-}" "$1" ;;
	*) has_bed "${SETTINGS[${2%.sh} daily]:-}" "$1" ;;
	esac
}

# in_rota BED NAME
in_rota() {
	case $1 in
	qemu-race) [ "${SETTINGS[${2%.sh} race]:-}" ] ;;
	qemu-stable | qemu-cloud | qemu-rt) [[ $2 =~ $WIRE ]] ;;
	*) true ;;
	esac
}

# kernel_of BED NAME: set KERNEL_OF to the kernel that has to be compiled for this test, or to nothing
kernel_of() {
	KERNEL_OF=
	case $1 in
	host) KERNEL_OF=${SETTINGS[beds/${2%.sh} needs]:-} KERNEL_OF=${KERNEL_OF#uml-} ;;
	uml-checked) KERNEL_OF=checked ;;
	uml*) KERNEL_OF=plain ;;
	qemu-race) KERNEL_OF=race ;;
	esac
}

is_built() {
	[ -e "$UML_SOURCE/.done" ] || return
	case $1 in
	race) [ -e "$(race_dir)/.done" ] ;;
	*) [ -e "$(uml_dir "$1")/.done" ] ;;
	esac
}

# choose WHAT: print those pairs of standard input that the run WHAT (break, daily, all) has, each followed by "main" or
# "rota"
choose() {
	local bed name nodes boot limit cost line
	while read -r bed name nodes boot limit cost; do
		line="$bed $name $nodes $boot $limit $cost"
		case $1 in
		all) echo "$line main" ;;
		break) if in_break "$bed" "$name" "$cost"; then echo "$line main"; fi ;;
		daily) if in_daily "$bed" "$name" "$cost"; then echo "$line main"; elif in_rota "$bed" "$name"; then echo "$line rota"; fi ;;
		esac
	done | if [ "$1" = daily ]; then rota_part; else cat; fi
}

# rota_part: of the pairs of standard input the main ones, and those of the rota whose turn it is. A kernel takes minutes
# to build, so a run builds one that the cache lacks: the checked one, or that of the test that ran longest ago. A machine
# without a state goes round by the halves of days.
rota_part() {
	local kernel have='' bed name rest last
	local -A ran=()
	while read -r name last; do ran[$name]=${last%.*}; done < <(proved last_run_time "$PROVED"/*)
	for kernel in checked plain race; do if is_built "$kernel"; then have+=" $kernel"; fi; done
	while read -r bed name rest; do
		kernel_of "$bed" "$name"
		echo "${ran[$bed/$name]:-0} ${KERNEL_OF:--} $bed $name $rest"
	done | LC_ALL=C sort -s -k1,1n |
		awk -v parts="$ROTA_PARTS" -v turn="$(($(date +%s) / 43200 % ROTA_PARTS))" -v have="$have " -v state="${#ran[@]}" '
			function allowed(k) { return k == "-" || index(have, " " k " ") || k == want || k == "checked" && want != "plain" }
			function take(i) { if (allowed(kernel[i]) && taken < total / parts) { taken += cost[i]; print line[i] } }
			{
				k = $2
				sub(/^[^ ]+ [^ ]+ /, "")
				if ($NF == "main") { main[++mains] = $0; main_kernel[mains] = k; next }
				line[n++] = $0; kernel[n - 1] = k; cost[n - 1] = $6; total += $6
			}
			END {
				want = n ? kernel[0] : "checked"
				if (!state) {
					want = turn == 5 ? "plain" : turn == 2 ? "race" : "checked"
					for (spent = 0; first < n && spent < total * turn / parts; first++) spent += cost[first]
				}
				for (i = 1; i <= mains; i++) if (allowed(main_kernel[i])) print main[i]
				# while a kernel is there, its tests run
				rare = !index(have, " " want " ") && want ~ /plain|race/
				if (rare) for (i = 0; i < n; i++) if (kernel[i] == want) take(i)
				for (i = 0; i < n; i++) if (!rare || kernel[(i + first) % n] != want) take((i + first) % n)
			}'
}
