#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 200
#
# Packets between two links over more than a cable: macvlan, also on a VLAN, bridge, bond, tap, tun; and VLANs on the
# links' own netdevs, whose addresses become GIDs of the links, also with rdma_rxe at the other end
#
#     srv: top0 (10.2.0.1, server) > veth0 ---- veth0 < top0 (10.2.0.2, client) :cli     macvlan, bridge, bond
#     srv: top0 (10.2.0.1, server) ---- relay.py ---- top0 (10.2.0.2, client) :cli       tap, tun
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

# cable KIND: what connects the namespaces: a process between two netdevs top0, or veth0 in each
cable() {
	case $1 in
	tap | tun)
		modprobe -q tun
		python3 "$LIB/relay.py" "$1" top0 "$SNS" "$CNS" >"$WORK/relay" 2>&1 &
		on_exit kill "$!"
		within 10 grep -q ready "$WORK/relay" || { cat "$WORK/relay"; return 1; }
		;;
	*) veth_add "$SNS" "$CNS" 1500 ;;
	esac
}

# raise KIND NETNS HOST: make a netdev top0 on veth0, unless the cable has it, with unique addresses
raise() {
	local ip=(ip ${2:+-n "$2"})
	case $1 in
	vlan) "${ip[@]}" link add link veth0 name top0 type vlan id 5 ;;
	macvlan) "${ip[@]}" link add link veth0 name top0 type macvlan mode bridge ;;
	macvlan_on_vlan)
		"${ip[@]}" link add link veth0 name vlan5 up type vlan id 5 &&
			"${ip[@]}" link add link vlan5 name top0 type macvlan mode bridge
		;;
	bridge) "${ip[@]}" link add top0 type bridge forward_delay 0 && "${ip[@]}" link set veth0 master top0 ;;
	bond)
		"${ip[@]}" link add top0 type bond mode active-backup && "${ip[@]}" link set veth0 down &&
			"${ip[@]}" link set veth0 master top0
		;;
	tap | tun) ;;
	esac || return
	on_exit "${ip[@]}" link del top0
	"${ip[@]}" -batch - <<-END
		link set top0 up
		addr add 10.2.0.$3/24 dev top0
		addr add fd02::$3/64 dev top0 nodad
	END
}

# sides DEV NETNS DEV NETNS
sides() {
	side server "$1" "$2" 10.2.0.1 fd02::1
	side client "$3" "$4" 10.2.0.2 fd02::2
}

received() { in_ns "$1" cat /sys/class/net/top0/statistics/rx_bytes; }

# exchanged FAMILY: data is exchanged, and all of it goes through top0
exchanged() {
	local ns=${SIDE_NS[server]} before
	before=$(received "$ns")
	pingpong server client "$1" -s 5000 -n 50 -c || return
	[ $(($(received "$ns") - before)) -gt $((50 * 5000)) ] || { echo "it took another way"; return 1; }
}

data() {
	check "$1: IPv4" exchanged v4
	check "$1: IPv6" exchanged v6
}

S=$(node_name s) C=$(node_name c) SNS=$(node_name srv) CNS=$(node_name cli)
MARK=${#TAP_CLEANUP[@]}

# on KIND: the links are on netdevs of that kind
on() {
	local ns
	ns_add "$SNS" && ns_add "$CNS" && cable "$1" || return
	# veth0's link must not have the address of a macvlan on veth0
	for ns in "$SNS" "$CNS"; do in_ns "$ns" sysctl -qw net.ipv4.conf.all.arp_ignore=1; done
	raise "$1" "$SNS" 1 && raise "$1" "$CNS" 2 || return
	link_add "$S" top0 "$SNS" && link_add "$C" top0 "$CNS"
}

for kind in macvlan macvlan_on_vlan bridge bond tap tun; do
	if on "$kind" >"$WORK/on" 2>&1; then
		sides "$S" "$SNS" "$C" "$CNS"
		data "$kind"
	elif grep -qE 'Unknown device type|not supported' "$WORK/on"; then
		skip "$kind" "this kernel cannot make one"
	else
		not_ok "$kind: links" "$WORK/on"
	fi
	clean_up "$MARK"
done

# below TYPE TYPE: the links are on the netdevs below the VLANs
below() {
	topology_veth 1500 "$@" && raise vlan "${SIDE_NS[server]}" 1 && raise vlan "${SIDE_NS[client]}" 2 || return
	sides "${SIDE_DEV[server]}" "${SIDE_NS[server]}" "${SIDE_DEV[client]}" "${SIDE_NS[client]}"
}

# tagged: what the client sends has the tag on veth0
tagged() {
	ip netns exec "${SIDE_NS[client]}" tcpdump --immediate-mode -Z root -Q out -i veth0 -n -c 50 -w /dev/null \
		'vlan 5 and udp port 4791' 2>"$WORK/tagged" &
	on_exit kill "$!"
	within 10 grep -q 'listening on' "$WORK/tagged" && pingpong server client v4 -s 5000 -n 50 -c &&
		within 10 grep -q '^50 packets captured' "$WORK/tagged"
}

types=("$LINK_TYPE $LINK_TYPE")
if [ "$LINK_TYPE" != rxe ] && have_link_type rxe; then types+=("rxe $LINK_TYPE" "$LINK_TYPE rxe"); fi
for type in "${types[@]}"; do
	# shellcheck disable=SC2086 # words
	if below $type >"$WORK/below" 2>&1; then
		data "a VLAN's GIDs, ${type/ / from }"
		[[ $type = *rxe* ]] || ! have tcpdump || check "a VLAN's GIDs: the packets are tagged" tagged
	else
		not_ok "links below VLANs" "$WORK/below"
	fi
	clean_up "$MARK"
done
finish
