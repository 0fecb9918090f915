#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: RDS: rds-ping, rds-stress with messages and with RDMA
# group: kernel
# bed: qemu
# foreign: rds-tools/rds-stress
# get: github.com/oracle/rds-tools, made in DIR/rds-tools (./configure && make)
# timeout: 400
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

TOOLS=$FOREIGN/rds-tools
# Between two addresses: to one and the same RDS goes by its own loopback
SECOND=10.0.0.$((NODE + 100))

ping() { limited 60 "$TOOLS/rds-ping" -c 20 -i 0.05 -I "$SECOND" "$ADDR"; }

# by_rdma: the connections that there are go by RDMA
by_rdma() { "$TOOLS/rds-info" -I | tee "$WORK/info" && grep -q "$SECOND" "$WORK/info"; }

# stress WHAT OPTION...
stress() {
	PORT=$((PORT + 1))
	both "rds-stress $*" 60 "$PORT" "$TOOLS/rds-stress" -r "$ADDR" -p "$PORT" -- \
		"$TOOLS/rds-stress" -r "$SECOND" -s "$ADDR" -p "$PORT" -T 3 "$@"
}

skip_iwarp "RDS has no iWARP"
device_up
modprobe -q rds_rdma || skip_all "this kernel has no RDS"
lockdep_off # for RDS
says "$(uname -r)"
ip addr add "$SECOND/24" dev eth0
on_exit ip addr del "$SECOND/24" dev eth0
setup_ok "its GID" wait_gid_index "$DEV" "$SECOND"
check "rds-ping" ping
setup_ok "it goes by RDMA" by_rdma
stress -q 64 -a 64 -d 1 -t 1
stress -q 1024 -a 1024 -d 4 -t 2
stress -q 8192 -a 256 -d 8 -t 1
stress -q 65536 -a 64 -d 2 -t 1 -c
stress -q 256 -a 64 -d 2 -t 1 -D 65536
stress -q 256 -a 64 -d 2 -t 1 -D 4096 -c
finish
