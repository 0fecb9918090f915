#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
#
# softmr metrics: a strict parser of OpenMetrics accepts its output, and its numbers are those of sysfs; mlx5's names;
# output to a file, which is replaced atomically; HTTP on a real socket, as systemd passes it
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "the tool is for softmr's links"
need_link_type softmr
A=$(node_name a) B=$(node_name b) DUMMY=$(node_name du) OTHER=$(node_name ot)

# parsed: read OpenMetrics text from stdin, and print each sample; fails if the format (OpenMetrics 1.0) is violated
parsed() {
	python3 -c '
import re, sys
text = sys.stdin.read()
assert text.endswith("\n# EOF\n"), "the end"
name = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
label = name + r"=\"(?:[^\"\\\n]|\\[\\\"n])*\""
families, family, kind = set(), None, None
suffix = {"counter": "_total", "gauge": "", "info": "_info"}
for line in text.splitlines()[:-1]:
    head = re.fullmatch(r"# (TYPE|HELP) (%s) (.+)" % name, line)
    if head and head[1] == "TYPE":
        family, kind = head[2], head[3]
        assert family not in families, "twice: " + line
        families.add(family)
        seen = set()
    elif head:
        assert head[2] == family, "out of place: " + line
    else:
        sample = re.fullmatch(r"(%s)\{(%s(?:,%s)*)\} (\d+)" % (name, label, label), line)
        assert sample and sample[1] == family + suffix[kind], line
        assert sample[2] not in seen, "twice: " + line
        seen.add(sample[2])
        print(sample[1], sample[2], sample[3])
print(len(families), "families")'
}
# value NAME LINK: in the output of softmr metrics
value() { softmr metrics | parsed | sed -nE "s/^softmr_$1 link=\"$2\",.* ([0-9]+)$/\1/p"; }
# Each counter of sysfs is listed. Traffic has ended, so the numbers do not change
as_sysfs() {
	local file name suffix
	softmr metrics | parsed >"$WORK/parsed" || return
	for file in "/sys/class/infiniband/$1/ports/1/hw_counters"/*; do
		name=${file##*/} suffix=_total
		[ "$name" != lifespan ] || continue
		case $name in odp_chunks | rx_waiting_bytes) suffix= ;; esac
		grep -q "^softmr_$name$suffix link=\"$1\",.* $(<"$file")$" "$WORK/parsed" || { echo "$name"; return 1; }
	done
}
# fetch METHOD PATH: from a server that passes each connection to softmr metrics --http, as systemd does
fetch() {
	python3 -c '
import http.client, socket, subprocess, sys, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    connection, _ = server.accept()
    subprocess.run(["softmr", "metrics", "--http"], stdin=connection, stdout=connection, check=False)
    connection.close()
threading.Thread(target=serve).start()
client = http.client.HTTPConnection(*server.getsockname(), timeout=20)
client.request(sys.argv[1], sys.argv[2])
response = client.getresponse()
print(response.status, response.getheader("Content-Type"))
sys.stdout.write(response.read().decode())' "$@"
}

check "without a link" parsed < <(softmr metrics)
ip link add "$DUMMY" type dummy && on_exit ip link del "$DUMMY"
ip link add "$OTHER" type dummy && on_exit ip link del "$OTHER"
address "" "$DUMMY" 1
link_add "$A" "$DUMMY" || { not_ok "link"; finish; }
rdma link add "$B" type softmr netdev "$OTHER" && on_exit rdma link del "$B"
side server "$A" "" 10.1.0.1 fd01::1
side client "$A" "" 10.1.0.1 fd01::1
check "traffic" pingpong server client v4 -s 100 -n 20
check "all counters, and both links" as_sysfs "$A"
check "the other link's" as_sysfs "$B"
check "what has happened is not 0" test "$(value local_ops_total "$A")" -gt 0
check "nothing has happened there" is "$(value local_ops_total "$B")" 0
for names in ack_timeouts:local_ack_timeout_err duplicate_requests:duplicate_request rx_bad_icrc:rx_icrc_encapsulated \
	retry_exceeded:req_transport_retries_exceeded rnr_retry_exceeded:req_rnr_retries_exceeded; do
	check "${names#*:}" is "$(value "${names#*:}_total" "$A")" "$(value "${names%:*}_total" "$A")"
done
check "the port is active" is "$(value up "$A")" 1
check "the other is not" is "$(value up "$B")" 0
softmr metrics --output "$WORK/prom"
check "a file has the same" is "$(parsed <"$WORK/prom")" "$(softmr metrics | parsed)"
check "nothing is left beside it" is "$(find "$WORK" -name 'prom*' | wc -l)" 1
check_error "a file that cannot be written" "No such file or directory" softmr metrics --output "$WORK/never/prom"
check "HTTP" is "$(fetch GET /metrics | sed 1d | parsed)" "$(softmr metrics | parsed)"
check "its type" is "$(fetch GET /metrics | head -n 1)" "200 application/openmetrics-text; version=1.0.0; charset=utf-8"
check "HEAD" is "$(fetch HEAD /metrics | wc -l)" 1
check "another path" grep -q "^404 " <(fetch GET /)
check "another method" grep -q "^405 " <(fetch POST /metrics)
check_error "a wrong option" "metrics --help" softmr metrics --never
finish
