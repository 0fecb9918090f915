#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The provider with the rdma-core of Debian 12, 13 and sid. It is built for each of them, and its tests pass. Then the
# libibverbs of each loads each provider, and the provider declines if it does not fit. No device is needed: programs
# see made-up ones. RDMA_CORE_SOURCES may name directories of unpacked sources, separated by ":", that are used instead
# of Debian's.
# timeout: 600
# shellcheck disable=SC2317 # what "check" calls looks unreachable
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
SUITES=(bookworm trixie sid)
APT_DIR=$CACHE/apt-rdma-core # the package lists of the beds' own archive are of other suites
DIR=$BUILD/image/rdma-core   # /build/rdma-core in the image
LIB=usr/lib/x86_64-linux-gnu

# cmake_value DIR NAME: the value that rdma-core's own build has set
cmake_value() { sed -n "s/^set($2 \"\\(.*\\)\")/\\1/p" "$1/CMakeLists.txt"; }

# The package lists, at most half a day old
archive_refresh() {
	local suite mirror signed="[signed-by=$KEYRING]"
	[ -z "$(find "$APT_DIR/updated" -mmin -720 2>/dev/null)" ] || return 0
	mirror=$(debian_mirror)
	apt_state
	for suite in "${SUITES[@]}"; do
		suite_there "$mirror" "$suite" || { diag "$mirror has no $suite"; continue; }
		echo "deb $signed $mirror $suite main"
		echo "deb-src $signed $mirror $suite main"
	done >"$APT_DIR/sources.list"
	apt_own apt-get -q update >&2 && touch "$APT_DIR/updated"
}

# full_version SUITE: the version of the source package: 56.1-1
full_version() {
	apt_own apt-cache madison rdma-core | awk -F' *[|] *' -v suite=" $1/main Sources" 'index($3, suite) { print $2; exit }'
}

# given_source VERSION: one of RDMA_CORE_SOURCES
given_source() {
	local dirs dir
	IFS=: read -ra dirs <<<"${RDMA_CORE_SOURCES:-}"
	for dir in "${dirs[@]}"; do
		[ "$(cmake_value "$dir" PACKAGE_VERSION)" = "$1" ] && echo "$dir" && return
	done
	return 1
}

# get_source SUITE FULL: into $DIR/source-VERSION. Where the archive does not have it, its headers come with softmr
get_source() {
	local suite=$1 full=$2 version=${2%-*} given dir
	dir=$DIR/source-$version
	[ -e "$dir/libibverbs/driver.h" ] && return
	if given=$(given_source "$version"); then
		mkdir -p "$dir" && cp -a "$given/." "$dir"
	else
		apt_source "rdma-core=$full" "$dir"
	fi >"$WORK/source" 2>&1 || true
	[ -e "$dir/libibverbs/driver.h" ] || {
		diag "the archive does not have the source of rdma-core $version; the headers in packaging/rdma-core are used"
		mkdir -p "$dir" && cp -a "$TOP/packaging/rdma-core/$version/." "$dir"
	}
}

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

# build_for VERSION LIBVERSION [OPTION...]: build for the source of one version, with the library of the other
build_for() {
	local source=$1 lib=$2 at=/build/rdma-core
	shift 2
	# shellcheck disable=SC2016 # expanded in the image
	in_image sh -ec '
		lib=$(echo "$2"/libibverbs.so.1.*); out=$3; source=$1; shift 3
		cmake -S /src/userspace -B "$out" -GNinja -DRDMA_CORE_SOURCE="$source" -DIBVERBS_LIBRARY="$lib" \
			-DSMR_TESTS=ON -DSMR_WERROR=ON "$@"
		ninja -C "$out"' sh \
		"$at/source-$source" "$at/$lib/$LIB" "$at/build-$source-$lib" "$@"
}

# The provider's own tests, with the libibverbs that they were built for
own_tests() {
	in_image env LD_LIBRARY_PATH="/build/rdma-core/$1/$LIB" "/build/rdma-core/build-$1-$1/tests/provider-test"
}

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

# pabi VERSION: the number in the names of its plugins
pabi() { cmake_value "$DIR/source-$1" IBVERBS_PABI_VERSION; }

# load PROVIDER LIB [NAME=VALUE...]: run ibv_devices of rdma-core LIB with the provider that was built for PROVIDER,
# whatever its file is called; the output goes to $WORK/out
load() {
	local provider=$1 lib=$2 at=/build/rdma-core here number
	shift 2
	number=$(pabi "$lib")
	here=$DIR/load
	mkdir -p "$here"
	cp -L "$DIR/build-$provider-$provider/provider/libsoftmr.so.1" "$here/libsoftmr-rdmav$number.so"
	in_image cc -D_GNU_SOURCE -shared -fPIC "-DREGISTER=verbs_register_driver_$number" \
		/src/userspace/tests/made_up_devices.c -o "$at/load/devices.so" || return
	# shellcheck disable=SC2016 # expanded in the image
	in_image env SYSFS_PATH="$at/sys" IBV_SHOW_WARNINGS=1 \
		RDMAV_DRIVERS="$at/$lib/$LIB/libibverbs/librxe:$at/load/libsoftmr" "$@" \
		sh -c 'exec "$1"/ld-linux-x86-64.so.2 --library-path "$2:$1" --preload "$3" "$4"' sh \
		"$at/libc/$LIB" "${LIB_DIR:-$at/$lib/$LIB}" "$at/load/devices.so" "$at/$lib/usr/bin/ibv_devices" >"$WORK/out" 2>&1
}

