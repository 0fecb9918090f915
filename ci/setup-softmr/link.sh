# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Load the module, make links, find out how to address them, and try them.

# Word per link; "-" where a link has no address
DEVICES=() NETDEVS=() ADDRESSES=() GID_INDEXES=()

# -- limits

# Registered memory is locked memory. The limit is inherited, so that of the processes from which later steps of a job
# are started is raised, too. It does not bind root.
raise_memlock() {
	local pid=$$ limit
	if [ "$MEMLOCK" = keep ] || am_root; then return; fi
	while [ "$pid" -gt 1 ] && [ "$(stat -c %u "/proc/$pid" 2>/dev/null)" = "$(id -u)" ]; do
		limit=$(prlimit --pid "$pid" --memlock --noheadings --raw --output SOFT)
		[ "$limit" = "$MEMLOCK" ] || as_root prlimit --pid "$pid" --memlock="$MEMLOCK:$MEMLOCK" 2>/dev/null ||
			say "NOTE: the limit of locked memory (ulimit -l) of process $pid stays at $limit."
		pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status")
	done
}

# -- the module

# An older one may be loaded
is_loaded() { [ -e /sys/module/softmr ]; }

is_current() {
	local installed
	installed=$(modinfo -k "$KERNEL" -F srcversion softmr 2>/dev/null || true)
	[ -z "$installed" ] || [ "$(cat /sys/module/softmr/srcversion 2>/dev/null)" = "$installed" ]
}

load_module() {
	local module said
	if is_loaded && ! is_current; then
		as_root modprobe -r softmr 2>/dev/null || die 1 "another build of softmr is loaded and in use;" \
			"end what uses it, remove the links (rdma link del) and type: sudo modprobe -r softmr"
	fi
	is_loaded || said=$(as_root modprobe softmr 2>&1) ||
		die 1 "softmr cannot be loaded: $said"$'\n'"$(module_hint "$said")"
	# rdma_cm and MADs for users; a kernel may be without
	for module in ib_uverbs rdma_ucm ib_umad; do
		has_module "$KERNEL" "$module" || continue
		as_root modprobe "$module" || die 1 "the module $module cannot be loaded"
	done
	[ -c /dev/infiniband/rdma_cm ] || ! have udevadm || as_root udevadm settle -t 10 || true
}

module_hint() {
	case $1 in
	*"Key was rejected"* | *"not permitted"*) echo "This kernel takes only signed modules; use --mode run." ;;
	*) echo "The kernel says: $(as_root dmesg 2>/dev/null | grep softmr | tail -n 3)" ;;
	esac
}

# -- interfaces

# Interface I of a pair: v-NAME0 and v-NAME1 are the ends of one, v-NAME2 and v-NAME3 of the next
veth_name() { echo "v-$NAME$1"; }

veth_pair() {
	local a=$1 b=$(($1 + 1)) end dev
	if [ ! -e "/sys/class/net/$(veth_name "$a")" ]; then
		as_root ip link add "$(veth_name "$a")" type veth peer name "$(veth_name "$b")" ||
			die 1 "cannot make a pair of veth interfaces (see above); give --netdev NAME"
	fi
	! have udevadm || as_root udevadm settle -t 10 || true # it may set the MAC address
	for end in "$a" "$b"; do
		dev=$(veth_name "$end")
		as_root ip link set "$dev" mtu "$MTU" up || die 1 "the interface $dev cannot have the MTU $MTU (see above)"
		as_root ip addr replace "198.18.$((a / 2)).$((end - a + 1))/24" dev "$dev"
		# IPv6 may be off
		as_root ip addr replace "$(printf fd73:6f66:746d:72%02x::%d/64 $((a / 2)) $((end - a + 1)))" dev "$dev" nodad \
			2>/dev/null || true
	done
}

default_netdev() {
	local dev
	dev=$({
		ip -4 route show default
		ip -6 route show default || true
	} | sed -nE '1s/.* dev ([^ ]+).*/\1/p')
	[ -n "$dev" ] || die 1 "there is no default route; give --netdev NAME (ip link names them), or --netdev veth"
	echo "$dev"
}

