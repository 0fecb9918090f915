#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: krping: kernel verbs by rdma_cm, each byte validated
# bed: qemu
# foreign: krping/rdma_krping.ko
# get: github.com/larrystevenwise/krping, made in DIR/krping for the newest kernel of the guest image
# timeout: 300
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# said PORT: what the kernel has said since this run began. The log is not cleared, because whoever runs the suites looks
# for splats there.
said() { dmesg | sed -n "/softmr-test: krping $1\$/,\$p"; }

# krping OPTION...: a write to the file returns at the end of the run
krping() {
	local server status=0
	PORT=$((PORT + 1))
	echo "softmr-test: krping $PORT" >/dev/kmsg
	limited 60 tee /proc/krping <<<"server,addr=$ADDR,port=$PORT,$1" >/dev/null &
	server=$!
	nap 1
	limited 60 tee /proc/krping <<<"client,addr=$ADDR,port=$PORT,$1" >/dev/null || status=$?
	wait "$server" || status=$?
	said "$PORT" | tail -n 20
	# what it says of a client that did not come to its end; the server only sees the end of the connection
	[ "$status" = 0 ] && ! said "$PORT" | grep -qE 'data mismatch|send error|wait for RDMA_WRITE_(ADV|COMPLETE)|krping: .*(failed|rejected)'
}

device_up
insmod "$FOREIGN/krping/rdma_krping.ko" 2>"$WORK/out" || skip_all "the module is not for this kernel: $(head -n 1 "$WORK/out")"
on_exit rmmod rdma_krping
says "$(uname -r)"
for size in 64 4096 65536; do
	for option in "" server_inv read_inv local_dma_lkey; do
		# a READ that invalidates its own key is iWARP's
		[ "$option" != read_inv ] || iwarp || continue
		check "size=$size${option:+ $option}" krping "count=50,size=$size,validate${option:+,$option}"
	done
done
finish
