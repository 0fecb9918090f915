#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of selftests/beds/setup.sh that runs in the new system, as its user, in the user's copy of this repository.
# softmr is installed; setup-softmr makes links and removes them.
# shellcheck disable=SC2317 # functions are called through check
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
PATH=$PATH:/usr/sbin:/sbin
cd "$WORK" || exit

# setup OPTION...: what it prints for a shell goes to the file results
setup() { "$TOP/ci/setup-softmr/setup-softmr" --mode module --install none "$@" >results; }

# RDMA devices, and network interfaces
devices() { ls /sys/class/infiniband /sys/class/net; }

is_cloud() {
	uname -r
	uname -r | grep -q cloud && ! modinfo rdma_rxe 2>/dev/null && ! modinfo siw 2>/dev/null
}

# Of a login's 8 MiB
limited() { is "$(ulimit -l)" 8192; }
unlimited() { is "$(ulimit -l)" unlimited; }

# env has the same as results, but not quoted; so has output, under other names
same_results() {
	cat results env output
	is "$(wc -l <results)" 10 || return
	diff <(env -i bash -c '. ./results; env' | grep ^SOFTMR_ | sort) <(sort env) &&
		diff <(sed -e 's/^SOFTMR_//' env | tr '_' '-' | tr '[:upper:]' '[:lower:]') <(tr '_' '-' <output)
}

results_hold() (
	# shellcheck source=/dev/null
	. ./results
	is "$SOFTMR_MODE,$SOFTMR_RUN" module, &&
		is "$SOFTMR_DEVICES on $SOFTMR_NETDEVS" "softmr0 softmr1 on v-softmr0 v-softmr1" &&
		is "$SOFTMR_ADDRESSES" "198.18.0.1 198.18.0.2" &&
		is "$(cat "/sys/class/infiniband/softmr0/ports/1/gids/$SOFTMR_GID_INDEX")" 0000:0000:0000:0000:0000:ffff:c612:0001 &&
		rdma link show softmr1/1 | grep 'state ACTIVE.* netdev v-softmr1'
)

run_test() (
	# shellcheck source=/dev/null
	. ./results
	"$TOP/ci/pingpong.sh"
)

# With the interfaces' own numbers
state() { rdma link show && ip -o addr show; }

again() {
	cp results before
	state >state.before
	setup --links 2 && diff before results && diff state.before <(state)
}

dummy() {
	sudo ip link add dummy0 type dummy && sudo ip link set dummy0 up && sudo ip addr add 192.0.2.1/24 dev dummy0
}

other() { setup --name other --netdev dummy0 && grep -x 'export SOFTMR_ADDRESS=192.0.2.1' results; }

# down NAME: no device and no interface of this name is left, and the other's still exist
down() {
	"$TOP/ci/setup-softmr/setup-softmr" --name "$1" --down && ! devices | grep "$1"
}

lock_down() {
	sudo modprobe -r softmr
	echo integrity | sudo tee /sys/kernel/security/lockdown
}

check "this user is not root" test "$(id -u)" != 0
check "it is the cloud kernel, which has neither rdma_rxe nor siw" is_cloud
check "the user may lock 8 MiB of memory" limited
check "setup-softmr makes two links, and ibv_rc_pingpong runs on each" \
	setup --links 2 --env "$WORK/env" --output "$WORK/output"
check "what it says for a shell, it says for CI" same_results
check "what it says is so" results_hold
check "what the user's processes may lock is unlimited" unlimited
check "a test runs with what it says" run_test
check "once more: nothing changes" again
dummy
check "a link of another name on an interface that is there" other
check_error "an interface that is not there" "there is no interface 'none0'; there are: .*dummy0" \
	setup --name third --netdev none0
check_error "a name that is taken" "device other0 already, on dummy0, not on v-softmr0; remove it" \
	setup --name other --netdev v-softmr0
check_error "an interface that has a link" "cannot make a link on dummy0: " setup --name third --netdev dummy0
check "--down removes links and interfaces" down softmr
check "--down leaves those of another name" test -e /sys/class/infiniband/other0
check "--down removes those, too" down other
check "the kernel is locked down" lock_down
check_error "a kernel that is locked down is not given the module" "only signed modules.*" setup
check_error "by itself, setup-softmr would use a guest then" 'there is no "softmr run", and --install none' \
	setup --mode auto
finish