choose_netdevs() {
	local i
	case $WHERE in
	veth)
		for ((i = 0; i < ${LINKS:-1}; i++)); do
			[ $((i % 2)) != 0 ] || veth_pair "$i"
			NETDEVS+=("$(veth_name "$i")")
		done
		;;
	default) NETDEVS=("$(default_netdev)") ;;
	*) IFS=, read -ra NETDEVS <<<"$WHERE" ;;
	esac
	for i in "${NETDEVS[@]}"; do
		[ -e "/sys/class/net/$i" ] ||
			die 1 "there is no interface '$i'; there are: $(cd /sys/class/net && echo *)"
	done
}

# The first address that others can use; "-" if there is none
netdev_address() {
	local address
	address=$({
		ip -4 -o addr show dev "$1"
		ip -6 -o addr show dev "$1" scope global || true
	} |
		sed -nE '1s/.* inet6? ([0-9a-fA-F.:]+).*/\1/p')
	echo "${address:--}"
}

# -- links

# The tests have another one
SYSFS=${SYSFS:-/sys}
PORT_DIR=$SYSFS/class/infiniband/%s/ports/1

# link_netdev DEVICE: nothing if there is no such link
link_netdev() { { rdma link show "$1/1" 2>/dev/null || true; } | sed -nE 's/.* netdev ([^ ]+).*/\1/p'; }

# The links that setup-softmr has made: a line DEVICE NETDEV for each. They are gone after a reboot, as links are
MADE=${SETUP_SOFTMR_STATE:-/run/setup-softmr}

# note_link DEVICE NETDEV
note_link() { echo "$1 $2" | as_root tee -a "$MADE" >/dev/null; }

# forget_link DEVICE
forget_link() { [ ! -e "$MADE" ] || as_root sed -i "/^$1 /d" "$MADE"; }

# made_link DEVICE NETDEV: that link is ours; as is each on an interface that we have made
made_link() { [[ $2 =~ ^v-${NAME}[0-9]+$ ]] || grep -qsxF -- "$1 $2" "$MADE"; }

# Only a softmr link has this counter
# shellcheck disable=SC2059
is_softmr() { [ -e "$(printf "$PORT_DIR" "$1")/hw_counters/mr_dereg_refused" ]; }

make_link() {
	local device=$1 netdev=$2 at said
	at=$(link_netdev "$device")
	[ "$at" != "$netdev" ] || return 0
	[ ! -e "/sys/class/infiniband/$device" ] || die 1 "there is an RDMA device $device already," \
		"${at:+on $at, }not on $netdev; remove it (sudo rdma link del $device), or give another --name"
	said=$(as_root rdma link add "$device" type softmr netdev "$netdev" 2>&1) ||
		die 1 "cannot make a link on $netdev: $said"$'\n'"$(link_hint)"
	forget_link "$device"
	note_link "$device" "$netdev"
}

link_hint() {
	local others
	others=$(rdma link show 2>/dev/null || true)
	[ ! -e /sys/module/rdma_rxe ] ||
		echo "rdma_rxe is loaded. One of softmr and rdma_rxe can be in a network namespace: both want UDP port 4791."
	echo "Links that there are: ${others:-none}"
	echo "The kernel says: $(as_root dmesg 2>/dev/null | grep softmr | tail -n 3)"
}

# ipv4_gid ADDRESS: as sysfs prints it
ipv4_gid() {
	local a b c d
	IFS=. read -r a b c d <<<"$1"
	printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "$a" "$b" "$c" "$d"
}

# ipv6_gid ADDRESS
ipv6_gid() {
	awk -v address="$1" 'BEGIN {
		n = split(address, half, "::")
		front = split(half[1], a, ":")
		back = n > 1 ? split(half[2], b, ":") : 0
		for (i = 1; i <= 8; i++) {
			group = i <= front ? a[i] : i > 8 - back ? b[i - 8 + back] : "0"
			while (length(group) < 4) group = "0" group
			line = line (i > 1 ? ":" : "") tolower(group)
		}
		print line
	}'
}

# gid_index DEVICE ADDRESS: of the RoCEv2 GID of this address, or, where there is no address, of any
gid_index() {
	local dir gid want='' i
	# shellcheck disable=SC2059
	dir=$(printf "$PORT_DIR" "$1")
	case $2 in
	-) ;;
	*:*) want=$(ipv6_gid "$2") ;;
	*) want=$(ipv4_gid "$2") ;;
	esac
	for ((i = 0; i < 256; i++)); do
		gid=$(cat "$dir/gids/$i" 2>/dev/null) || continue
		[ "$(cat "$dir/gid_attrs/types/$i" 2>/dev/null)" = "RoCE v2" ] || continue
		[ "${want:-$gid}" != "$gid" ] || { echo "$i" && return; }
	done
	return 1
}

