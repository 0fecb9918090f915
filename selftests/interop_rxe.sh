#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml-lockdep
# nodes: 1
# timeout: 400
#
# softmr and the kernel's rdma_rxe speak the same wire: each is the server and the client in turn
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"

need_link_type "$LINK_TYPE"
need_link_type rxe

pingpongs() {
	local where=$1 family mtu
	for family in v4 v6; do
		check "$where, $family: small" pingpong server client "$family" -s 1 -n 50 -c
		check "$where, $family: large" pingpong server client "$family" -s 262147 -n 20 -c
	done
	for mtu in 256 512 1024 2048 4096; do
		check "$where: path MTU $mtu" pingpong server client v4 -m "$mtu" -s 20001 -n 20 -c
	done
	check "$where: events" pingpong server client v4 -e -n 50 -c
	for family in v4 v6; do
		check "$where, $family: UD" pingpong_with ibv_ud_pingpong server client "$family" -s 1000 -n 50
		check "$where, $family: UC" pingpong_with ibv_uc_pingpong server client "$family" -s 20001 -n 50
	done
}

for order in "$LINK_TYPE rxe" "rxe $LINK_TYPE"; do
	read -r server client <<<"$order"
	where="$server serves $client"
	if topology_veth 9000 "$server" "$client"; then
		pingpongs "$where"
		perftest_some "$where" v4
		perftest_some "$where" v6
		perftest_one "$where" v4 "with immediate" 65536 ib_write_bw --write_with_imm -s 65536 -n 50
		perftest_atomics "$where" v4
		perftest_unreliable "$where" v4
		perftest_one "$where" v4 "4 QPs, both directions" 20000 ib_send_bw -b -q 4 -s 20000 -n 50
		topology_down
	else
		not_ok "$where: links on a veth pair"
	fi
done
finish
