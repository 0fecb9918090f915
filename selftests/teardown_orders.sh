#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# The link, the peer's link, the netdev, the namespaces, the module and the process that uses all of them are removed
# while traffic runs: in a random order one after the other, or all at once. Each is removed within a second on a quiet
# machine, and on any within three, not counting the time in which the machine did not run at all. Nothing remains, and
# everything can be made again.
# SMR_ROUNDS=N repeats this N times
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
ROUNDS=${SMR_ROUNDS:-4}
EVENTS=(link_server link_client netdev netns_server netns_client process module)
# The time limit for each of them on an idle machine, in microseconds
LIMIT=1000000
SEED=${SMR_SEED:-$RANDOM}
RANDOM=$SEED
diag "the seed is SMR_SEED=$SEED"

# pulse: how late a process that sleeps most of the time wakes up, which shows how long the machine did not run it.
# "WHEN LATE", in microseconds
pulse() {
	local before now
	while :; do
		before=${EPOCHREALTIME/./}
		nap 0.05
		now=${EPOCHREALTIME/./}
		[ $((now - before)) -lt 70000 ] || echo "$now $((now - before - 50000))"
	done
}

no_device() { ! [ -d "/sys/class/infiniband/$1" ]; }

build() {
	modprobe "$LINK_MODULE" && topology_veth 1500 || return
	SDEV=${SIDE_DEV[server]} CDEV=${SIDE_DEV[client]} SNS=${SIDE_NS[server]} CNS=${SIDE_NS[client]}
}

# Both ends in one process, which keeps no network namespace alive. A signal ends it
begin_traffic() {
	SMR_DEV=$SDEV SMR_DEV2=$CDEV SMR_STOP=$WORK/never setsid "$(dirname "$0")/rc_mixed" -t both_ways >"$WORK/traffic" 2>&1 &
	TRAFFIC=$!
	within 20 has_sent
}

has_sent() {
	local before
	before=$(counter "$CDEV" tx_bytes)
	nap 0.05
	[ "$(counter "$CDEV" tx_bytes)" -gt $((before + 1000)) ]
}

# The removals: none prints an error if another removal included it
take_link_server() { take_link "$SDEV"; }
take_link_client() { take_link "$CDEV"; }
# A link that is being removed cannot be deleted, and may exist for a moment
take_link() { no_device "$1" || rdma link del "$1" || within 20 no_device "$1"; }
take_netdev() {
	[ -e "/run/netns/$SNS" ] || return 0
	ip -n "$SNS" link del veth0 2>"$WORK/netdev" || ! ip -n "$SNS" link show veth0 >/dev/null 2>&1
}

# A namespace is removed in the background, with its links
take_netns_server() { take_netns "$SNS" "$SDEV"; }
take_netns_client() { take_netns "$CNS" "$CDEV"; }
take_netns() {
	[ -e "/run/netns/$1" ] || return 0
	ip netns del "$1" || return
	until no_device "$2"; do nap 0.01; done
}

take_process() {
	local signal=KILL
	[ $((RANDOM % 2)) = 0 ] || signal=TERM
	pkill "-$signal" -s "$TRAFFIC" # the harness gives each test a process group
	wait "$TRAFFIC"
	return 0
}

# While a process uses the module, rmmod says so
take_module() { rmmod "$LINK_MODULE" 2>"$WORK/rmmod" || grep -q "is in use\|not currently loaded" "$WORK/rmmod"; }

# timed EVENT: remembers when it began and ended
timed() {
	local begin status=0
	echo "$1" >>"$WORK/log"
	begin=${EPOCHREALTIME/./}
	"take_$1" || status=$?
	echo "$1 $begin ${EPOCHREALTIME/./}" >>"$WORK/times"
	return "$status"
}

shuffled() { printf '%s\n' "$@" | shuf --random-source=<(while echo "$RANDOM"; do :; done); }

one_after_the_other() {
	local event
	for event in $(shuffled "${EVENTS[@]}"); do
		timed "$event" || { echo "$event failed, after:"; cat "$WORK/log"; return 1; }
		nap "0.0$((RANDOM % 10))"
	done
}

# Whether each of them succeeds depends on the order
all_at_once() {
	local event pids=()
	for event in "${EVENTS[@]}"; do
		[ "$event" = process ] || { (nap "0.0$((RANDOM % 10))"; timed "$event") & pids+=("$!"); }
	done
	timed process
	wait "${pids[@]}"
	return 0
}

module_goes() { timed module && [ ! -d "/sys/module/$LINK_MODULE" ]; }

# Nothing remains except perhaps the module, which could not be removed: the doorbell of a process that is still exiting
# is open, and holds the module
nothing_left() {
	local left
	for left in "/sys/class/infiniband/$SDEV" "/sys/class/infiniband/$CDEV" "/run/netns/$SNS" "/run/netns/$CNS"; do
		within 20 test ! -e "$left" || { echo "$left is left"; return 1; }
	done
	[ ! -d "/sys/module/$LINK_MODULE" ] || within 20 module_goes || { echo "the module stays"; cat "$WORK/rmmod"; return 1; }
}

round() {
	: >"$WORK/log"
	build || return
	begin_traffic || { cat "$WORK/traffic"; return 1; }
	"$1" && nothing_left || return
	topology_down
}

rounds() {
	local i how
	for ((i = 1; i <= ROUNDS; i++)); do
		how=one_after_the_other
		[ $((i % 2)) = 1 ] || how=all_at_once
		echo "round $i: $how"
		round "$how" || return
	done
}

# The slowest of all. Only a late wake-up at the same time shows that the machine did not run
fast_enough() {
	awk -v limit=$((PATIENCE * LIMIT)) '
		FILENAME == ARGV[1] { at[++n] = $1; late[n] = $2; next }
		{
			us = $3 - $2
			for (i = 1; i <= n; i++) if (at[i] >= $2 && at[i] - late[i] <= $3) us -= late[i]
			if (us > slowest) { slowest = us; which = $1; off = $3 - $2 - us }
		}
		END {
			printf("%d things went, the slowest in %d ms, and %d in which the machine did not run: %s\n", FNR, slowest / 1000, off / 1000, which)
			exit slowest >= limit
		}' "$WORK/pulse" "$WORK/times"
}

works() { build && pingpong server client v4 -s 5000 -n 50 -c; }

: >"$WORK/times"
pulse >"$WORK/pulse" &
PULSE=$!
on_exit kill "$PULSE"
check "$ROUNDS rounds" rounds
kill "$PULSE"
check "none takes $((PATIENCE * LIMIT / 1000000)) s" fast_enough && diag "$(<"$WORK/check")"
clean_up 0
check "works at last" works
topology_down
finish
