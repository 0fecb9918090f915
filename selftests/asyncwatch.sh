#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# ibv_asyncwatch shows what happens to a port and to the device: each event on its own device, and none on others. (A
# RoCE port has no LID and no subnet manager, and its P_Key does not change, so there are no events of these.)
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
have ibv_asyncwatch || skip_all "ibverbs-utils are not installed"

WATCH=$WORK/watch
ACTIVE=IBV_EVENT_PORT_ACTIVE ERR=IBV_EVENT_PORT_ERR GID=IBV_EVENT_GID_CHANGE FATAL=IBV_EVENT_DEVICE_FATAL

watch_starts() { grep -q 'async event FD' "$WATCH"; }
events() { grep -cw "event_type $1" "$WATCH"; }
all_events() { grep -c 'event_type' "$WATCH"; }
more_than() { [ "$(events "$1")" -gt "$2" ]; }

# tells EVENT COMMAND...: COMMAND causes EVENT, of port 1
tells() {
	local event=$1 before
	shift
	before=$(events "$event")
	"$@" || { echo "failed: $*"; return 1; }
	within 5 more_than "$event" "$before" || { echo "no $event after: $*"; cat "$WATCH"; return 1; }
	[ "$event" = "$FATAL" ] || grep -w "event_type $event" "$WATCH" | tail -n 1 | grep -q 'port 1$'
}

# silent COMMAND...: COMMAND causes no event
silent() {
	local before
	before=$(all_events)
	"$@" || { echo "failed: $*"; return 1; }
	nap 0.5
	is "$(all_events)" "$before" || { cat "$WATCH"; return 1; }
}

# Earlier events have all arrived: none came for a while
events_done() {
	local before
	before=$(all_events)
	nap 0.3
	[ "$(all_events)" = "$before" ]
}

DEV=$(node_name w)
NS=$(node_name peer)
if ! { ns_add "$NS" && veth_add "" "$NS" 1500 && link_add "$DEV" veth0 && wait_gid_index "$DEV" fd01::1; } >"$WORK/link" 2>&1; then
	not_ok "a link" "$WORK/link"
	finish
fi
timeout -k 2 $((50 * PATIENCE)) ibv_asyncwatch -d "$DEV" >"$WATCH" 2>&1 &
on_exit kill $!
check "ibv_asyncwatch starts" within 10 watch_starts || finish
within 5 events_done

check "netdev down: PORT_ERR" tells $ERR ip link set veth0 down
check "netdev up: PORT_ACTIVE" tells $ACTIVE ip link set veth0 up
check "carrier lost: PORT_ERR" tells $ERR ip -n "$NS" link set veth0 down
check "carrier back: PORT_ACTIVE" tells $ACTIVE ip -n "$NS" link set veth0 up
within 5 events_done
check "the link is up already: no event" silent ip link set veth0 up
check "another MTU: nothing" silent ip link set veth0 mtu 1400

check "an IPv4 address more: GID_CHANGE" tells $GID ip addr add 10.1.0.77/24 dev veth0
within 5 events_done
check "an IPv4 address less: GID_CHANGE" tells $GID ip addr del 10.1.0.77/24 dev veth0
within 5 events_done
check "an IPv6 address more: GID_CHANGE" tells $GID ip addr add fd01::77/64 dev veth0 nodad
within 5 events_done
check "an IPv6 address less: GID_CHANGE" tells $GID ip addr del fd01::77/64 dev veth0
within 5 events_done
check "another MAC address: GID_CHANGE" tells $GID ip link set veth0 address 02:00:00:00:00:77
within 5 events_done
ip link add other0 up type dummy && on_exit ip link del other0
check "another netdev's address: nothing" silent ip addr add 10.9.0.1/24 dev other0
check "another netdev down: nothing" silent ip link set other0 down

check "the link goes: DEVICE_FATAL" tells $FATAL rdma link del "$DEV"
for event in IBV_EVENT_LID_CHANGE IBV_EVENT_PKEY_CHANGE IBV_EVENT_SM_CHANGE IBV_EVENT_CLIENT_REREGISTER unexpected; do
	check "never: $event" is "$(events "$event")" 0
done
finish
