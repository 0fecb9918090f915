# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Two sides, and programs that run as a server on one and as a client on the other.
#
# The files of a program that was started have a common prefix, its BASE: BASE.out is its output, BASE.pid its process,
# BASE.ready exists when it listens, BASE.rc is its exit status.

# A side is: its RDMA device; its namespace ("": the test's own); its addresses; the agent of its node ("": this node;
# see nodes.sh)
declare -A SIDE_DEV SIDE_NS SIDE_V4 SIDE_V6 SIDE_AGENT GID_CACHE
JOBS=0
PORT=$((20000 + RANDOM % 10000))

# side NAME DEVICE NETNS V4 V6 [AGENT]
side() {
	SIDE_DEV[$1]=$2 SIDE_NS[$1]=$3 SIDE_V4[$1]=$4 SIDE_V6[$1]=$5 SIDE_AGENT[$1]=${6-}
	unset "GID_CACHE[$1.v4]" "GID_CACHE[$1.v6]"
}

# The core adds GIDs after it has handled the stack's event
wait_gid_index() { within 10 gid_index "$@" && return || echo "$1 has no GID for $2"; return 1; }

# gid_args SIDE GIDOPT v4|v6: set GID_ARGS to the options that name the GID. GIDOPT is -x or -g; -R if rdma_cm finds the GID
gid_args() {
	GID_ARGS=("$2")
	[ "$2" != -R ] || return 0
	side_gid "$1" "$3" && GID_ARGS+=("$GID")
}

# side_gid SIDE v4|v6: set GID to the index
side_gid() {
	local address=${SIDE_V4[$1]}
	[ "$2" = v4 ] || address=${SIDE_V6[$1]}
	GID=${GID_CACHE[$1.$2]-}
	[ -n "$GID" ] && return
	at "$1" 20 wait_gid_index "${SIDE_DEV[$1]}" "$address" >"$WORK/gid" || { cat "$WORK/gid"; return 1; }
	GID=$(<"$WORK/gid")
	GID_CACHE[$1.$2]=$GID
}

# job BASE LIMIT NETNS COMMAND...: run COMMAND to its end. LIMIT: the seconds that a quiet machine needs at most
job() {
	local base=$1 limit=$((PATIENCE * $2)) ns=$3
	shift 3
	if [ "$(type -t "$1")" = function ]; then
		"$@" >"$base.out" 2>&1 &
	else
		# timeout itself runs in the namespace, so that is_listening can look into it by timeout's pid
		# shellcheck disable=SC2086 # nothing or three words
		${ns:+ip netns exec $ns} timeout -k 2 "$limit" "$@" >"$base.out" 2>&1 </dev/null &
	fi
	echo $! >"$base.pid"
	wait $!
	echo $? >"$base.rc.new"
	mv "$base.rc.new" "$base.rc"
}

# is_listening PID-FILE PORT: the namespace of that process has a TCP listener at PORT. It is called often, so it starts
# no process
is_listening() {
	local pid port sockets more
	read -r pid <"$1" || return
	printf -v port '%04X' "$2"
	mapfile -t sockets <"/proc/$pid/net/tcp"
	mapfile -t more <"/proc/$pid/net/tcp6"
	[[ "${sockets[*]} ${more[*]}" =~ :"$port "[0-9A-F:]+" 0A " ]]
} 2>/dev/null

# server_job BASE PORT LIMIT NETNS COMMAND...: as job; makes BASE.ready when COMMAND listens at PORT
server_job() {
	local base=$1 port=$2
	shift 2
	job "$base" "$@" &
	until is_listening "$base.pid" "$port"; do
		[ -e "$base.rc" ] && return
		nap 0.02
	done
	touch "$base.ready"
	wait
}

# start SIDE COMMAND...: run the shell function COMMAND BASE ... in the background, on the node of SIDE. Sets BASE.
start() {
	local agent=${SIDE_AGENT[$1]} function=$2
	shift 2
	JOBS=$((JOBS + 1))
	BASE=${agent:-$WORK}/job$JOBS
	if [ -n "$agent" ]; then
		agent_post "$agent" "$function" "$BASE" "$@"
	else
		"$function" "$BASE" "$@" &
	fi
}

ended() { [ -e "$1.rc" ]; }
ready_or_ended() { [ -e "$1.ready" ] || [ -e "$1.rc" ]; }

# stop SIDE BASE [SIGNAL]
stop() {
	local pid
	pid=$(cat "$2.pid") || return
	if [ -n "${SIDE_AGENT[$1]}" ]; then
		agent_post "${SIDE_AGENT[$1]}" pkill "-${3-TERM}" -P "$pid"
	else
		pkill "-${3-TERM}" -P "$pid"
	fi
}

# run SIDE LIMIT COMMAND...: run COMMAND on SIDE to its end, and return its status. Sets BASE. Do not call it in a
# subshell: it counts the jobs
run() {
	local side=$1 limit=$2
	shift 2
	start "$side" job "$limit" "${SIDE_NS[$side]}" "$@"
	within $((limit + 5)) ended "$BASE" || { echo "no end of: $*"; return 124; }
	return "$(<"$BASE.rc")"
}

# at SIDE LIMIT COMMAND...: as run, and print the output
at() {
	local BASE status=0
	run "$@" || status=$?
	cat "$BASE.out"
	return "$status"
}

# The address at which client and server connect by TCP, if it is not the server's
MEET_AT=

