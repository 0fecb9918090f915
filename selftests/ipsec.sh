#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest qemu-stable qemu-oldest qemu-rt
# nodes: 1
# timeout: 300
#
# An IPsec policy without keys: packets are lost until keys are added, and no sender waits longer than that. Keys that
# are added later are used at once
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"

need_link_type "$LINK_TYPE"
modprobe -a xfrm_user esp4 >/dev/null 2>&1 || skip_all "this kernel has no IPsec"

# RoCEv2 packets from client to server only: the programs connect by TCP, and answers are not encrypted
policy() {
	ip -n "${SIDE_NS[client]}" xfrm policy "$1" src 10.1.0.2/32 dst 10.1.0.1/32 proto udp dport 4791 dir out \
		"${@:2}"
}

policy_add() { policy add tmpl src 10.1.0.2 dst 10.1.0.1 proto esp mode transport; }

# Keys of null ciphers, which are fast where a processor is emulated
keys() {
	local side
	for side in client server; do
		ip -n "${SIDE_NS[$side]}" xfrm state add src 10.1.0.2 dst 10.1.0.1 proto esp spi 0x1001 mode transport \
			enc 'ecb(cipher_null)' '' auth digest_null '' || return
	done
}

# Also delete an SA that the kernel has begun to wait for
no_keys() {
	local side
	for side in client server; do ip -n "${SIDE_NS[$side]}" xfrm state flush || return; done
}

# hold Y|N: whether IPsec holds packets until it has keys, or drops them
hold() { in_ns "${SIDE_NS[client]}" sysctl -qw "net.core.xfrm_larval_drop=$([ "$1" = Y ] && echo 0 || echo 1)"; }

# Unreliable: a sent message completes, with keys or without
uc_does_not_wait() { tool server client -x v4 30 ib_write_bw -F -c UC -s 1024 -n 2000 -t 512; }

sent() { counter "${SIDE_DEV[client]}" tx_packets; }
sent_more() { [ "$(sent)" -gt "$1" ]; }

late_keys() { within 30 sent_more "$1" && nap 1 && keys; }

# The keys are added a second after the client's first packet
rc_with_late_keys() {
	local status=0 job
	late_keys "$(sent)" &
	job=$!
	tool server client -x v4 60 ib_write_bw -F -s 65536 -n 40 -u 18 || status=$?
	wait "$job" || status=1
	return "$status"
}

# many_writes: sets MS to how long they take
many_writes() {
	local start=${EPOCHREALTIME/./}
	tool server client -x v4 60 ib_write_bw -F -s 65536 -n 100 || return
	MS=$(((${EPOCHREALTIME/./} - start) / 1000))
}

# The route with which IPsec held packets must no longer be used: it would hold each packet for 100 ms. Encryption costs
# something.
rc_is_fast_now() {
	many_writes || return
	echo "took $MS ms, and $PLAIN_MS ms without a policy"
	[ "$MS" -lt $((10 * PLAIN_MS + 5000)) ]
}

encrypted() { ip -n "${SIDE_NS[server]}" -s xfrm state | grep -q '([1-9][0-9]*)(packets)\|[1-9][0-9]*(packets)'; }

try_veth 1500 || finish
check "without a policy" many_writes
PLAIN_MS=$MS
for how in N Y; do
	what=$([ "$how" = Y ] && echo "packets are held" || echo "packets are dropped")
	check "$what: set up" hold "$how"
	check "$what: a policy without keys" policy_add
	check "$what: UC does not wait" uc_does_not_wait
	check "$what: RC goes on when there are keys" rc_with_late_keys
	check "$what: and no packet is held any longer" rc_is_fast_now
	check "$what: the packets were encrypted" encrypted
	no_keys
	policy delete
done
topology_down
finish
