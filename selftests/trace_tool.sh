#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 300
#
# softmr trace: the timeline of a program's two ends obeys the rules of Chrome's trace event format, and has each
# message, with an arrow from its beginning over the responder to its completion; on one host and over the wire; a
# refused request; the output as text. The tracepoints print names
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"
# shellcheck source=selftests/lib/tracing.sh
. "$LIB/tracing.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "the tool is for softmr's links"
need_link_type softmr
need_tracefs

# valid FILE: it is a timeline that obeys the rules of the format; prints what it contains
valid() {
	python3 - "$1" <<-'END'
		import collections, json, sys

		events = json.load(open(sys.argv[1]))["traceEvents"]
		needs = {"M": "name pid tid args", "X": "name cat ts dur pid tid args", "i": "name cat ts pid tid s args",
		         "b": "name cat ts pid tid id", "e": "name cat ts pid tid id", "s": "name cat ts pid tid id",
		         "t": "name cat ts pid tid id", "f": "name cat ts pid tid id bp"}
		for event in events:
		    missing = set(needs[event["ph"]].split()) - set(event)
		    assert not missing, (missing, event)
		tracks = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
		processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
		slices = collections.defaultdict(list)
		for event in events:
		    if event["ph"] == "X":
		        assert (event["pid"], event["tid"]) in tracks and event["pid"] in processes, event
		        slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
		for track in slices.values():
		    # slices of a track follow each other, or are of the same time
		    track.sort()
		    assert all(b[0] >= a[1] or b[0] == a[0] for a, b in zip(track, track[1:])), track
		began, flows = {}, collections.defaultdict(list)
		for event in events:
		    if event["ph"] == "b":
		        assert event["id"] not in began, event
		        began[event["id"]] = event
		    elif event["ph"] == "e":
		        start = began.pop(event["id"])
		        assert event["ts"] >= start["ts"] and event["name"] == start["name"], event
		    elif event["ph"] in "stf":
		        flows[event["id"]].append(event)
		        # an arrow is bound to a slice that begins there
		        assert any(s == event["ts"] for s, _ in slices[event["pid"], event["tid"]]), event
		whole = wired = 0
		for flow in flows.values():
		    phases = "".join(e["ph"] for e in flow)
		    assert phases.replace("t", "") in ("s", "sf"), phases
		    assert all(a["ts"] <= b["ts"] for a, b in zip(flow, flow[1:])), flow
		    whole += phases.startswith("st") and phases.endswith("f")
		    wired += phases.startswith("stt") and processes[flow[1]["pid"]] == "wire" != processes[flow[2]["pid"]]
		names = collections.Counter(e["name"] for e in events if e["ph"] == "X")
		print("open", len(began), "whole", whole, "wired", wired, "processes", *sorted(set(processes.values())))
		for name, count in sorted(names.items()):
		    print(count, name)
		for event in events:
		    if event["ph"] == "i":
		        print("instant", event["name"], event["args"].get("text"))
	END
}
has() { grep -qE "$1" "$WORK/said" || { cat "$WORK/said"; return 1; }; }
check "a program that is refused something" make_busy
topology_host Y || { not_ok "link"; finish; }
DEV=${SIDE_DEV[server]}
gid_args server -g v4 || { not_ok "GID"; finish; }
GID=${GID_ARGS[1]}
run_host() { softmr trace --output "$WORK/host.json" -- sh -c "ibv_rc_pingpong -d $DEV -g $GID -s 3000 -n 100 >/dev/null & until ibv_rc_pingpong -d $DEV -g $GID -s 3000 -n 100 ${SIDE_V4[server]} >/dev/null 2>&1; do sleep 0.3; done; wait"; }
check "a program on one host" run_host
valid "$WORK/host.json" >"$WORK/said" 2>&1
check "its timeline is one" has "^open 0 whole 200 wired 0 "
check "both processes have names" has "processes .*ibv_rc_pingpong"
check "each message begins" has "^200 SEND$"
check "the responder executes each" has "^200 SEND_ONLY: OK$"
check "each is received" has "^200 received$"
check "each is complete" has "^200 done: SUCCESS$"
softmr trace --text -- sh -c "ibv_rc_pingpong -d $DEV -g $GID -n 5 >/dev/null & until ibv_rc_pingpong -d $DEV -g $GID -n 5 ${SIDE_V4[server]} >/dev/null 2>&1; do sleep 0.3; done; wait" 2>"$WORK/text"
# in_words PATTERN: a line of the text is like that; otherwise the text says what was there
in_words() { grep -qE "$1" "$WORK/text" || { grep -n send_start "$WORK/text" | head -n 20; return 1; }; }
check "in words" in_words "^ +[0-9.]+ ms +ibv_rc_pingpong\[[0-9]+\] +send_start +dev=$DEV .* op=SEND$"
check "processes that have ended have names, too" is "$(grep -c " process\[" "$WORK/text")" 0
check "both ends" is "$(grep -c " request .* says=OK$" "$WORK/text")" 10
softmr trace --text -- "$WORK/busy" "$DEV" "$GID" 2>&1 >/dev/null | grep " refused " >"$WORK/refused"
check "a refusal in words" grep -qE " why=0x0108 .*: region 0x[0-9a-f]+ has [1-9][0-9]* memory windows bound to it, one of them 0x[0-9a-f]+$" "$WORK/refused"
softmr trace --text -- sh -c "$WORK/busy $DEV $GID >/dev/null" 2>&1 | head -n 1 >/dev/null
check "nothing is left behind" is "$(find "$TRACING/instances" -maxdepth 1 -name 'softmr-*' | wc -l)" 0
status=0
softmr trace -o "$WORK/none.json" -- sh -c 'exit 7' 2>"$WORK/none" || status=$?
check "the command's status" is "$status" 7
check "nothing has happened" grep -q "nothing has happened" "$WORK/none"
check "an empty timeline is one" valid "$WORK/none.json"
check_error "not without a command" "needs a command" softmr trace
check_error "not for a user" "cannot trace" setpriv --reuid 65534 --regid 65534 --clear-groups softmr trace -o /dev/null -- true
softmr trace -o "$WORK/mr.json" -- "$WORK/busy" "$DEV" "$GID" >/dev/null 2>&1
valid "$WORK/mr.json" >"$WORK/said" 2>&1
check "a refusal has its reason" has "^instant refused: MR_BUSY region 0x[0-9a-f]+ has [1-9][0-9]* memory windows bound"
softmr trace --text --output "$WORK/mr.text" -- "$WORK/busy" "$DEV" "$GID" 2>"$WORK/said" >/dev/null
check "text is nothing for Perfetto" is "$(grep -c perfetto "$WORK/said")" 0
check "the text has the name of the link and the reason in words" \
	grep -qE " refused +dev=$DEV pid=[1-9][0-9]* qpn=0x0 why=0x0108 .*: region 0x[0-9a-f]+ has " "$WORK/mr.text"
topology_down

topology_veth 1500 || { not_ok "links"; finish; }
over_the_wire() {
	softmr trace -o "$WORK/wire.json" -- sh -c "
		ip netns exec ${SIDE_NS[server]} ib_write_bw -d ${SIDE_DEV[server]} -F -s 10000 -n 50 >/dev/null 2>&1 &
		until ip netns exec ${SIDE_NS[client]} ib_write_bw -d ${SIDE_DEV[client]} -F -s 10000 -n 50 10.1.0.1 >/dev/null 2>&1; do sleep 0.5; done; wait"
}
check "a program over the wire" over_the_wire
valid "$WORK/wire.json" >"$WORK/said" 2>&1
check "its timeline is one, too" has "^open 0 whole [0-9]+ wired [1-9][0-9]* .*wire"
check "whose side a process is on" has "processes .*ib_write_bw@${SIDE_NS[server]}"
check "and the other one" has "processes .*ib_write_bw@${SIDE_NS[client]}"
check "the packets of a message" has "^[0-9]+ WRITE_FIRST: OK$"
check "answers" has "^[0-9]+ ACK$"
topology_down
finish
