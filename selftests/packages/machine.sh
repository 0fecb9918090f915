# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2153 # fresh.sh sets SUITE, ARCH, NATIVE (no machine is booted) and ROOT
#
# A machine with a fresh, minimal Debian. It is made and changed natively, in a tree; then a disk is made of the tree,
# and QEMU boots it. The archive's packages are kept between runs.
#
#   $CACHE/fresh-SUITE-KEY.tar         the machine: systemd, udev, Debian's kernel
#   $CACHE/fresh-build-SUITE-KEY.tar   what packages are built in
#   $CACHE/fresh-archives-SUITE/       packages that apt has downloaded
#
# With ARCH=i386 the tree is a 32-bit one, and SUITE in these names is SUITE-i386.

MACHINE_PACKAGES=(systemd-sysv udev kmod iproute2 initramfs-tools linux-image-amd64)
ARCH=${ARCH:-amd64}
KIND=$SUITE
[ "$ARCH" = amd64 ] || KIND+=-$ARCH
ARCHIVES=$CACHE/fresh-archives-$SUITE

# An ordinary user's steps run in a user namespace with all of the ids that /etc/subuid gives. mmdebstrap makes a user
# namespace of its own, so it runs before that.
enter_namespace() {
	am_root && return
	{ [ "$NATIVE" ] || machine_base; } >&2 && build_base >&2 || exit
	exec unshare --user --map-root-user --map-auto --mount "$0" "$@"
}

machine_base() { base_tar fresh "${MACHINE_PACKAGES[@]}"; }
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
	# an i386 tree runs here without an emulator; the check for one would want another package
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
	# what apt downloads stays in the cache, and no service starts in a tree
	echo 'APT::Keep-Downloaded-Packages "true"; Binary::apt-get::APT::Keep-Downloaded-Packages "true";' \
		>"$1/etc/apt/apt.conf.d/90fresh"
	apt_host_options >>"$1/etc/apt/apt.conf.d/90fresh"
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod 755 "$1/usr/sbin/policy-rc.d"
}

# in_tree DIR COMMAND...: as root in the tree; the repository's packages are at /packages
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

in_machine() { in_tree "$ROOT" "$@"; }

# machine_kernel: the release of the kernel that the machine boots, Debian's own of the suite
machine_kernel() {
	(cd "$ROOT/boot" && printf '%s\n' vmlinuz-*) | grep -v cloud | sort -V | sed 's/^vmlinuz-//' | head -n 1
}

# -- boot

# The unit that runs CHECK in the machine after the boot, and reports to the host
add_check() {
	install -D -m 755 "$1" "$ROOT/usr/local/sbin/fresh-check"
	cat >"$ROOT/etc/systemd/system/fresh-check.service" <<-'EOF'
		[Unit]
		Description=check of the fresh machine
		After=multi-user.target
		[Service]
		Type=oneshot
		ExecStart=/usr/local/sbin/fresh-check
		[Install]
		WantedBy=graphical.target multi-user.target
	EOF
	mkdir -p "$ROOT/etc/systemd/system/multi-user.target.wants"
	ln -sf ../fresh-check.service "$ROOT/etc/systemd/system/multi-user.target.wants/fresh-check.service"
	# services that would keep an emulated processor busy
	local unit
	for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
		systemd-tmpfiles-clean.timer getty@tty1.service serial-getty@ttyS0.service e2scrub_reap.service; do
		ln -sf /dev/null "$ROOT/etc/systemd/system/$unit"
	done
	echo '/dev/vda / ext4 defaults 0 0' >"$ROOT/etc/fstab"
	echo fresh >"$ROOT/etc/hostname"
}

make_initrd() {
	local release=$1
	printf '%s\n' virtio_pci virtio_blk ext4 >>"$ROOT/etc/initramfs-tools/modules"
	mkdir -p "$ROOT/etc/initramfs-tools/conf.d"
	printf 'MODULES=list\nCOMPRESS=gzip\n' >"$ROOT/etc/initramfs-tools/conf.d/fresh"
	in_machine env -u INITRD update-initramfs -c -k "$release"
}

# make_disk: make the machine's disk of its tree, without headers and compiler, which are not needed to run
make_disk() {
	local size
	size=$(du -sm --apparent-size "$ROOT" | cut -f1)
	cp "$ROOT/boot/vmlinuz-$1" "$WORK/vmlinuz"
	cp "$ROOT/boot/initrd.img-$1" "$WORK/initrd"
	rm -f "$WORK/disk"
	mke2fs -q -t ext4 -O ^has_journal -d "$ROOT" "$WORK/disk" "$((size * 5 / 4 + 300))M"
}

boot_machine() {
	local accelerator=(-accel "tcg,thread=multi" -cpu "Nehalem,+rdrand,+smep,+smap")
	local image=$BASE/root
	[ "${SOFTMR_ACCEL:-}" != kvm ] || accelerator=(-accel kvm -cpu host)
	# as in scripts/qemu-boot.sh: QEMU of the guest image, with options that make emulation faster
	setpriv --pdeathsig KILL "$image/lib64/ld-linux-x86-64.so.2" --library-path "$image/usr/lib/x86_64-linux-gnu" \
		"$image/usr/bin/qemu-system-x86_64" -L "$image/usr/share/qemu" -L "$image/usr/share/seabios" \
		-M q35,usb=off,vmport=off,smm=off -nodefaults -no-user-config -display none "${accelerator[@]}" \
		-smp 2 -m 1G -kernel "$WORK/vmlinuz" -initrd "$WORK/initrd" -serial "file:$WORK/console" \
		-append "root=/dev/vda rw console=ttyS0 loglevel=5 panic=-1 mitigations=off nokaslr norandmaps tsc=reliable \
no_timer_check raid=noautodetect random.trust_cpu=on watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60 \
systemd.show_status=0 quiet" \
		-drive "file=$WORK/disk,if=none,id=disk,format=raw,cache=unsafe" -device virtio-blk-pci,drive=disk \
		-device virtio-serial-pci -chardev "file,id=verdict,path=$WORK/verdict,append=on" \
		-device virtserialport,chardev=verdict,name=fresh.verdict \
		-netdev user,id=net,restrict=on,ipv6=off,net=198.51.100.0/24 \
		-device virtio-net-pci,netdev=net,romfile= 2>"$WORK/qemu"
}

# run_machine SECONDS: boot it and wait for its end
run_machine() {
	: >"$WORK/verdict"
	( boot_machine ) &
	BOOT=$!
	on_exit kill "$BOOT"
	BOOT_END=$((SECONDS + $1 * PATIENCE))
}

wait_machine() {
	while kill -0 "$BOOT" 2>/dev/null; do
		[ "$SECONDS" -lt "$BOOT_END" ] || { kill "$BOOT"; break; }
		nap 1
	done
	wait "$BOOT" || true
}

# in_verdict WHAT: the machine's verdict has "ok WHAT"
in_verdict() {
	grep -qxF "ok $1" "$WORK/verdict" || {
		cat "$WORK/verdict" "$WORK/qemu"
		[ ! -s "$WORK/console" ] || tail -n 30 "$WORK/console" | tr -d '\r'
		return 1
	}
}
