#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 300
#
# The kernel's own tests of RDMA links (tools/testing/selftests/rdma), unchanged except for the link type and the
# module's name
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

KERNEL=$(dirname "$0")/kernel
SKIPPED=4 # the exit status with which kselftest's scripts skip

need_link_type "$LINK_TYPE"
[ -d "$KERNEL/rdma" ] || skip_all "the kernel's selftests are not here"

# They make their own netdevs and namespaces, and remove the module at the end
scripts_for() {
	local type=$1 module=$2
	cp -r "$KERNEL" "$WORK/kernel" &&
		sed -i "s/\<rdma_rxe\>/$module/g; s/\<type rxe\>/type $type/g" "$WORK"/kernel/rdma/*.sh
}

# The mode in which devices belong to namespaces can be set only while there is just one. Those that a script has deleted
# go a moment later
one_namespace() { rdma system set netns exclusive && rdma system set netns shared; }

# Its exit status is its verdict
run_script() {
	local name status=0
	name=$(basename "$1" .sh)
	if [ "$name" = rxe_netns_names ] && ! kernel_since 7.3; then
		skip "${name#rxe_}" "this kernel has no names of RDMA devices that are of a network namespace"
		return
	fi
	if [ "$name" = rxe_netns_names ] && ! within 10 one_namespace 2>"$WORK/out"; then
		not_ok "${name#rxe_}: no other namespace is there" "$WORK/out"
		return
	fi
	# not all of them load the modules that they need, and some remove modules
	modprobe -qa tun veth
	timeout -k 30 180 bash "$1" >"$WORK/out" 2>&1 </dev/null || status=$?
	case $status in
	0) ok "${name#rxe_}" ;;
	"$SKIPPED") skip "${name#rxe_}" "$(tail -n 1 "$WORK/out")" ;;
	*) not_ok "${name#rxe_} (status $status)" "$WORK/out" ;;
	esac
}

# The last script has tried to remove it, perhaps while a process of one before it was still ending
gone() { ! [ -d "/sys/module/$LINK_MODULE" ] || modprobe -r "$LINK_MODULE"; }

setup_ok "the scripts are there" scripts_for "$LINK_TYPE" "$LINK_MODULE" || finish
for script in "$WORK"/kernel/rdma/*.sh; do run_script "$script"; done
setup_ok "nothing keeps the module" within 10 gone
finish
