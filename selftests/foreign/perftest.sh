#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: perftest, each program with each of its options that has a meaning here
# bed: uml
# packages: perftest
# timeout: 2400
#
# All on one host. A run is right if both ends end well and the client reports each size.
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

GIDOPT=-x

# one PROGRAM SIZES OPTION...
one() {
	local program=$1 sizes=$2
	shift 2
	check "$program${*:+ $*}" measured v4 "$sizes" "$program" "$@"
}

# group PROGRAM SIZES OPTION...: to a multicast group. Its GID is an IPv6 address, which perftest sends to from one only
group() {
	check "$1 ${*:3} -g" measured v6 "$2" "$1" "${@:3}" -g
}

# measured FAMILY SIZES PROGRAM OPTION...: as "perftest", but siw's are connected by rdma_cm
measured() {
	local family=$1 sizes=$2 size
	shift 2
	tool server client "$GIDOPT" "$family" 60 "$1" -F "${@:2}" || return
	if [ "$sizes" = all ]; then
		sizes=
		for ((size = 2; size <= 8 << 20; size *= 2)); do sizes+=" $size"; done
	fi
	# shellcheck disable=SC2086 # words
	perftest_reports $sizes || { tool_output; return 1; }
}

# by_cm PROGRAM OPTION...: it listens by rdma_cm alone
by_cm() {
	PORT=$((PORT + 1))
	both "$*" 60 "cm:$PORT" "$@" -F -d "$DEV" -p "$PORT" -- "$@" -F -d "$DEV" -p "$PORT" "$ADDR"
}

# What each program of bandwidth takes
bandwidth() {
	local program=$1 option
	shift
	one "$program" all "$@" -a -n 5
	for option in "" -b "-q 4" "-q 4 -b" "-q 4 --mr_per_qp" "-t 16" -N "-D 1" "-l 8" "-Q 1" "-m 512" "-S 3" "--use_old_post_send" \
		"--report-both -b" "--rate_limit=1 --rate_units=g --rate_limit_type=SW"; do
		# shellcheck disable=SC2086 # words
		one "$program" 4096 "$@" -s 4096 -n 200 $option
	done
}

# What each program of latency takes
latency() {
	local program=$1 option
	shift
	one "$program" all "$@" -a -n 5
	for option in "" -U "-D 1" "-m 512" "--tclass=32" "--use_old_post_send"; do
		# shellcheck disable=SC2086 # words
		one "$program" 64 "$@" -s 64 -n 100 $option
	done
}

# How a program can be connected, and where its memory can be
connected() {
	local program=$1 size=$2
	shift 2
	# on iWARP all of them are connected so
	iwarp || { by_cm "$program" "$@" -n 100 -R && by_cm "$program" "$@" -n 100 -z; }
	! has_odp "$DEV" || one "$program" "$size" "$@" -n 100 --odp
	[ ! -w "$HUGE_PAGES" ] || one "$program" "$size" "$@" -n 100 --use_hugepages
}

reliable() {
	local op
	for op in write read send; do
		bandwidth "ib_${op}_bw"
		latency "ib_${op}_lat"
		connected "ib_${op}_bw" 65536 -s 65536
		connected "ib_${op}_lat" 64 -s 64
		one "ib_${op}_bw" 65536 -s 65536 -n 100 --perform_warm_up
	done
	for op in write send; do
		one "ib_${op}_bw" 64 -s 64 -n 200 -I 64
		one "ib_${op}_lat" 64 -s 64 -n 100 -I 0
	done
	one ib_send_bw 4096 -s 4096 -n 200 -e
	one ib_send_lat 64 -s 64 -n 100 -e
	one ib_send_bw 4096 -s 4096 -n 200 -r 64
	one ib_send_bw 4096 -s 4096 -n 200 --use-srq
	one ib_send_bw 4096 -s 4096 -n 200 -q 4 --use-srq
	one ib_send_bw 4096 -s 4096 -n 200 --recv_post_list=8
	one ib_read_bw 4096 -s 4096 -n 200 -o 16
	one ib_write_bw 4096 -s 4096 -n 200 --write_with_imm
	one ib_write_lat 64 -s 64 -n 100 --write_with_imm
}

others() {
	local op
	for op in FETCH_AND_ADD CMP_AND_SWAP; do
		one ib_atomic_bw 8 -n 200 -A "$op"
		one ib_atomic_bw 8 -n 200 -A "$op" -q 4 -b
		one ib_atomic_lat 8 -n 100 -A "$op"
		connected ib_atomic_bw 8 -A "$op"
	done
	for op in send write; do
		bandwidth "ib_${op}_bw" -c UC
		latency "ib_${op}_lat" -c UC
	done
	# a receiver must have a receive for each datagram: no more than perftest posts
	one ib_send_bw 1024 -c UD -s 1024 -n 500
	one ib_send_bw 1024 -c UD -s 1024 -n 500 -e
	by_cm ib_send_bw -c UD -s 1024 -n 500 -R
	group ib_send_bw 1024 -c UD -s 1024 -n 500
	one ib_send_lat 64 -c UD -s 64 -n 100
	group ib_send_lat 64 -c UD -s 64 -n 100
	for op in send write read; do
		one "ib_${op}_bw" 4096 -c XRC -s 4096 -n 200
		one "ib_${op}_bw" 4096 -c XRC -s 4096 -n 200 -q 4 -b
		one "ib_${op}_lat" 64 -c XRC -s 64 -n 100
	done
}

device_up
says "$(dpkg-query -W -f '${Version}' perftest)"
! iwarp || GIDOPT=-R
reliable
iwarp || others
finish
