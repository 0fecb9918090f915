#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make host: build softmr for this machine. make install: install the result; see --help. scripts/uninstall.sh removes
# it.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/lib/common.sh"
# shellcheck source=scripts/lib/installed.sh
. "$TOP/scripts/lib/installed.sh"

KDIR=${KDIR:-/lib/modules/$(uname -r)/build}
OUT=$BUILD/host
STAGE=$OUT/stage
# The key of the stage's sources
STAGE_KEY=$OUT/stage.key
PROBLEMS=0
# Installed files are for all users
umask 022

usage() {
	cat <<-EOF
		Usage: make host [KDIR=DIR]
		       make install [KDIR=DIR] [DESTDIR=DIR]

		make host builds the kernel module for the kernel of KDIR (default: the running one), and the provider and the
		tools. It needs no root. make install, as root, installs what it built. If
		that is not there, or not of this source, make install builds it first, as the user who owns the source. Nothing
		is installed when anything fails to build.

		  KDIR=DIR              headers or build directory of a kernel: /lib/modules/RELEASE/build
		  DESTDIR=DIR           install there in place of /; an ordinary user can. depmod and the rest of what works on a
		                        running system are then left out
		  MOK_KEY=, MOK_CERT=   key and certificate to sign the module with where Secure Boot is on (default: DKMS's own,
		                        /var/lib/dkms/mok.key and mok.pub)

		What was installed is listed in $MANIFEST; "make uninstall" removes just that.
	EOF
}

# -- requirements of the machine: everything that is missing is reported at once

# problem MESSAGE...
problem() {
	warn "$*"
	PROBLEMS=$((PROBLEMS + 1))
}

# advice DEBIAN-PACKAGES FEDORA-PACKAGES: the command that installs them
advice() {
	if have apt-get; then echo "as root: apt-get install $1"
	elif have dnf; then echo "as root: dnf install $2"
	else echo "Debian has it in $1, Fedora in $2"; fi
}

check_kernel() {
	local release
	if [ ! -e "$KDIR/Makefile" ]; then
		release=$(basename "$(dirname "$KDIR")")
		[ -d "/lib/modules/$release" ] || release=$(uname -r)
		problem "there are no kernel headers in $KDIR; $(advice "linux-headers-$release" "kernel-devel-$release")," \
			"or give KDIR="
		return
	fi
	# in Debian 12's headers kernel.release has another form: 6.1.176, not 6.1.0-50-amd64
	RELEASE=$(sed -nE 's/^#define UTS_RELEASE "(.*)"$/\1/p' "$KDIR/include/generated/utsrelease.h" 2>/dev/null) || true
	[ -n "$RELEASE" ] ||
		problem "the kernel of $KDIR was never configured (it has no include/generated/utsrelease.h);" \
			"run make modules_prepare there"
	check_config
}

# Kernel options that the module needs; dkms.conf names the same
check_config() {
	local config=$KDIR/.config lacks
	[ -e "$config" ] || config=/boot/config-$RELEASE
	[ -e "$config" ] || return 0
	check_compressor "$config"
	lacks=$(config_lacks "$config")
	[ -z "$lacks" ] ||
		problem "the kernel $RELEASE cannot take softmr: it was built without $lacks; boot another kernel"
}

# check_compressor CONFIG: kbuild compresses modules if the kernel's configuration says so; newer kernels only with
# MODULE_COMPRESS_ALL.
check_compressor() {
	local tool deb rpm
	! grep -q '^CONFIG_MODULE_COMPRESS=y' "$1" || grep -q '^CONFIG_MODULE_COMPRESS_ALL=y' "$1" || return 0
	for tool in xz:xz-utils:xz zstd:zstd:zstd gzip:gzip:gzip; do
		IFS=: read -r tool deb rpm <<<"$tool"
		if grep -q "^CONFIG_MODULE_COMPRESS_${tool^^}=y" "$1" && ! have "$tool"; then
			problem "this machine lacks $tool, by which modules for $RELEASE are compressed; $(advice "$deb" "$rpm")"
		fi
	done
}

# build/ may belong to another user, after a make as root
check_build_dir() {
	local dir
	for dir in "$OUT" "$LOGS"; do
		{ mkdir -p "$dir" && [ -w "$dir" ]; } 2>/dev/null ||
			{ problem "cannot write to $dir, which another user has made; as root: chown -R $(id -un) $BUILD" && return; }
	done
}

