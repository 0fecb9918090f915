#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ci/setup-softmr as CI runs it: a minimal Debian 13 with the cloud kernel, a user with sudo, from nothing to
# ibv_rc_pingpong. The installation needs the network and much processor time, so it runs in the new system's tree, in a
# namespace. Then the system is booted in QEMU, without a network, and the same command does the rest.
# timeout: 2400
# shellcheck disable=SC2317 # functions are called through check
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

TREE=$WORK/tree
SETUP=softmr/ci/setup-softmr/setup-softmr
USER_NAME=runner

# -- the new system

# Debian 13 as it is installed, without anything of the host
sources() { grep -E '^deb .* trixie(-updates)? ' "$APT_DIR/sources.list"; }

make_tree() {
	local opts=() line
	with_lock image image_make || return
	KERNEL=$(kernel_release cloud)
	# the tree is deleted in any case, so dpkg need not wait for the disk
	opts=(--dpkgopt=force-unsafe-io)
	while IFS= read -r line; do opts+=(--aptopt="$line"); done < <(apt_host_options)
	mkdir "$TREE"
	# with all of the kernel's modules it would take minutes
	INITRD=No mmdebstrap --mode=root --variant=apt --architectures=amd64 "${opts[@]}" \
		--include="linux-image-$KERNEL,systemd-sysv,udev,passwd,sudo" trixie - - < <(sources) |
		tar -C "$TREE" --exclude='./dev/*' -xf -
}

make_user() {
	chroot "$TREE" useradd -m -s /bin/bash "$USER_NAME" || return
	echo "$USER_NAME ALL=(ALL) NOPASSWD:ALL" >"$TREE/etc/sudoers.d/$USER_NAME"
	echo runner >"$TREE/etc/hostname"
	echo "127.0.0.1 localhost runner" >"$TREE/etc/hosts"
	echo "/dev/vda / ext4 rw 0 1" >"$TREE/etc/fstab"
	mkdir -p "$TREE/home/$USER_NAME/softmr"
	(cd "$TOP" && git ls-files --cached --others --exclude-standard | while IFS= read -r f; do
		[ ! -e "$f" ] || printf '%s\n' "$f"
	done | tar -cf - -T -) | tar -C "$TREE/home/$USER_NAME/softmr" -xf - || return
	chroot "$TREE" chown -R "$USER_NAME:" "/home/$USER_NAME"
}

# in_tree COMMAND-LINE: run it as the user, with the machine's network. Processes that it leaves running end with it
in_tree() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --uts --fork --kill-child --propagation private bash -ec '
		tree=$1 user=$2 command=$3
		hostname -F "$tree/etc/hostname"
		mount --bind "$tree" "$tree"
		mount -t proc proc "$tree/proc"
		mount -t sysfs -o ro sys "$tree/sys"
		mount -t tmpfs -o mode=755 dev "$tree/dev"
		for node in null zero full random urandom tty; do
			touch "$tree/dev/$node"
			mount --bind "/dev/$node" "$tree/dev/$node"
		done
		ln -s /proc/self/fd "$tree/dev/fd"
		mkdir "$tree/dev/pts" "$tree/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$tree/dev/pts"
		ln -s pts/ptmx "$tree/dev/ptmx"
		mount -t tmpfs -o mode=1777 shm "$tree/dev/shm"
		mount -t tmpfs -o mode=1777 tmp "$tree/tmp"
		if [ -e /etc/resolv.conf ]; then
			rm -f "$tree/etc/resolv.conf"
			cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
		fi
		exec chroot "$tree" /usr/bin/env -i TERM=dumb LC_ALL=C.UTF-8 su -l "$user" -c "$command"' \
		in_tree "$TREE" "$USER_NAME" "$1" </dev/null
}

# -- its boot

