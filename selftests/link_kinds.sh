#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# Links on every kind of netdev, and the netdev's properties that the link shows: state, MTU, speed, name, addresses
#
#     here: link > top0, of each kind > low0, where that kind has a netdev below
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/cm.sh
. "$(dirname "$0")/lib/cm.sh"

need_link_type "$LINK_TYPE"
DEV=$(node_name k)

state_is() { [ "$(port_attr "$DEV" state)" = "$1" ]; }
mtu_is() { ibv_devinfo -d "$DEV" | grep -q "active_mtu:[[:space:]]*$1 "; }
rate_is() { [[ $(port_attr "$DEV" rate) = "$1 Gb/sec"* ]]; }
link_says() { in_ns "$NS" rdma link show "$DEV/1" | grep -q -- "$1"; }
no_gid() { ! gid_index "$@" >/dev/null; }
no_link() { ! rdma link show "$1/1" >/dev/null 2>&1; }

# -- kinds of netdevs, each with a lower netdev if it needs that for a carrier

below() { ip link add low0 type dummy && ip link set low0 "$@" up; }

make_netdev() {
	case $1 in
	dummy) ip link add top0 type dummy ;;
	veth) ip link add top0 type veth peer name low0 && ip link set low0 up ;;
	bridge) ip link add top0 type bridge && below master top0 ;;
	bond) ip link add top0 type bond mode active-backup && ip link add low0 type dummy && ip link set low0 master top0 ;;
	macvlan) below && ip link add link low0 name top0 type macvlan ;;
	wireguard) ip link add top0 type wireguard ;;
	tap | tun) modprobe -q tun; ip tuntap add top0 mode "$1" ;;
	esac
} >"$WORK/made" 2>&1

# no_driver KIND: make_netdev failed because this kernel has no driver for such a netdev
no_driver() {
	case $1 in
	tap | tun) [ ! -e /dev/net/tun ] ;;
	*) grep -q 'Unknown device type' "$WORK/made" ;;
	esac
}

kind() {
	local kind=$1 up=${2:-"4: ACTIVE"}
	if ! make_netdev "$kind"; then
		remove_netdevs
		if no_driver "$kind"; then skip "$kind" "this kernel has no driver for it"; else not_ok "$kind: netdev" "$WORK/made"; fi
		return
	fi
	# as users do: first the link, then the addresses. But for a netdev without Ethernet the core does not notice
	# addresses that are added later
	[[ $kind != @(tun|wireguard) ]] || address "" top0 1
	check "$kind: link" rdma link add "$DEV" type "$LINK_TYPE" netdev top0
	[[ $kind = @(tun|wireguard) ]] || address "" top0 1
	check "$kind: state" within 10 state_is "$up"
	side server "$DEV" "" 10.1.0.1 fd01::1
	side client "$DEV" "" 10.1.0.1 fd01::1
	check "$kind: IPv4 GID" within 10 gid_index "$DEV" 10.1.0.1
	check "$kind: IPv6 GID" within 10 gid_index "$DEV" fd01::1
	if [ "$up" = "4: ACTIVE" ]; then
		check "$kind: traffic" pingpong server client v4 -n 20 -c
		check "$kind: traffic over IPv6" pingpong server client v6 -n 20 -c
		addresses v4
		[[ $kind = wireguard ]] || check "$kind: multicast" groups 239.35.36.37
	fi
	check "$kind: delete" link_del "$DEV"
	remove_netdevs
}

remove_netdevs() {
	ip link del top0
	ip link del low0
} 2>/dev/null
on_exit remove_netdevs

for netdev in dummy veth bridge bond macvlan wireguard; do kind $netdev; done
# no process has them open, so there is no carrier
kind tap "1: DOWN"
kind tun "1: DOWN"

ip addr add 10.3.0.1/32 dev lo && on_exit ip addr del 10.3.0.1/32 dev lo
check "lo: link" rdma link add "$DEV" type "$LINK_TYPE" netdev lo
check "lo: state" within 10 state_is "4: ACTIVE"
side server "$DEV" "" 10.3.0.1 ::1
side client "$DEV" "" 10.3.0.1 ::1
check "lo: traffic" pingpong server client v4 -n 20 -c
check "lo: delete" link_del "$DEV"

# -- one link follows its netdev

try_veth 1500 || finish
DEV=${SIDE_DEV[server]}
NS=${SIDE_NS[server]}
PEER=${SIDE_NS[client]}
check "MTU 1500: 1024" mtu_is 1024
for mtu in 300:256 700:512 2200:2048 4200:4096 9000:4096; do
	ip -n "$NS" link set veth0 mtu "${mtu%:*}"
	check "MTU ${mtu%:*}: ${mtu#*:}" mtu_is "${mtu#*:}"
done
check "speed, as ethtool has it" rate_is "$(($(in_ns "$NS" cat /sys/class/net/veth0/speed) / 1000))"

ip -n "$NS" link set veth0 down
check "netdev down" within 5 state_is "1: DOWN"
ip -n "$NS" link set veth0 up
check "netdev up" within 5 state_is "4: ACTIVE"
ip -n "$PEER" link set veth0 down
check "carrier lost" within 5 state_is "1: DOWN"
ip -n "$PEER" link set veth0 up
check "carrier back" within 5 state_is "4: ACTIVE"
# a netdev that goes down loses its IPv6 addresses
ip -n "$PEER" addr add fd01::2/64 dev veth0 nodad

ip -n "$NS" addr add 10.1.0.77/24 dev veth0
check "an address more: a GID more" within 5 gid_index "$DEV" 10.1.0.77
ip -n "$NS" addr del 10.1.0.77/24 dev veth0
check "an address less: a GID less" within 5 no_gid "$DEV" 10.1.0.77

ip -n "$NS" link set veth0 down
check "rename the netdev" ip -n "$NS" link set veth0 name other0
check "the link shows its new name" within 5 link_says "netdev other0"
ip -n "$NS" link set other0 up
ip -n "$NS" addr add fd01::1/64 dev other0 nodad
side server "$DEV" "$NS" 10.1.0.1 fd01::1
check "traffic after all that" pingpong server client v4 -s 5000 -n 50 -c
check "traffic over IPv6 after all that" pingpong server client v6 -s 5000 -n 50 -c

ip -n "$NS" link add dummy0 up type dummy
check "another link on another netdev of the namespace" link_add "$(node_name l)" dummy0 "$NS"
ip -n "$NS" link del dummy0
check "that netdev is deleted, and so is its link" within 5 no_link "$(node_name l)"
check "the first one goes on" pingpong client server v4 -n 50 -c
topology_down
finish
