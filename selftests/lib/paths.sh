#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a C test once for each way that its ends can be connected: lib/paths.sh TEST [ARGUMENT...]
#
# Which ways is said in the test's source or NAME.conf ("paths: host wire veth"), or in $SMR_PATHS:
#   host  one device, same-host shortcut
#   wire  one device, packets
#   veth  two devices, in two namespaces, packets
#   to_rxe, from_rxe
#         the same, but the second, or the first, is one of the kernel's rdma_rxe
# A line "params: NAME=VALUE ..." gives the module's parameters for these links.
# The TAP of all runs becomes one; a test's name begins with its path.

# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/test.sh"

TEST=$1
shift
NAME=$(basename "$TEST")

# said KEY: what the test says of it
said() { cat "$(dirname "$TEST")/$NAME".{conf,c} 2>/dev/null | sed -nE "s/^(#|[ \t]*\*)[ \t]*$1:[ \t]*//p" | head -n 1; }

paths_wanted() {
	local paths
	paths=$(said paths)
	echo "${SMR_PATHS:-${paths:-host}}"
}

params_set() {
	local param
	[ "$LINK_TYPE" != rxe ] || return 0
	for param in $(said params); do
		param_set "${param%%=*}" "${param#*=}" || return
	done
}

# devices_for PATH: make links, and the environment that tells the test of them. The netdev's other end is in a
# namespace of its own, where packets can be sent from that no device of ours made.
devices_for() {
	local ns
	ns=$(node_name peer)
	params_set || return
	case $1 in
	host | wire)
		[ "$1" = host ] || [ "$LINK_TYPE" = rxe ] || loopback_set N || return
		ns_add "$ns" && veth_add "" "$ns" 9000 && link_add "$(node_name t)" veth0 || return
		SMR_DEV=$(node_name t) SMR_DEV2=$SMR_DEV
		;;
	veth | to_rxe | from_rxe)
		local first=$LINK_TYPE second=$LINK_TYPE
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
	within 10 gid_index "$SMR_DEV" 10.1.0.1 >/dev/null && within 10 gid_index "$SMR_DEV" fd01::1 >/dev/null || return
	[ "$SMR_DEV" = "$SMR_DEV2" ] || within 10 gid_index "$SMR_DEV2" fd01::2 >/dev/null
}

# renumber PATH: TAP on standard input as a part of ours. Other lines go on as they are.
renumber() {
	local line
	while IFS= read -r line; do
		case $line in
		"ok "* | "not ok "*)
			TAP_COUNT=$((TAP_COUNT + 1))
			[[ $line != not* ]] || TAP_FAILED=$((TAP_FAILED + 1))
			[[ $line =~ ^(not )?ok\ [0-9]+\ (.*)$ ]]
			echo "${BASH_REMATCH[1]}ok $TAP_COUNT $1.${BASH_REMATCH[2]}"
			;;
		"TAP version"* | 1..*) ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
}

run_path() {
	local path=$1 status before=$TAP_COUNT
	shift
	if ! devices_for "$path" >"$WORK/devices" 2>&1; then
		not_ok "$path: devices" "$WORK/devices"
		return
	fi
	stdbuf -oL "$TEST" "$@" >"$WORK/fifo" 2>&1 &
	renumber "$path" <"$WORK/fifo"
	wait $!
	status=$?
	# it said nothing of why: died, or found nothing to run
	[ "$TAP_COUNT" != "$before" ] || not_ok "$path: $NAME reported no test (status $status)"
	[ "$status" -le 4 ] || not_ok "$path: $NAME ended with status $status"
}

need_link_type "$LINK_TYPE"
mkfifo "$WORK/fifo"
mark=${#TAP_CLEANUP[@]}
for path in $(paths_wanted); do
	[ "$LINK_TYPE" != rxe ] || [ "$path" != wire ] || continue
	if [[ $path = *_rxe ]] && ! have_link_type rxe; then
		skip "$path" "this kernel has no rdma_rxe"
		continue
	fi
	run_path "$path" "$@"
	clean_up "$mark"
done
finish
