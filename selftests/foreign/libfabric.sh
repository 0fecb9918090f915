#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: libfabric's fi_info and fi_pingpong: the verbs provider, and ofi_rxm on it
# bed: uml
# packages: libfabric-bin
# timeout: 300
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

export FI_VERBS_IFACE=eth0

# lists PROVIDER ENDPOINT: with our device
lists() { fi_info -p "$1" -t "$2" | tee "$WORK/info" && grep -q "domain: $DEV" "$WORK/info"; }

# pingpong PROVIDER ENDPOINT OPTION...: -c: each byte is checked
pingpong() {
	PORT=$((PORT + 1))
	both "fi_pingpong -p $*" 30 "$PORT" fi_pingpong -p "$1" -e "$2" -d "$DOMAIN" -B "$PORT" -c "${@:3}" -- \
		fi_pingpong -p "$1" -e "$2" -d "$DOMAIN" -P "$PORT" -c "${@:3}" "$ADDR"
}

device_up
says "$(fi_info --version | sed -n 's/^libfabric: //p')"
check "fi_info -p verbs -t FI_EP_MSG" lists verbs FI_EP_MSG
check "fi_info -p verbs;ofi_rxm -t FI_EP_RDM" lists "verbs;ofi_rxm" FI_EP_RDM
iwarp || check "fi_info -p verbs -t FI_EP_DGRAM" lists verbs FI_EP_DGRAM
for size in 0 1 64 1024 4096 65536 1048576 all; do
	DOMAIN=$DEV pingpong verbs msg -S "$size"
	DOMAIN=$DEV pingpong "verbs;ofi_rxm" rdm -S "$size"
done
if ! iwarp; then
	for size in 1 64 1024; do DOMAIN=$DEV-dgram pingpong verbs dgram -S "$size"; done
fi
finish
