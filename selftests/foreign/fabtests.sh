#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: libfabric's fabtests: unit, functional and short tests of verbs and of verbs;ofi_rxm
# bed: qemu
# foreign: fabtests/bin/runfabtests.sh
# get: github.com/ofiwg/libfabric: libfabric and its folder fabtests, both configured with --prefix=DIR/fabtests
# timeout: 3200
#
# On UML a process that touches a GiB may need more mappings of the host's than there can be, and then faults forever.
# shellcheck disable=SC2317 # what runfabtests.sh and "check" call looks unreachable
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

listens_or_ended() { not_running "$1" || cm_listens; }

# server_ready PID: runfabtests.sh starts a client a second after its server. One that registers a GiB first listens
# later
server_ready() { within 5 listens_or_ended "$1"; }

# end_server PID: a shell, which has started timeout, which has started the server. If only the shell is killed, the next
# client meets this server
end_server() {
	kill -9 "$1"
	pkill -9 '^fi_'
}

# shellcheck disable=SC2016 # the script expands it
patient_script() {
	sed 's/^\tsleep 1$/\tserver_ready "$s_pid"/; s/kill -9 $s_pid/end_server "$s_pid"/' "$TOP/bin/runfabtests.sh" \
		>"$WORK/runfabtests.sh"
}

device_up
says "$("$TOP/bin/fi_info" --version | sed -n 's/^libfabric: //p')"
cd "$WORK" || exit
mkdir -p test_configs
cp -r "$TOP/share/fabtests/test_configs" . 2>/dev/null
setup_ok "runfabtests.sh waits for its servers" patient_script || finish
export PATIENCE NAP
export -f server_ready listens_or_ended cm_listens within nap end_server
for provider in verbs "verbs;ofi_rxm"; do
	# without names of hosts, which it would reach by ssh
	limited 500 bash "$WORK/runfabtests.sh" -v -t unit,functional,short -T $((30 * PATIENCE)) -p "$TOP/bin" \
		-g "$ADDR" -s "$ADDR" -c "$ADDR" "$provider" >"$WORK/fabtests.out" 2>&1
	status=$?
	verdicts < <(results <"$WORK/fabtests.out")
	grep -q 'Total Fail' "$WORK/fabtests.out" || not_ok "runfabtests.sh $provider came to its end (status $status)"
done
finish
