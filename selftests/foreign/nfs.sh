#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: NFS over RDMA, versions 3 and 4.2: the kernel's server and client; fio writes and verifies
# group: kernel
# bed: qemu
# packages: fio nfs-kernel-server
# timeout: 600
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/nfs.sh
. "$LIB/nfs.sh"

MNT=$WORK/mnt

verified() { fio_verified "$MNT/file" 4 "$@"; }

device_up
nfs_have || skip_all "this kernel has no NFS over RDMA"
says "$(uname -r)"
setup_ok "the server is up" nfs_server_up || finish
on_exit nfs_server_down
for version in 3 4.2; do
	setup_ok "NFSv$version: mount" nfs_mount "$version" "$ADDR" "$MNT" || continue
	setup_ok "NFSv$version: it is by RDMA" nfs_is_rdma "$MNT"
	for size in 4k 64k 1m; do
		check "NFSv$version: fio, $size: write, read, verify" verified "$size" 4
	done
	check "NFSv$version: names" nfs_names "$MNT" 20
	setup_ok "NFSv$version: unmount" nfs_umount "$MNT"
done
finish
