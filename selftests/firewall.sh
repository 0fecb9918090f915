#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The link receives packets after the firewall: packets that it refuses do not arrive, and connection tracking keeps the
# flows that it has let in. (They stay "new" for the tracker, because packets of the other direction have other ports.)
#
#     here (veth0, 10.1.0.1, server)  ----  peer (veth0, 10.1.0.2, client)
#     nft input: rules of each case
#
# beds: qemu-newest qemu-stable qemu-oldest
# timeout: 300
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "${0%/*}/lib/test.sh"

need_link_type "$LINK_TYPE"
HERE=$(node_name here) THERE=$(node_name there) PEER=$(node_name peer)

nft add table inet firewall 2>/dev/null || skip_all "this kernel has no nftables"
on_exit nft delete table inet firewall
nft add chain inet firewall in "{ type filter hook input priority 0; policy accept; }"
nft add rule inet firewall in ct state new accept 2>/dev/null || skip_all "this kernel does not track connections"

peer() { ns_add "$PEER" && veth_add "" "$PEER" 1500 && link_add "$HERE" veth0 && link_add "$THERE" veth0 "$PEER"; }
peer || not_ok "a peer"
gids() { gid_index "$HERE" 10.1.0.1 && gid_index "$THERE" 10.1.0.2 && gid_index "$HERE" fd01::1 && gid_index "$THERE" fd01::2; }
within 10 gids >"$WORK/gids" || not_ok "GIDs"

listening() { [ -n "$(ss -Hltn sport = :18515)" ]; }

# pingpong SERVER_ADDRESS CLIENT_ADDRESS: 200 exchanges; TCP, by which the two find each other, is not filtered
pingpong() {
	timeout 60 ibv_rc_pingpong -d "$HERE" -g "$(gid_index "$HERE" "$1")" -n 200 -c >"$WORK/server" 2>&1 &
	local server=$!
	within 10 listening || return
	timeout 55 ip netns exec "$PEER" ibv_rc_pingpong -d "$THERE" -g "$(gid_index "$THERE" "$2")" -n 200 -c 10.1.0.1 &&
		wait "$server"
}

# rules RULE...: the chain has these, and no others; each that ends in "counter NAME" counts there
rules() {
	local rule
	nft flush chain inet firewall in || return
	for rule; do
		nft add rule inet firewall in "$rule" || return
	done
}
packets() { nft list chain inet firewall in | sed -n "s/.*$1.* counter packets \([0-9]*\) .*/\1/p"; }
at_most() { [ "$(packets "$1")" -le "$2" ]; }
at_least() { [ "$(packets "$1")" -ge "$2" ]; }

for version in "10.1.0.1 10.1.0.2" "fd01::1 fd01::2"; do
	# shellcheck disable=SC2086 # two words
	set -- $version
	# the mark lasts as long as the tracker's entry does
	rules "udp dport 4791 ct mark 119 counter accept" "udp dport 4791 ct mark set 119 counter accept"
	check "$1: through a firewall that tracks" pingpong "$1" "$2"
	check "$1: the first packet of a flow is unknown to the tracker" at_most "mark set" 4
	check "$1: the others are of a flow that it knows" at_least "mark 0x" 200

	rules "udp dport 4791 counter drop"
	check_not() { ! "$@"; }
	check "$1: what the firewall drops does not arrive" check_not pingpong "$1" "$2"
	check "$1: the firewall has seen it" at_least "dport 4791" 1
	wait
done
finish
