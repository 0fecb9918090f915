#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a C test once for each way that its ends can be connected: lib/paths.sh TEST [ARGUMENT...]
#
# Which ways is said in the test's source or NAME.conf ("paths: host wire veth"), or in $SMR_PATHS; lib/ctest.sh says
# what they are. A line "params: NAME=VALUE ..." gives the module's parameters for these links. The TAP of all runs
# becomes one; a test's name begins with its path.

# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/test.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$LIB/ctest.sh"

TEST=$1
shift
NAME=$(basename "$TEST")

# said KEY: what the test says of it
said() { cat "$(dirname "$TEST")/$NAME".{conf,c} 2>/dev/null | sed -nE "s/^(#|[ \t]*\*)[ \t]*$1:[ \t]*//p" | head -n 1; }

paths_wanted() {
	local paths
	paths=$(said paths)
	echo "${SMR_PATHS:-${paths:-host}}"
}

params_set() {
	local param
	[ "$LINK_TYPE" != rxe ] || return 0
	for param in $(said params); do
		param_set "${param%%=*}" "${param#*=}" || return
	done
}

run_path() {
	local path=$1
	shift
	if params_set >"$WORK/devices" 2>&1 && devices_for "$path" >>"$WORK/devices" 2>&1; then
		c_test "$path" "$TEST" "$@"
	else
		not_ok "$path: devices" "$WORK/devices"
	fi
}

need_link_type "$LINK_TYPE"
mark=${#TAP_CLEANUP[@]}
for path in $(paths_wanted); do
	[ "$LINK_TYPE" != rxe ] || [ "$path" != wire ] || continue
	if [[ $path = *_rxe ]] && ! have_link_type rxe; then
		skip "$path" "this kernel has no rdma_rxe"
		continue
	fi
	run_path "$path" "$@"
	clean_up "$mark"
done
finish
