# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The kernel's SCSI target (LIO), with a disk in memory, by its configfs.

LIO=/sys/kernel/config/target
LIO_MB=32

# lio_disk_up: $LIO_DISK is a disk that a target can export
lio_disk_up() {
	modprobe target_core_mod && modprobe sd_mod || return
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
	LIO_DISK=$LIO/core/rd_mcp_0/disk
	mkdir -p "$LIO_DISK" && echo "rd_pages=$((LIO_MB * 256))" >"$LIO_DISK/control" && echo 1 >"$LIO_DISK/enable"
}

lio_disk_down() { rmdir "$LIO_DISK" "${LIO_DISK%/*}"; }

# lio_export TPG: the disk is LUN 0 there
lio_export() { mkdir -p "$1/lun/lun_0" && ln -s "$LIO_DISK" "$1/lun/lun_0/port"; }

lio_unexport() { rm -f "$1/lun/lun_0/port" && rmdir "$1/lun/lun_0" "$1"; }

# lio_found: sets DISK to the SCSI disk that is ours
lio_found() {
	local model
	for model in /sys/block/sd*/device/model; do
		grep -qs RAMDISK "$model" || continue
		DISK=${model#/sys/block/}
		DISK=/dev/${DISK%%/*}
		[ -b "$DISK" ] && return
	done
	return 1
}

lio_gone() { ! lio_found; }
