#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a C test once for each way to connect its two ends: lib/paths.sh TEST [ARGUMENT...]
#
# A line at the head of the test's source names the paths ("paths: host wire veth"), or $SMR_PATHS does; lib/ctest.sh
# explains them. A line "params: NAME=VALUE ..." sets the module's parameters for these links. The TAP of all runs
# becomes one; each test's name begins with its path.

# shellcheck source=selftests/lib/test.sh
. "${0%/*}/test.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$LIB/ctest.sh"

TEST=$1
shift

# read_settings: set PATHS and PARAMS from the head of the test's source
read_settings() {
	local line
	PATHS=host PARAMS=
	# its first comments
	while IFS= read -r line && [[ $line = [\ /]* ]]; do
		case $line in
		" * paths: "*) PATHS=${line#*: } ;;
		" * params: "*) PARAMS=${line#*: } ;;
		esac
	done <"$TEST.c"
}

params_set() {
	local param
	[ "$LINK_TYPE" = softmr ] || return 0
	for param in $PARAMS; do
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
read_settings
for path in ${SMR_PATHS:-$PATHS}; do
	[ "$LINK_TYPE" = softmr ] || [ "$path" != wire ] || continue
	if [[ $path = *_rxe ]] && ! have_link_type rxe; then
		skip "$path" "this kernel has no rdma_rxe"
		continue
	fi
	run_path "$path" "$@"
	clean_up "$mark"
done
finish
