#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# Connections and datagrams by rdma_cm, with the programs of rdmacm-utils; on one host, and between namespaces; and many
# connections one after the other
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/cm.sh
. "$LIB/cm.sh"

need_link_type "$LINK_TYPE"
have rping || skip_all "rdmacm-utils are not installed"
modprobe rdma_ucm || skip_all "this kernel has no rdma_ucm"

# The number of objects of each kind on both devices
objects() { rdma resource show "${SIDE_DEV[server]}" && rdma resource show "${SIDE_DEV[client]}"; }
objects_are() { [ "$(objects)" = "$1" ]; }

# many CONNECTIONS TIMES: they leave nothing behind
many() {
	local before i
	before=$(objects)
	for ((i = 0; i < $2; i++)); do
		cm_times "$1" || return
	done
	within 10 objects_are "$before" || { echo "before: $before; after: $(objects)"; return 1; }
}

connected() { in_ns "${SIDE_NS[client]}" rdma resource show cm_id | grep -q 'state CONNECT '; }

# The link is removed while two programs are connected over it; they get an event, and do not delay the removal
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
if try_veth 1500; then
	connections "two namespaces"
	if grep -q uml /proc/version; then
		addresses v4
		# cmtime makes each of them twice, with a QP and without
		check "1000 connections, 100 at a time" many 100 5
	fi
	check "the link goes while it is connected" link_goes
	topology_down
fi
check "the module can go" modprobe -r "$LINK_MODULE"
finish
