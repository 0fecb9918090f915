#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml-kasan uml-lockdep qemu-7.2 qemu-6.12
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# Connections by rdma_cm, reliable ones and datagrams, by the programs of rdmacm-utils; on one host, and between
# namespaces; and many of them one after the other
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/cm.sh
. "$LIB/cm.sh"

need_link_type "$LINK_TYPE"
have rping || skip_all "rdmacm-utils are not installed"
modprobe rdma_ucm || skip_all "this kernel has no rdma_ucm"

# A stream looks at what it carries, and says how much. A client binds to the server's port, too, so where both have one
# address it leaves that to the kernel
streams() {
	local program=$1
	shift
	meet "$program" -b "$SERVER_IP" "$@" -T verify : "$program" -s "$SERVER_IP" "$@" -T verify || return
	grep -q '^custom *64k *5 *5 ' "$CLIENT_OUT" || { tool_output; return 1; }
}

# It makes up QP numbers, which on one host must not be the same for both
cm_times() {
	meet cmtime -b "$SERVER_IP" -c "$1" : cmtime -s "$SERVER_IP" -b "$CLIENT_IP" -c "$1" -q 100000 || return
	grep -q '^disconnect ' "$CLIENT_OUT" || { tool_output; return 1; }
}

connections() {
	local what=$1 family
	for family in v4 v6; do
		addresses "$family"
		wait_gid_index "${SIDE_DEV[server]}" "$SERVER_IP" >/dev/null
		wait_gid_index "${SIDE_DEV[client]}" "$CLIENT_IP" >/dev/null
		check "$what, $family: rping" pings
		check "$what, $family: ucmatose" by_cm ucmatose -c 3 -C 10 -S 5000
		check "$what, $family: udaddy" by_cm udaddy -c 3 -C 10 -S 1000
		if [ "$family" = v4 ]; then
			check "$what, $family: mckey" groups 239.35.36.37
		else
			skip "$what, $family: mckey" "the kernel's rdma_cm joins no IPv6 groups for RoCEv2"
		fi
		check "$what, $family: rstream" streams rstream -S 65536 -I 5 -C 5
		check "$what, $family: riostream" streams riostream -S 65536 -I 5 -C 5
	done
	addresses v4
	check "$what: cmtime" cm_times 5
}

joined() { in_ns "${SIDE_NS[server]}" ip maddr show | grep -qw "$1"; }

# groups ADDRESS: mckey sends to a group without knowing whether anybody has joined it; the receiver ends when it has
# had enough, so send until it does
groups() {
	local base i
	start server job 60 "${SIDE_NS[server]}" mckey -m "$1" -b "$SERVER_IP" -C 10 -S 500
	base=$BASE
	within 20 joined "$1" || { echo "not joined"; cat "$base.out"; }
	for ((i = 0; i < 5; i++)); do
		run client 30 mckey -m "$1" -s -b "$CLIENT_IP" -C 10 -S 500 || { cat "$BASE.out"; break; }
		! within 2 ended "$base" || break
	done
	ended "$base" || stop server "$base" KILL
	within 5 ended "$base"
	cat "$base.out"
	[ "$(<"$base.rc")" = 0 ]
}

# What there is of each kind on both devices
objects() { rdma resource show "${SIDE_DEV[server]}" && rdma resource show "${SIDE_DEV[client]}"; }
objects_are() { [ "$(objects)" = "$1" ]; }

# many CONNECTIONS TIMES: nothing is left of them
many() {
	local before i
	before=$(objects)
	for ((i = 0; i < $2; i++)); do
		cm_times "$1" || return
	done
	within 10 objects_are "$before" || { echo "before: $before; after: $(objects)"; return 1; }
}

connected() { in_ns "${SIDE_NS[client]}" rdma resource show cm_id | grep -q 'state CONNECT '; }

# The link goes while two programs are connected by it; they are told, and do not hold it up
link_goes() {
	local server client status=0
	start server job 60 "${SIDE_NS[server]}" rping -s -a "$SERVER_IP"
	server=$BASE
	within 20 listens_or_ended "$server"
	start client job 60 "${SIDE_NS[client]}" rping -c -a "$SERVER_IP"
	client=$BASE
	within 20 connected || { echo "no connection"; cat "$client.out"; status=1; }
	in_ns "${SIDE_NS[server]}" timeout 30 rdma link del "${SIDE_DEV[server]}" || status=1
	ended "$server" || stop server "$server"
	ended "$client" || stop client "$client"
	within 10 ended "$server" && within 10 ended "$client" && return "$status"
}

for path in "same host" "wire on one host"; do
	topology_host "$([ "$path" = "same host" ] && echo Y || echo N)" || { not_ok "$path: a link"; continue; }
	connections "$path"
	topology_down
done
if topology_veth 1500; then
	connections "two namespaces"
	if grep -q uml /proc/version; then
		addresses v4
		# cmtime makes each of them twice, with a QP and without
		check "1000 connections, 100 at a time" many 100 5
	fi
	check "the link goes while it is connected" link_goes
	topology_down
else
	not_ok "links on a veth pair"
fi
check "the module can go" modprobe -r "$LINK_MODULE"
finish
