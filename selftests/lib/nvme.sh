# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# NVMe over RDMA by the kernel's own target and host. The target's disk is /dev/ram0.

NQN=softmr-test
DISK_KB=16384
CONFIG=/sys/kernel/config/nvmet
SUBSYS=$CONFIG/subsystems/$NQN

# nvme_have: load both; fails if this kernel does not have them
nvme_have() {
	modprobe -a nvmet_rdma nvme_rdma && modprobe brd rd_nr=1 rd_size="$DISK_KB" || return
	on_exit modprobe -r brd
	on_exit modprobe -r nvmet_rdma nvmet nvme_rdma nvme_fabrics
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
} 2>/dev/null

target_up() {
	mkdir "$SUBSYS" || return
	echo 1 >"$SUBSYS/attr_allow_any_host"
	mkdir "$SUBSYS/namespaces/1"
	printf /dev/ram0 >"$SUBSYS/namespaces/1/device_path"
	echo 1 >"$SUBSYS/namespaces/1/enable"
}

target_down() {
	rmdir "$SUBSYS/namespaces/1" "$SUBSYS"
}

# port_up FAMILY ADDRESS
port_up() {
	local port=$CONFIG/ports/1
	mkdir "$port" || return
	echo rdma >"$port/addr_trtype"
	echo "ip$1" >"$port/addr_adrfam"
	echo "$2" >"$port/addr_traddr"
	echo 4420 >"$port/addr_trsvcid"
	ln -s "$SUBSYS" "$port/subsystems/"
}

port_down() {
	rm -f "$CONFIG/ports/1/subsystems/$NQN"
	rmdir "$CONFIG/ports/1"
}

# The name of the controller that we are connected through
controller() { grep -lxs "$NQN" /sys/class/nvme/nvme*/subsysnqn | sed 's|.*/\(nvme[0-9]*\)/.*|\1|'; }

disk() {
	local ctrl
	ctrl=$(controller)
	DISK=/dev/${ctrl}n1
	[ -n "$ctrl" ] && [ -b "$DISK" ]
}

connect() {
	local options="nqn=$NQN,transport=rdma,traddr=$1,trsvcid=4420,nr_io_queues=2,reconnect_delay=1,ctrl_loss_tmo=5"
	echo "$options" >/dev/nvme-fabrics && within 20 disk
}

gone() { [ -z "$(controller)" ]; }

disconnect() {
	echo 1 >"/sys/class/nvme/$(controller)/delete_controller" && within 20 gone
}
