#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# break: qemu-newest
# timeout: 240
#
# softmr, the tool: what status and doctor report of real links, and of problems; links that it makes, refuses, lists
# and removes; names that do not change
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "the tool is for softmr's links"
need_link_type softmr
modprobe -a ib_uverbs rdma_ucm 2>/dev/null
A=$(node_name a) B=$(node_name b) NS=$(node_name ns)
DUMMY=$(node_name du) OTHER=$(node_name ot)
USER_NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# dummy NAME HOST: a netdev with the addresses of that host
dummy() { ip link add "$1" type dummy && on_exit ip link del "$1" && address "" "$1" "$2"; }
link_of() { json "links/$1/$2" softmr status --json; }
link_is() { is "$(link_of "$1" "$2")" "$3"; }
listed() { json "$1/$2" softmr link list --json; }
list_is() { is "$(listed "$1" "$2")" "$3"; }
not_listed() { ! softmr link list | grep -q "^$1 "; }
gone() { not test -e "/sys/class/infiniband/$1"; }

dummy "$DUMMY" 1
dummy "$OTHER" 2

# -- a link is made and shown

check "add" softmr link add "$A" netdev "$DUMMY"
on_exit softmr link del "$A"
check "the link becomes active" within 10 link_is "$A" state ACTIVE
check "status: its netdev" link_is "$A" netdev "$DUMMY"
check "the MTU of the link" link_is "$A" mtu 1024
check "the netdev's" link_is "$A" netdev_mtu 1500
check "the IPv4 address of the link has a GID" within 10 link_is "$A" gids/10.1.0.1/netdev "$DUMMY"
index=$(gid_index "$A" 10.1.0.1)
check "status advises that GID" within 10 link_is "$A" gid_index "$index"
check "status names each key" is "$(json_keys softmr status --json)" \
	"libibverbs links links_error module provider version"
check "the text names the link" grep -q "^link  *$A on $DUMMY, ACTIVE, MTU 1024" <(softmr status)
check "the module is loaded" is "$(json module/loaded softmr status --json)" true
check "the provider fits" is "$(json provider/fits softmr status --json)" true
check "list" list_is "$A" netdev "$DUMMY"
check "the keys of the list" is "$(json_keys softmr link list --json)" "mtu name netdev state"
check "rdma sees the same link" grep -q "^link $A/1 .* netdev $DUMMY" <(rdma link show)

# -- doctor on a machine without problems

check "doctor is content" softmr doctor
check "kernel" says kernel ok "has RDMA for programs" softmr
check "module" says module ok "is loaded" softmr
check "provider: it opens the link" says provider ok "opens the links" softmr
check "device nodes" says devices ok "can open" softmr
check "port" says port ok "softmr has UDP port 4791" softmr
check "GID index" says link ok "use GID index $index .10.1.0.1." softmr
check "a larger MTU would do better" says link ok "ip link set $DUMMY mtu 4192" softmr
ip link set "$DUMMY" mtu 4192
check "with that MTU packets carry 4096 bytes" link_is "$A" mtu 4096
check "libibverbs reports the same MTU" grep -q "active_mtu:[[:space:]]*4096" <(ibv_devinfo -d "$A")
make_busy
check "a region that is busy" "$WORK/busy" "$A" "$index"
check "the counter of that is shown" link_is "$A" counters/mr_dereg_refused 1
# memfd_noexec VALUE COMMAND...: in a PID namespace with that setting
# shellcheck disable=SC2016 # expanded in the namespace
memfd_noexec() {
	unshare --pid --fork --mount-proc sh -c 'echo "$0" >/proc/sys/vm/memfd_noexec && exec "$@"' "$@"
}
# The tool reads what other programs print from such a file
if [ -e /proc/sys/vm/memfd_noexec ]; then
	check "status where memory cannot be executed" memfd_noexec 2 softmr status
else
	skip "status where memory cannot be executed" "this kernel has no vm.memfd_noexec"
fi
ip link set "$DUMMY" down
check "a netdev that is down" within 10 says link problem "$A is DOWN.*ip link set $DUMMY up" softmr
check "exit status" not softmr doctor
ip link set "$DUMMY" up

