#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
#
# softmr top: what QPs, regions and completion queues do and have done, in numbers that agree with a program's own; output
# on a terminal; what a QP waits for, and why it is in error. The same for rdma resource show -dd
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "the tool is for softmr's links"
need_link_type softmr
have ib_write_bw || skip_all "perftest is not installed"
python3 -c "import pyverbs" || skip_all "no pyverbs"
USER_NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# pick EXPRESSION COMMAND...: the value of a Python expression for the JSON "d" that COMMAND prints; qp(STATE) is
# perftest's QP in that state
pick() {
	local expression=$1
	shift
	"$@" | python3 -c '
import json, sys
d = json.load(sys.stdin)
def qp(state): return next(q for q in d["qp"] if q["command"].startswith("ib_write") and q["state"] == state)
def mr(command): return [m for m in d["mr"] if m["command"].startswith(command)]
print(eval(sys.argv[1]))' "$expression"
}
true_of() { is "$(pick "$@")" True; }

# of a sender, and of its peer
sending() { [ "$(pick 'len([q for q in d["qp"] if q["command"].startswith("ib_write")])' softmr top --once --json)" = 2 ]; }
start_traffic() { traffic server client "$@" && within 20 sending; }
stop_traffic() {
	stop client "$CLIENT"
	within 10 ended "$CLIENT"
	stop server "$SERVER" KILL
	within 10 ended "$SERVER"
}

# screen COLUMNS ROWS KEYS: the contents of a terminal of that size, line by line, after "softmr top" got KEYS, one by
# one; and whether the terminal's modes are restored. It emulates the features of a terminal that top uses
screen() {
	python3 - "$@" <<-'END'
		import fcntl, os, pty, re, select, struct, sys, termios, time

		columns, rows, keys = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
		child, terminal = pty.fork()
		if not child:
		    time.sleep(0.2)
		    os.execlp("softmr", "softmr", "top", "--seconds", "1")
		fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
		before, text = termios.tcgetattr(terminal), b""

		def look(seconds):
		    global text
		    end = time.monotonic() + seconds
		    while time.monotonic() < end:
		        if select.select([terminal], [], [], 0.1)[0]:
		            try:
		                text += os.read(terminal, 65536)
		            except OSError:
		                return

		look(3)
		for key in keys:
		    os.write(terminal, key.encode())
		    look(1.5)
		after = termios.tcgetattr(terminal)
		os.write(terminal, b"x")
		look(2)
		print("raw" if after != before else "not raw",
		      "restored" if termios.tcgetattr(terminal) == before else "not restored", os.waitpid(child, 0)[1])
		text = text.decode()
		assert text.count("\033[?1049h") == 1 and text.rstrip().endswith("\033[?1049l"), "the other screen"
		frame = text.split("\033[H")[-1].split("\033[J")[0]
		lines = re.sub("\033\\[K\r+", "", frame).split("\n")[:-1]
		assert len(lines) < rows and all(len(line) <= columns for line in lines), lines
		print(*lines, sep="\n")
	END
}

topology_host Y || { not_ok "link"; finish; }
DEV=${SIDE_DEV[server]}
check "without QPs of programs" is "$(pick 'len([q for q in d["qp"] if q["pid"]])' softmr top --once --json)" 0

check "traffic" start_traffic ib_write_bw -s 4096 -D 600
check "the two QPs know each other" true_of 'qp("RTS")["peer_qp"] == qp("RTR")["qp"] and qp("RTR")["peer_qp"] == qp("RTS")["qp"]' softmr top --once --json
check "whose they are" is "$(pick 'qp("RTS")["command"]' softmr top --once --json)" ib_write_bw
check "a message has 4096 bytes, at both ends" true_of \
	'qp("RTS")["sent"] > 0 and all(q[k + "_bytes"] == 4096 * q[k] for q, k in ((qp("RTS"), "sent"), (qp("RTR"), "served")))' softmr top --once --json
check "the same in rdma resource" grep -qE 'drv_sent [1-9][0-9]* .*drv_sent_bytes [1-9][0-9]*' <(rdma -dd resource show qp link "$DEV/1" | tr '\n' ' ')
check "top --once: by the second" true_of 'qp("RTS")["per_second"]["sent"] > 0 and qp("RTR")["per_second"]["served"] > 0' softmr top --once --json
check "as much leaves as arrives, but for what happens between two looks" true_of \
	'abs(qp("RTS")["per_second"]["sent"] - qp("RTR")["per_second"]["served"]) <= 0.2 * qp("RTS")["per_second"]["sent"]' softmr top --once --json
check "regions are pinned, present" true_of \
	'len(mr("ib_write")) == 2 and all(m["memory"] == "pinned" and m["present_bytes"] == m["length"] and m["faults"] == 0 for m in mr("ib_write"))' softmr top --once --json
