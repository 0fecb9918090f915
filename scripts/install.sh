#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make host: build softmr for this machine. make install: install the result. make uninstall: remove it. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/lib/common.sh"
# shellcheck source=scripts/lib/host.sh
. "$TOP/scripts/lib/host.sh"

KDIR=${KDIR:-/lib/modules/$(uname -r)/build}
DESTDIR=${DESTDIR:-}
DESTDIR=${DESTDIR%/}
OUT=$BUILD/host
STAGE=$OUT/stage
# What is installed, a file on each line
MANIFEST=/var/lib/softmr/manifest
VERSION=$(cat "$TOP/VERSION")
# What the build needs, as host.sh has it; libraries only if they are linked with
NEEDS=(make:make cc:gcc cmake:cmake pkg-config:pkgconf /usr/include/stdlib.h:libc6-dev /usr/include/infiniband/verbs.h:libibverbs-dev)
LIBRARIES=(libnl-3.0:libnl-3-dev libnl-genl-3.0:libnl-genl-3-dev json-c:libjson-c-dev ncursesw:libncurses-dev)
# Installed files are for all users
umask 022

usage() {
	cat <<-EOF
		Usage: make host [KDIR=DIR]
		       make install [KDIR=DIR] [DESTDIR=DIR]
		       make uninstall [DESTDIR=DIR]

		make host builds the kernel module for the kernel of KDIR (default: the running one), and the provider and the
		tools. It needs no root. make install, as root, builds what has changed, as the user who owns the source, and installs
		it. Nothing is installed when anything fails to build. make uninstall removes what $MANIFEST
		lists: it stops units and unloads the module, too.

		  KDIR=DIR              headers or build directory of a kernel: /lib/modules/RELEASE/build
		  DESTDIR=DIR           install there in place of /; an ordinary user can. depmod and the rest of what works on a
		                        running system are then left out
		  MOK_KEY=, MOK_CERT=   key and certificate to sign the module with where Secure Boot is on (default: DKMS's own,
		                        /var/lib/dkms/mok.key and mok.pub)
	EOF
}

# -- build, into a directory with the paths of the machine

# missing: the packages that the machine lacks
missing() {
	local library lacks
	lacks=$(host_missing "${NEEDS[@]}")
	for library in "${LIBRARIES[@]}"; do
		grep -rqw --include=CMakeLists.txt -- "${library%%:*}" "$TOP/userspace" || continue
		pkg-config --exists "${library%%:*}" 2>/dev/null || lacks+=" ${library#*:}"
	done
	[ -e "$KDIR/Makefile" ] || lacks+=" $(have dnf && echo kernel-devel || echo linux-headers)-$(basename "$(dirname "$KDIR")")"
	echo "$lacks" | xargs
}

check_machine() {
	local lacks config=$KDIR/.config
	lacks=$(missing)
	if [ "$lacks" ]; then
		warn "this machine lacks: $lacks"
		# shellcheck disable=SC2086 # words are meant
		die 1 "nothing was built or installed. $(host_command $lacks); or give KDIR= of another kernel"
	fi
	# in Debian 12's headers kernel.release has another form: 6.1.176, not 6.1.0-50-amd64
	RELEASE=$(sed -nE 's/^#define UTS_RELEASE "(.*)"$/\1/p' "$KDIR/include/generated/utsrelease.h" 2>/dev/null) || true
	[ "$RELEASE" ] || die 1 "the kernel of $KDIR was never configured: run make modules_prepare there"
	[ -e "$config" ] || config=/boot/config-$RELEASE
	[ ! -e "$config" ] || lacks=$(config_lacks "$config")
	[ -z "$lacks" ] || die 1 "the kernel $RELEASE cannot take softmr: it was built without $lacks; boot another kernel"
}

module_for_host() {
	sync_tree "$TOP/kernel" "$OUT/kernel-$RELEASE"
	make -C "$KDIR" M="$OUT/kernel-$RELEASE" -j"$(nproc)" modules
	# depmod finds all modules only in their real place
	make -C "$KDIR" M="$OUT/kernel-$RELEASE" KERNELRELEASE="$RELEASE" INSTALL_MOD_PATH="$STAGE" DEPMOD=true modules_install
	find "$STAGE/lib/modules" -name 'modules.*' -delete
}

userspace_for_host() {
	cmake -S "$TOP/userspace" -B "$OUT/userspace" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build "$OUT/userspace" -j "$(nproc)"
	DESTDIR=$STAGE cmake --install "$OUT/userspace" --strip
}

build_host() {
	mkdir -p "$OUT" 2>/dev/null || true
	[ -w "$OUT" ] || die 1 "cannot write to $OUT, which another user has made; as root: chown -R $(id -un) $BUILD"
	rm -rf "$STAGE"
	mkdir -p "$STAGE"
	export KDIR OUT STAGE RELEASE
	export -f module_for_host userspace_for_host
	step "module for $RELEASE" module_for_host
	step "provider and tools" userspace_for_host
}

# Root builds as the owner of the source, so the owner can still build there
build_as_owner() {
	local owner
	owner=$(stat -c %U "$TOP")
	if ! am_root || [ "$owner" = root ] || ! getent passwd "$owner" >/dev/null; then
		build_host
	else
		env HOME="$(getent passwd "$owner" | cut -d: -f6)" setpriv --reuid "$owner" --regid "$(id -g "$owner")" --init-groups \
			"$TOP/scripts/install.sh" --build
	fi
}

