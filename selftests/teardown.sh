#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# The link, the netdev, the namespace, the module are removed while traffic runs: nothing hangs, applications get
# events, memory is freed, and everything can be made again
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
FATAL=IBV_EVENT_DEVICE_FATAL

# Processes stay in the test's namespace, so that only the link keeps the other one. They connect by TCP at 127.0.0.1.
# The devices can be used from here as long as namespaces share them.
build() {
	topology_veth 1500 || return
	SNS=${SIDE_NS[server]}
	SIDE_NS[server]='' SIDE_NS[client]='' MEET_AT=127.0.0.1
}

begin_traffic() {
	local dev
	build || return
	WATCHES=()
	for dev in "${SIDE_DEV[server]}" "${SIDE_DEV[client]}"; do
		timeout -k 2 60 ibv_asyncwatch -d "$dev" >"$WORK/watch.$dev" 2>&1 &
		WATCHES+=("$!")
	done
	traffic server client "${PROGRAM[@]}" -D 60 || return
	within 10 watches_started || { echo "ibv_asyncwatch does not start"; cat "$WORK"/watch.*; return 1; }
	nap 0.2
}

watches_started() { [ "$(cat "$WORK"/watch.* | grep -c 'async event FD')" = 2 ]; }

# got_fatal_event DEVICE: the application on it got the event that the device is gone
got_fatal_event() {
	within 10 grep -q "$FATAL" "$WORK/watch.$1" || { echo "no event on $1:"; cat "$WORK/watch.$1"; return 1; }
}

# Programs that still run must exit on a signal: perftest ignores events, and ibv_asyncwatch goes on after one
end_traffic() {
	local side base pid status=0
	for side in server client; do
		base=$SERVER
		[ "$side" = server ] || base=$CLIENT
		ended "$base" || stop "$side" "$base"
		within 10 ended "$base" && continue
		echo "the $side cannot be ended:"
		pid=$(pgrep -P "$(<"$base.pid")")
		cat "/proc/$pid/stack" 2>/dev/null
		stop "$side" "$base" KILL
		status=1
	done
	for pid in "${WATCHES[@]}"; do
		kill "$pid"
		wait "$pid"
		# KILL was necessary
		[ $? != 137 ] || status=1
	done 2>/dev/null
	rm -f "$WORK"/watch.*
	return "$status"
}

no_link() { ! rdma link show "$1/1" >/dev/null 2>&1; }

limited() { timeout -k 2 30 "$@"; }

take_link() { limited rdma link del "${SIDE_DEV[server]}"; }
take_netdev() { limited ip -n "$SNS" link del veth0; }
take_netns() { limited ip netns del "$SNS"; }

# round HOW: with traffic; afterwards the same link can be made again, and works
round() {
	begin_traffic || return
	"take_$1" || { echo "take_$1 failed"; return 1; }
	within 10 no_link "${SIDE_DEV[server]}" || { echo "the link is still there"; return 1; }
	got_fatal_event "${SIDE_DEV[server]}" && end_traffic
}

rounds() {
	local i
	for ((i = 1; i <= $2; i++)); do
		PROGRAM=("${PROGRAMS[i % ${#PROGRAMS[@]}]}" -s 65536)
		echo "round $i: ${PROGRAM[*]}"
		round "$1" || return
		topology_down
		clean_up "$MARK"
	done
}

works() {
	topology_veth 1500 && MEET_AT='' pingpong server client v4 -s 5000 -n 50 -c
}

# Available memory in KiB, when deferred frees are done, and when KASAN has given back what was freed: it keeps that
# until the cache is shrunk
available() {
	local cache
	sync
	echo 3 >/proc/sys/vm/drop_caches
	nap 1
	for cache in /sys/kernel/slab/*/shrink; do echo 1 >"$cache"; done
	awk '/^MemAvailable/ { print $2 }' /proc/meminfo
}

memory_is_back() {
	local now
	now=$(available)
	echo "$AVAILABLE KiB before, $now KiB now"
	[ "$now" -gt $((AVAILABLE - SLACK)) ]
}

# What may be missing in KiB: slabs that are not full, pages on the lists of CPUs; and shadow that KASAN keeps for addresses
# that vmalloc() has used, 5 MiB
SLACK=12288
PROGRAMS=(ib_write_bw ib_read_bw ib_send_bw)
MARK=${#TAP_CLEANUP[@]}
check "works at first" works
topology_down
AVAILABLE=$(available)
for round in link:3 netdev:2 netns:2; do
	how=${round%:*} times=${round#*:}
	check "$how goes, $times times" rounds "$how" "$times"
	clean_up "$MARK"
	check "$how: works afterwards" works
	topology_down
done
check "memory is back" memory_is_back && diag "$(<"$WORK/check")"

# The module: rmmod may refuse while it is in use, or remove it with all links
PROGRAM=(ib_write_bw -s 65536)
check "traffic for rmmod" begin_traffic
if limited rmmod "$LINK_MODULE" 2>"$WORK/rmmod"; then
	ok "rmmod during traffic: it goes"
	check "the application is told" got_fatal_event "${SIDE_DEV[server]}"
	check "the application can be ended" end_traffic
else
	check "rmmod during traffic: it says that it is in use" grep -q "is in use" "$WORK/rmmod"
	check "traffic goes on, and can be ended" end_traffic
	topology_down
	check "then rmmod works" limited rmmod "$LINK_MODULE"
fi
clean_up "$MARK"
check "the module can be loaded again" have_link_type "$LINK_TYPE"
check "works at last" works
finish
