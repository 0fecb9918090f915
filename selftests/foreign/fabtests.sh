#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: libfabric's fabtests: unit, functional and short tests of verbs and of verbs;ofi_rxm
# bed: uml
# foreign: fabtests/bin/runfabtests.sh
# get: github.com/ofiwg/libfabric: libfabric and its folder fabtests, both configured with --prefix=DIR/fabtests
# timeout: 3200
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

TOP=$FOREIGN/fabtests
export LD_LIBRARY_PATH=$TOP/lib PATH=$TOP/bin:$PATH FI_VERBS_IFACE=eth0

# results: runfabtests.sh prints "NAME:   RESULT", and the output of what has failed, which need not end with a newline
results() {
	awk '
		/- name:   / { sub(/.*- name:   /, ""); name = $0; next }
		/^  result: / {
			verdict = $2 == "Pass" ? "ok" : $2 ~ /^(Notrun|Excluded)/ ? "skip" : "not ok"
			print verdict "\t" name "\t" (verdict == "skip" ? "runfabtests.sh says " $2 : "")
			next
		}
		/^ +(server|client)_(cmd|stdout)|^    / { sub(/^ +/, ""); print }'
}

device_up
says "$("$TOP/bin/fi_info" --version | sed -n 's/^libfabric: //p')"
cd "$WORK" || exit
mkdir -p test_configs
cp -r "$TOP/share/fabtests/test_configs" . 2>/dev/null
for provider in verbs "verbs;ofi_rxm"; do
	# without names of hosts, which it would reach by ssh
	limited 500 runfabtests.sh -v -t unit,functional,short -T $((30 * PATIENCE)) -p "$TOP/bin" -g "$ADDR" -s "$ADDR" -c "$ADDR" "$provider" \
		>"$WORK/fabtests.out" 2>&1
	status=$?
	verdicts < <(results <"$WORK/fabtests.out")
	grep -q 'Total Fail' "$WORK/fabtests.out" || not_ok "runfabtests.sh $provider came to its end (status $status)"
done
finish
