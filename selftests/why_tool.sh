#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 90
#
# softmr why: a real refusal in words and in JSON, also after its process has ended; which users see whose refusals;
# --follow, also on a terminal, --last, --pid; the meaning of a code. What a program prints by itself
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "the tool is for softmr's links"
need_link_type softmr
modprobe -a ib_uverbs 2>/dev/null
A=$(node_name a) NS=$(node_name ns) DUMMY=$(node_name du)
USER_NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# why [OPTION]...: the reasons that softmr why shows, a line for each: reason, command, error
why() {
	softmr why --json "$@" | python3 -c '
import json, sys
for r in json.load(sys.stdin):
    print(r["reason"], r["command"], r["error"], *sorted(r["numbers"]))'
}
count() { local n; n=$(why "$@" | grep -c "^MR_BUSY "); echo "$n"; }
# It binds windows to a region of its own, and the device refuses to deregister it
refused() { "$@" "$WORK/busy" "$A" "$INDEX" >/dev/null; }
as_nobody() { "${USER_NOBODY[@]}" softmr why --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }
in_other() { ip netns exec "$NS" softmr why --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }
followed() { grep -q "EBUSY: region 0x.*memory windows" "$WORK/followed"; }

ip link add "$DUMMY" type dummy && on_exit ip link del "$DUMMY"
address "" "$DUMMY" 1
check "add" softmr link add "$A" netdev "$DUMMY"
on_exit softmr link del "$A"
check "an address" within 10 gid_index "$A" 10.1.0.1
INDEX=$(gid_index "$A" 10.1.0.1)
check "a program" make_busy
chmod 755 "$WORK"
ns_add "$NS"

check "nothing was refused" is "$(count)" 0
check "an error as the device shows it" refused
check "its reason, when the process has ended" grep -q "^MR_BUSY busy EBUSY first lkey windows$" <(why)
check "in words: the device, the process, the errno, the numbers" \
	grep -qE "^[0-9:.]+ $A busy\[[0-9]+\] \(ended\): EBUSY: region 0x[0-9a-f]+ has [1-9][0-9]* memory windows bound to it, one of them 0x[0-9a-f]+$" \
	<(softmr why)
check "and what to do" grep -q "^   try: unbind or deallocate the windows;.*(0x0108)$" <(softmr why)
check "--pid of nobody" is "$(count --pid 1)" 0
check "--last: one object" is "$(json reason softmr why --last --json)" MR_BUSY
check "--last in words" is "$(softmr why --last | wc -l)" 2
check "--last of nobody" is "$(softmr why --last --pid 1)$(softmr why --last --pid 1 --json)" null
check_error "--last and --follow" "exclude each other" softmr why --last --follow

check "another user sees nothing of it" is "$(as_nobody)" 0
before=$(count)
refused "${USER_NOBODY[@]}"
check "but what he was refused himself" test "$(as_nobody)" -ge 1
check "no more than that" is "$(as_nobody)" "$(($(count) - before))"
check "root of another network namespace sees nothing" is "$(in_other)" 0

softmr why --follow >>"$WORK/followed" &
on_exit kill $!
check "--follow begins with those that are there" within 10 followed
: >"$WORK/followed"
softmr why --follow --json >"$WORK/followed.json" &
on_exit kill $!
refused
check "--follow shows a new one" within 10 followed
followed_json() { [ "$(json reason tail -n 1 "$WORK/followed.json" 2>/dev/null)" = MR_BUSY ]; }
check "--follow --json: an object in each line" within 10 followed_json

# not redirected to a file: what a program does on a terminal
python3 -c 'import pty; pty.spawn(["softmr", "why", "--follow"])' </dev/null >"$WORK/terminal" &
on_exit kill $!
on_terminal() { grep -qE "EBUSY: region 0x.*memory windows" "$WORK/terminal" && grep -q "   try: unbind" "$WORK/terminal"; }
check "--follow on a terminal" within 10 on_terminal

# hides KIND COMMAND...: the program of the file $WORK/privileged, which COMMAND gives a privilege: its addresses and keys are
# not those of the user who has started it
hides() {
	local seen all
	cp "$WORK/busy" "$WORK/privileged"
	check "a program $1" "${@:2}" "$WORK/privileged"
	seen=$(as_nobody) all=$(count)
	"${USER_NOBODY[@]}" "$WORK/privileged" "$A" "$INDEX" >/dev/null
	check "it was refused something" test "$(count)" -gt "$all"
	check "and its user cannot read that" is "$(as_nobody)" "$seen"
	rm "$WORK/privileged"
}
hides "with set-user-id" chmod 4755
hides "with a file capability" setcap cap_net_bind_service+ep

# SOFTMR_WHY=1: the program itself prints it
printed() { { SOFTMR_WHY=$1 "$WORK/busy" "$A" "$INDEX" >/dev/null; } 2>&1; }
check "SOFTMR_WHY=1 prints it" grep -qE "^softmr: $A: EBUSY: region 0x[0-9a-f]+ has .*; try: unbind .* \(0x0108\)$" <(printed 1)
log_of() {
	VERBS_LOG_LEVEL=$1 VERBS_LOG_FILE=$WORK/verbs "$WORK/busy" "$A" "$INDEX" >/dev/null
	grep -s "^softmr: " "$WORK/verbs"
}
check "a warning of VERBS_LOG_LEVEL" grep -qE "^softmr: $A: EBUSY: region .* \(0x0108\)$" <(log_of 2)
rm -f "$WORK/verbs"
check "none of its errors" is "$(log_of 1)" ""
check "otherwise nothing is printed" is "$(printed 0)" ""

check "a code of a log" is "$(softmr why 0x1006 | head -n 1 | cut -d ' ' -f 1,2)" "0x1006 KEY_RANGE:"
check "in decimal" is "$(softmr why 4102)" "$(softmr why 0x1006)"
check_error "a code that is none" "there is no reason '0xdead'" softmr why 0xdead
check_error "a wrong option" "softmr why --help" softmr why --never
finish