check_tools() {
	have make || problem "this machine lacks make; $(advice make make)"
	have cc || problem "this machine lacks a C compiler; $(advice gcc gcc)"
	have cmake || problem "this machine lacks cmake; $(advice cmake cmake)"
	! have cc || cc -E - >/dev/null 2>&1 <<<'#include <stdlib.h>' ||
		problem "there are no headers of the C library; $(advice libc6-dev glibc-devel)"
	! have cc || cc -E - >/dev/null 2>&1 <<<'#include <infiniband/verbs.h>' ||
		problem "there are no headers of libibverbs; $(advice libibverbs-dev rdma-core-devel)"
	check_library libnl-3.0 libnl-3-dev libnl3-devel
	check_library json-c libjson-c-dev json-c-devel
}

# check_library NAME DEBIAN-PACKAGE FEDORA-PACKAGE: pkg-config must know NAME; the tools link with it
check_library() {
	grep -rqw --include=CMakeLists.txt -- "$1" "$TOP/userspace" || return 0
	if ! have pkg-config; then
		problem "this machine lacks pkg-config; $(advice pkgconf pkgconf)"
	elif ! pkg-config --exists "$1"; then
		problem "there is no $1 to link with; $(advice "$2" "$3")"
	fi
}

check_target() {
	local dir
	if [ -n "$DESTDIR" ]; then
		mkdir -p "$DESTDIR" || true
		[ -w "$DESTDIR" ] || problem "cannot write to $DESTDIR"
		DESTDIR=$(realpath -m "$DESTDIR")
		return
	fi
	for dir in /usr /etc /lib/modules; do
		[ -w "$dir" ] || { problem "cannot write to $dir; run this as root, or give DESTDIR=" && break; }
	done
	if [ "$(packages_of_softmr)" ]; then
		problem "packages of softmr are installed ($(packages_of_softmr | paste -sd ' ')); remove them first, or keep them" \
			"and do not install from source"
	fi
}

no_problems() { [ "$PROBLEMS" = 0 ] || die 1 "nothing was built or installed"; }

secure_boot() {
	local var
	for var in /sys/firmware/efi/efivars/SecureBoot-*; do
		# four bytes of attributes, then the value
		[ -r "$var" ] && [ "$(od -An -tu1 -j4 -N1 "$var" | tr -d ' ')" = 1 ] && return
	done
	return 1
}

# -- build, into a directory with the paths of the machine

# The key of the stage's sources; after check_kernel
stage_key() { echo "$(hash_of "$TOP"/{kernel,userspace,VERSION,scripts/install.sh}) $(realpath -m "$KDIR") $RELEASE"; }

is_staged() { [ -n "$RELEASE" ] && [ "$(cat "$STAGE_KEY" 2>/dev/null)" = "$(stage_key)" ]; }

module_for_host() {
	sync_tree "$TOP/kernel" "$OUT/kernel-$RELEASE"
	cp "$TOP/VERSION" "$OUT/"
	make -C "$KDIR" M="$OUT/kernel-$RELEASE" -j"$(nproc)" modules
	# depmod finds all modules only in their real place
	make -C "$KDIR" M="$OUT/kernel-$RELEASE" KERNELRELEASE="$RELEASE" INSTALL_MOD_PATH="$STAGE" DEPMOD=true modules_install
	find "$STAGE/lib/modules" -name 'modules.*' -delete
}

userspace_for_host() {
	local generator=()
	! have ninja || generator=(-GNinja)
	rm -rf "$OUT/userspace"
	cmake -S "$TOP/userspace" -B "$OUT/userspace" "${generator[@]}" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build "$OUT/userspace" -j "$(nproc)"
	DESTDIR=$STAGE cmake --install "$OUT/userspace" --strip
}

build_host() {
	check_build_dir
	check_tools
	check_kernel
	no_problems
	if is_staged; then
		say "softmr $(cat "$TOP/VERSION") is built for the kernel $RELEASE."
		return
	fi
	say "kernel $RELEASE, $(cc --version | head -n 1)"
	rm -rf "$STAGE" "$STAGE_KEY"
	mkdir -p "$STAGE"
	export KDIR OUT STAGE RELEASE
	export -f module_for_host userspace_for_host
	step "module for $RELEASE" module_for_host
	step "provider and tools" userspace_for_host
	stage_key >"$STAGE_KEY"
}

# Root builds as the owner of the source, so the owner can still build there
build_as_owner() {
	local owner home
	owner=$(stat -c %U "$TOP")
	home=$(getent passwd "$owner" | cut -d: -f6)
	if ! am_root || [ "$owner" = root ] || [ -z "$home" ]; then
		build_host
	else
		env HOME="$home" setpriv --reuid "$owner" --regid "$(id -g "$owner")" --init-groups "$TOP/scripts/install.sh" --build ||
			die 1 "nothing was installed"
	fi
}

