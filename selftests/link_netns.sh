#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 120
#
# Links and network namespaces: a link's sockets are in its namespace; namespaces with the same addresses do not receive
# each other's packets; which namespaces see a device in shared and in exclusive mode; devices, netdevs and namespaces
# that are moved
#
#     a: veth0 (10.1.0.1) ---- veth0 (10.1.0.2) :b      each pair of namespaces has the same addresses
#     here: dummy1 to dummy5, netdevs that are moved
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
A=$(node_name a) B=$(node_name b) C=$(node_name c) D=$(node_name d)
LINKS=("$(node_name p)" "$(node_name q)" "$(node_name r)" "$(node_name s)")

# sockets NETNS: the number of RoCEv2 sockets there, one for each IP version
sockets() { in_ns "$1" ss -Huln sport = :4791 | wc -l; }
sockets_are() { is "$(sockets "$1")" "$2"; }
sees() { in_ns "$1" rdma link show "$2/1" >/dev/null 2>&1; }
sees_not() { ! sees "$@"; }
opens() { in_ns "$1" ibv_devinfo -d "$2" >/dev/null 2>&1; }
opens_not() { ! opens "$@"; }
in_sysfs() { in_ns "$1" test -e "/sys/class/infiniband/$2"; }
no_netns() { ! ip netns list | grep -qw "$1"; }

# Refused while another namespace exists, and a deleted namespace remains for a moment
netns_mode() { rdma system set netns "$1" 2>/dev/null; }
back_to_shared() { within 20 netns_mode shared; }

# -- sockets

# pair NS1 NS2 LINK1 LINK2: as topology_veth, but all pairs have the same addresses
pair() { ns_add "$1" && ns_add "$2" && veth_add "$1" "$2" 1500 && link_add "$3" veth0 "$1" && link_add "$4" veth0 "$2"; }

