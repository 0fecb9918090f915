#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: SRP: the kernel's target (LIO, ib_srpt) and initiator by rdma_cm; fio writes and verifies
# group: kernel
# bed: qemu
# packages: srptools fio
# timeout: 500
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/lio.sh
. "$LIB/lio.sh"

CM_PORT=5555

# The target's name is the port's GUID, the last half of its first GID. It lets in the initiators that it knows
target_up() {
	local gid
	gid=$(port_attr "$DEV" gids/0)
	mkdir -p "$LIO/srpt" && echo "$CM_PORT" >"$LIO/srpt/discovery_auth/rdma_cm_port" || return
	TARGET=$LIO/srpt/${gid#*:*:*:*:}
	TPG=$TARGET/${gid#*:*:*:*:}
	ACL=$TPG/acls/$ADDR
	mkdir -p "$TPG" && lio_export "$TPG" && mkdir -p "$ACL/lun_0" && ln -s "$TPG/lun/lun_0" "$ACL/lun_0/disk" &&
		echo 1 >"$TPG/enable"
}

target_down() {
	echo 0 >"$TPG/enable"
	rm "$ACL/lun_0/disk"
	rmdir "$ACL/lun_0" "$ACL"
	lio_unexport "$TPG" && rmdir "$TARGET"
}

add_target() { echo "$1" >"/sys/class/infiniband_srp/srp-$DEV-1/add_target"; }

logged_in() {
	local guid
	guid=$(sed 's/^0x//' /sys/module/ib_srpt/parameters/srpt_service_guid)
	guid=$(printf '%016x' "0x$guid")
	# until a former login is forgotten, another one "exists"
	within 20 add_target "id_ext=$guid,ioc_guid=$guid,dest=$ADDR:$CM_PORT" && within 20 lio_found
}

# The initiator's rports are in sysfs
logged_out() {
	local port
	for port in /sys/class/srp_remote_ports/port-*/delete; do echo 1 >"$port" || return; done
	within 20 lio_gone
}

verified() { fio_verified "$DISK" 8 "$@"; }

skip_iwarp "SRP has no iWARP"
device_up
modprobe -q ib_srpt || skip_all "this kernel has no SRP target"
modprobe -q ib_srp || skip_all "this kernel has no SRP initiator"
on_exit modprobe -r ib_srp ib_srpt
says "$(uname -r)"
setup_ok "a disk" lio_disk_up || finish
on_exit lio_disk_down
setup_ok "the target is up" target_up || finish
on_exit target_down
for round in 1 2; do
	setup_ok "log in ($round)" logged_in || continue
	for size in 4k 64k 512k; do
		check "fio, $size: write, read, verify ($round)" verified "$size" 8
	done
	setup_ok "log out ($round)" logged_out
done
finish
