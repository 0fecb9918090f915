#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# daily: uml-checked
# timeout: 480
#
# A process waits for a page that never arrives, or for the content of a dma-buf: the link, its netdev and its namespace
# are removed at once, and listing the device's objects does not hang. The module stays until the page is given up
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "$LINK_TYPE waits for the page"
need_link_type "$LINK_TYPE"
NS=$(node_name never) DEV=$(node_name n)

make_link() {
	ns_add "$NS" && ip -n "$NS" link add d0 up type dummy && ip -n "$NS" addr add 10.9.0.1/24 dev d0 &&
		link_add "$DEV" d0 "$NS"
}

waits_or_ended() { grep -q waits "$WORK/hold" || not_running "$HOLDER"; }

# hold WHAT: a process that waits for it; HOLDER is its pid
hold() {
	local program=odp_never
	[ "$1" != dmabuf ] || program=mr_exporter
	: >"$WORK/hold" # the job empties it later than we look
	SMR_DEV=$DEV ip netns exec "$NS" "${LIB%/*}/$program" --hold "$1" >"$WORK/hold" 2>&1 </dev/null &
	HOLDER=$!
	within 20 waits_or_ended && grep waits "$WORK/hold"
}

# soon COMMAND...: five seconds; one is promised, but not on an emulated machine
soon() { timeout -k 1 5 "$@"; }

list_all() { soon ip netns exec "$NS" rdma resource show qp >/dev/null && soon ip netns exec "$NS" rdma resource show mr >/dev/null; }

# let_go: end the process and its file's server, and clean up
let_go() {
	pkill -KILL -x odp_never
	kill -KILL "$HOLDER" 2>/dev/null
	wait "$HOLDER" 2>/dev/null
	clean_up "$MARK"
}

MARK=${#TAP_CLEANUP[@]}
for what in write prefetch reg rereg dmabuf; do
	for how in "rdma link del $DEV" "ip link del d0" "ip netns del"; do
		check "$what: a link" make_link || finish
		if ! hold "$what" >"$WORK/why" 2>&1; then
			[ -s "$WORK/hold" ] || { skip "$what: $how" "this kernel has no FUSE, or no dma-bufs"; let_go; continue; }
			not_ok "$what: a process waits" "$WORK/hold"
		fi
		check "$what: the objects can be listed" list_all
		case $how in
		"ip netns del")
			# The namespace is removed with its last process
			check "$what: the process ends" soon sh -c "kill -KILL $HOLDER; while kill -0 $HOLDER 2>/dev/null; do sleep 0.1; done"
			check "$what: $how" soon ip netns del "$NS"
			;;
		*) check "$what: $how" soon ip netns exec "$NS" sh -c "$how" ;;
		esac
		check "$what: $how: the device is gone" within 5 test ! -e "/sys/class/infiniband/$DEV"
		case $what:$how in
		*reg:*del\ * | dmabuf:*del\ *) check "$what: $how: the verb has ended with EIO" within 5 grep -q "registration: Input/output error" "$WORK/hold" ;;
		esac
		let_go
	done
done
check "the module can be removed when nobody waits any more" within 20 modprobe -r "$LINK_MODULE"
check "the module can be loaded again" have_link_type "$LINK_TYPE"
finish
