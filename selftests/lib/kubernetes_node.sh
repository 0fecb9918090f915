#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of selftests/beds/kubernetes.sh that runs in a guest, which is a node. Checks that the output of
# ci/kubernetes/describe-links has what the shared RDMA device plugin looks for, and that two processes of a pod can
# talk over a link.
# shellcheck disable=SC2317 # functions are called through check
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
LINKS=$WORK/links

describe() { "$TOP/ci/kubernetes/describe-links" "$LINKS"; }
addresses() { ls "$LINKS/devices"; }

make_link() { rdma link add "$1" type softmr netdev "$2"; }

# The directory of a link
card_of() { dirname "$(dirname "$(echo "$LINKS"/devices/*/infiniband/"$1")")"; }

# The plugin's library for PCI devices reads the directory in this way. One name that is no address, or a card without a
# modalias of at least 53 characters, and the library finds no device at all
readable() {
	local address
	for address in $(addresses); do
		[[ $address =~ ^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$ ]] || { echo "no PCI address: $address" && return 1; }
		[ "$(tr -d '\n' <"$LINKS/devices/$address/modalias" | wc -c)" -ge 53 ] ||
			{ echo "$address: short modalias" && return 1; }
	done
}

# network_card LINK: class 02 at the place where it is read
network_card() {
	local modalias
	modalias=$(cat "$(card_of "$1")/modalias")
	is "${modalias:42:4}" bc02
}

# char_device CLASS PREFIX LINK: the device, found as the plugin's library finds it, by the name that is in "ibdev"
char_device() {
	local dir
	for dir in /sys/class/"$1"/"$2"*; do
		[ "$(cat "$dir/ibdev" 2>/dev/null)" = "$3" ] || continue
		ls -l "/dev/infiniband/${dir##*/}"
		[ -c "/dev/infiniband/${dir##*/}" ]
		return
	done
	echo "none in /sys/class/$1"
	return 1
}

# All three must exist, or the plugin refuses the device
devices_of() {
	[ -d "$(card_of "$1")/infiniband/$1" ] && char_device infiniband_verbs uverbs "$1" &&
		char_device infiniband_mad umad "$1" && [ -c /dev/infiniband/rdma_cm ]
}

# config.json's selector
selected() {
	local driver
	driver=$(readlink "$(card_of "$1")/driver")
	grep -q "\"drivers\": \[\"$driver\"\]" "$TOP/ci/kubernetes/config.json"
}

interface() { is "$(ls "$(card_of "$1")/net")" "$2"; }

unchanged() {
	stat -c %i "$LINKS"/devices/* >"$WORK/before"
	describe && stat -c %i "$LINKS"/devices/* | diff "$WORK/before" -
}

described_again() {
	rdma link del "$1" && make_link "$1" "$2" && describe && interface "$1" "$2"
}

gone() {
	rdma link del "$1" && describe && is "$(addresses | wc -l)" "$2"
}

shared_mode() { rdma system show | grep 'netns shared'; }

make_pod() { ip netns add pod && ip -n pod link set lo up; }

# Both containers of ci/kubernetes/pingpong.yaml
pod_pingpong() {
	ip netns exec pod ibv_rc_pingpong -d softmr0 -g 1 -c >"$WORK/server" 2>&1 &
	within 10 ip netns exec pod sh -c 'ss -Hltn "sport = :18515" | grep -q .' || return
	ip netns exec pod ibv_rc_pingpong -d softmr0 -g 1 -c 127.0.0.1 && wait $! && cat "$WORK/server"
}

modprobe -a softmr ib_umad rdma_ucm
make_link softmr0 eth0
ip link add dummy0 type dummy && ip link set dummy0 up && make_link softmr1 dummy0
check "links are described" describe
check "each as a PCI device" readable
check "as a network card" network_card softmr0
check "with the files that a container needs" devices_of softmr0
check "so is the other" devices_of softmr1
check "the plugin's configuration selects it" selected softmr0
check "its interface is named" interface softmr0 eth0
check "once more: nothing changes" unchanged
check "a link that moved to another interface" described_again softmr1 dummy0
check "a link that is gone is described no more" gone softmr1 1
check "the RDMA subsystem is in shared mode" shared_mode
check "a pod" make_pod
check "two processes of the pod talk over the node's link" pod_pingpong
check "the last link is gone" gone softmr0 0
finish
