#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: blktests: the groups nvme (with rdma) and srp
# bed: qemu
# packages: fio nvme-cli multipath-tools util-linux-extra jq bc
# foreign: blktests/check
# get: github.com/linux-blktests/blktests, made in DIR/blktests (make)
# timeout: 1800
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# It makes its own links, of type rxe if told so
driver_for() {
	cp -r "$FOREIGN/blktests" "$WORK/blktests" &&
		grep -rlE 'rdma_rxe|\brxe\b' "$WORK/blktests/common" "$WORK/blktests/tests" | xargs sed -i -E \
			"s/\\<rdma_rxe\\>/$LINK_MODULE/g; s/type=rxe/type=$LINK_TYPE/; s/type rxe/type $LINK_TYPE/g"
}

# results: "nvme/003 (tr=rdma) (what it is about)   [passed]"
results() {
	sed -nE 's/^([a-z]+\/[0-9]+[^[]*[^ [])[ ]+\[(passed|failed|not run)\].*/\2\t\1/p' |
		awk -F '\t' '{ print ($1 == "passed" ? "ok" : $1 == "failed" ? "not ok" : "skip") "\t" $2 "\t" ($1 == "not run" ? "it says so" : "") }'
}

need_link_type "$LINK_TYPE"
check "blktests with links of type $LINK_TYPE" driver_for || finish
says "$(sed -n 's/^VERSION *:*= *//p' "$WORK/blktests/Makefile" | head -n 1)"
cd "$WORK/blktests" || exit
export NVMET_TRTYPES=rdma USE_RXE=1 NVME_IMG_SIZE=64M nvme_num_iter=10 TIMEOUT=60
limited 580 ./check -q nvme srp >"$WORK/blktests.out" 2>&1
status=$?
verdicts < <(results <"$WORK/blktests.out")
case $status in 0 | 1) ;; *) tail -n 20 "$WORK/blktests.out" >"$WORK/out"; not_ok "check came to its end (status $status)" "$WORK/out" ;; esac
finish
