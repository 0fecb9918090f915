#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# The node description can be written. rdma-ndd writes the names of the host and the device to it
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
topology_host Y || { not_ok "a link"; finish; }
FILE=/sys/class/infiniband/${SIDE_DEV[server]}/node_desc
LONGEST=$(printf 'x%.0s' {1..64})

reads() { is "$(<"$FILE")" "$1"; }
writes() { printf %s "$1" >"$FILE" && reads "${2-$1}"; }
goes_on() { ibv_devinfo -d "${SIDE_DEV[server]}" >/dev/null && reads "$1"; }

# Only root may write it
# shellcheck disable=SC2016 # expanded by the other shell
refuses_a_user() { ! setpriv --reuid 65534 --clear-groups sh -c 'echo mine >"$1"' sh "$FILE" 2>/dev/null && reads "$1"; }

ndd_writes() {
	local status
	rdma-ndd -f >"$WORK/ndd" 2>&1 &
	within 10 reads "$(hostname -s) ${SIDE_DEV[server]}"
	status=$?
	kill $! && wait $! 2>/dev/null
	[ "$status" = 0 ] || cat "$WORK/ndd"
	return "$status"
}

check "the description begins with the driver's name" reads softmr
check "written and read" writes "a host, port 1"
check "the device goes on" goes_on "a host, port 1"
check "a shorter one" writes "b"
check "64 bytes" writes "$LONGEST"
check "a longer description is cut off" writes "${LONGEST}yz" "$LONGEST"
check "not by an ordinary user" refuses_a_user "$LONGEST"
if [ -x /usr/sbin/rdma-ndd ] || have rdma-ndd; then
	PATH=$PATH:/usr/sbin
	check "rdma-ndd writes host and device" ndd_writes
else
	skip "rdma-ndd" "it is not installed"
fi
finish