is_active() {
	# shellcheck disable=SC2059
	grep -qs ACTIVE "$(printf "$PORT_DIR" "$1")/state"
}

# Addresses and states reach an RDMA device a moment later
await_link() {
	local device=$1 address=$2 i index=''
	for ((i = 0; i < 200; i++)); do
		if is_active "$device" && index=$(gid_index "$device" "$address"); then
			GID_INDEXES+=("$index")
			return
		fi
		sleep 0.1
	done
	is_active "$device" || die 1 "the link $device does not become active: $(rdma link show "$device/1")." \
		"Is $(link_netdev "$device") up? (sudo ip link set $(link_netdev "$device") up)"
	die 1 "the link $device has no GID for the address $address"
}

make_links() {
	local i device
	choose_netdevs
	for i in "${!NETDEVS[@]}"; do
		device=$NAME$i
		make_link "$device" "${NETDEVS[i]}"
		DEVICES+=("$device")
		ADDRESSES+=("$(netdev_address "${NETDEVS[i]}")")
		await_link "$device" "${ADDRESSES[i]}"
		say "$device is on ${NETDEVS[i]}: address ${ADDRESSES[i]}, GID index ${GID_INDEXES[i]}."
	done
}

# Links called NAME0... that a person has added stay
remove_links() {
	local path device i
	for path in "$SYSFS"/class/infiniband/"$NAME"[0-9]*; do
		device=${path##*/}
		# also where there is none, and the pattern stays as it is
		[[ $device =~ ^${NAME}[0-9]+$ ]] || continue
		if ! is_softmr "$device" || ! made_link "$device" "$(link_netdev "$device")"; then
			say "NOTE: the link $device was not made by setup-softmr and stays (to remove it: sudo rdma link del $device)"
			continue
		fi
		forget_link "$device"
		as_root rdma link del "$device" || die 1 "cannot remove the link $device (see above)"
		say "removed the link $device"
	done
	for ((i = 0; i < 100; i += 2)); do
		[ ! -e "/sys/class/net/$(veth_name "$i")" ] || as_root ip link del "$(veth_name "$i")"
	done
}

# -- the check

# pingpong DEVICE GID-INDEX: both ends on this machine, with the data compared; its output is the client's
pingpong() {
	local device=$1 index=$2 port server status=0 log
	log=$(mktemp)
	port=$((20000 + RANDOM % 10000))
	ibv_rc_pingpong -d "$device" -g "$index" -p "$port" -n 100 -c >"$log" 2>&1 &
	server=$!
	pingpong_client "$device" "$index" "$port" "$server" || status=$?
	if [ "$status" != 0 ]; then kill "$server" 2>/dev/null || true; fi
	wait "$server" || status=$?
	[ "$status" = 0 ] || sed 's/^/server: /' "$log"
	rm -f "$log"
	return "$status"
}

# A client that is not answered on TCP says so at once, so it is tried again while the server lives
pingpong_client() {
	local i out
	for ((i = 0; i < 100; i++)); do
		if out=$(timeout 120 ibv_rc_pingpong -d "$1" -g "$2" -p "$3" -n 100 -c 127.0.0.1 2>&1); then
			printf '%s\n' "$out"
			return
		fi
		if [[ $out != *"Couldn't connect"* ]] || ! kill -0 "$4" 2>/dev/null; then break; fi
		sleep 0.1
	done
	printf 'client: %s\n' "$out"
	return 1
}

check_links() {
	local i out
	for i in "${!DEVICES[@]}"; do
		out=$(pingpong "${DEVICES[i]}" "${GID_INDEXES[i]}") ||
			die 1 "the link ${DEVICES[i]} is there, but ibv_rc_pingpong fails on it:"$'\n'"$out"$'\n'"$(provider_hint)"
		say "ibv_rc_pingpong on ${DEVICES[i]}: $(tail -n 1 <<<"$out")"
	done
}

provider_hint() {
	if have softmr && softmr doctor --help >/dev/null 2>&1; then
		softmr doctor 2>&1 || true
	elif ! ibv_devices 2>/dev/null | grep "$NAME" >/dev/null; then
		echo "libibverbs does not list it: its provider is missing, or does not know this release of libibverbs."
	fi
}