check "what is copied is counted while top looks" true_of 'all(m["per_second"]["bytes"] > 0 for m in mr("ib_write"))' softmr top --once --json
check "a user sees the QPs" true_of 'qp("RTS")["sent"] > 0' "${USER_NOBODY[@]}" softmr top --once --json
check "and no PSNs" true_of '"sq_psn" not in qp("RTS")' "${USER_NOBODY[@]}" softmr top --once --json
check "root does" true_of '"sq_psn" in qp("RTS")' softmr top --once --json
check "--link of another" true_of 'not [q for q in d["qp"] if q["link"] != "'"$DEV"'"]' softmr top --once --json --link "$DEV"
check_error "a link that is none" "there is no link 'never'" softmr top --once --link never
check "--pid of one of them" is "$(pick 'len(d["qp"])' softmr top --once --json --pid "$(pick 'qp("RTS")["pid"]' softmr top --once --json)")" 1
check "in words" grep -qE "^$DEV +0x[0-9a-f]+ +RC +RTS +0x[0-9a-f]+ .* ib_write_bw\[[0-9]+\]$" <(softmr top --once)
screen 200 12 "" >"$WORK/screen"
check "on a terminal: what sends is on top" grep -qE "^$DEV .* RC .* ib_write_bw\[[0-9]+\]$" <(sed -n 4p "$WORK/screen")
check "the terminal is as it was" is "$(head -n 1 "$WORK/screen")" "raw restored 0"
check "r: regions" grep -qE "^$DEV +[0-9]+ +pinned .* ib_write_bw\[[0-9]+\]$" <(screen 200 12 r)
check "c: completion queues" grep -qE "^$DEV +[0-9]+ +[0-9.k]+ .* ib_write_bw\[[0-9]+\]$" <(screen 200 12 c)
check "on a small terminal" grep -q "^LINK" <(screen 40 5 "")
check_error "top without a terminal" "needs a terminal" softmr top
check_error "a wrong word" "top --help" softmr top never
stop_traffic

check "on demand" start_traffic ib_write_bw --odp -s 4096 -D 600
check "its regions are paged on demand, and pages were missed" true_of \
	'all(m["memory"] == "on-demand" and 0 < m["present_bytes"] <= m["length"] + 8192 for m in mr("ib_write")) and sum(m["faults"] for m in mr("ib_write")) > 0' \
	softmr top --once --json
stop_traffic

# Two QPs in error: the requester's, and the one that has refused its WRITE
gid_args server -g v4
python3 "$LIB/refused_write.py" "$DEV" "${GID_ARGS[1]}" 120 >"$WORK/held" &
HELD=$!
on_exit kill "$HELD"
check "a WRITE is refused" within 20 grep -q "^10 " "$WORK/held"
read -r _ requester responder <"$WORK/held"
in_error() { softmr top --once --pid "$HELD" | grep -qE "^$DEV +$1 +RC +ERR .* $2 +python3\[$HELD\]$"; }
check "what the requester knows of it is in its line" in_error "$requester" PEER_ACCESS
check "and what the responder knows" in_error "$responder" KEY_UNKNOWN
check "the same in JSON" is "$(pick 'sorted(q["reason"] for q in d["qp"])' softmr top --once --json --pid "$HELD")" "['KEY_UNKNOWN', 'PEER_ACCESS']"
check "its completion queue" true_of 'all(c["pending"] == c["armed"] == c["overrun"] == 0 for c in d["cq"]) and d["cq"] != []' softmr top --once --json --pid "$HELD"
check "softmr why --qp" is "$(softmr why --qp "$responder" --json | python3 -c '
import json, sys
print(*((r["reason"], hex(r["qp"])) for r in json.load(sys.stdin)))')" "('KEY_UNKNOWN', '$responder')"
check "its request in words" grep -qE "QP $requester \(peer: QP $responder of [0-9.]+\) RDMA_WRITE wr_id 0x7 PSN 0(x[0-9a-f]+)?: status 10: " <(softmr why --qp "$requester")
kill "$HELD"
topology_down

# A QP whose peer is gone: it waits for an ACK, and ends in the error state
topology_veth 1500 || { not_ok "links"; finish; }
in_client() { in_ns "${SIDE_NS[client]}" "$@"; }
sends_over_wire() { [ "$(pick 'qp("RTS")["sent"] > 10' in_client softmr top --once --json 2>/dev/null)" = True ]; }
waits_for() { [ "$(pick 'qp("RTS").get("sq_waits_for")' in_client softmr top --once --json)" = "$1" ]; }
has_timed_out() { [ "$(pick 'qp("RTS")["ack_timeouts"] > 0 and qp("RTS")["retransmits"] > 0' in_client softmr top --once --json)" = True ]; }
check "traffic over the wire" traffic server client ib_write_bw -s 65536 -D 600 -u 18
check "it is under way" within 20 sends_over_wire
check "the round trip was measured" true_of 'qp("RTS")["rtt_us"] > 0 and qp("RTS")["window"] > 0' in_client softmr top --once --json
check "all answers are lost" in_ns "${SIDE_NS[server]}" tc qdisc add dev veth0 root netem loss 100%
check "the QP waits for an acknowledge" within 10 waits_for ack
check "timeouts are counted" within 20 has_timed_out
stop_traffic
topology_down
finish
