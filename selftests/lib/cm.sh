# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Programs that meet by rdma_cm, between the sides "server" and "client".

listens() { in_ns "${SIDE_NS[server]}" rdma resource show cm_id | grep -q LISTEN; }
listens_or_ended() { listens || ended "$1"; }

# addresses FAMILY: sets SERVER_IP and CLIENT_IP
addresses() {
	SERVER_IP=${SIDE_V4[server]} CLIENT_IP=${SIDE_V4[client]}
	[ "$1" = v4 ] || SERVER_IP=${SIDE_V6[server]} CLIENT_IP=${SIDE_V6[client]}
}

# meet SERVER-COMMAND : CLIENT-COMMAND, each without addresses: both succeed. Sets SERVER_OUT and CLIENT_OUT
meet() {
	local server=() base status=0
	while [ "$1" != : ]; do
		server+=("$1")
		shift
	done
	shift
	start server job 60 "${SIDE_NS[server]}" "${server[@]}"
	# shellcheck disable=SC2153 # start sets it
	base=$BASE
	within 20 listens_or_ended "$base"
	run client 60 "$@" || status=$?
	within 10 ended "$base" || stop server "$base" KILL
	within 5 ended "$base"
	CLIENT_OUT=$BASE.out SERVER_OUT=$base.out
	[ "$status" = 0 ] && [ "$(<"$base.rc")" = 0 ] && return
	tool_output
	echo "exit status of the client: $status, of the server: $(cat "$base.rc")"
	return 1
}

# rping looks at every byte with -V, and shows the pings with -v
pings() {
	meet rping -s -a "$SERVER_IP" -C 10 -V -v : rping -c -a "$SERVER_IP" -I "$CLIENT_IP" -C 10 -V -v || return
	is "$(grep -c 'server ping data' "$SERVER_OUT")" 10 && is "$(grep -c 'ping data' "$CLIENT_OUT")" 10
}

# by_cm PROGRAM OPTION...: one that takes -b and -s, and knows itself whether all went well
by_cm() {
	local program=$1
	shift
	meet "$program" -b "$SERVER_IP" "$@" : "$program" -s "$SERVER_IP" -b "$CLIENT_IP" "$@"
}
