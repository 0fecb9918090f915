# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What each of other people's suites (selftests/foreign) starts with. scripts/foreign.sh runs them, once for each type of
# device: LINK_TYPE is softmr, rxe or siw. FOREIGN is the directory with the suites that the user has built.

# shellcheck source=selftests/lib/test.sh
. "${BASH_SOURCE[0]%/*}/test.sh"

# The guest's own copy of selftests/, with what is compiled
# shellcheck disable=SC2034 # the suites use it
SELFTESTS=/usr/lib/softmr/selftests
DEV=${LINK_TYPE}0
ADDR=10.0.0.$NODE
GID_INDEX=0
# What is done at the end, or by a check, does not show its output
exec {LOG}>&1
# How many percent of the packets are to be lost
LOSS=${SMR_LOSS:-}

# iwarp: the device connects by rdma_cm only, and has no datagrams, no UC, no atomics
iwarp() { [ "$LINK_TYPE" = siw ]; }

# device_up: load the driver, and make $DEV on eth0. The suite is skipped if this kernel has no such driver
device_up() {
	need_link_type "$LINK_TYPE"
	modprobe -q rdma_ucm
	topology_begin
	[ -z "$LOSS" ] || lossy_host || { not_ok "$LOSS % of the packets are lost"; finish; }
	link_add "$DEV" eth0 >"$WORK/out" 2>&1 || { not_ok "a link of type $LINK_TYPE on eth0" "$WORK/out"; finish; }
	side server "$DEV" "" "$ADDR" "fd00::$NODE"
	side client "$DEV" "" "$ADDR" "fd00::$NODE"
	# the core adds GIDs after it has handled the stack's event
	iwarp || GID_INDEX=$(within 10 gid_index "$DEV" "$ADDR")
}

# wide_path: until the end of the suite eth0 carries a path MTU of 4096. Before device_up
wide_path() {
	on_exit ip link set eth0 mtu "$(</sys/class/net/eth0/mtu)"
	ip link set eth0 mtu 4300
}

# lossy NETDEV [NETNS]: it loses LOSS percent of what it sends
lossy() {
	modprobe -q sch_netem
	tc ${2:+-n "$2"} qdisc replace dev "$1" root netem limit 10000 loss "$LOSS%" || return
	on_exit tc ${2:+-n "$2"} qdisc del dev "$1" root
	on_exit tell_lost "$@"
}

# shellcheck disable=SC2317 # on_exit calls it
tell_lost() { diag "packets that were lost: $(tc ${2:+-n "$2"} -s qdisc show dev "$1" | sed -n 's/.*(dropped \([0-9]*\).*/\1/p')" >&"$LOG"; }

# lossy_host: packets between addresses of this host go over lo
lossy_host() {
	[ "$LINK_TYPE" != softmr ] || loopback_set N || return
	lossy lo
}

# skip_iwarp WHY: skip the suite on siw
skip_iwarp() { iwarp && skip_all "$1"; }

# says VERSION: what was run; the table shows it
says() { diag "version: $*"; }

# limited SECONDS COMMAND...: with a limit that a busy machine may exceed three times
limited() {
	local limit=$((PATIENCE * $1))
	shift
	timeout -k 5 "$limit" "$@"
}

# cm_listens [PORT]: somebody listens by rdma_cm
cm_listens() { rdma resource show cm_id | grep -qE "LISTEN .*:${1:-[0-9]+} "; }

# cm_listening_or_ended PORT BASE
cm_listening_or_ended() { ended "$2" || cm_listens "$1"; }

# both WHAT LIMIT PORT SERVER-COMMAND... -- CLIENT-COMMAND...: a result: both succeed. The server is waited for at the TCP
# port PORT; "cm:PORT" if it listens by rdma_cm
both() {
	local what=$1 limit=$2 port=$3 server=() status=0 base
	shift 3
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	if [[ $port = cm:* ]]; then
		start server job "$limit" "" "${server[@]}"
		within 20 cm_listening_or_ended "${port#cm:}" "$BASE"
	else
		start server server_job "$port" "$limit" "" "${server[@]}"
		within 20 ready_or_ended "$BASE"
	fi
	base=$BASE
	run client "$limit" "$@" || status=$?
	if ! within 5 ended "$base"; then
		stop server "$base"
		within 5 ended "$base" || stop server "$base" KILL
		within 5 ended "$base"
		echo "the server went on" >>"$base.out"
	fi
	[ "$status" != 0 ] || status=$(cat "$base.rc")
	{
		sed 's/^/client: /' "$BASE.out" | tail -n 20
		sed 's/^/server: /' "$base.out" | tail -n 20
		echo "exit status of the client: $(cat "$BASE.rc"), of the server: $(cat "$base.rc")"
	} >"$WORK/out"
	report "$status" "$what"
}

