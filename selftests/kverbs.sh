#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# break: qemu-newest
# timeout: 120
# beds: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-race uml-checked uml
# boot: kmemleak
#
# Verbs in the kernel: the cases of kmod/, on the same-host and on the wire path; and a module that breaks the rules
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tracing.sh
. "$LIB/tracing.sh"

need_tracefs
need_link_type "$LINK_TYPE"

# The module's lines in the kernel's log after a mark
verdict() { dmesg | sed -n "/$1\$/,\$p" | sed -n 's/^\(\[[^]]*\] \)\?kverbs: //p'; }

# cases WHAT DEVICE GID: each case is an assertion here
cases() {
	local what=$1 mark="kverbs-begin-$RANDOM" line
	echo "$mark" >/dev/kmsg
	check "$what: the module runs" modprobe kverbs_test dev="$2" gid="$3" || return
	modprobe -r kverbs_test
	verdict "$mark" >"$WORK/verdict"
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "$what: ${line#ok * }" ;;
		"not ok "*) not_ok "$what: ${line#not ok * }" ;;
		"# "*) echo "$line" ;;
		esac
	done <"$WORK/verdict"
	check "$what: all cases ran" grep -q '^1\.\.' "$WORK/verdict"
}

# The last reasons for which the kernel's consumers of a device were refused something
kernel_whys() {
	softmr why --json | python3 -c '
import json, sys
print(*{r["reason"] for r in json.load(sys.stdin) if r["command"] == "kernel" and r["device"] == sys.argv[1]})' "$1"
}
has_reason() { grep -qw "$2" <(kernel_whys "$1"); }
# The log has 64, of which none of the posts is left. A buffer of our own, since other tests have left their settings in
# the usual one, has the tracepoint's refusals of posts
OWN_TRACE=$TRACING/instances/kverbs
trace_posts() {
	mkdir "$OWN_TRACE" && echo 'id >= 0xe00 && id <= 0xeff' >"$OWN_TRACE/events/softmr/smr_refused/filter" &&
		echo 1 >"$OWN_TRACE/events/softmr/smr_refused/enable"
}
end_trace() { echo 0 >"$OWN_TRACE/events/softmr/smr_refused/enable" && rmdir "$OWN_TRACE"; }
has_traced() { grep -qE "smr_refused: .*dev=$1 .*says=$2\b" "$OWN_TRACE/trace"; }

for path in Y N; do
	topology_host "$path" || { not_ok "a link"; continue; }
	[ "$LINK_TYPE" != softmr ] || check "refusals are traced" trace_posts
	name="wire"
	[ "$path" = N ] || name="same host"
	for family in v4 v6; do
		side_gid server "$family" && cases "$name, $family" "${SIDE_DEV[server]}" "$GID"
	done
	if [ "$LINK_TYPE" = softmr ]; then
		for reason in POST_FULL POST_INLINE_LENGTH POST_SGE; do
			check "$name: the kernel was refused for $reason" has_traced "${SIDE_DEV[server]}" "$reason"
		done
		check "$name: root reads what the kernel was refused last" has_reason "${SIDE_DEV[server]}" KEY_ACCESS
		end_trace
	fi
	topology_down
done

# A module that destroys its objects on a link only after it was notified of the link's removal, as RDS does. If the
# link did not wait for that, the module would access freed memory
late_client_has() { is "$(cat /sys/module/late_client/parameters/left)" "$1"; }
late_client() { modprobe late_client dev="$1" "${@:2}" && on_exit modprobe -rq late_client && late_client_has 4; }
goes_with_late_client() {
	late_client "${SIDE_DEV[server]}" || return
	timeout 60 rdma link del "${SIDE_DEV[server]}" && late_client_has 0 && modprobe -r late_client
}
if try_same_host; then
	check "a link goes whose objects a module destroys late" goes_with_late_client
	topology_down
fi

# Through RDS a process can keep a region as long as it wants. The netdev does not wait for that, only the device does
LATE=$(node_name late)
late_link() {
	ip link add late0 up type dummy && on_exit ip link del late0 && within 20 link_add "$LATE" late0
}
netdev_goes_before_region() {
	late_link && late_client "$LATE" memory_ms=600000 || return
	ip link del late0 &
	within 20 not_running "$!" && late_client_has 2 && modprobe -r late_client || return
	# its name is free, too
	late_link
}
check "a netdev goes whose link has a region that a module does not destroy" netdev_goes_before_region
finish
