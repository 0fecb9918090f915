# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The guest image: Debian 13 with the kernels of all roles and what building needs, as a directory tree (used by builds
# and UML, and QEMU itself is from it) and as one erofs file with the same content except QEMU (QEMU's disk). Neither is
# ever written to later.
#
#   $BASE/root/       the tree
#   $BASE/base.erofs  the disk
#   $BASE/kernels     a line per role: role, release, suites

IMAGE_FORMAT=2 # raise it when old images must no longer be used

# Drivers that no guest needs. Removing them makes the image smaller, and depmod faster.
PRUNED_MODULES=(sound drivers/gpu drivers/media drivers/staging drivers/iio drivers/hid drivers/usb
	drivers/net/wireless drivers/net/can drivers/hwmon drivers/input drivers/mtd drivers/isdn drivers/accel
	drivers/comedi drivers/bluetooth drivers/platform drivers/video drivers/thunderbolt drivers/w1
	drivers/mfd drivers/regulator drivers/power drivers/pinctrl drivers/gpio drivers/spi drivers/i2c
	drivers/leds drivers/rtc drivers/mmc drivers/firewire drivers/infiniband/hw drivers/net/ethernet
	drivers/scsi drivers/ata drivers/edac drivers/atm net/bluetooth net/wireless net/mac80211 net/can
	net/atm net/nfc)

image_packages() { sed 's/#.*//; /^[[:space:]]*$/d' "$TOP/scripts/guest/packages"; }

image_key() {
	{
		echo "$IMAGE_FORMAT ${PRUNED_MODULES[*]}"
		image_packages
		declare -f image_bootstrap image_customize image_sources image_kernels role_places
	} | sha256sum | cut -c1-16
}

# Commands for the new root before it is packed: $1 is the root
image_customize() {
	cat <<-EOF
		set -e
		cd "\$1"
		for k in lib/modules/*/kernel; do
			for d in ${PRUNED_MODULES[*]}; do rm -rf "\$k/\$d"; done
		done
		find lib/modules -name '*.ko.xz' -print0 | xargs -0r -n 64 -P "\$(nproc)" xz -d
		ls lib/modules | xargs -n 1 -P "\$(nproc)" chroot . depmod
		rm -rf var/lib/apt/lists/* var/cache/apt/* boot/initrd* usr/share/locale usr/share/man
		mkdir -p src build base ccache mnt/share
		ln -sf ../proc/mounts etc/mtab
		printf '127.0.0.1 localhost\n::1 localhost\n' >etc/hosts
		: >etc/resolv.conf
	EOF
}

# image_kernels OUT: choose the kernel of each role, and print the packages
image_kernels() {
	local out=$1 role kernel
	for role in "${ROLES[@]}"; do
		kernel=$(role_kernel "$APT_DIR/kernels" "$role")
		echo "$role $kernel" >>"$out/kernels"
	done
	cut -d' ' -f2 "$out/kernels" | sort -u | sed 's/.*/linux-image-& linux-headers-&/'
	# a kernel from backports also needs linux-base from there
	if grep -q ' trixie-backports$' "$out/kernels"; then echo linux-base/trixie-backports; fi
}

image_bootstrap() {
	local out=$1 include opts=() line hook
	include="$(image_packages) $(image_kernels "$out")"
	while IFS= read -r line; do opts+=(--aptopt="$line"); done < <(apt_host_options)
	# pass its text, not a file: in the user namespace our directory may be inaccessible
	hook=$(image_customize)
	# a kernel package's own initrd takes a minute to make, and is never used; an incomplete tree is discarded, so
	# dpkg need not wait for the disk after each file
	INITRD=No mmdebstrap --mode="$(if am_root; then echo root; else echo unshare; fi)" \
		--variant=apt --architectures=amd64 "${opts[@]}" \
		--dpkgopt=force-unsafe-io --dpkgopt=path-exclude=/usr/share/man/* \
		--dpkgopt=path-exclude=/usr/share/locale/* \
		--dpkgopt=path-exclude=/usr/share/info/* \
		--include="$(tr -s ' \n' ',' <<<"$include")" \
		--customize-hook="$hook" \
		trixie - "$APT_DIR/sources.list" |
		tar -C "$out/root" --no-same-owner --exclude=./dev/\* -xf -
}

image_sources() { apt_source rdma-core "$1/root/usr/src/rdma-core"; }

# in_root ROOT COMMAND...: run in the tree as root of a user namespace; no privilege is needed. The tree itself is
# read-only; IN_ROOT_BINDS has "from:to" pairs.
in_root() {
	local root=$1 userns=()
	shift
	am_root || userns=(--user --map-root-user)
	# shellcheck disable=SC2016 # expanded by the inner shell
	BINDS="${IN_ROOT_BINDS:-}" unshare "${userns[@]}" --mount --pid --fork --kill-child --propagation private \
		bash -c '
			set -e
			root=$1; shift
			mount --bind "$root" "$root"
			mount -o remount,bind,ro "$root" 2>/dev/null || true
			mount -t proc proc "$root/proc"
			mount --rbind /dev "$root/dev"
			mount -t tmpfs tmpfs "$root/tmp"
			for b in $BINDS; do mount --bind "${b%%:*}" "$root${b#*:}"; done
			exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 "$@"' in_root "$root" "$@"
}

# in_image COMMAND...: run in the guest image's tree; the repository is at /src, build/image at /build. Compilers are
# those of ccache, so that a fresh clone compiles only what differs
in_image() {
	mkdir -p "$BUILD/image" "$CACHE/ccache"
	IN_ROOT_BINDS="$TOP:/src $BUILD/image:/build $CACHE/ccache:/ccache" in_root "$BASE/root" \
		env PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin CCACHE_DIR=/ccache CCACHE_MAXSIZE=2G "$@"
}

image_pack() {
	IN_ROOT_BINDS="$1/root:/base $1:/build" in_root "$1/root" mkfs.erofs --quiet --all-root -T 0 \
		--exclude-regex='^usr/(bin/qemu-|share/qemu/)' /build/base.erofs /base
}

image_into() {
	mkdir "$1/root"
	step "package lists" apt_refresh && step "guest image" image_bootstrap "$1" && step "rdma-core source" image_sources "$1" &&
		step "guest disk" image_pack "$1"
}

image_make() { [ -e "$BASE/done" ] || { cached "$BASE/done" image_into && say_roles; }; }

BASE=$CACHE/image-$(image_key)
