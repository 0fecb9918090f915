#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# other_version.sh provider|module DIR VERSION: in a guest, put the provider DIR/libsoftmr.so, or the module
# DIR/softmr.ko, in the place of the installed one. Theirs is version 1 of the ABI, the installed ones' is VERSION.
# DIR/WHAT.tap says if a program is told so; see beds/abi_versions.sh.
set -u
WHAT=$1 DIR=$2 VERSION=$3

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
	module) modprobe softmr && ! [ -e /sys/module/softmr/parameters/max_user_objects ] ;;
	esac
}

link() { ip link add dummy0 up type dummy && rdma link add softmr0 type softmr netdev dummy0; }

# libibverbs says which version the kernel has, and which ones the provider supports
told() {
	local kernel=$VERSION provider=1
	[ "$WHAT" = provider ] || kernel=1 provider=$VERSION
	ibv_devices >"$DIR/$WHAT.log" 2>&1
	grep -q "does not support the kernel ABI of $kernel (supports $provider to $provider) for device" "$DIR/$WHAT.log"
}
not_listed() { ! grep -q '^ *softmr0' "$DIR/$WHAT.log"; }

# tap STATUS NAME
tap() {
	local word="not ok"
	count=$((count + 1))
	[ "$1" != 0 ] || word=ok
	echo "$word $count the first $WHAT: $2"
}

count=0
{
	echo "TAP version 13"
	replace && replaced
	tap $? "it is in place"
	link
	tap $? "there is a link"
	told
	tap $? "a program is told that the versions differ"
	not_listed
	tap $? "it does not find the device"
	sed 's/^/# /' "$DIR/$WHAT.log"
	echo "1..$count"
} >"$DIR/$WHAT.tap"
