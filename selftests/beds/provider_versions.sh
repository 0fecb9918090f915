#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The one provider with the libibverbs of Debian 12, 13 and sid: its own tests pass with each, and each loads it beside
# other providers. A libibverbs that lacks a function is like none that it knows: it declines. No device is needed:
# programs see made-up ones.
# timeout: 600
# shellcheck disable=SC2317 # what "check" calls looks unreachable
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
DIR=$BUILD/image/rdma-core # /build/rdma-core in the image
LIB=usr/lib/x86_64-linux-gnu
APT_DIR=$RDMA_CORE_APT

# get_packages SUITE VERSION: its programs, libraries and plugins, unpacked in $DIR/VERSION
get_packages() {
	local suite=$1 dir=$DIR/$2 deb
	[ -e "$dir/done" ] && return
	mkdir -p "$WORK/$suite" "$dir"
	(cd "$WORK/$suite" && apt_own apt-get -q download \
		{libibverbs1,ibverbs-providers,ibverbs-utils,libnl-3-200,libnl-route-3-200}/"$suite") || return
	for deb in "$WORK/$suite"/*.deb; do dpkg-deb -x "$deb" "$dir" || return; done
	touch "$dir/done"
}

# A C library that is new enough for all versions
get_libc() {
	local newest=${1} deb
	[ -e "$DIR/libc/done" ] && return
	(cd "$WORK" && apt_own apt-get -q download libc6/"$newest") || return
	mkdir -p "$DIR/libc"
	for deb in "$WORK"/libc6_*.deb; do dpkg-deb -x "$deb" "$DIR/libc" || return; done
	touch "$DIR/libc/done"
}

build() {
	in_image sh -ec '
		cmake -S /src/userspace -B /build/rdma-core/build -GNinja -DSMR_TESTS=ON -DSMR_WERROR=ON
		ninja -C /build/rdma-core/build'
}

own_tests() { in_image env LD_LIBRARY_PATH="/build/rdma-core/$1/$LIB" /build/rdma-core/build/tests/provider-test; }

# Two devices: one that librxe knows by its name, one that no provider knows.
make_devices() {
	local class=$DIR/sys/class n=0 name
	for name in rxe0 unknown0; do
		mkdir -p "$class/infiniband_verbs/uverbs$n" "$class/infiniband/$name"
		echo "$name" >"$class/infiniband_verbs/uverbs$n/ibdev"
		echo "231:$((192 + n))" >"$class/infiniband_verbs/uverbs$n/dev"
		echo 1 >"$class/infiniband_verbs/uverbs$n/abi_version"
		echo "1: CA" >"$class/infiniband/$name/node_type"
		echo "0200:0000:0000:0001" >"$class/infiniband/$name/node_guid"
		n=$((n + 1))
	done
	echo 6 >"$class/infiniband_verbs/abi_version"
}

# load VERSION [NAME=VALUE...]: run ibv_devices of that rdma-core; the output goes to $WORK/out
load() {
	local version=$1 at=/build/rdma-core number here=$DIR/load
	shift
	number=$(in_image strings "$at/$version/$LIB/libibverbs.so.1" | sed -n 's/^verbs_register_driver_\([0-9]*\)$/\1/p' | head -n 1)
	rm -rf "$here"
	mkdir -p "$here"
	cp -L "$DIR/build/provider/libsoftmr.so.1" "$here/libsoftmr.so"
	ln -s libsoftmr.so "$here/libsoftmr-rdmav$number.so"
	in_image cc -D_GNU_SOURCE -shared -fPIC "-DREGISTER=verbs_register_driver_$number" \
		/src/userspace/tests/made_up_devices.c -o "$at/load/devices.so" || return
	# shellcheck disable=SC2016 # expanded in the image
	in_image env SYSFS_PATH="$at/sys" IBV_SHOW_WARNINGS=1 \
		RDMAV_DRIVERS="$at/$version/$LIB/libibverbs/librxe:$at/load/libsoftmr" "$@" \
		sh -c 'exec "$1"/ld-linux-x86-64.so.2 --library-path "$2:$1" --preload "$3" "$4"' sh \
		"$at/libc/$LIB" "${LIB_DIR:-$at/$version/$LIB}" "$at/load/devices.so" "$at/$version/usr/bin/ibv_devices" \
		>"$WORK/out" 2>&1
}

# outcome used|declined: whether the program uses our provider; librxe must have registered, too, and its device must be
# in the list
outcome() {
	local want=$1 got=absent
	cat "$WORK/out"
	grep -qx 'registered: rxe' "$WORK/out" && grep -q '^ *rxe0' "$WORK/out" || return
	[ "$(grep -c "^softmr: its devices cannot be used" "$WORK/out")" != 1 ] || got=declined
	[ "$(grep -cx 'registered: softmr' "$WORK/out")" != 1 ] || got=used
	echo "the provider is $got, expected: $want"
	[ "$got" = "$want" ] && [ "$(grep -c '^softmr:' "$WORK/out")" = "$([ "$want" = declined ] && echo 1 || echo 0)" ]
}

# loads VERSION: and others as well
loads() { load "$1" && outcome used; }

# A libibverbs whose file is called libibverbs.so.1
nameless() {
	local LIB_DIR=/build/rdma-core/nameless:/build/rdma-core/$1/$LIB
	mkdir -p "$DIR/nameless"
	cp -L "$DIR/$1/$LIB/libibverbs.so.1" "$DIR/nameless/libibverbs.so.1" && load "$1" && outcome used
}

# One without a function that softmr's provider calls, and librxe does not
other() {
	local LIB_DIR=/build/rdma-core/other:/build/rdma-core/$1/$LIB
	mkdir -p "$DIR/other"
	sed 's/ibv_cmd_alloc_dm/ibv_cmd_alloc_md/g' "$DIR/$1/$LIB/libibverbs.so.1" >"$DIR/other/libibverbs.so.1"
	load "$1" && outcome declined
}

have=()
rdma_core_archive 720 || skip_all "the archive cannot be read"
check "the provider is built" build || finish
for suite in "${RDMA_CORE_SUITES[@]}"; do
	full=$(rdma_core_full "$suite")
	version=${full%-*}
	if [ -z "$full" ]; then
		skip "rdma-core of $suite" "the archive has none"
	elif ! get_packages "$suite" "$version" >"$WORK/log" 2>&1; then
		skip "rdma-core $version of $suite" "the archive names its packages, but does not have them"
	else
		check "$version: its own tests pass" own_tests "$version" || true
		have+=("$version")
		newest=$suite
	fi
done
[ "${#have[@]}" -gt 0 ] || finish

make_devices
check "a C library to run all of them with" get_libc "$newest" || finish
for version in "${have[@]}"; do
	check "$version: the provider is used, and so are others" loads "$version" || true
done
check "a libibverbs without a release in its name: it is used" nameless "${have[0]}" || true
check "a libibverbs that is like none: it declines in one line, others go on" other "${have[0]}" || true
finish
