#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which tests scripts/run-tests.sh runs on which bed: each test on all beds, except where the bed's kernel lacks
# something; fewer in the break and in the daily run, but within the rota's 14 turns all that it has.
# timeout: 120
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# listed FILE OPTION...: "BED TEST" for each test that would run
listed() { "$TOP/scripts/run-tests.sh" -l "${@:2}" >"$WORK/$1" 2>"$WORK/out"; }

# on BED FILE
on() { sed -n "s/^$1 //p" "$WORK/$2" | sort; }

# lacks BED TEST...: all tests but these run there
lacks() {
	local bed=$1
	shift
	comm -23 "$WORK/tests" <(on "$bed" all) >"$WORK/out"
	printf '%s\n' "$@" | sort | diff - "$WORK/out" >/dev/null
	report $? "$bed: everything but $*"
}

echo "TAP version 13"
listed all -a
report $? "the tests of the whole run are listed"
printf '%s\n' "$TOP"/selftests/*.sh "$TOP"/selftests/*.c | sed 's,.*/,,; s,\.c$,,' | sort >"$WORK/tests"
before=(data_fail fuzz_rings fuzz_verbs fuzz_wire)
after=(soak verbs_fail_nth window_trace.sh)
lacks qemu-newest "${before[@]}" link_fail_nth mr_fail_nth "${after[@]}"
lacks qemu-stable "${before[@]}" guides.sh interop_rxe.sh link_fail_nth mr_fail_nth programs_rxe.sh "${after[@]}"
lacks qemu-oldest "${before[@]}" guides.sh interop_rxe.sh link_fail_nth mr_fail_nth programs_rxe.sh rc_persist "${after[@]}"
lacks qemu-rt data_fail firewall.sh "${before[@]:1}" guides.sh interop_rxe.sh kverbs.sh link_fail_nth mr_fail_nth nfs.sh nvmeof.sh \
	programs_rxe.sh rc_persist rc_sqpoll soak softirq_budget.sh ulp_nodes.sh verbs_fail_nth window_trace.sh
lacks uml-checked egress_owner firewall.sh ipsec.sh mr_hwpoison nfs.sh odp_told rc_persist rx_cpus ulp_nodes.sh

# -- the break

listed break
report $? "the tests of the break are listed"
cut -d' ' -f1 "$WORK/break" | sort -u >"$WORK/out"
printf '%s\n' host qemu-newest qemu-oldest | diff - "$WORK/out" >/dev/null
report $? "they are on two stock kernels, and on the host"
on qemu-oldest break | grep -c '^semantics_' >"$WORK/out"
check "what the verbs on memory promise is tried on the oldest kernel" is "$(<"$WORK/out")" \
	"$(find "$TOP/selftests" -name 'semantics_*.c' | wc -l)"
# Each subject of selftests/README has a test in it. The pages alone take six minutes, and bugs that are planted need a
# kernel of UML
{ on qemu-newest break; on host break; } | sed 's/\.sh$//' >"$WORK/names"
sed -n '/^---/,/^$/p' "$TOP/selftests/README" | grep -vE '^---|^$|^that (a page|a test)' | while IFS= read -r subject; do
	grep -oE '[a-z_*]+\.(c|sh)\b|beds/' <<<"${subject:56}" | sed -E 's/\.(c|sh)$//; s,^beds/,*,; s/\*/.*/' | sed 's/.*/^&$/' >"$WORK/pattern"
	grep -qf "$WORK/pattern" "$WORK/names" || echo "no test of: ${subject%%  *}"
done >"$WORK/out"
[ ! -s "$WORK/out" ]
report $? "each subject of selftests/README has a test in it"
on host break | sed "s,^,$TOP/selftests/beds/," | xargs grep -l '^# needs: ' >"$WORK/out"
[ ! -s "$WORK/out" ]
report $? "none of them compiles a kernel"

# -- the turns of the rota

for turn in {1..14}; do listed "turn.$turn" -d -D "$turn"; done
comm -23 <(sort "$WORK/break") <(sort "$WORK/turn.1") >"$WORK/out"
[ ! -s "$WORK/out" ]
report $? "each turn has the break"
sort -u "$WORK"/turn.* >"$WORK/week"
grep -E '^(qemu-newest|qemu-oldest|uml-checked|host) ' "$WORK/all" | sort | comm -23 - "$WORK/week" >"$WORK/out"
[ ! -s "$WORK/out" ]
report $? "within 14 turns each test has run on the newest kernel, the oldest, and with sanitizers"
for bed in qemu-stable qemu-cloud qemu-rt; do
	comm -23 <(on "$bed" all) <(on "$bed" week) | grep -E '^(rc|uc|ud|raw|semantics)_' >"$WORK/out"
	[ ! -s "$WORK/out" ] && grep -q '^rc_data$' <(on "$bed" week)
	report $? "... and on $bed what goes over the wire"
done
grep -lE '^(#| \*) race: yes' "$TOP"/selftests/*.sh "$TOP"/selftests/*.c | sed 's,.*/,,; s/\.c$//' | sort |
	diff - <(on qemu-race week) >"$WORK/out"
[ ! -s "$WORK/out" ] && grep -l '^qemu-race ' "$WORK"/turn.* | wc -l | grep -qx 1
report $? "... and some with KCSAN, all in one turn"
for turn in {1..14}; do "$TOP/scripts/run-tests.sh" -k -d -D "$turn"; done | sort | uniq -c | tr -s ' \n' ' ' >"$WORK/out"
check "one UML kernel is built in each turn, in one turn that without sanitizers" is "$(<"$WORK/out")" " 13 checked 1 plain "
grep -l '^uml-checked ' "$WORK"/turn.* | wc -l | grep -qx 13 && ! grep -l '^host run\.sh' "$WORK"/turn.* | xargs grep -q '^uml-checked '
report $? "... and nothing runs on the other one then"
cat "$WORK"/turn.* | sort | uniq -c | awk '$1 != 1 && $1 != 14 && !($1 == 13 && $2 == "uml-checked")' >"$WORK/out"
[ ! -s "$WORK/out" ]
report $? "what does not run in each turn runs once"
listed again -d -D 15
diff "$WORK/turn.1" "$WORK/again" >"$WORK/out"
report $? "a week later it is the same"

listed named -t netem -b uml-checked
[ "$(<"$WORK/named")" = "uml-checked netem.sh" ]
report $? "a bed and a test that are named are run, whatever the test says"
! listed none -b nothing && grep -q "there is no bed 'nothing'; there are: " "$WORK/out"
report $? "a bed that there is not is refused"
finish
