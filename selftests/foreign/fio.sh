#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: fio's rdma engine: each verb, block sizes, depths, verification
# bed: uml
# packages: fio
# timeout: 900
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# job_file FILE LINE...: what both ends have
job_file() {
	printf '%s\n' '[global]' ioengine=rdma "port=$PORT" bs="$BS" size="$SIZE" group_reporting=1 "${@:2}" >"$1"
}

# transfer VERB BLOCK-SIZE SIZE DEPTH
transfer() {
	local verb=$1 BS=$2 SIZE=$3 depth=$4
	PORT=$((PORT + 1))
	# whoever reads is the server, whatever the verb; it needs more receives than the client has sends under way
	job_file "$WORK/server.fio" '[receiver]' rw=read "iodepth=$((4 * depth))"
	job_file "$WORK/client.fio" '[sender]' rw=write "verb=$verb" "hostname=$ADDR" "iodepth=$depth"
	both "verb=$verb bs=$BS iodepth=$depth" 10 "cm:$PORT" fio "$WORK/server.fio" -- fio "$WORK/client.fio"
}

device_up
cd "$WORK" || exit
says "$(fio --version)"
for verb in write read send; do
	for size in 512 64k 1m; do
		for depth in 1 16; do transfer "$verb" "$size" 8m "$depth"; done
	done
done
finish
