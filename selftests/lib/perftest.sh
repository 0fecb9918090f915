# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The runs of perftest that several tests share, between the sides "server" and "client". Few iterations: the test is
# that each size arrives.

# Options for all runs that a test makes
PERFTEST_OPTIONS=()
# a retransmission timeout of 1 s, not 67 ms: an emulated machine with 16 QPs on an emulated network can be so late
# shellcheck disable=SC2034 # by tests
PATIENT=(-u 18)

# perftest_one WHERE FAMILY WHAT SIZES PROGRAM OPTION...
perftest_one() {
	local where=$1 family=$2 what=$3
	shift 3
	check "$where, $family: $2 $what" perftest server client "$family" "$@" "${PERFTEST_OPTIONS[@]}"
}

# perftest_sizes WHERE FAMILY PROGRAM...: all sizes. Slow, because perftest measures the clock again for each size
perftest_sizes() {
	local program
	for program in "${@:3}"; do
		perftest_one "$1" "$2" "all sizes" all "$program" -a -n 5
	done
}

perftest_atomics() {
	perftest_one "$1" "$2" "fetch and add" 8 ib_atomic_bw -n 200 -A FETCH_AND_ADD
	perftest_one "$1" "$2" "compare and swap" 8 ib_atomic_bw -n 200 -A CMP_AND_SWAP
	perftest_one "$1" "$2" "fetch and add" 8 ib_atomic_lat -n 100 -A FETCH_AND_ADD
	perftest_one "$1" "$2" "compare and swap" 8 ib_atomic_lat -n 100 -A CMP_AND_SWAP
}

# Many QPs, and both directions at once
perftest_shapes() {
	local op
	for op in send write read; do
		perftest_one "$1" "$2" "16 QPs" 65536 "ib_${op}_bw" -q 16 -s 65536 -n 20
		perftest_one "$1" "$2" "both directions" 65536 "ib_${op}_bw" -b -s 65536 -n 100
	done
	perftest_one "$1" "$2" "16 QPs" 8 ib_atomic_bw -q 16 -n 20
	perftest_one "$1" "$2" "both directions" 8 ib_atomic_bw -b -n 100
}

perftest_events() {
	perftest_one "$1" "$2" "events" 4096 ib_send_lat -e -s 4096 -n 100
	perftest_one "$1" "$2" "events" 4096 ib_send_bw -e -s 4096 -n 100
}

perftest_all() {
	perftest_atomics "$@"
	perftest_shapes "$@"
	perftest_events "$@"
}

# What differs between address families
perftest_some() {
	local op
	for op in send write read; do
		perftest_one "$1" "$2" "" 65536 "ib_${op}_bw" -s 65536 -n 100
	done
	perftest_one "$1" "$2" "" 64 ib_send_lat -s 64 -n 50
	perftest_one "$1" "$2" "fetch and add" 8 ib_atomic_lat -n 50
	perftest_one "$1" "$2" "16 QPs" 8 ib_atomic_bw -q 16 -n 20
	perftest_one "$1" "$2" "16 QPs" 65536 ib_write_bw -q 16 -s 65536 -n 20
	perftest_one "$1" "$2" "both directions" 65536 ib_send_bw -b -s 65536 -n 100
}

# Buffers that are paged on demand; also of huge pages, if the machine has any
perftest_odp() {
	local where=$1 family=$2 op
	has_odp "${SIDE_DEV[server]}" || { skip "$where: on demand" "the device cannot"; return; }
	for op in send write read; do
		perftest_one "$where" "$family" "on demand" 65536 "ib_${op}_bw" --odp -s 65536 -n 100
	done
	perftest_one "$where" "$family" "on demand" 1048576 ib_write_bw --odp -s 1048576 -n 20 -b
	perftest_one "$where" "$family" "on demand" 64 ib_send_lat --odp -s 64 -n 50
	perftest_one "$where" "$family" "on demand" 8 ib_atomic_bw --odp -n 100
}

# perftest_huge WHERE FAMILY: buffers of huge pages, pinned and paged on demand
perftest_huge() {
	if ! [ -w "$HUGE_PAGES" ]; then
		skip "$1: huge pages" "this kernel has none"
	elif check "$1: huge pages are there" huge_pages 16; then
		perftest_one "$1" "$2" "huge pages" 65536 ib_write_bw --use_hugepages -s 65536 -n 100
		perftest_one "$1" "$2" "huge pages, on demand" 65536 ib_write_bw --use_hugepages --odp -s 65536 -n 100
		perftest_one "$1" "$2" "huge pages, on demand" 65536 ib_read_bw --use_hugepages --odp -s 65536 -n 100
	fi
}

# perftest_unreliable WHERE FAMILY: UD and UC. A receiver must have a receive posted for each datagram, so no more
# messages are sent than perftest posts receives (512)
perftest_unreliable() {
	local type
	for type in UD UC; do
		perftest_one "$1" "$2" "$type" 1024 ib_send_bw -c "$type" -s 1024 -n 500
		perftest_one "$1" "$2" "$type" 64 ib_send_lat -c "$type" -s 64 -n 50
	done
	perftest_one "$1" "$2" "UD, events" 512 ib_send_lat -c UD -e -s 512 -n 50
	perftest_one "$1" "$2" "UC" 65536 ib_write_bw -c UC -s 65536 -n 50
	perftest_one "$1" "$2" "UC" 64 ib_write_lat -c UC -s 64 -n 50
}
