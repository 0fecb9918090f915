#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest qemu-stable qemu-oldest
# nodes: 2
# timeout: 150
#
# NVMe and NFS over RDMA between two machines: node 2 has the disk and the files. Node 1 reads what it has written, and
# node 2 has the same; also when 1 % of the packets are lost in each direction.
# shellcheck disable=SC2317 # what "check" and the agent call looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/nvme.sh
. "$LIB/nvme.sh"
# shellcheck source=selftests/lib/nfs.sh
. "$LIB/nfs.sh"

need_link_type "$LINK_TYPE"
nvme_have || skip_all "this kernel has no NVMe over RDMA"
nfs_have || skip_all "there is no NFS over RDMA here"
modprobe sch_netem 2>/dev/null
MNT=$WORK/mnt
SIZE_KB=512

# server_has SUM COMMAND...: COMMAND prints SUM there
server_has() { at server 30 "${@:2}" >"$WORK/has" && is "$(cut -d' ' -f1 "$WORK/has")" "$1"; }

sum() { md5sum "$1" | cut -d' ' -f1; }
disk_sum() { dd if=/dev/ram0 bs=1024 count="$SIZE_KB" iflag=direct status=none | md5sum; }
file_sum() { md5sum "$NFS_ROOT/$1"; }

nvme_data() {
	head -c $((SIZE_KB * 1024)) /dev/urandom >"$WORK/disk"
	dd if="$WORK/disk" of="$DISK" bs=128k oflag=direct status=none || return
	dd if="$DISK" bs=128k count=$((SIZE_KB / 128)) iflag=direct status=none | cmp - "$WORK/disk" &&
		server_has "$(sum "$WORK/disk")" disk_sum
}

nvme() {
	check "$1, NVMe: connect" connect "${SIDE_V4[server]}" || return
	check "$1, NVMe: write, read, compare" nvme_data
	check "$1, NVMe: disconnect" disconnect
}

nfs_data() { nfs_write_read "$MNT" "$1" "$SIZE_KB" 131072 && server_has "$(sum "$WORK/data.$1")" file_sum "$1"; }

nfs() {
	check "$1, NFS: mount" nfs_mount 4.2 "${SIDE_V4[server]}" "$MNT" || return
	on_exit umount -fl "$MNT"
	check "$1, NFS: it is by RDMA" nfs_is_rdma "$MNT"
	check "$1, NFS: write, read, compare" nfs_data "${1// /-}"
	check "$1, NFS: names" nfs_names "$MNT" 5
	check "$1, NFS: unmount" nfs_umount "$MNT"
}

loses() { tc qdisc replace dev eth0 root netem limit 10000 loss 1%; }

# Sets RETRANSMITS to the number of packets that both devices have retransmitted
retransmits() {
	at server 20 counter rdma2 retransmits >"$WORK/count" || return
	RETRANSMITS=$(($(counter rdma1 retransmits) + $(<"$WORK/count")))
}

noticed() {
	local before=$RETRANSMITS
	retransmits || return
	echo "$before before, $RETRANSMITS after"
	[ "$RETRANSMITS" -gt "$before" ]
}

# A train is lost as a whole, and there are few trains: repeat until one is lost
noticed_at_last() {
	local try
	for try in {1..20}; do
		noticed && return
		echo "try $try"
		connect "${SIDE_V4[server]}" && nvme_data && disconnect || return
	done
	return 1
}

server_up() { target_up && port_up v4 "$1" && nfs_server_up; }
server_down() { port_down; target_down; nfs_server_down; }

link_add "rdma$NODE" eth0 || not_ok "link on node $NODE"
# the agent must exit after all commands
[ "$NODE" = 1 ] || agent_main

agent_find 2 || tap_done 1
side client rdma1 "" 10.0.0.1 fd00::1
side server rdma2 "" 10.0.0.2 fd00::2 "$AGENT"

if check "node 2 is the server" at server 60 server_up "${SIDE_V4[server]}"; then
	nvme "two nodes"
	nfs "two nodes"
	retransmits
	if check "1 % of the packets are lost" loses && check "both ways" at server 20 loses; then
		nvme "loss"
		nfs "loss"
		check "loss: the devices noticed" noticed_at_last
	fi
	tc qdisc del dev eth0 root
	at server 20 tc qdisc del dev eth0 root >/dev/null
fi
at server 60 server_down >"$WORK/down" 2>&1
finish
