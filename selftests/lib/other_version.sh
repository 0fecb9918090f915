#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# other_version.sh provider|module DIR: in a guest, put the provider DIR/libsoftmr.so, or the module DIR/softmr.ko, in
# the place of the installed one, and run tests. DIR/WHAT.tap says how they ended; see beds/abi_versions.sh.
set -u
WHAT=$1 DIR=$2
cd "$(dirname "$0")/.." || exit

# What both sides could do from the beginning. pingpong.sh uses device memory, which came later, as resizing did.
declare -A TESTS=(
	[provider]="data rc_errors rc_windows xrc odp_traffic
		semantics_reg semantics_rereg semantics_dereg semantics_mw semantics_wc"
	[module]=data
)

# Left out: the first provider took a bind's upper 24 bits of the rkey as the program gave them
declare -A OPTIONS=([semantics_mw]="-V mw2_upper_bits")

replace() {
	case $WHAT in
	provider) mount --bind "$DIR/libsoftmr.so" "$(readlink -f /usr/lib/*/libsoftmr.so.1)" ;;
	module) mount --bind "$DIR/softmr.ko" "$(modinfo -n softmr)" ;;
	esac
}

# Is it really the other one? The first version has no parameter for the objects of a user.
replaced() {
	case $WHAT in
	provider) cmp -s "$DIR/libsoftmr.so" "$(readlink -f /usr/lib/*/libsoftmr.so.1)" ;;
	module) modprobe softmr && ! [ -e /sys/module/softmr/parameters/max_user_objects ] && modprobe -r softmr ;;
	esac
}

# tap STATUS NAME [LOG]
tap() {
	local word="not ok"
	count=$((count + 1))
	[ "$1" != 0 ] || word=ok
	echo "$word $count $2"
	[ "$1" = 0 ] || [ -z "${3:-}" ] || grep -E '^(not ok|#)' "$3" | sed 's/^/# /' | tail -20
}

count=0
{
	echo "TAP version 13"
	replace && replaced
	tap $? "the first $WHAT is in place"
	for test in ${TESTS[$WHAT]}; do
		# shellcheck disable=SC2086 # nothing or several words
		"./$test" ${OPTIONS[$test]-} >"$DIR/$WHAT-$test.log" 2>&1
		tap $? "the first $WHAT: $test" "$DIR/$WHAT-$test.log"
	done
	echo "1..$count"
} >"$DIR/$WHAT.tap"
