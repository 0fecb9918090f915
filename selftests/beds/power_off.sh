#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A machine loses its power while another one writes to it and reads from it: the other one's requests fail when its
# timeout says, its QPs end, its link and its module go at once, and it can connect to somebody else.
# timeout: 400
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/lib/all.sh
. "$TOP/scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$TOP/selftests/lib/ctest.sh"

mkdir "$WORK/share"
# What both machines run, each with its NODE
cat >"$WORK/share/job" <<-'EOF'
	set -u
	cd "$1" || exit
	. lib/test.sh
	SHARE=/mnt/share
	modprobe softmr && rdma link add "rdma$NODE" type softmr netdev eth0 && within 10 link_is_up "rdma$NODE" || exit

	# Node 2 serves, and its power goes when node 1 says so. Its command has ended by then, for the bed takes a machine
	# that ends in the middle of its command for a failure.
	if [ "$NODE" = 2 ]; then
		trap - EXIT
		for op in write read; do setsid "ib_${op}_bw" -d rdma2 -p "1${#op}000" >/dev/null 2>&1 </dev/null & done
		(
			until [ -e "$SHARE/now" ]; do sleep 0.1; done
			echo b >/proc/sysrq-trigger
		) >/dev/null 2>&1 </dev/null &
		nap 1
		touch "$SHARE/serves"
		exit 0
	fi

	# for ever, but that the peer does not answer: 134 ms at least, eight times
	begin() { "ib_$1_bw" -d rdma1 -p "1${#1}000" -F -u 14 -D 1000 10.0.0.2 >"$WORK/$1" 2>&1 & }
	moves() {
		local before
		before=$(counter rdma1 "$1")
		nap 0.1
		[ "$(counter rdma1 "$1")" -gt $((before + 10000)) ]
	}
	failed() {
		within 20 not_running "$2" || { echo "it goes on"; return 1; }
		cat "$WORK/$1"
		grep -q "Failed status 12" "$WORK/$1"
	}
	no_qps() { ! rdma resource show qp link rdma1/1 | grep -v "type GSI"; }
	goes_at_once() {
		local begin=${EPOCHREALTIME/.}
		rdma link del rdma1 && modprobe -r softmr || return
		begin=$((${EPOCHREALTIME/.} - begin))
		echo "$begin us"
		[ "$begin" -lt $((PATIENCE * 1000000)) ]
	}
	within 60 test -e "$SHARE/serves" || not_ok "node 2 serves"
	begin write; write=$!
	begin read; read=$!
	check "data is written" within 20 moves tx_bytes
	check "data is read" within 20 moves rx_bytes
	touch "$SHARE/now"
	check "a WRITE to the machine without power fails with RETRY_EXC_ERR" failed write "$write"
	check "so does a READ" failed read "$read"
	check "no QP is left" within 5 no_qps
	check "the link and the module go at once" goes_at_once
	works_again() { modprobe softmr && topology_host Y && pingpong server client v4 -c; }
	check "works with another peer" works_again
	finish
EOF
"$TOP/scripts/qemu-boot.sh" --no-build --nodes 2 --share "$WORK/share" --timeout 300 -- \
	bash "/mnt/share/job" "/$SELFTESTS_DIR" >"$WORK/out" 2>&1
report $? "two machines, one of which loses its power"
before=$TAP_COUNT
renumber "node 1" < <(sed -n 's/^node1: //p' "$WORK/out")
[ "$TAP_COUNT" = $((before + 7)) ]
report $? "node 1 came to its end"
finish
