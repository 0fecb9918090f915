#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# examples/softmr-textfile: what it writes is Prometheus' text format, and its numbers are those of sysfs
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "the example is about softmr's links"
need_link_type softmr
A=$(node_name a) B=$(node_name b) DUMMY=$(node_name du) OTHER=$(node_name ot) FILE=$WORK/prom
write_it() { "$LIB/../guides/examples/softmr-textfile" "$FILE"; }

# parsed: each sample of FILE; fails if the format is violated, where the samples of a name have to be together
parsed() {
	python3 -c '
import re, sys
families = []
for line in sys.stdin:
    head = re.fullmatch(r"# TYPE ([a-z_]+) (counter|gauge)\n", line)
    if head:
        assert head[1] not in families, "twice: " + line
        families.append(head[1])
    else:
        sample = re.fullmatch(r"([a-z_]+)\{device=\"([^\"\\]+)\",port=\"1\"\} (\d+)\n", line)
        assert sample and sample[1] == families[-1], line
        print(*sample.groups())' <"$FILE"
}
# as_sysfs LINK: each counter of sysfs is there. Traffic has ended, so the numbers do not change
as_sysfs() {
	local file
	parsed >"$WORK/parsed" || return
	for file in "/sys/class/infiniband/$1/ports/1/hw_counters"/*; do
		[ "${file##*/}" = lifespan ] || grep -qx "rdma_${file##*/} $1 $(<"$file")" "$WORK/parsed" || { echo "$file"; return 1; }
	done
}

check "without a link" write_it
check "nothing is in the file" is "$(parsed)" ""
ip link add "$DUMMY" type dummy && on_exit ip link del "$DUMMY"
ip link add "$OTHER" type dummy && on_exit ip link del "$OTHER"
address "" "$DUMMY" 1
link_add "$A" "$DUMMY" || { not_ok "link"; finish; }
rdma link add "$B" type softmr netdev "$OTHER" && on_exit rdma link del "$B"
side server "$A" "" 10.1.0.1 fd01::1
side client "$A" "" 10.1.0.1 fd01::1
check "traffic" pingpong server client v4 -s 100 -n 20
check "two links" write_it
check "all counters" as_sysfs "$A"
check "the other link's" as_sysfs "$B"
check "what has happened is not 0" not grep -qx "rdma_local_ops $A 0" "$WORK/parsed"
check "nothing has happened there" grep -qx "rdma_local_ops $B 0" "$WORK/parsed"
check "nothing is left beside the file" is "$(find "$WORK" -name 'prom*' | wc -l)" 1
finish
