# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# NFS over RDMA by the kernel's own server and client. What is exported is a tmpfs, the root of NFSv4.

NFS_ROOT=/run/softmr-nfs
NFSD=/proc/fs/nfsd
NFS_PORT=20049

# nfs_have: this kernel and this system have both
nfs_have() { have rpc.mountd && have nfsdcld && have mount.nfs && have rpcbind && modprobe -a nfsd nfsv3 nfsv4 rpcrdma 2>/dev/null; }

# The daemons that the server in the kernel asks
nfs_daemons() {
	mkdir -p /run/rpcbind /run/rpc_pipefs /var/lib/nfs/nfsdcld
	mountpoint -q /run/rpc_pipefs || mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs || return
	rpcbind -w && rpc.mountd && nfsdcld
}

# nfs_server_up: it listens at NFS_PORT of every address, for versions 3 and 4
nfs_server_up() {
	mkdir -p "$NFS_ROOT" && mount -t tmpfs -o size=64m nfs "$NFS_ROOT" || return
	mountpoint -q "$NFSD" || mount -t nfsd nfsd "$NFSD" || return
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "*:$NFS_ROOT" || return
	nfs_daemons || return
	echo "rdma $NFS_PORT" >"$NFSD/portlist" && echo 4 >"$NFSD/threads" || return
	# There are no clients from before. A newer nfsd knows, and refuses; an older one would wait 90 s for them
	(echo Y >"$NFSD/v4_end_grace") 2>/dev/null || true
}

nfs_server_down() {
	echo 0 >"$NFSD/threads"
	exportfs -ua
	killall -q rpc.mountd nfsdcld rpcbind
	umount "$NFSD" /run/rpc_pipefs "$NFS_ROOT"
}

# nfs_mount VERSION ADDRESS DIR
nfs_mount() {
	local path=/ address=$2 proto=rdma
	[ "$1" != 3 ] || path=$NFS_ROOT
	[[ $address != *:* ]] || address="[$address]" proto=rdma6
	mkdir -p "$3"
	timeout -k 5 60 mount -t nfs -o "vers=$1,proto=$proto,port=$NFS_PORT,nolock,timeo=100" "$address:$path" "$3"
}

nfs_umount() { timeout -k 5 60 umount "$1" || { umount -fl "$1"; return 1; }; }

# nfs_is_rdma DIR: what is mounted there goes by RDMA
nfs_is_rdma() { grep " $1 nfs" /proc/mounts | grep -q 'proto=rdma' || { cat /proc/mounts; return 1; }; }

# nfs_write_read DIR FILE KILOBYTES BLOCKSIZE: past the client's cache, in both directions
nfs_write_read() {
	local file=$1/$2 data=$WORK/data.$2 n=$(($3 * 1024 / $4))
	head -c "$(($3 * 1024))" /dev/urandom >"$data"
	dd if="$data" of="$file" bs="$4" count="$n" oflag=direct status=none || return
	dd if="$file" bs="$4" iflag=direct status=none | cmp - "$data"
}

# nfs_names DIR COUNT: directories and names, small messages
nfs_names() {
	local i
	mkdir "$1/dir" || return
	for ((i = 0; i < $2; i++)); do echo "$i" >"$1/dir/file$i" || return; done
	mv "$1/dir/file0" "$1/dir/moved" && ln -s moved "$1/dir/link" && is "$(cat "$1/dir/link")" 0 &&
		is "$(find "$1/dir" -type f | wc -l)" "$2" && rm -r "$1/dir"
}
