# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2153 # the caller sets SUITE, ARCH and WORK
#
# Trees with a minimal Debian SUITE, in which commands run natively as root. Downloaded packages are kept between runs.
#
#   $CACHE/NAME-SUITE-KEY.tar     the tree as it was made (base_tar); fresh-build: what packages are built in
#   $CACHE/fresh-archives-SUITE/  packages that apt has downloaded
#
# With ARCH=i386 the tree is a 32-bit one, and SUITE in these names is SUITE-i386.

ARCH=${ARCH:-amd64}
KIND=$SUITE
[ "$ARCH" = amd64 ] || KIND+=-$ARCH
ARCHIVES=$CACHE/fresh-archives-$SUITE

build_base() {
	local packages
	mapfile -t packages < <(build_packages)
	base_tar fresh-build "${packages[@]}"
}

suite_sources() {
	local mirror suite suites=("$SUITE" "$SUITE-updates" "$SUITE-backports")
	mirror=$(debian_mirror)
	[ "$SUITE" != sid ] || suites=(sid)
	for suite in "${suites[@]}"; do echo "deb $mirror $suite main"; done
}

# Without softmr-uml, whose kernel takes minutes to build
build_packages() {
	echo build-essential
	sed -n '/^Build-Depends:/,/^[A-Z]/p' "$TOP/debian/control" | sed -e 's/^Build-Depends://' -e '/^[A-Z]/d' |
		tr ',' '\n' | sed -e '/nouml/d' -e 's/(.*//' -e 's/|.*//' -e 's/:any//' -e 's/ //g' -e '/^$/d' \
		-e 's/dh-sequence-dkms/dh-dkms/' -e 's/debhelper-compat/debhelper/'
}

# base_tar NAME PACKAGE...: the tree with these packages, as a tar file; its name is in $BASE_TAR
base_tar() {
	local name=$1 key
	shift
	key=$({
		echo "$@"
		suite_sources
		declare -f bootstrap
	} | sha256sum | cut -c1-12)
	BASE_TAR=$CACHE/$name-$KIND-$key.tar
	[ -e "$BASE_TAR" ] || with_lock "$name-$KIND" bootstrap "$BASE_TAR" "$@"
}

bootstrap() {
	local out=$1 opts=() line
	shift
	[ ! -e "$out" ] || return 0
	while IFS= read -r line; do opts+=(--aptopt="$line"); done < <(apt_host_options)
	mkdir -p "$CACHE" "$ARCHIVES/partial"
	suite_sources >"$CACHE/fresh-$SUITE.list"
	# an i386 tree runs here without an emulator; the check for an emulator would need another package
	INITRD=No mmdebstrap --format=tar --mode="$(am_root && echo root || echo unshare)" --variant=apt \
		--architectures="$ARCH" "${opts[@]}" --dpkgopt=force-unsafe-io \
		--dpkgopt=path-exclude=/usr/share/man/* --dpkgopt=path-exclude=/usr/share/locale/* \
		--include="$(tr ' ' , <<<"$*")" --skip=cleanup/apt/lists --skip=check/qemu \
		"$SUITE" "$out.new" "$CACHE/fresh-$SUITE.list" || return
	# only the newest of each kind is kept
	rm -f "${out%-*}"-*.tar
	mv "$out.new" "$out"
}

# unpack_base DIR: $BASE_TAR's tree in DIR
unpack_base() {
	mkdir -p "$1"
	tar -C "$1" --exclude='./dev/*' -xf "$BASE_TAR"
	# apt's downloads are kept in the cache, and no service starts in a tree
	echo 'APT::Keep-Downloaded-Packages "true"; Binary::apt-get::APT::Keep-Downloaded-Packages "true";' \
		>"$1/etc/apt/apt.conf.d/90fresh"
	apt_host_options >>"$1/etc/apt/apt.conf.d/90fresh"
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod 755 "$1/usr/sbin/policy-rc.d"
}

# in_tree DIR COMMAND...: as root in the tree; the packages of this repository are at /packages
in_tree() {
	local root=$1
	shift
	mkdir -p "$root/packages" "$ARCHIVES/partial" "$WORK/packages"
	cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child --propagation private bash -c '
		set -e
		root=$1 archives=$2 packages=$3; shift 3
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/tmp"
		mount --bind "$archives" "$root/var/cache/apt/archives"
		mount --bind "$packages" "$root/packages"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 INITRD=No \
			DEBIAN_FRONTEND=noninteractive "$@"' in_tree "$root" "$ARCHIVES" "$WORK/packages" "$@"
}
