#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A link on a netdev in a VRF: it works when the administrator lets a VRF's packets reach sockets outside of it, and is
# refused, or down, otherwise.
#
#     here: vrf0 > veth0 (10.1.0.1, server) ---- (10.1.0.2, client) veth0: peer
#
# timeout: 60
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "${0%/*}/lib/test.sh"

need_link_type "$LINK_TYPE"
HERE=$(node_name here) THERE=$(node_name there) PEER=$(node_name peer)
ACCEPT=/proc/sys/net/ipv4/udp_l3mdev_accept

if [ "$LINK_TYPE" != softmr ]; then skip_all "rdma_rxe accepts such a link, and hears nothing"; fi
modprobe vrf 2>/dev/null
ip link add vrf0 type vrf table 77 2>/dev/null || skip_all "this kernel has no VRF"
on_exit ip link del vrf0
ip link set vrf0 up

accept() { echo "$1" >"$ACCEPT"; }
on_exit accept "$(<"$ACCEPT")"
add() { rdma link add "$1" type "$LINK_TYPE" netdev "$2"; }
state_is() { [ "$(port_attr "$HERE" state)" = "$1" ]; }
gids() { gid_index "$HERE" 10.1.0.1 && gid_index "$THERE" 10.1.0.2; } >"$WORK/gids"
kernel_says() { dmesg | tail -n 20 | grep -q "$1"; }
listening() { [ -n "$(ss -Hltn sport = :18515)" ]; }

# pingpong: the server is in the VRF, for TCP, too
pingpong() {
	timeout 20 ip vrf exec vrf0 ibv_rc_pingpong -d "$HERE" -g "$(gid_index "$HERE" "$1")" -n 50 -c >"$WORK/server" 2>&1 &
	local server=$!
	within 10 listening || return
	timeout 10 ip netns exec "$PEER" ibv_rc_pingpong -d "$THERE" -g "$(gid_index "$THERE" "$2")" -n 50 -c 10.1.0.1 || return
	wait "$server"
}

peer() { ns_add "$PEER" && veth_add "" "$PEER" 1500 && link_add "$THERE" veth0 "$PEER"; }

peer || not_ok "a peer"
ip link set veth0 master vrf0
ip addr replace fd01::1/64 dev veth0 nodad

accept 0
check_error "a netdev in a VRF" "unreachable" add "$HERE" veth0
check "the kernel log says what to do" kernel_says "udp_l3mdev_accept=1"
check_error "a VRF itself" "unreachable" add "$HERE" vrf0

accept 1
check "a link where the VRF lets its packets out" link_add "$HERE" veth0
within 10 gids
check "it works by IPv4" pingpong 10.1.0.1 10.1.0.2
check "it works by IPv6" pingpong fd01::1 fd01::2

ip link set veth0 nomaster
accept 0
check "outside of the VRF the port is active" within 10 state_is "4: ACTIVE"
ip link set veth0 master vrf0
check "the netdev goes into the VRF: the port is down" within 10 state_is "1: DOWN"
ip link set veth0 nomaster
check "it comes out: the port is active" within 10 state_is "4: ACTIVE"
finish
