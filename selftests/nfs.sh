#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest qemu-stable qemu-oldest
# nodes: 1
# timeout: 150
#
# NFS over RDMA, versions 3 and 4.2: the kernel's own server and client. The client reads what it has written, and the
# server has the same, on the same-host and the wire path, when packets are lost, and when the link is removed and made
# again during a write. (The UML kernels that tests run on are built without NFS.)
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/nfs.sh
. "$LIB/nfs.sh"

need_link_type "$LINK_TYPE"
nfs_have || skip_all "there is no NFS over RDMA here"
MNT=$WORK/mnt

# Files in sizes that are sent inline, as one chunk, and as several; the server has the same contents
files() {
	local file
	nfs_write_read "$MNT" small 4 4096 && nfs_write_read "$MNT" middle 256 65536 && nfs_write_read "$MNT" large 2048 1048576 ||
		return
	for file in small middle large; do
		cmp "$NFS_ROOT/$file" "$WORK/data.$file" || return
	done
}

# Through the page cache: written together, and read again after the cache was dropped
cached() {
	cp "$WORK/data.large" "$MNT/cached" && sync -f "$MNT/cached" && cmp "$NFS_ROOT/cached" "$WORK/data.large" || return
	echo 3 >/proc/sys/vm/drop_caches
	cmp "$MNT/cached" "$WORK/data.large"
}

noticed() { [ "$(counter "${SIDE_DEV[server]}" retransmits)" -gt 0 ] || { rdma statistic show link "${SIDE_DEV[server]}"; return 1; }; }

# session WHAT VERSION ADDRESS
session() {
	local what="$1, NFSv$2"
	check "$what: mount" nfs_mount "$2" "$3" "$MNT" || return
	on_exit umount -fl "$MNT"
	check "$what: it is by RDMA" nfs_is_rdma "$MNT"
	check "$what: write, read, compare" files
	check "$what: the same by the page cache" cached
	check "$what: names" nfs_names "$MNT" 20
	check "$what: unmount" nfs_umount "$MNT"
}

write_torn() { dd if="$WORK/data.large" of="$MNT/torn" bs=65536 oflag=direct status=none; }

# A hard mount waits while there is no link, and then continues. But if the link is removed between two steps of the
# client's reconnection, the client returns rdma_connect()'s error to the process: then that write is repeated
link_comes_back() {
	local pid dev=${SIDE_DEV[server]}
	(for ((i = 0; i < 50; i++)); do write_torn || write_torn || exit; done) &
	pid=$!
	nap 0.5
	timeout 60 rdma link del "$dev" && link_add "$dev" eth0 || return
	within 60 not_running "$pid" || { echo "it does not go on"; kill -9 "$pid"; return 1; }
	wait "$pid" && cmp "$NFS_ROOT/torn" "$WORK/data.large"
}

check "the server is up" nfs_server_up || finish
on_exit nfs_server_down

topology_host Y || not_ok "a link"
session "same host" 4.2 "${SIDE_V4[server]}"
session "same host" 3 "${SIDE_V4[server]}"
topology_down

topology_host N || not_ok "a link"
session "wire" 4.2 "${SIDE_V4[server]}"
session "wire, IPv6" 4.2 "${SIDE_V6[server]}"
modprobe sch_netem 2>/dev/null
if check "1 % of the packets are lost" tc qdisc replace dev lo root netem limit 10000 loss 1%; then
	on_exit tc qdisc del dev lo root
	session "loss" 4.2 "${SIDE_V4[server]}"
	check "loss: the device noticed" noticed
	tc qdisc del dev lo root
fi
if check "mount once more" nfs_mount 4.2 "${SIDE_V4[server]}" "$MNT"; then
	check "the link goes and comes while it is in use" link_comes_back
	check "unmount" nfs_umount "$MNT"
fi
topology_down
finish
