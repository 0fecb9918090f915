#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest qemu-stable qemu-oldest uml-checked uml
# nodes: 1
# timeout: 240
#
# NVMe over RDMA: the kernel's own target and host, whose memory is fast-registered. The host reads what it has written,
# and the disk has the same, on the same-host and the wire path, when packets are lost, and until the link is removed.
# Lockdep is off: sometimes the target gets a command before the event that the connection is established. Then it takes
# nvmet_config_sem within rdma_cm's handler_mutex; in the opposite order it takes them for another rdma_cm id.
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/nvme.sh
. "$LIB/nvme.sh"

CHUNK_KB=4096

need_link_type "$LINK_TYPE"
nvme_have || skip_all "this kernel has no NVMe over RDMA"
lockdep_off

# Each place of the disk gets different bytes, so misplaced bytes are noticed
fill() { head -c $((CHUNK_KB * 1024)) /dev/urandom >"$WORK/data.$1"; }

# write_read PART BLOCKSIZE: with O_DIRECT at both ends
write_read() {
	local part=$1 bs=$2 n=$((CHUNK_KB * 1024 / $2)) at
	at=$((part * n))
	fill "$part"
	dd if="$WORK/data.$part" of="$DISK" bs="$bs" seek="$at" oflag=direct status=none || return
	dd if="$DISK" bs="$bs" skip="$at" count="$n" iflag=direct status=none | cmp - "$WORK/data.$part" &&
		dd if=/dev/ram0 bs="$bs" skip="$at" count="$n" iflag=direct status=none | cmp - "$WORK/data.$part"
}

# Several at once, in sizes of one page, of several, and of more than a command can carry
several() {
	local bs pids=() pid status=0 part=0
	for bs in 4096 65536 1048576; do
		write_read "$part" "$bs" &
		pids+=($!)
		part=$((part + 1))
	done
	for pid in "${pids[@]}"; do wait "$pid" || status=1; done
	return "$status"
}

# The devices' counters must show the impairment, or the test has tested nothing
noticed() { [ "$(counter "${SIDE_DEV[server]}" retransmits)" -gt 0 ] || { rdma statistic show link "${SIDE_DEV[server]}"; return 1; }; }

# session WHAT FAMILY ADDRESS
session() {
	local what=$1
	check "$what: the target listens" port_up "$2" "$3" || return
	if check "$what: connect" connect "$3"; then
		check "$what: write, read, compare" several
		check "$what: disconnect" disconnect
	fi
	check "$what: the target ceases" port_down
}

# The link is removed while the disk is being read and written
torn() {
	local pid status
	port_up v4 "$1" && connect "$1" || return
	fill 0
	while dd if="$WORK/data.0" of="$DISK" bs=65536 oflag=direct status=none; do :; done 2>/dev/null &
	pid=$!
	nap 1
	timeout 60 rdma link del "${SIDE_DEV[server]}"
	status=$?
	within 60 gone || { echo "the controller is still there"; status=1; }
	kill "$pid" 2>/dev/null
	wait "$pid"
	port_down
	return "$status"
}

check "the target has a disk" target_up || finish
on_exit target_down

topology_host Y || not_ok "a link"
session "same host" v4 "${SIDE_V4[server]}"
session "same host, IPv6" v6 "${SIDE_V6[server]}"
topology_down

topology_host N || not_ok "a link"
session "wire" v4 "${SIDE_V4[server]}"
modprobe sch_netem 2>/dev/null
if check "1 % of the packets are lost" tc qdisc replace dev lo root netem limit 10000 loss 1%; then
	on_exit tc qdisc del dev lo root
	# a lost last packet of a command costs rdma_cm's timeout, 2 s
	CHUNK_KB=1024
	session "loss" v4 "${SIDE_V4[server]}"
	check "loss: the device noticed" noticed
	tc qdisc del dev lo root
fi
check "the link goes while the disk is in use" torn "${SIDE_V4[server]}"
topology_down
check "the module can go" modprobe -r "$LINK_MODULE"
finish