# The user's job at boot, which sends its report to the host
make_job() {
	cat >"$TREE/etc/systemd/system/job.service" <<-EOF
		[Unit]
		After=multi-user.target
		[Service]
		Type=oneshot
		User=$USER_NAME
		LimitMEMLOCK=8M
		TimeoutStartSec=infinity
		ExecStart=/bin/sh -c 'softmr/selftests/lib/setup_runner.sh | sudo tee /dev/virtio-ports/softmr.verdict'
		WorkingDirectory=~
		ExecStopPost=+/bin/sh -c 'dmesg >/dev/virtio-ports/softmr.dmesg; systemctl poweroff'
		StandardOutput=journal+console
		[Install]
		WantedBy=multi-user.target
	EOF
	chroot "$TREE" systemctl -q enable job.service
	chroot "$TREE" systemctl -q mask serial-getty@ttyS0.service apt-daily.timer apt-daily-upgrade.timer
}

# An initrd with what is needed to reach the disk
make_initrd() {
	printf 'MODULES=list\nCOMPRESS=gzip\n' >"$TREE/etc/initramfs-tools/conf.d/setup"
	printf '%s\n' virtio_pci virtio_blk ext4 >>"$TREE/etc/initramfs-tools/modules"
	in_tree "sudo update-initramfs -c -k $KERNEL"
}

make_disk() {
	make_initrd && make_job || return
	truncate -s 8G "$WORK/disk"
	mke2fs -q -t ext4 -d "$TREE" "$WORK/disk"
}

# The kernel's first lines go to console, all of them to dmesg; the user's report goes to verdict
boot() {
	local qemu=("$BASE/root/lib64/ld-linux-x86-64.so.2" --library-path "$BASE/root/usr/lib/x86_64-linux-gnu"
		"$BASE/root/usr/bin/qemu-system-x86_64" -L "$BASE/root/usr/share/qemu" -L "$BASE/root/usr/share/seabios")
	: >"$WORK/verdict"
	timeout 1200 "${qemu[@]}" -M q35,usb=off,vmport=off,smm=off -nodefaults -no-user-config -display none -no-reboot \
		-accel tcg,thread=multi -cpu Nehalem,+rdrand,+smep,+smap -smp 2 -m 1G \
		-kernel "$TREE/boot/vmlinuz-$KERNEL" -initrd "$TREE/boot/initrd.img-$KERNEL" \
		-append "root=/dev/vda rw console=ttyS0 loglevel=4 mitigations=off nokaslr norandmaps random.trust_cpu=on \
no_timer_check tsc=reliable watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60 systemd.show_status=0" \
		-serial "file:$WORK/console" -drive "file=$WORK/disk,if=none,id=disk,format=raw,cache=unsafe" \
		-device virtio-blk-pci,drive=disk -device virtio-serial-pci \
		-chardev "file,id=verdict,path=$WORK/verdict" -device virtserialport,chardev=verdict,name=softmr.verdict \
		-chardev "file,id=dmesg,path=$WORK/dmesg" -device virtserialport,chardev=dmesg,name=softmr.dmesg \
		</dev/null
}

install() { in_tree "$SETUP --install-only --kernel $KERNEL"; }

install_again() {
	install >"$WORK/again" 2>&1 || { cat "$WORK/again" && return 1; }
	cat "$WORK/again"
	grep -q "is installed for the kernel $KERNEL" "$WORK/again" && ! grep -qiE 'unpacking|building|compil' "$WORK/again"
}

no_splat() { [ -s "$WORK/$1" ] && ! splat_lines "$WORK/$1"; }

# Each step needs the result of the one before it
made() {
	check "a minimal Debian 13 with the cloud kernel" make_tree &&
		check "a user with sudo, who has the source" make_user &&
		check "the user installs softmr by setup-softmr" install &&
		check "once more: there is nothing to do" install_again &&
		check "a disk of it" make_disk
}

am_root || skip_all "only root makes a system with users"
made || finish
check "the machine boots, and shuts down" boot
[ -s "$WORK/verdict" ] || sed 's/^/# console: /' "$WORK/console" | tail -n 50
tap_include "$WORK/verdict"
check "the user's tests came to their end" grep '^1\.\.' "$WORK/verdict"
check "the kernel has nothing to report" no_splat dmesg
finish
