#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest uml-checked uml
# nodes: 1
# timeout: 200
#
# softmr and the kernel's rdma_rxe interoperate, each at either end. The tests in C check each byte and completion of
# every opcode and type of QP that both have; then programs run that people use
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$LIB/ctest.sh"
# shellcheck source=selftests/lib/cm.sh
. "$LIB/cm.sh"

need_link_type "$LINK_TYPE"
need_link_type rxe
modprobe rdma_ucm
TESTS=$(dirname "$LIB")

# between TEST [ARGUMENT...]: the first device is at end a, which sends requests, the second at end b
between() { c_test "$SMR_PATH.$1" "$TESTS/$1" "${@:2}"; }

# rdma_rxe does not join multicast groups on its netdev, so join those of mcast.c
rxe_joins() {
	: >"$WORK/joined" # the job empties it later than we look
	ip netns exec "$SMR_PEER_NETNS" python3 "$LIB/join.py" "$SMR_NETDEV" 239.1.2.3 ff15::1234:5678 >"$WORK/joined" 2>&1 &
	on_exit kill $!
	within 10 grep -q joined "$WORK/joined" || { cat "$WORK/joined"; return 1; }
}

# Tests of one end only are omitted: limits, refused posts, fields that the standard does not define, and ibv_wr_*(),
# for which rdma_rxe's provider computes wrong lengths of lists
each_opcode() {
	SMR_LARGEST=65537 between data -v rc_v4_256 -v rc_v4_512 -v rc_v4_1024 -v rc_v4_2048 -v rc_v6_1024 -v rc_v6_4096
	SMR_LARGEST=1048579 between data -v rc_v4_4096
	between data -V wr_api -T queue_full -T failure_counts_as_solicited -T source_qp_is_reported -f rc
	between data -v rc_v4 -v rc_v6 -v uc_v4_256 -v uc_v6_4096 -v ud_v4 -v ud_v6 -v ud_srq
	between data -V wr_api -f ud
	between rc_windows -V type_2_wr_api
	between rc_annex19
	between rc_retry -t receiver_late
	between rc_errors -t remote_key_unknown -t remote_range_beyond_end -t qp_permits_no_write
	between srq -t transfers -t two_qps
	[ "$SMR_PATH" != to_rxe ] || check "$SMR_PATH: rdma_rxe's netdev is a member of the groups" rxe_joins
	between mcast -t peer_alone
}

# The server is at the first end. With -b perftest sends in both directions, so once is enough
programs() {
	local where=$SMR_PATH op
	side server "$SMR_DEV" "" "$SMR_ADDR" "$SMR_ADDR6"
	side client "$SMR_DEV2" "$SMR_PEER_NETNS" "$SMR_PEER_ADDR" "$SMR_PEER_ADDR6"
	check "$where: RC pingpong" pingpong server client v4 -s 262147 -n 20 -c
	check "$where: RC pingpong, events" pingpong server client v6 -e -n 50 -c
	check "$where: UD pingpong" pingpong_with ibv_ud_pingpong server client v4 -s 1000 -n 50
	check "$where: UC pingpong" pingpong_with ibv_uc_pingpong server client v6 -s 20001 -n 50
	for op in send write read atomic; do
		if [ "$where" = to_rxe ]; then
			perftest_one "$where" v4 "both directions" 8 "ib_${op}_bw" -s 8 -n 100 -b
		else
			perftest_one "$where" v6 "" 8 "ib_${op}_lat" -s 8 -n 50
		fi
	done
	perftest_one "$where" v4 "16 QPs" 65536 ib_write_bw -q 16 -s 65536 -n 20
	addresses v4
	check "$where: rping" pings
	check "$where: udaddy" by_cm udaddy -c 2 -C 10 -S 1000
}

mark=${#TAP_CLEANUP[@]}
for path in to_rxe from_rxe; do
	if devices_for "$path" >"$WORK/devices" 2>&1; then
		each_opcode
		programs
	else
		not_ok "$path: devices" "$WORK/devices"
	fi
	clean_up "$mark"
done
finish