# pingpong_by INDEX: with the GID index that doctor advises
pingpong_by() {
	ibv_rc_pingpong -d "$A" -g "$1" -p 18599 -n 20 >/dev/null &
	within 10 grep -q ":48A7 " /proc/net/tcp /proc/net/tcp6 || return
	ibv_rc_pingpong -d "$A" -g "$1" -p 18599 -n 20 127.0.0.1 && wait $!
}
within 10 link_is "$A" state ACTIVE
within 10 link_is "$A" gids/10.1.0.1/netdev "$DUMMY"
check "the index that doctor advises works" pingpong_by "$(link_of "$A" gid_index)"

# -- refused commands, and their reasons

check_error "the netdev has a link" "$DUMMY has the softmr link $A already.*softmr link del $A" softmr link add "$B" netdev "$DUMMY"
check_error "the name is taken" "an RDMA device has that name" softmr link add "$A" netdev "$OTHER"
check_error "no such netdev" "no netdev of that name" softmr link add "$B" netdev nosuch0
check_error "no such link" "there is no link $B; there are: .*$A" softmr link del "$B"
check_error "an ordinary user may not add" "only root may" "${USER_NOBODY[@]}" softmr link add "$B" netdev "$OTHER"
check_error "an ordinary user cannot delete a link" "only root may" "${USER_NOBODY[@]}" softmr link del "$A"
check "an ordinary user can list links" grep -q "^$A " <("${USER_NOBODY[@]}" softmr link list)
check "an ordinary user can ask for the status" grep -q "^link  *$A on" <("${USER_NOBODY[@]}" softmr status)
if ip link add "$(node_name ip)" type ipip remote 10.0.0.9 2>/dev/null; then
	check_error "a netdev that is not Ethernet" "neither Ethernet" softmr link add "$B" netdev "$(node_name ip)"
	ip link del "$(node_name ip)"
else
	skip "a netdev that is not Ethernet" "this kernel has no ipip"
fi

# -- doctor on a machine with problems

low_memlock() { prlimit --memlock="$1:$1" "${USER_NOBODY[@]}" softmr "${@:2}"; }
with_64k() { low_memlock 65536 "$@"; }
with_8m() { low_memlock 8388608 "$@"; }
check "an ordinary user who may lock 64 KiB" says memlock problem "64 KiB" with_64k
check "8 MiB" says memlock warning "8192 KiB" with_8m

# hiding FILE COMMAND...: run COMMAND while FILE is empty; it may be a directory
hiding() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -m --propagation private sh -c '
		if [ -d "$1" ]; then mount -t tmpfs none "$1"; else mount --bind /dev/null "$1"; fi
		shift; exec "$@"' sh "$@"
}
lib=$(json libibverbs/file softmr status --json)
without_provider() { hiding "${lib%/*}/libibverbs" softmr "$@"; }
without_config() { hiding /etc/libibverbs.d softmr "$@"; }
without_lib() { hiding "$lib" softmr "$@"; }
without_nodes() { hiding /dev/infiniband softmr "$@"; }
check "no provider" says provider problem "there is no .*libsoftmr-rdmav.*libsoftmr1" without_provider
check "no file that tells libibverbs of it" says provider problem "driver softmr" without_config
check "no libibverbs" says provider problem "libibverbs cannot be loaded" without_lib
check "status works without it" grep -q "^link  *$A on" <(without_lib status)
check "no device nodes, as in a container" says devices problem "cannot open /dev/infiniband/uverbs.*--device=/dev/infiniband" \
	without_nodes

# nft may be installed on a kernel without nftables
if nft add table inet "$NS" 2>/dev/null; then
	on_exit nft delete table inet "$NS"
	nft add chain inet "$NS" in "{ type filter hook input priority 0; policy accept; }"
	nft add rule inet "$NS" in iifname "$DUMMY" udp dport 4791 drop
	check "a firewall that drops the port of the link" says firewall problem "nft insert rule inet $NS in udp dport 4791 accept" softmr
	nft flush chain inet "$NS" in
	nft add rule inet "$NS" in iifname "$OTHER" udp dport 4791 drop
	check "a rule for another netdev does not matter" says firewall ok "no nftables rule" softmr