# -- install

# Installed packages of softmr
packages_of_softmr() {
	if have dpkg-query; then
		{ dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'softmr*' 'libsoftmr*' 2>/dev/null || true; } | sed -n 's/^installed //p'
	elif have rpm; then
		rpm -qa 'softmr*' 'libsoftmr*'
	fi
}

check_target() {
	mkdir -p "$DESTDIR/usr" 2>/dev/null || true
	[ -w "$DESTDIR/usr" ] || die 1 "cannot write to $DESTDIR/usr; run this as root, or give DESTDIR="
	[ "$DESTDIR" ] || [ -z "$(packages_of_softmr)" ] ||
		die 1 "packages of softmr are installed ($(packages_of_softmr | paste -sd ' ')); remove them first, or keep them and do not" \
			"install from source"
}

# remove_files KEEP: those of the manifest that are not in KEEP, and directories that are empty then. The module of another
# kernel stays as long as that kernel, unless all is removed
remove_files() {
	local file
	grep -vxF -f "$1" "$DESTDIR$MANIFEST" | while IFS= read -r file; do
		if [ -s "$1" ] && [[ $file == /lib/modules/* ]] && [ -d "$DESTDIR/$(cut -d/ -f2-4 <<<"$file")/kernel" ]; then
			echo "$file"
			continue
		fi
		rm -f "$DESTDIR$file"
		(cd "$DESTDIR/" && rmdir -p --ignore-fail-on-non-empty ".${file%/*}" 2>/dev/null) || true
	done
}

install_all() {
	local new
	new=$(cd "$STAGE" && find . ! -type d | sed 's/^\.//' | LC_ALL=C sort)
	[ ! -e "$DESTDIR$MANIFEST" ] || new+=$'\n'$(remove_files <(echo "$new"))
	# /lib may be a link to usr/lib
	tar -C "$STAGE" --owner=0 --group=0 -cf - . | tar -C "${DESTDIR:-/}" --keep-directory-symlink --no-overwrite-dir -xf -
	mkdir -p "$DESTDIR${MANIFEST%/*}"
	grep . <<<"$new" >"$DESTDIR$MANIFEST"
}

# With Secure Boot the kernel loads only modules that are signed with a key that the firmware knows
sign_module() {
	local key=${MOK_KEY:-/var/lib/dkms/mok.key} cert=${MOK_CERT:-/var/lib/dkms/mok.pub}
	[ "$(od -An -tu1 -j4 -N1 /sys/firmware/efi/efivars/SecureBoot-* 2>/dev/null | tr -d ' ')" = 1 ] || return 0
	if [ -r "$key" ] && "$KDIR/scripts/sign-file" sha256 "$key" "$cert" "$DESTDIR$(grep -F "/lib/modules/$RELEASE/" "$DESTDIR$MANIFEST")"; then
		say "Secure Boot is on: the module is signed with $key. If modprobe says \"Key was rejected by service\":" \
			"mokutil --import $cert, reboot, and enroll the key in the firmware's screen."
	else
		say "Secure Boot is on, and the module is not signed: the kernel will reject it. Install softmr-dkms, which signs" \
			"modules, or give MOK_KEY= and MOK_CERT= of a key that mokutil --import has enrolled."
	fi
}

# Let the running system reload its databases
reload_system() {
	[ -z "$DESTDIR" ] || return 0
	depmod -a "$@"
	ldconfig
	! [ -d /run/udev ] || udevadm control --reload || true
	! [ -d /run/systemd/system ] || systemctl daemon-reload || true
}

install_host() {
	check_target
	check_machine
	build_as_owner || die 1 "nothing was installed"
	install_all
	sign_module
	reload_system "$RELEASE"
	say "softmr $VERSION is installed${DESTDIR:+ in $DESTDIR} for the kernel $RELEASE."
	[ "$DESTDIR" ] || [ ! -e /sys/module/softmr ] ||
		say "A module is loaded. To use the new one: end the programs that use it, delete its links (rdma link delete NAME)," \
			"then modprobe -r softmr; modprobe softmr"
	[ "$DESTDIR" ] || say "Try: rdma link add softmr0 type softmr netdev eth0"
}

uninstall() {
	[ -e "$DESTDIR$MANIFEST" ] || die 1 "\"make install\" has installed nothing here: there is no $DESTDIR$MANIFEST"
	[ -w "$DESTDIR$MANIFEST" ] || die 1 "cannot write to $DESTDIR$MANIFEST; run this as root"
	if [ -z "$DESTDIR" ]; then
		! [ -d /run/systemd/system ] || systemctl stop 'softmr-*' 2>/dev/null || true
		! [ -e /sys/module/softmr ] || modprobe -r softmr 2>/dev/null ||
			say "The module is in use, so it stays loaded until its users and links are gone (modprobe -r softmr) or you reboot."
	fi
	remove_files /dev/null
	# units that were enabled: links to ours, in any target's .wants
	find "$DESTDIR/etc/systemd/system" -type l -name 'softmr-link@*' -delete 2>/dev/null || true
	rm -rf "$DESTDIR${MANIFEST%/*}"
	reload_system
	say "softmr is removed${DESTDIR:+ from $DESTDIR}."
}

at_exit end_jobs
case ${1:-} in
'') install_host ;;
--build)
	check_machine
	build_host
	;;
--uninstall) uninstall ;;
--help | -h) usage ;;
*) die 2 "unknown argument $1 (see --help)" ;;
esac
