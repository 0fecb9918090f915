# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Netdevs, namespaces and RDMA links. Everything made here is gone when the test ends.

# The link type under test. With LINK_TYPE=rxe the tests run on rdma_rxe, which tests the tests
LINK_TYPE=${LINK_TYPE:-softmr}
case $LINK_TYPE in
rxe) LINK_MODULE=rdma_rxe ;;
*) LINK_MODULE=$LINK_TYPE ;;
esac
NODE=${NODE:-1}

have() { command -v "$1" >/dev/null; }

# Guests may share one kernel (UML's nodes do), so names contain the node's number
node_name() { echo "$1n$NODE"; }

in_ns() {
	if [ -n "$1" ]; then
		ip netns exec "$@"
	else
		"${@:2}"
	fi
}

ns_add() {
	ip netns add "$1" || return
	on_exit ip netns del "$1"
	# a new namespace has the kernel's default settings, not those of the first namespace
	in_ns "$1" bash -c "cd /proc/sys/net/ipv6/conf; echo 0 >all/accept_dad; echo 0 >default/accept_dad; ip link set lo up"
}

# address NETNS NETDEV HOST: give it 10.1.0.HOST and fd01::HOST, and set it up
address() {
	ip ${1:+-n "$1"} -batch - <<-END
		link set $2 up
		addr add 10.1.0.$3/24 dev $2
		addr add fd01::$3/64 dev $2 nodad
	END
}

# How many queues each end of a veth has, each way; empty: as the kernel makes them
VETH_QUEUES=

# veth_add NS1 NS2 MTU: veth0 in each, with addresses .1 and .2; "" is the namespace we are in
veth_add() {
	local queues=(${VETH_QUEUES:+numtxqueues "$VETH_QUEUES" numrxqueues "$VETH_QUEUES"})
	ip link add veth0 mtu "$3" "${queues[@]}" ${1:+netns "$1"} type veth \
		peer name veth0 mtu "$3" "${queues[@]}" ${2:+netns "$2"} || return
	on_exit ip ${1:+-n "$1"} link del veth0
	address "$1" veth0 1 && address "$2" veth0 2
}

# link_add NAME NETDEV [NETNS [TYPE]]
link_add() {
	in_ns "${3-}" rdma link add "$1" type "${4:-$LINK_TYPE}" netdev "$2" || return
	on_exit link_del "$1" "${3-}"
	within 10 link_is_up "$1"
}

link_del() { in_ns "${2-}" rdma link del "$1"; }

port_attr() { cat "/sys/class/infiniband/$1/ports/1/$2"; }

link_is_up() {
	local state
	read -r state <"/sys/class/infiniband/$1/ports/1/state" && [ "$state" = "4: ACTIVE" ]
} 2>/dev/null

# have_link_type TYPE: links of TYPE can be made here. rdma_rxe is unloaded at the end: before 7.1 it holds the UDP port
# as long as it is loaded
have_link_type() {
	if [ "$1" != rxe ]; then
		modprobe "$1"
	elif ! [ -d /sys/module/rdma_rxe ]; then
		modprobe rdma_rxe && on_exit modprobe -r rdma_rxe
	fi
} 2>/dev/null

# need_link_type TYPE: skip the test if the type is a peer's and the kernel does not have it; fail if it is softmr
need_link_type() {
	if [ "$1" != softmr ]; then
		have_link_type "$1" || skip_all "this kernel has no RDMA links of type $1"
	elif ! modprobe softmr >"$WORK/modprobe" 2>&1; then
		not_ok "softmr can be loaded" "$WORK/modprobe"
		finish
	fi
}

# param_set NAME VALUE: set a parameter of the module, which holds for links that are made after that
param_set() {
	local file=/sys/module/$LINK_MODULE/parameters/$1
	have_link_type "$LINK_TYPE" && [ -w "$file" ] || return
	on_exit param_restore "$file" "$(<"$file")"
	echo "$2" >"$file"
}

param_restore() { echo "$2" >"$1"; }

# loopback_set Y|N: whether links that are made after that use the same-host shortcut, which only softmr's have
loopback_set() { [ "$LINK_TYPE" != softmr ] || param_set loopback "$1"; }

# counter DEVICE NAME: the value that "rdma statistic" shows
counter() { rdma statistic show link "$1" | awk -v name="$2" '$1 == name { print $2 }'; }

# expand_ip ADDRESS: sets EXPANDED to how sysfs writes it as a GID
expand_ip() {
	local head tail
	if [[ $1 != *:* ]]; then
		IFS=. read -r -a head <<<"$1"
		printf -v EXPANDED '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${head[@]}"
		return
	fi
	IFS=: read -r -a head <<<"${1%%::*}"
	IFS=: read -r -a tail <<<"${1##*::}"
	[[ $1 = *::* ]] || tail=()
	while [ $((${#head[@]} + ${#tail[@]})) -lt 8 ]; do head+=(0); done
	head+=("${tail[@]}")
	printf -v EXPANDED ':%04x' "${head[@]/#/0x}"
	EXPANDED=${EXPANDED#:}
}

# gid_index DEVICE ADDRESS: print the index of its RoCE v2 GID. Each test calls this several times, so it starts no
# process
gid_index() {
	local port=/sys/class/infiniband/$1/ports/1 gid i type
	expand_ip "$2"
	# count up; do not sort names: only the first few entries are set
	for ((i = 0; ; i++)); do
		[ -e "$port/gids/$i" ] || return 1
		read -r gid <"$port/gids/$i" || continue
		[ "$gid" = "$EXPANDED" ] || continue
		read -r type <"$port/gid_attrs/types/$i" || continue
		[ "$type" = "RoCE v2" ] || continue
		echo "$i"
		return
	done
} 2>/dev/null