MARK=${#TAP_CLEANUP[@]}
ns_add "$A" && ns_add "$B" && veth_add "$A" "$B" 1500
for ns in "" "$A" "$B"; do check "no link: no socket in '$ns'" sockets_are "$ns" 0; done
check "a link in $A" link_add "${LINKS[0]}" veth0 "$A"
check "the sockets of the link are in $A" sockets_are "$A" 2
for ns in "" "$B"; do check "and not in '$ns'" sockets_are "$ns" 0; done
ip -n "$A" link add more0 up type dummy
check "a second link in $A" link_add "${LINKS[1]}" more0 "$A"
check "shares them" sockets_are "$A" 2
check "the first goes" link_del "${LINKS[0]}" "$A"
check "they stay" sockets_are "$A" 2
check "the second goes" link_del "${LINKS[1]}" "$A"
check "the sockets in $A are gone" within 20 sockets_are "$A" 0
clean_up "$MARK"
within 20 no_netns "$A"

# -- two pairs of namespaces, with the same addresses

received() { echo "$(($(counter "$1" rx_packets) + $(counter "$1" local_ops)))"; }

# apart: traffic in the first pair; the second receives nothing
apart() {
	local before2 before3 before0
	before0=$(received "${LINKS[0]}") before2=$(received "${LINKS[2]}") before3=$(received "${LINKS[3]}")
	pingpong server client v4 -n 50 -c && pingpong server client v6 -n 50 -c || return
	[ "$(received "${LINKS[0]}")" -gt "$before0" ] || { echo "the first received nothing"; return 1; }
	is "$(received "${LINKS[2]}")" "$before2" && is "$(received "${LINKS[3]}")" "$before3"
}

# at_once: both pairs have traffic, and each receives its own
at_once() {
	local first second
	traffic server client ib_write_bw -s 4096 -D 2 || return
	first=("$SERVER" "$CLIENT")
	pingpong server2 client2 v4 -s 5000 -n 100 -c || return
	for second in "${first[@]}"; do
		if ! within 30 ended "$second" || [ "$(<"$second.rc")" != 0 ]; then
			cat "$second.out"
			return 1
		fi
	done
}

if pair "$A" "$B" "${LINKS[0]}" "${LINKS[1]}" && pair "$C" "$D" "${LINKS[2]}" "${LINKS[3]}"; then
	side server "${LINKS[0]}" "$A" 10.1.0.1 fd01::1
	side client "${LINKS[1]}" "$B" 10.1.0.2 fd01::2
	side server2 "${LINKS[2]}" "$C" 10.1.0.1 fd01::1
	side client2 "${LINKS[3]}" "$D" 10.1.0.2 fd01::2
	check "two pairs with the same addresses: no packet goes from one to the other" apart
	check "traffic in both at once" at_once
	for ns in "$A" "$B" "$C" "$D"; do check "sockets in $ns" sockets_are "$ns" 2; done
	check "shared: all see a device" sees "$C" "${LINKS[0]}"
	check "shared: and open it" opens "$C" "${LINKS[0]}"
else
	not_ok "links on two veth pairs"
fi

# -- the netdev is moved, and its link does not go with it

check "move the netdev" ip -n "$A" link set veth0 netns "$C" name moved0
check "the link of the moved netdev is gone" within 20 sees_not "" "${LINKS[0]}"
check "the sockets of that link are gone" within 20 sockets_are "$A" 0
ip -n "$C" link set moved0 up
check "a link on it where it is now" link_add "${LINKS[0]}" moved0 "$C"
check "with the sockets that are there" sockets_are "$C" 2

# -- a namespace is deleted with its netdevs and links; veth's peers are deleted, too

check "delete a namespace with two links" ip netns del "$C"
for link in "${LINKS[@]}"; do check "$link is gone" within 20 sees_not "" "$link"; done
for ns in "$B" "$D"; do check "no socket is left in $ns" within 20 sockets_are "$ns" 0; done
clean_up "$MARK"

# -- exclusive: a namespace has its own devices only

# works_in NETNS: the device is there, and its netdev in the test's namespace. Its GID table is not visible from there
works_in() {
	local end
	for end in server client; do
		side "$end" "${LINKS[0]}" "$1" 10.1.0.1 fd01::1
		GID_CACHE[$end.v4]=$INDEX
	done
	MEET_AT=127.0.0.1 pingpong server client v4 -s 5000 -n 50 -c
}

not_in_sysfs() { ! in_sysfs "$@"; }

# Its namespace is deleted, and the device returns
left_alone() { ip netns del "$B" && within 20 sees "" "${LINKS[0]}"; }

deleted_there() { rdma dev set "${LINKS[0]}" netns "$A" && link_del "${LINKS[0]}" "$A"; }

if ! within 20 netns_mode exclusive; then
	skip "exclusive namespaces" "other namespaces exist"
	finish
fi
on_exit back_to_shared
MARK=${#TAP_CLEANUP[@]}
ip link add dummy1 type dummy && on_exit ip link del dummy1 && address "" dummy1 1
ns_add "$A" && ns_add "$B"
check "exclusive: a link in the first namespace" link_add "${LINKS[0]}" dummy1
INDEX=$(wait_gid_index "${LINKS[0]}" 10.1.0.1)
check "others do not see it" sees_not "$A" "${LINKS[0]}"
check "$A cannot open the device" opens_not "$A" "${LINKS[0]}"
check "move the device" rdma dev set "${LINKS[0]}" netns "$A"
check "the moved device is gone from the first namespace" sees_not "" "${LINKS[0]}"
check "the moved device is in $A" sees "$A" "${LINKS[0]}"
check "the moved device is in the sysfs of $A" in_sysfs "$A" "${LINKS[0]}"
check "the moved device is not in the sysfs of the first namespace" not_in_sysfs "" "${LINKS[0]}"
check "the moved device is not in $B" sees_not "$B" "${LINKS[0]}"
check "the sockets of the moved device are where its netdev is" sockets_are "" 2
check "the moved device works in $A" works_in "$A"
check "move it on" in_ns "$A" rdma dev set "${LINKS[0]}" netns "$B"
check "the device is in $B" sees "$B" "${LINKS[0]}"
check "its namespace is deleted: the device comes back" left_alone
check "the device works in the first namespace" works_in ""
check "move it, and delete it there" deleted_there
check "the sockets of the device are gone" within 20 sockets_are "" 0

# Kernels before 7.1 make each device in the first namespace
ip -n "$A" link add dummy2 up type dummy
in_ns "$A" rdma link add "${LINKS[1]}" type "$LINK_TYPE" netdev dummy2
if sees "" "${LINKS[1]}"; then
	skip "a link made in a namespace" "this kernel makes it in the first one"
	link_del "${LINKS[1]}"
else
	check "a link made in a namespace is there" sees "$A" "${LINKS[1]}"
	check "$A can open its own device" opens "$A" "${LINKS[1]}"
	check "the first namespace cannot open it" opens_not "" "${LINKS[1]}"
	check "the sockets of that device are in $A" sockets_are "$A" 2
	check "no sockets are in the first namespace" sockets_are "" 0
	check "the namespace goes" ip netns del "$A"
	# the name is system-wide, so it is free again only when the link is really gone
	ip link add dummy3 up type dummy && on_exit ip link del dummy3
	check "the link is deleted with it: the name is free" within 20 link_add "${LINKS[1]}" dummy3
	link_del "${LINKS[1]}"
fi
clean_up "$MARK"

# -- the device and its netdev are moved at once: the handler of the netdev's event does not find the device

# move_both DELAY: afterwards the name is free again, because the link is gone, and the netdev's first namespace can end
move_both() {
	local mark=${#TAP_CLEANUP[@]} at="" status=0
	ns_add "$A" && ns_add "$B" && ip -n "$A" link add dummy4 up type dummy || status=1
	in_ns "$A" rdma link add "${LINKS[0]}" type "$LINK_TYPE" netdev dummy4 || status=1
	sees "" "${LINKS[0]}" || at=$A
	in_ns "$at" rdma dev set "${LINKS[0]}" netns "$B" &
	nap "$1"
	ip -n "$A" link set dummy4 netns "$B" || status=1
	wait "$!" || echo "the device did not move"
	ip netns del "$A"
	within 20 link_add "${LINKS[0]}" dummy5 || { echo "the link is still there"; status=1; }
	clean_up "$mark"
	return "$status"
}

ip link add dummy5 up type dummy && on_exit ip link del dummy5
for delay in 0 0.005 0.01 0.02 0.04 0.08; do check "the netdev moves $delay s after the device" move_both "$delay"; done
clean_up "$MARK"
check "shared again" back_to_shared
finish