# With Secure Boot the kernel loads only modules that are signed with a key that the firmware knows
sign_module() {
	local key=${MOK_KEY:-/var/lib/dkms/mok.key} cert=${MOK_CERT:-/var/lib/dkms/mok.pub} ko
	secure_boot || return 0
	ko=$DESTDIR$(grep '/softmr\.ko' "$NEW" | grep -F "/lib/modules/$RELEASE/")
	if [ -r "$key" ] && [ -r "$cert" ] && [ -x "$KDIR/scripts/sign-file" ] && [ "${ko%.ko}" != "$ko" ]; then
		"$KDIR/scripts/sign-file" sha256 "$key" "$cert" "$ko"
		say "Secure Boot is on: the module is signed with $key. If modprobe says \"Key was rejected by service\":" \
			"mokutil --import $cert, reboot, and enroll the key in the firmware's screen."
	else
		say "Secure Boot is on, and the module is not signed: the kernel will reject it. Install softmr-dkms, which signs" \
			"modules, or give MOK_KEY= and MOK_CERT= of a key that mokutil --import has enrolled."
	fi
}

# -- install

# Remove files of an older version that this version does not have, and the modules of removed kernels
remove_older() {
	local file
	[ -e "$DESTDIR$MANIFEST" ] || return 0
	while IFS= read -r file; do
		case $file in
		*/) continue ;;
		/lib/modules/"$RELEASE"/*) ;;
		# the module of another kernel remains as long as that kernel
		/lib/modules/*) [ ! -d "$DESTDIR/$(cut -d/ -f2-4 <<<"$file")/kernel" ] || {
			echo "$file" >>"$NEW"
			continue
		} ;;
		esac
		grep -qxF -- "$file" "$NEW" || rm -f "$DESTDIR$file"
	done <"$DESTDIR$MANIFEST"
	grep '/$' "$DESTDIR$MANIFEST" >>"$NEW" || true
}

# The manifest: a file on each line, then the directories that did not exist before, with a / at the end
list_new() {
	(cd "$STAGE" && find . ! -type d | sed 's/^\.//' | LC_ALL=C sort) >"$NEW"
	echo "$MANIFEST" >>"$NEW"
	remove_older
	{
		(cd "$STAGE" && find . -mindepth 1 -type d | sed 's/^\.//')
		printf '%s\n' /var /var/lib "${MANIFEST%/*}"
	} | LC_ALL=C sort | while IFS= read -r dir; do
		[ -d "$DESTDIR$dir" ] || echo "$dir/"
	done >>"$NEW"
}

install_all() {
	list_new
	# /lib may be a link to usr/lib
	tar -C "$STAGE" --owner=0 --group=0 -cf - . | tar -C "${DESTDIR:-/}" --keep-directory-symlink --no-overwrite-dir -xf -
	mkdir -p "$DESTDIR${MANIFEST%/*}"
	awk '!seen[$0]++' "$NEW" >"$DESTDIR$MANIFEST"
}

# Let the running system reload its databases, which include the new files
reload_system() {
	[ -z "$DESTDIR" ] || return 0
	depmod "$RELEASE"
	! have ldconfig || ldconfig
	! have udevadm || ! [ -d /run/udev ] || udevadm control --reload || true
	! [ -d /run/systemd/system ] || systemctl daemon-reload || true
}

# loaded_is_other: the loaded module is from another build than the installed one
loaded_is_other() {
	[ -z "$DESTDIR" ] && [ "$RELEASE" = "$(uname -r)" ] && [ -e /sys/module/softmr/srcversion ] &&
		[ "$(cat /sys/module/softmr/srcversion)" != "$(modinfo -F srcversion softmr)" ]
}

say_end() {
	say "softmr $(cat "$TOP/VERSION") is installed${DESTDIR:+ in $DESTDIR} for the kernel $RELEASE."
	if loaded_is_other; then
		say "An older module is loaded. To use the new one: end the programs that use it, delete its links" \
			"(rdma link delete NAME), then modprobe -r softmr; modprobe softmr"
	fi
	[ -n "$DESTDIR" ] || say "Try: rdma link add softmr0 type softmr netdev eth0"
}

BUILD_ONLY=
case ${1:-} in
'') ;;
--build) BUILD_ONLY=1 ;;
--help | -h)
	usage
	exit 0
	;;
*) die 2 "unknown argument $1 (see --help)" ;;
esac
NEW=$(mktemp)
at_exit tidy
tidy() {
	end_jobs
	rm -f "$NEW"
}
RELEASE=''
if [ -n "$BUILD_ONLY" ]; then
	build_host
	exit
fi
check_target
check_kernel
if ! is_staged; then
	# report everything that is missing at once
	[ "$PROBLEMS" = 0 ] || check_tools
	no_problems
	build_as_owner
	is_staged || die 1 "the source has changed while it was built; nothing was installed"
fi
no_problems
install_all
sign_module
reload_system
say_end
