#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: iSER: the kernel's target (LIO), open-iscsi; fio writes and verifies
# group: kernel
# bed: qemu
# packages: open-iscsi fio
# timeout: 500
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/lio.sh
. "$LIB/lio.sh"

NAME=iqn.2026-01.example.softmr:disk
TARGET=$LIO/iscsi/$NAME
TPG=$TARGET/tpgt_1
PORTAL=$ADDR:3260

target_up() {
	mkdir -p "$TPG/np/$PORTAL" && echo 1 >"$TPG/np/$PORTAL/iser" && lio_export "$TPG" || return
	echo 0 >"$TPG/attrib/authentication"
	echo 1 >"$TPG/attrib/generate_node_acls"
	echo 1 >"$TPG/attrib/cache_dynamic_acls"
	echo 0 >"$TPG/attrib/demo_mode_write_protect"
	echo 1 >"$TPG/enable"
}

target_down() {
	echo 0 >"$TPG/enable"
	rmdir "$TPG/np/$PORTAL"
	lio_unexport "$TPG" && rmdir "$TARGET"
}

initiator_up() {
	mkdir -p /etc/iscsi /run/lock/iscsi /var/lib/iscsi
	echo "InitiatorName=iqn.2026-01.example.softmr:host" >/etc/iscsi/initiatorname.iscsi
	touch /etc/iscsi/iscsid.conf
	modprobe ib_iser && iscsid
}

logged_in() {
	limited 60 iscsiadm -m node -o new -T "$NAME" -p "$PORTAL,1" -I iser &&
		limited 60 iscsiadm -m node -T "$NAME" -p "$PORTAL" -I iser --login && within 20 lio_found
}

logged_out() { limited 60 iscsiadm -m node -T "$NAME" -p "$PORTAL" --logout && within 20 lio_gone; }

is_iser() { iscsiadm -m session | tee "$WORK/session" && grep -q '^iser: ' "$WORK/session"; }

verified() { fio_verified "$DISK" 8 "$@"; }

device_up
modprobe -aq ib_isert ib_iser || skip_all "this kernel has no iSER"
says "$(iscsiadm --version | sed -n 's/^iscsiadm version //p')"
setup_ok "a disk" lio_disk_up || finish
on_exit lio_disk_down
setup_ok "the target listens" target_up || finish
on_exit target_down
setup_ok "the initiator is up" initiator_up || finish
on_exit killall iscsid
for round in 1 2; do
	setup_ok "log in ($round)" logged_in || continue
	setup_ok "the session is iSER ($round)" is_iser
	for size in 4k 64k 512k; do
		check "fio, $size: write, read, verify ($round)" verified "$size" 8
	done
	setup_ok "log out ($round)" logged_out
done
finish
