# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The ways in which two sides, "server" and "client", can be connected.
#
#     topology_host    here: eth0 (10.0.0.NODE), link "host": server and client
#     topology_veth    srv: link "s" > veth0 (10.1.0.1) ---- (10.1.0.2) veth0 < link "c" :cli

# Whatever is made after this line is removed by topology_down
topology_begin() { TOPOLOGY_MARK=${#TAP_CLEANUP[@]}; }

# topology_host Y|N: both are the same device on eth0; with or without the same-host shortcut
topology_host() {
	local dev
	topology_begin
	dev=$(node_name host)
	loopback_set "$1" || return
	link_add "$dev" eth0 || return
	side server "$dev" "" "10.0.0.$NODE" "fd00::$NODE"
	side client "$dev" "" "10.0.0.$NODE" "fd00::$NODE"
}

# topology_veth MTU [SERVER_TYPE CLIENT_TYPE]: each side is in a network namespace. rdma_rxe before 7.1 works in the
# first namespace only, so an rxe side stays in the test's namespace
topology_veth() {
	local mtu=$1 stype=${2:-$LINK_TYPE} ctype=${3:-$LINK_TYPE} sns cns
	topology_begin
	sns=$(node_name srv) cns=$(node_name cli)
	[ "$stype" != rxe ] || sns=
	[ "$ctype" != rxe ] || [ "$stype" = rxe ] || cns=
	[ -z "$sns" ] || ns_add "$sns" || return
	[ -z "$cns" ] || ns_add "$cns" || return
	veth_add "$sns" "$cns" "$mtu" || return
	link_add "$(node_name s)" veth0 "$sns" "$stype" && link_add "$(node_name c)" veth0 "$cns" "$ctype" || return
	side server "$(node_name s)" "$sns" 10.1.0.1 fd01::1
	side client "$(node_name c)" "$cns" 10.1.0.2 fd01::2
}

# topology_down: remove what the last topology_* made
topology_down() { clean_up "$TOPOLOGY_MARK"; }

# try_same_host: topology_host with the shortcut; a failure is reported
try_same_host() {
	topology_host Y && return
	not_ok "link for the same-host shortcut"
	return 1
}

# try_wire_path: topology_host without the shortcut, which rxe never has
try_wire_path() {
	if [ "$LINK_TYPE" = rxe ]; then
		skip "wire path on one host" "rxe has no other"
		return 1
	fi
	topology_host N && return
	not_ok "link for the wire path on one host"
	return 1
}

# try_veth MTU: topology_veth; a failure is reported
try_veth() {
	topology_veth "$1" && return
	not_ok "links on a veth pair"
	return 1
}