# gtest PROGRAM SECONDS ARGUMENT...: run a program of GoogleTest; each of its tests is a result. A test that begins and
# does not end has crashed or hung
gtest() {
	gtest_run "$@"
	gtest_judge "$1"
}

# gtest_run PROGRAM SECONDS ARGUMENT...: run it only; several can run at once
gtest_run() {
	local status=0
	limited "$2" "$1" "${@:3}" >"$WORK/gtest.${1##*/}" 2>&1 || status=$?
	echo "$status" >"$WORK/gtest.${1##*/}.rc"
}

gtest_judge() {
	local name=${1##*/} out=$WORK/gtest.${1##*/}
	gtest_results <"$out" >"$WORK/verdicts"
	verdicts <"$WORK/verdicts"
	# without a summary it has not come to its end, even if no test was running
	grep -qE '^\[ +(PASSED|FAILED) +\] +[0-9]+ test' "$out" ||
		{ tail -n 20 "$out" >"$WORK/out"; not_ok "$name came to its end (status $(cat "$out.rc"))" "$WORK/out"; }
}

# gtest_results: GoogleTest's output into lines "ok|not ok|skip<TAB>NAME<TAB>WHY"; after "not ok" the first lines that the
# test has printed
gtest_results() {
	awk '
		function name() { sub(/^\[[^]]*\] */, ""); sub(/[, ].*/, ""); return $0 }
		function end() { running = ""; lines = 0 }
		/^\[ +PASSED +\]/ || /^\[ +FAILED +\] +[0-9]+ test/ || /^\[==========\].* ran\./ { over = 1 }
		over { next }
		/^\[ RUN +\]/ { if (running != "") print "not ok\t" running "\tit did not end"; end(); running = name(); next }
		/^\[ +OK \]/ { print "ok\t" name(); end(); next }
		/^\[ +SKIPPED +\]/ { print "skip\t" name() "\tit says so"; end(); next }
		/^\[ +FAILED +\]/ {
			print "not ok\t" name()
			for (i = 0; i < lines && i < 12; i++) print line[i]
			end()
			next
		}
		running != "" && !/^[IW][0-9]+ / { gsub(/\t/, " "); line[lines++] = $0 }
		END { if (running != "") print "not ok\t" running "\tit did not end" }'
}

# verdicts: lines "ok|not ok|skip<TAB>NAME<TAB>WHY" of standard input as results; others are shown. Not behind a pipe, whose
# shell would do the counting
verdicts() {
	local verdict name why
	while IFS=$'\t' read -r verdict name why; do
		case $verdict in
		ok) ok "$name" ;;
		skip) skip "$name" "$why" ;;
		"not ok") not_ok "$name${why:+: $why}" ;;
		*) diag "$verdict" ;;
		esac
	done
}

# The vendors whose devices the other modules of rdma-core's suite are for
VENDORS='bnxt_re|cuda|efa|efadv|hns|irdma|mana|mlx4|mlx5'

unpacked() { cp -rL "$1" "$2" && find "$2" -name '*.gz' -exec gunzip -f {} +; }

# pyverbs_suite DIR: rdma-core's suite, all modules but the vendors', each in a process of its own
pyverbs_suite() {
	local names
	# Debian compresses the longer files
	setup_ok "the suite is unpacked" unpacked "$1" "$WORK/tests" || return
	# some tests need huge pages, which UML does not have
	[ ! -w "$HUGE_PAGES" ] || setup_ok "huge pages are there" huge_pages 16
	mapfile -t names < <(find "$WORK/tests" -name 'test_*.py' -printf '%f\n' | sed 's/\.py$//' |
		grep -vE "^test_($VENDORS)(_|$)" | LC_ALL=C sort)
	python3 "$LIB/pyverbs_tap.py" "$WORK/tests" 100 "${names[@]}" -- --dev "$DEV" --gid "$GID_INDEX" \
		>"$WORK/verdicts" 2>"$WORK/err" || not_ok "the suite came to its end" "$WORK/err"
	# that a module has ended is a result only if it has not
	verdicts < <(grep -v $'^ok\ttest_.* came to its end' "$WORK/verdicts")
}

# fio_verified FILE MEGABYTES BLOCK-SIZE DEPTH: fio writes a file or a disk past the cache, reads it, and verifies
# checksums. A last packet that is lost costs rdma_cm's timeout, of up to 2 s, so it writes less then
fio_verified() {
	local size=$2
	[ -z "$LOSS" ] || size=$(($2 / 4))
	limited 60 fio --name=verify --filename="$1" --size="${size}m" --bs="$3" --iodepth="$4" --ioengine=libaio --direct=1 \
		--rw=randwrite --verify=crc32c --do_verify=1 --verify_fatal=1 --output-format=terse
}
