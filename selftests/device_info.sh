#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# What programs read about a device: the firmware version is softmr's own, and no field is empty
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
topology_host Y || { not_ok "a link"; finish; }
DEV=${SIDE_DEV[server]}
CLASS=/sys/class/infiniband/$DEV
VERSION=$(</sys/module/softmr/version)

# filled DIR: no file in it is empty
filled() {
	local file value empty=0 seen=0
	for file in "$1"/*; do
		{ [ -f "$file" ] && [ -r "$file" ]; } || continue
		seen=$((seen + 1))
		value=$(<"$file")
		[ -n "${value//[[:space:]]/}" ] || { echo "$file is empty"; empty=1; }
	done
	[ "$seen" -gt 3 ] && [ "$empty" = 0 ]
}

# A line of ibv_devinfo without a value is the heading of lines that are further to the right (those of tso_caps are not)
devinfo_filled() {
	ibv_devinfo -v -d "$DEV" >"$WORK/info" || return
	awk '
		function indent(line) { match(line, /^[ \t]*/); return RLENGTH }
		NF && before ~ /:[ \t]*$/ && before !~ /tso_caps:/ && indent($0) <= indent(before) { print "no value: " before; bad = 1 }
		NF { before = $0 }
		END { exit bad || NR < 50 }' "$WORK/info"
}

rdma_dev_says() { rdma dev show "$DEV" | grep -E " fw $1 .*node_guid ([0-9a-f]{4}:){3}[0-9a-f]{4} "; }

check "the module has a version" test -n "$VERSION"
check "sysfs: fw_ver is it" is "$(<"$CLASS/fw_ver")" "$VERSION"
check "ibv_devinfo: fw_ver is it" is "$(ibv_devinfo -d "$DEV" | awk '$1 == "fw_ver:" { print $2 }')" "$VERSION"
check "rdma dev: fw is it" rdma_dev_says "$VERSION"
check "sysfs: no field of the device is empty" filled "$CLASS"
check "sysfs: no field of the port is empty" filled "$CLASS/ports/1"
check "ibv_devinfo -v: no field is empty" devinfo_filled
finish
