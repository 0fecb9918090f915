#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 120
# boot: kmemleak
#
# Verbs in the kernel: the cases of kmod/, on the same-host and on the wire path
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

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

for path in Y N; do
	topology_host "$path" || { not_ok "a link"; continue; }
	name="wire"
	[ "$path" = N ] || name="same host"
	for family in v4 v6; do
		side_gid server "$family" && cases "$name, $family" "${SIDE_DEV[server]}" "$GID"
	done
	topology_down
done
finish
