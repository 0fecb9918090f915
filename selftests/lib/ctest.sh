# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Tests in C: the devices they run on, and their TAP as a part of a script's.

# devices_for PATH: make links, and the environment that tells a test of them. The netdev's other end is in a
# namespace of its own, where packets can be sent from that no device of ours made. PATH:
#   host  one device, same-host shortcut
#   wire  one device, packets
#   veth  two devices, in two namespaces, packets
#   to_rxe, from_rxe
#         the same, but the second, or the first, is one of the kernel's rdma_rxe
devices_for() {
	local ns first=$LINK_TYPE second=$LINK_TYPE
	ns=$(node_name peer)
	case $1 in
	host | wire)
		[ "$1" = host ] || loopback_set N || return
		ns_add "$ns" && veth_add "" "$ns" 9000 && link_add "$(node_name t)" veth0 || return
		SMR_DEV=$(node_name t) SMR_DEV2=$SMR_DEV
		;;
	veth | to_rxe | from_rxe)
		[ "$1" != to_rxe ] || second=rxe
		[ "$1" != from_rxe ] || first=rxe
		ns_add "$ns" && veth_add "" "$ns" 9000 || return
		link_add "$(node_name t)" veth0 "" "$first" && link_add "$(node_name u)" veth0 "$ns" "$second" || return
		SMR_DEV=$(node_name t) SMR_DEV2=$(node_name u)
		;;
	esac
	export SMR_DEV SMR_DEV2 SMR_PATH=$1
	export SMR_NETDEV=veth0 SMR_PEER_NETNS=$ns SMR_ADDR=10.1.0.1 SMR_PEER_ADDR=10.1.0.2
	export SMR_ADDR6=fd01::1 SMR_PEER_ADDR6=fd01::2
	# iWARP has no such GIDs: connections are made by rdma_cm
	[ "$LINK_TYPE" != siw ] || { modprobe -q rdma_ucm; return; }
	within 10 gid_index "$SMR_DEV" 10.1.0.1 >/dev/null && within 10 gid_index "$SMR_DEV" fd01::1 >/dev/null || return
	[ "$SMR_DEV" = "$SMR_DEV2" ] || within 10 gid_index "$SMR_DEV2" fd01::2 >/dev/null
}

# renumber PREFIX: TAP on standard input becomes a part of this test's TAP. Other lines are passed on unchanged. As many
# results as planned must come.
renumber() {
	local line plan=no before=$TAP_COUNT
	while IFS= read -r line; do
		case $line in
		"ok "* | "not ok "*)
			TAP_COUNT=$((TAP_COUNT + 1))
			[[ $line != not* ]] || TAP_FAILED=$((TAP_FAILED + 1))
			[[ $line =~ ^(not )?ok\ [0-9]+\ (.*)$ ]]
			echo "${BASH_REMATCH[1]}ok $TAP_COUNT $1.${BASH_REMATCH[2]}"
			;;
		"TAP version"*) ;;
		1..*) plan=${line#1..} plan=${plan%% *} ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
	[ "$plan" = $((TAP_COUNT - before)) ] || not_ok "$1: planned $plan tests and reported $((TAP_COUNT - before))"
}

# c_test PREFIX TEST [ARGUMENT...]: run a test in C on the present devices
c_test() {
	local prefix=$1 test=$2 status before=$TAP_COUNT failed=$TAP_FAILED start=$SECONDS
	shift 2
	[ -p "$WORK/fifo" ] || mkfifo "$WORK/fifo"
	stdbuf -oL "$test" "$@" >"$WORK/fifo" 2>&1 &
	renumber "$prefix" <"$WORK/fifo"
	wait $!
	status=$?
	# there was nothing to run, or the test printed no reason
	[ "$TAP_COUNT" != "$before" ] || not_ok "$prefix: ${test##*/} reported no test (status $status)"
	[ "$status" = 0 ] || [ "$TAP_FAILED" != "$failed" ] || not_ok "$prefix: ${test##*/} ended with status $status"
	diag "$prefix took $((SECONDS - start)) s"
}
