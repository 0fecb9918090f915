#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# break: qemu-newest qemu-oldest
# nodes: 1
# timeout: 300
#
# ibv_rc_pingpong on one host (same-host shortcut and wire path) and between two network namespaces; with SMR_SHORT a third
# of that
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

# Sizes: 0, around the path MTU, and large; or the given ones
sizes() {
	local where=$1 family=$2 size list=("${@:3}")
	[ "${#list[@]}" != 0 ] || list=(0 1 4096 4097 65536 1048576)
	[ -z "${SMR_SHORT-}" ] || list=(0 "${list[-1]}")
	for size in "${list[@]}"; do
		check "$where, $family: $size bytes" pingpong server client "$family" -s "$size" -n 50 -c
	done
}

has_timestamps() { ! ibv_devinfo -v -d "$1" | grep -q 'timestamp.*\(un\|not \)supported'; }

variants() {
	local where=$1 family
	for family in v4 v6; do
		check "$where, $family: events" pingpong server client "$family" -e -n 100 -c
		check "$where, $family: one receive posted" pingpong server client "$family" -r 1 -n 100 -s 3000 -c
	done
	if has_timestamps "${SIDE_DEV[server]}"; then
		check "$where: timestamps" pingpong server client v4 -t -n 100
	else
		skip "$where: timestamps" "the device has none"
	fi
	check "$where: ibv_wr_* API" pingpong server client v4 -N -n 100 -c
	if [ "$LINK_TYPE" = softmr ]; then
		check "$where: device memory" pingpong server client v4 -j -n 100 -c
	else
		skip "$where: device memory" "the device has none"
	fi
}

# The buffer is paged on demand, as its own region or as part of the implicit one, prefetched or not
on_demand() {
	local where=$1 kinds="-o -oP" kind
	has_odp "${SIDE_DEV[server]}" || { skip "$where: on demand" "the device cannot"; return; }
	has_odp "${SIDE_DEV[server]}" implicit && kinds+=" -O -OP"
	[ -z "${SMR_SHORT-}" ] || kinds=-o
	for kind in $kinds; do
		check "$where: on demand ($kind), 4096 bytes" pingpong server client v4 "$kind" -n 50 -c
		check "$where: on demand ($kind), 1 MiB" pingpong server client v4 "$kind" -s 1048576 -n 10 -c
	done
	check "$where: on demand, events" pingpong server client v4 -o -e -n 50 -c
}

mtus() {
	local mtu
	for mtu in 256 512 1024 2048 4096; do
		check "$1: path MTU $mtu" pingpong server client v4 -m "$mtu" -s 20000 -n 50 -c
	done
}

if try_same_host; then
	sizes "same host" v4
	sizes "same host" v6 0 1 65537
	variants "same host"
	on_demand "same host"
	topology_down
fi

if [ -z "${SMR_SHORT-}" ] && try_wire_path; then
	sizes "one host, wire path" v4
	variants "one host, wire path"
	on_demand "one host, wire path"
	topology_down
fi

if try_veth 9000; then
	sizes "veth" v4
	sizes "veth" v6 0 1 65537
	variants "veth"
	[ "${SMR_SHORT-}" ] || mtus "veth"
	on_demand "veth"
	topology_down
fi
finish
