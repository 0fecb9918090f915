# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Programs that connect by rdma_cm, between the sides "server" and "client".

listens() { in_ns "${SIDE_NS[server]}" rdma resource show cm_id | grep -q LISTEN; }
listens_or_ended() { listens || ended "$1"; }

# addresses FAMILY: sets SERVER_IP and CLIENT_IP
addresses() {
	SERVER_IP=${SIDE_V4[server]} CLIENT_IP=${SIDE_V4[client]}
	[ "$1" = v4 ] || SERVER_IP=${SIDE_V6[server]} CLIENT_IP=${SIDE_V6[client]}
}

# meet SERVER-COMMAND : CLIENT-COMMAND, each without addresses: run both; both must succeed. Sets SERVER_OUT and
# CLIENT_OUT
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

# rping checks every byte with -V, and prints the pings with -v
pings() {
	meet rping -s -a "$SERVER_IP" -C 10 -V -v : rping -c -a "$SERVER_IP" -I "$CLIENT_IP" -C 10 -V -v || return
	is "$(grep -c 'server ping data' "$SERVER_OUT")" 10 && is "$(grep -c 'ping data' "$CLIENT_OUT")" 10
}

# by_cm PROGRAM OPTION...: run a program that takes -b and -s, and whose exit status says whether all went well
by_cm() {
	local program=$1
	shift
	meet "$program" -b "$SERVER_IP" "$@" : "$program" -s "$SERVER_IP" -b "$CLIENT_IP" "$@"
}

# streams PROGRAM OPTION...: it checks the data and prints how much it moved. A client with -b binds to the server's port,
# too, and both sides may have one address. So the client gets no -b, and the kernel chooses its address
streams() {
	local program=$1
	shift
	meet "$program" -b "$SERVER_IP" "$@" -T verify : "$program" -s "$SERVER_IP" "$@" -T verify || return
	grep -q '^custom *64k *5 *5 ' "$CLIENT_OUT" || { tool_output; return 1; }
}

# cmtime makes up QP numbers. On one host client and server must not use the same numbers
cm_times() {
	meet cmtime -b "$SERVER_IP" -c "$1" : cmtime -s "$SERVER_IP" -b "$CLIENT_IP" -c "$1" -q 100000 || return
	grep -q '^disconnect ' "$CLIENT_OUT" || { tool_output; return 1; }
}

joined_or_ended() { grep -q 'joined dgid' "$1.out" || ended "$1"; }

# groups ADDRESS: mckey sends to a group without knowing whether anybody has joined it. The receiver ends when it has
# received enough, so the sender is started again until then
groups() {
	local base i
	start server job 60 "${SIDE_NS[server]}" stdbuf -oL mckey -m "$1" -b "$SERVER_IP" -C 10 -S 500
	base=$BASE
	within 20 joined_or_ended "$base"
	for ((i = 0; i < 5; i++)); do
		run client 30 mckey -m "$1" -s -b "$CLIENT_IP" -C 10 -S 500 || { cat "$BASE.out"; break; }
		! within 2 ended "$base" || break
	done
	ended "$base" || stop server "$base" KILL
	within 5 ended "$base"
	cat "$base.out"
	[ "$(<"$base.rc")" = 0 ]
}

# connections WHAT: connect by each of the programs of rdmacm-utils
connections() {
	local what=$1 family
	for family in v4 v6; do
		addresses "$family"
		side_gid server "$family" && side_gid client "$family"
		check "$what, $family: rping" pings
		check "$what, $family: ucmatose" by_cm ucmatose -c 3 -C 10 -S 5000
		check "$what, $family: udaddy" by_cm udaddy -c 3 -C 10 -S 1000
		if [ "$family" = v4 ]; then
			check "$what, $family: mckey" groups 239.35.36.37
		else
			skip "$what, $family: mckey" "the kernel's rdma_cm joins no IPv6 groups for RoCEv2"
		fi
		check "$what, $family: rstream" streams rstream -S 65536 -I 5 -C 5
		check "$what, $family: riostream" streams riostream -S 65536 -I 5 -C 5
	done
	addresses v4
	check "$what: cmtime" cm_times 5
}