else
	skip "a firewall" "this kernel has no nftables"
fi

# -- namespaces

ns_add "$NS"
in_test_ns() { in_ns "$NS" softmr "$@"; }
check "another namespace sees the link" is "$(json "links/$A/netdev" in_test_ns status --json)" null
check "the namespace's port is free" says port ok "is free" in_test_ns
check "doctor says where the netdev is" says link ok "in another network namespace" in_test_ns

# -- the port

check "delete the link in the namespace" softmr link del "$A"
check "the link is gone" within 10 gone "$A"
python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 4791))
print("bound", flush=True)
time.sleep(600)' >"$WORK/bound" &
holder=$!
on_exit kill $holder
within 20 grep -q bound "$WORK/bound"
check "a process has the port" says port problem "process $holder .python3.* has UDP port 4791.*systemctl status $holder" softmr
check_error "with the port taken no link can be made" "process $holder .python3.* has UDP port 4791" softmr link add "$A" netdev "$DUMMY"
check "an ordinary user is told to ask root" says port problem "only root may see" "${USER_NOBODY[@]}" softmr
if have_link_type rxe; then
	check "the port is taken and rdma_rxe is loaded" says port problem "only root may see what .it may be rdma_rxe" "${USER_NOBODY[@]}" softmr
else
	skip "also when rdma_rxe is loaded" "this kernel has no rdma_rxe"
fi
kill $holder
wait $holder 2>/dev/null

if have_link_type rxe; then
	R=$(node_name r)
	check "rdma_rxe has a link" rdma link add "$R" type rxe netdev "$OTHER"
	check "doctor: rdma_rxe has the port" says port problem "rdma_rxe has UDP port 4791.*modprobe -r rdma_rxe" softmr
	check_error "with rdma_rxe on the port no link can be made" "rdma_rxe has UDP port 4791" softmr link add "$A" netdev "$DUMMY"
	check "rdma_rxe's link is not listed" not_listed "$R"
	check_error "a link of rdma_rxe is not removed" "$R is not a link of softmr; to remove it: rdma link del $R" softmr link del "$R"
	check "a link of rdma_rxe is not named for udev" not softmr link udev-id "$R"
	rdma link del "$R"
	within 5 modprobe -r rdma_rxe
else
	skip "rdma_rxe has the port" "this kernel has no rdma_rxe"
fi

# -- the module is loaded when it is needed

no_module() { not test -e /sys/module/softmr; }
modprobe -r softmr 2>/dev/null
if no_module; then
	check "without the module there is no link" is "$(softmr link list --json | tr -d '\n')" "[]"
	check "doctor does not mind" says module ok "is loaded with the first link" softmr
	hidden_modules() { hiding /lib/modules softmr "$@"; }
	check "without /lib/modules it does" says module problem "is this a container" hidden_modules
	check "add loads it" softmr link add "$A" netdev "$DUMMY"
	check "delete the link that loaded the module" softmr link del "$A"
else
	skip "the module is loaded with the first link" "something uses it"
fi

# -- names: odd ones, and names that do not change

# shellcheck disable=SC2016 # that is the name
odd='x-\y$z;'
check "a netdev of an odd name" dummy "$odd" 3
check "a netdev of an odd name gets a link" softmr link add "$B" netdev "$odd"
check "the link of that netdev is listed" list_is "$B" netdev "$odd"
check "the odd name is in the list as text, too" grep -qF "$odd" <(softmr link list)
check "the rule that keeps names does not run for devices of hardware" test ! -e "/sys/class/infiniband/$B/device"
id=$(softmr link udev-id "$B")
check "the index of the link for udev" is "${id%%[0-9]*}" "SOFTMR_DEV_INDEX="
rdma dev set "$B" name "$B-renamed"
check "the link is renamed" test -e "/sys/class/infiniband/$B-renamed"
check "the link gets its name again" softmr link udev-name "${id#*=}" "$B"
check "the link has that name" link_is "$B" netdev "$odd"
check "giving the name again is no error" softmr link udev-name "${id#*=}" "$B"
check "delete the link that was renamed" softmr link del "$B"
finish
