# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2153 # fresh.sh sets SUITE, ARCH, NATIVE (no machine is booted) and ROOT
#
# A machine with a fresh, minimal Debian: systemd, udev, Debian's kernel. It is made and changed natively, in a tree
# (scripts/lib/tree.sh); then a disk is made of the tree, and QEMU boots it.

MACHINE_PACKAGES=(systemd-sysv udev kmod iproute2 initramfs-tools linux-image-amd64)
# shellcheck source=scripts/lib/tree.sh
. "$TOP/scripts/lib/tree.sh"

# An ordinary user's steps run in a user namespace with all of the ids that /etc/subuid gives. mmdebstrap makes a user
# namespace of its own, so it runs before that.
enter_namespace() {
	am_root && return
	{ [ "$NATIVE" ] || machine_base; } >&2 && build_base >&2 || exit
	exec unshare --user --map-root-user --map-auto --mount "$0" "$@"
}

machine_base() { base_tar fresh "${MACHINE_PACKAGES[@]}"; }
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
