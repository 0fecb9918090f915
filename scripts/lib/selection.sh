# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The tests, their requirements and costs, and the choice of tests for a run.
#
# The head of a test says where it can run and what it needs (testing.rst). selftests/seconds has the last recorded cost
# of each test on each bed (run-tests.sh -r). Both decide:
#
#   break  what `make test` runs: on BREAK_BED each test of at most BREAK_COST seconds, and the tests whose heads name a
#          bed in "break"; host tests that boot no guest of UML. It compiles no kernel
#   daily  what .ci/run runs: the break; on uml-checked each test of at most DAILY_COST seconds, and the tests whose
#          heads name a bed in "daily"; and the part of the rota whose turn it is
#   all    every test on every bed
#
# The rota has the tests that the daily run would leave out, in ROTA_TURNS parts of about the same cost. Each half
# of a day has its turn. So within a week everything runs on the newest kernel, on the oldest, and with sanitizers, and
# on the others the tests of the wire.

BEDS=(qemu-newest uml-checked qemu-stable qemu-oldest qemu-cloud qemu-rt)
# Beds that only the rota and -b run
RARE_BEDS=(qemu-race)
BREAK_BED=qemu-newest
BREAK_COST=12
DAILY_COST=24
ROTA_TURNS=14
# A kernel that takes long to build is built in one turn of the rota. In the turn of User-Mode Linux without sanitizers,
# the one with sanitizers is not built.
RACE_TURN=4
PLAIN_TURN=10
# The tests that the rota runs on the kernels between the newest and the oldest, by the beginnings of their names
WIRE='^(capture|ecn|egress|hostile_wire|ipsec|link_|mcast|offloads|packet|perftest|pingpong|raw_|rc_|rdmacm|semantics_|srq|two_nodes|uc_|ud_|unreliable|xrc|xsrq)'
# A test without a recorded cost is assumed to cost this fraction of its limit
UNKNOWN_PART=5
DEFAULT_TIMEOUT=120
SECONDS_FILE=$TOP/selftests/seconds

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

# The tests that guests run, by the names of their files there
all_tests() {
	(
		cd "$TOP/selftests" || exit
		printf '%s\n' *.sh
		printf '%s\n' *.c | sed 's/\.c$//'
	) | LC_ALL=C sort
}

# has_bed LIST BED: the list is of words
has_bed() { [[ " $1 " == *" $2 "* ]]; }

# pairs BED...: each test that can run on each of these beds, a line each: "BED NAME NODES BOOT LIMIT COST". LIMIT is in
# seconds on an idle machine
pairs() {
	local bed name tests boot limit
	mapfile -t tests < <(all_tests)
	for bed in "$@"; do
		if [ "$bed" = host ]; then
			for name in "$TOP"/selftests/beds/*.sh; do
				name=${name##*/}
				limit=${SETTINGS[beds/${name%.sh} timeout]:-300}
				echo "host $name 1 host $limit ${COST[host $name]:-$((limit / UNKNOWN_PART))}"
			done
			continue
		fi
		for name in "${tests[@]}"; do
			has_bed "${SETTINGS[${name%.sh} beds]:-${BEDS[*]} ${RARE_BEDS[*]} uml}" "$bed" || [ "$NAMED" ] || continue
			# the name of the boot that it shares with others; only uml-checked has kmemleak
			boot=${SETTINGS[${name%.sh} boot]:-shared}
			case $boot:$bed in
			own:*) boot=$name ;;
			kmemleak:uml-checked) ;;
			*) boot=shared ;;
			esac
			limit=${SETTINGS[${name%.sh} timeout]:-$DEFAULT_TIMEOUT}
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

# is_plain_turn TURN
is_plain_turn() { [ $(($1 % ROTA_TURNS)) = "$PLAIN_TURN" ]; }

# kernel_of BED NAME: set KERNEL_OF to the UML kernel that this test needs, or to nothing
kernel_of() {
	KERNEL_OF=
	case $1 in
	host) KERNEL_OF=${SETTINGS[beds/${2%.sh} needs]:-} KERNEL_OF=${KERNEL_OF#uml-} ;;
	uml-checked) KERNEL_OF=checked ;;
	uml*) KERNEL_OF=plain ;;
	esac
}

# rota_turn BED NAME: set ROTA_TURN to the turn of the rota in which this test has to run, "-" for any, "checked" for
# any in which that kernel is built; to nothing if it is not in the rota
rota_turn() {
	ROTA_TURN=
	case $1 in
	qemu-race) [ -z "${SETTINGS[${2%.sh} race]:-}" ] || ROTA_TURN=$RACE_TURN ;;
	qemu-stable | qemu-cloud | qemu-rt) [[ ! $2 =~ $WIRE ]] || ROTA_TURN=- ;;
	*)
		kernel_of "$@"
		case $KERNEL_OF in
		plain) ROTA_TURN=$PLAIN_TURN ;;
		checked) ROTA_TURN=checked ;;
		*) ROTA_TURN=- ;;
		esac
		;;
	esac
}

# choose WHAT TURN: print those pairs of standard input that the run WHAT (break, daily, all) has in this turn, each
# followed by "main" or "rota"
choose() {
	local bed name nodes boot limit cost line left=() KERNEL_OF ROTA_TURN
	while read -r bed name nodes boot limit cost; do
		line="$bed $name $nodes $boot $limit $cost"
		case $1 in
		all) echo "$line main" ;;
		break) if in_break "$bed" "$name" "$cost"; then echo "$line main"; fi ;;
		daily)
			if ! in_daily "$bed" "$name" "$cost"; then
				rota_turn "$bed" "$name"
				[ -z "$ROTA_TURN" ] || left+=("$line rota $ROTA_TURN")
			else
				kernel_of "$bed" "$name"
				if ! is_plain_turn "$2" || [ "$KERNEL_OF" != checked ]; then echo "$line main"; fi
			fi
			;;
		esac
	done
	[ "${#left[@]}" = 0 ] || printf '%s\n' "${left[@]}" | rota_part "$2"
}

# rota_part TURN: print those pairs of standard input, each followed by its turn of the rota, whose turn it is. Pairs
# without one are distributed, the most expensive first, each to the cheapest part so far.
rota_part() {
	LC_ALL=C sort -k6,6nr -k1,2 | LC_ALL=C sort -s -k8,8r | awk -v turns="$ROTA_TURNS" -v now="$(($1 % ROTA_TURNS))" -v plain="$PLAIN_TURN" '
		function cheapest(turn,  t, least) {
			least = -1
			for (t = 0; t < turns; t++)
				if ((turn != "checked" || t != plain) && (least < 0 || load[t] < load[least])) least = t
			return least
		}
		BEGIN { for (t = 0; t < turns; t++) load[t] = 0 }
		{
			part = $8 ~ /^[0-9]/ ? $8 : cheapest($8)
			load[part] += $6
			if (part == now) print $1, $2, $3, $4, $5, $6, $7
		}'
}
