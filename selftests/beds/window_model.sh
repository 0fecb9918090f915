#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The model of requester and responder does what it promises on a network that loses, doubles and reorders; with a rule
# broken it does not. The check of traces takes those of the model, and notices a step that is left out or changed.
# timeout: 120
# shellcheck disable=SC2317 # what "check" calls looks unreachable
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
MODEL=$TOP/selftests/lib/window_model.py

echo "TAP version 13"
check "500 seeds" python3 "$MODEL" run 1 500
while read -r rule; do
	check_error "broken: $rule" "^$rule: seed [0-9]* goes wrong" python3 "$MODEL" broken "$rule"
done < <(python3 "$MODEL" broken)

trace() { python3 "$MODEL" trace "$1" | sed "$2"; }
judge() { trace "$@" >"$WORK/trace" && python3 "$MODEL" check 1 "$WORK/trace"; }
for seed in 1 2 3 4 5 6; do check "the trace of seed $seed" judge "$seed" ''; done
check_error "a completion twice" "not the oldest work request" judge 1 '0,/smr_send_done/{/smr_send_done/p}'
check_error "a completion too early" "not acknowledged" judge 1 '0,/smr_aeth/{/smr_send_start: .*wr_id=0/{p;s/.*/smr_send_done: qpn=1 wr_id=0 status=0/}}'
check_error "no completion" "has not completed" judge 1 '0,/smr_send_done/{/smr_send_done/d}'
check_error "a request executed twice" "executed out of order" judge 1 '0,/verdict=0/{/verdict=0/p}'
check_error "a request that was never sent" "has no such PSN" judge 1 '0,/smr_request/{/smr_request/s/ psn=[0-9]*/ psn=5000/}'
# A trace with nothing in it is no proof
check_error "an empty trace" "0 completed" python3 "$MODEL" check 1024 /dev/null
finish