# tool_start SIDE GIDOPT FAMILY LIMIT COMMAND...: start a server that takes -d, -p and GIDOPT, and wait until it
# listens. Sets BASE
tool_start() {
	local side=$1 gidopt=$2 family=$3 limit=$4
	shift 4
	gid_args "$side" "$gidopt" "$family" || return
	PORT=$((PORT + 1))
	start "$side" server_job "$PORT" "$limit" "${SIDE_NS[$side]}" "$@" \
		-d "${SIDE_DEV[$side]}" -p "$PORT" "${GID_ARGS[@]}"
	within 20 ready_or_ended "$BASE" && [ -e "$BASE.ready" ] && return
	echo "the server does not listen:"
	cat "$BASE.out"
	return 1
}

# client_args SIDE SERVER GIDOPT FAMILY: set ARGS to the further options of the client
client_args() {
	gid_args "$1" "$3" "$4" || return
	ARGS=(-d "${SIDE_DEV[$1]}" -p "$PORT" "${GID_ARGS[@]}" "${MEET_AT:-${SIDE_V4[$2]}}")
}

# Print the output of the two sides of the last tool
CLIENT_OUT=/dev/null SERVER_OUT=/dev/null

# perftest's table of settings is left out
tool_output() {
	local out
	for out in "$CLIENT_OUT" "$SERVER_OUT"; do
		sed -E "/(: (ON|OFF|RC|Ethernet|[0-9]+(\\[B\\])?)[[:space:]]|-----)/d
			s/^/$([ "$out" = "$CLIENT_OUT" ] && echo client || echo server): /" "$out"
	done
}

# tool SERVER CLIENT GIDOPT FAMILY LIMIT COMMAND...: run COMMAND as a server on one side, then as a client on the other.
# Succeeds if both succeed; otherwise prints their output. Sets CLIENT_OUT and SERVER_OUT
tool() {
	local server=$1 client=$2 gidopt=$3 family=$4 limit=$5 status=0 BASE ARGS base
	shift 5
	tool_start "$server" "$gidopt" "$family" "$limit" "$@" || return
	base=$BASE
	client_args "$client" "$server" "$gidopt" "$family" || return
	run "$client" "$limit" "$@" "${ARGS[@]}" || status=$?
	CLIENT_OUT=$BASE.out SERVER_OUT=$base.out
	if ! within 5 ended "$base"; then
		echo "the server goes on when the client has ended"
		stop "$server" "$base"
		within 5 ended "$base" || stop "$server" "$base" KILL
		status=1
	fi
	[ "$status" = 0 ] && [ "$(<"$base.rc")" = 0 ] && return
	tool_output
	echo "exit status of the client: $status, of the server: $(cat "$base.rc")"
	return 1
}

# traffic SERVER CLIENT COMMAND...: the same in the background, without an end. Sets SERVER and CLIENT to the BASEs
# shellcheck disable=SC2034 # the caller reads them
traffic() {
	local server=$1 client=$2 BASE ARGS
	shift 2
	tool_start "$server" -x v4 120 "$@" -F && client_args "$client" "$server" -x v4 || return
	SERVER=$BASE
	start "$client" job 120 "${SIDE_NS[$client]}" "$@" -F "${ARGS[@]}"
	CLIENT=$BASE
}

# pingpong SERVER CLIENT FAMILY OPTION...: ibv_rc_pingpong reports what it sent, and that the data was right
pingpong() { pingpong_with ibv_rc_pingpong "$@"; }

# pingpong_with PROGRAM SERVER CLIENT FAMILY OPTION...: the same with another pingpong program
pingpong_with() {
	local out said
	tool "$2" "$3" -g "$4" 60 "$1" "${@:5}" || return
	for out in "$CLIENT_OUT" "$SERVER_OUT"; do
		said=$(<"$out")
		if [[ $said != *" iters in "* || $said == *"invalid data"* ]]; then
			tool_output
			return 1
		fi
	done
}

# perftest SERVER CLIENT FAMILY SIZES PROGRAM OPTION...: it reports each of SIZES with a figure above zero. "all" are
# the sizes of -a
perftest() {
	local sizes=$4 size
	tool "$1" "$2" -x "$3" 90 "$5" -F "${@:6}" || return
	if [ "$sizes" = all ]; then
		sizes=
		for ((size = 2; size <= 8 << 20; size *= 2)); do sizes+=" $size"; done
	fi
	# shellcheck disable=SC2086 # words
	perftest_reports $sizes && return
	tool_output
	return 1
}

# perftest_reports SIZE...: the client's table has a row for each, with figures above zero
# bw: size, iterations, peak, average, Mpps; lat: size, iterations, min, max, typical, ...; lat -D: size, iterations, average,
# transactions in a second
# perftest measures the processor's clock against the time of day for each row; on a busy machine it may fail
# in that, says so, and reports 0 or inf.
perftest_reports() {
	awk -v sizes="$*" '
		/Correlation coefficient|Conflicting CPU frequency/ { uncalibrated = 1 }
		$1 ~ /^[0-9]+$/ && $2 > 0 && NF >= 4 { row[$1] = NF < 5 ? $3 : $5 }
		END {
			n = split(sizes, want, " ")
			for (i = 1; i <= n; i++) {
				if (want[i] in row && (row[want[i]] > 0 || uncalibrated))
					continue
				print "no figure for " want[i] " bytes"
				bad = 1
			}
			exit bad
		}' "$CLIENT_OUT"
}
