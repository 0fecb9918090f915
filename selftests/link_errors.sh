#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 90
# boot: kmemleak
#
# rdma link add: impossible links are refused, with an error that says why, and leave nothing behind
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

add() { rdma link add "$1" type "$LINK_TYPE" netdev "$2"; }
links() { rdma link show | wc -l; }
kernel_says() { dmesg | tail -n 20 | grep -q "$1"; }

# netdev KIND ARGUMENT...: make a netdev "other" of that kind; fails if this kernel has no such kind
netdev() {
	local kind=$1
	shift
	case $kind in
	tun | tap) modprobe tun 2>/dev/null; ip tuntap add other mode "$kind" ;;
	*) ip link add other type "$kind" "$@" ;;
	esac 2>/dev/null
}

A=$(node_name a) B=$(node_name b)
before=$(links)
ip link add dummy1 type dummy && on_exit ip link del dummy1
ip link set dummy1 up

check_error "no such netdev" "No such device|Cannot find device" add "$A" nosuch0
check_error "no such link type" "Invalid|not supported" rdma link add "$A" type nosuchtype netdev dummy1
if [ "$LINK_TYPE" = softmr ]; then
	ip link add link dummy1 name vlan5 type vlan id 5
	check_error "a VLAN netdev" "not supported" add "$A" vlan5
	check "the kernel log names the lower netdev" kernel_says "it is a VLAN; make a link on dummy1,"
fi
check_error "an empty name" "Invalid argument" add "" dummy1
check_error "a pattern for a name" "Invalid argument" add "x%d" dummy1
check_error "a name that is too long" "Invalid argument|out of range" add "$(printf 'x%.0s' {1..80})" dummy1
check "after all that there is no new link" is "$(links)" "$before"

check "a good link" link_add "$A" dummy1
check_error "a second link on the netdev" "File exists" add "$B" dummy1
if [ "$LINK_TYPE" = softmr ]; then check "the kernel log says why" kernel_says "has a softmr link already"; fi
ip link add dummy2 type dummy && on_exit ip link del dummy2
ip link set dummy2 up
check_error "a name that is in use" "not unique|File exists" add "$A" dummy2
check "the same netdev with a free name" link_add "$B" dummy2
check "there are two" is "$(links)" $((before + 2))
check "delete the first" link_del "$A"
check_error "delete it again" "Wrong device name" link_del "$A"
check "add it again" link_add "$A" dummy1
check "delete the one" link_del "$A"
check "delete the other" link_del "$B"

# the parameter has values by name, and keeps the last good one
CONTROL=/sys/module/$LINK_MODULE/parameters/congestion_control
control_set() { echo "$1" >"$CONTROL"; }
if [ "$LINK_TYPE" = softmr ]; then
	param_set congestion_control dcqcn
	check_error "no such congestion control" "Invalid argument" control_set cubic
	check "the kernel log has those that there are" kernel_says "congestion_control is one of: window dcqcn"
	check "the parameter has not changed" is "$(<"$CONTROL")" dcqcn
	check "the other congestion control" param_set congestion_control window
	check "the parameter has changed" is "$(<"$CONTROL")" window
fi

for kind in "ipip remote 10.0.0.9" "sit remote 10.0.0.9" "gre remote 10.0.0.9" nlmon; do
	# shellcheck disable=SC2086 # words
	if ! netdev $kind; then
		skip "${kind%% *}, which is not Ethernet" "this kernel cannot make one"
		continue
	fi
	check_error "${kind%% *}, which is not Ethernet" "Wrong medium type" add "$A" other
	ip link del other
done
check "after all that there is no new link" is "$(links)" "$before"

if have_link_type rxe && [ "$LINK_TYPE" != rxe ]; then
	check "rxe takes the UDP port" rdma link add "$(node_name r)" type rxe netdev dummy1
	check_error "then softmr cannot get the port in the same namespace" "Address already in use" add "$A" dummy2
	check "the failed attempt does not disturb rxe" link_is_up "$(node_name r)"
	link_del "$(node_name r)"
	# before 7.1 rxe holds the port as long as it is loaded
	check "rxe goes" within 5 modprobe -r rdma_rxe
	check "when rxe has gone it can" link_add "$A" dummy2
	link_del "$A"
fi
finish