# outcome used|declined|absent [WHY]: whether the program uses our provider; librxe must have registered, too, and its
# device must be in the list
outcome() {
	local want=$1 why=${2:-} got=absent
	cat "$WORK/out"
	grep -qx 'registered: rxe' "$WORK/out" && grep -q '^ *rxe0' "$WORK/out" || return
	[ "$(grep -c "^softmr: .*$why" "$WORK/out")" != 1 ] || got=declined
	[ "$(grep -cx 'registered: softmr' "$WORK/out")" != 1 ] || got=used
	echo "the provider is $got, expected: $want $why"
	[ "$got" = "$want" ] && [ "$(grep -c '^softmr:' "$WORK/out")" = "$([ "$want" = declined ] && echo 1 || echo 0)" ]
}

# same_layout PROVIDER LIB: as the provider's build reports it
same_layout() {
	local first end
	read -r first end < <(tr -dc '0-9 \n' <"$DIR/build-$1-$1/libsoftmr.requires")
	[ "${2%%.*}" -ge "$first" ] && [ "${2%%.*}" -lt "$end" ]
}

print_layout() { in_image "/build/rdma-core/build-$1-$1/tests/print-layout"; }

# table_is_right A B: their layouts are equal if and only if the table says so
table_is_right() {
	local same=differ
	[ "$(print_layout "$1")" != "$(print_layout "$2")" ] || same=same
	diff <(print_layout "$1") <(print_layout "$2") || true
	if same_layout "$1" "$2"; then is "$same" same; else is "$same" differ; fi
}

# loading PROVIDER LIB
loading() {
	if ! load "$1" "$2"; then
		not_ok "$1 in $2: the program goes on" "$WORK/out"
	elif same_layout "$1" "$2"; then
		check "$1 in $2: the provider is used, and so are others" outcome used
	elif [ "$(pabi "$1")" = "$(pabi "$2")" ]; then
		check "$1 in $2: it declines in one line, others go on" outcome declined "is of $2"
	else
		check "$1 in $2: it cannot be loaded, others go on" outcome absent
	fi
}

# A libibverbs whose file is called libibverbs.so.1
nameless() {
	local version=$1
	mkdir -p "$DIR/nameless"
	cp -L "$DIR/$version/$LIB"/libibverbs.so.1 "$DIR/nameless/libibverbs.so.1"
	local LIB_DIR=/build/rdma-core/nameless:/build/rdma-core/$version/$LIB
	load "$version" "$version" || true
	check "a libibverbs without a release in its name: it declines" outcome declined SOFTMR_RDMA_CORE || true
	load "$version" "$version" SOFTMR_RDMA_CORE="$version" || true
	check "SOFTMR_RDMA_CORE=$version: it is used" outcome used || true
	load "$version" "$version" SOFTMR_RDMA_CORE=38.0 || true
	check "SOFTMR_RDMA_CORE=38.0: it declines" outcome declined "is of 38.0" || true
}

have=()
archive_refresh || skip_all "the archive cannot be read"
for suite in "${SUITES[@]}"; do
	full=$(full_version "$suite")
	version=${full%-*}
	if [ -z "$full" ]; then
		skip "rdma-core of $suite" "the archive has no source of it"
	elif ! get_source "$suite" "$full"; then
		skip "rdma-core $version of $suite" "the archive names its source, but does not have it"
	elif ! get_packages "$suite" "$version" >"$WORK/log" 2>&1; then
		skip "rdma-core $version of $suite" "the archive names its packages, but does not have them"
	elif check "the provider is built for $version of $suite" build_for "$version" "$version"; then
		check "$version: its own tests pass" own_tests "$version" || true
		have+=("$version")
		newest=$suite
	fi
done
[ "${#have[@]}" -gt 0 ] || finish

make_devices
check "a C library to run all of them with" get_libc "$newest" || finish
for provider in "${have[@]}"; do
	for lib in "${have[@]}"; do
		[ "$provider" = "$lib" ] || check "the layouts of $provider and $lib are what the table says" \
			table_is_right "$provider" "$lib" || true
		loading "$provider" "$lib" || true
	done
done
nameless "${have[0]}"
[ "${#have[@]}" -lt 2 ] ||
	check_error "the source of ${have[0]} with the library of ${have[1]} is an error" SMR_FOREIGN_LIBIBVERBS=ON \
		build_for "${have[0]}" "${have[1]}" || true
finish
