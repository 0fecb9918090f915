#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/foreign.sh and its table, on suites that are made up: one passes, one fails, one hangs, one is missing, one makes the
# kernel complain, one takes the guest down, and one that runs after that.
# needs: uml-checked
# timeout: 300
# shellcheck disable=SC2317 # what "check" calls looks unreachable
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
UML_FLAVOUR=checked # one that "make test" builds anyway

SUITES=$WORK/suites
OUT=$WORK/foreign

# suite NAME LINE...: its head has these lines; its text is on standard input
suite() {
	{
		printf '#!/bin/bash\n# what: made up\n# bed: uml\n'
		printf '# %s\n' "${@:2}"
		# shellcheck disable=SC2016 # the suite's shell expands it
		printf '\n. "$(dirname "$0")/../lib/foreign.sh"\n'
		cat
	} >"$SUITES/$1.sh"
	chmod +x "$SUITES/$1.sh"
}

make_suites() {
	mkdir -p "$SUITES"
	suite a_good "timeout: 60" <<-'END'
		device_up
		says 1.2
		check "the link is of the type" test -e /sys/class/infiniband/softmr0
		printf '%s\n' '[ RUN      ] x.one' '[       OK ] x.one (1 ms)' '[ RUN      ] x.two' \
			'[  SKIPPED ] x.two (0 ms)' | gtest_results >"$WORK/v"
		verdicts <"$WORK/v"
		finish
	END
	suite b_bad "timeout: 60" <<-'END'
		ok fine
		not_ok "is known [1]"
		not_ok "is not known"
		printf '%s\n' '[ RUN      ] x.one' '[  FAILED  ] x.one, where GetParam() = 3 (1 ms)' '[ RUN      ] x.crash' | gtest_results >"$WORK/v"
		verdicts <"$WORK/v"
		finish
	END
	suite c_hung "timeout: 5" <<-'END'
		device_up
		ok fine
		sleep 100
		finish
	END
	suite d_missing "foreign: d/there" "get: somewhere" <<-'END'
		ok "this is not run"
		finish
	END
	suite e_splat "timeout: 60" <<-'END'
		ok fine
		echo 'BUG: made up' >/dev/kmsg
		finish
	END
	suite f_crash "timeout: 60" <<-'END'
		ok fine
		not_ok "before the end"
		echo c >/proc/sysrq-trigger
		sleep 20
	END
	suite g_after "timeout: 60" <<-'END'
		skip_all "it has no device"
	END
}

run_all() {
	FOREIGN_SUITES=$SUITES FOREIGN=$WORK "$TOP/scripts/foreign.sh" -f "$UML_FLAVOUR" -d softmr -o "$OUT" "$@"
}

# has SUITE LINE...: its result has each line
has() {
	local line
	for line in "${@:2}"; do
		grep -qxE "$line" "$OUT/results/$1.softmr" || { cat "$OUT/results/$1.softmr"; echo "has no line: $line"; return 1; }
	done
}

lists() { grep -qxF "$1" "$WORK/out" || { cat "$WORK/out"; return 1; }; }
table_has() { grep -qF -- "$1" "$OUT/table.md" || { cat "$OUT/table.md"; return 1; }; }

# explained PATTERN...: the report, with rows for failures of b_bad
explained() {
	{
		printf "Other people's tests\n====================\n\n"
		printf '   b_bad | %s | the reason\n' "$@"
		printf 'Where softmr is different\n'
	} >"$WORK/page"
	"$TOP/scripts/foreign/report.py" "$OUT" "$SUITES" "$WORK/page" >"$WORK/out"
}

echo "TAP version 13"
make_suites
run_all >"$WORK/out" 2>&1
check "the run has failed" is $? 1
check "one that passes" has a_good 'status ran' 'counts 2 0 1 ?' 'version 1\.2' 'kernel UML .*'
check "one that fails: the names" has b_bad 'status ran' 'counts 1 4 0 ?' 'failed is known \[1\]' 'failed is not known' \
	'failed x\.one' 'failed x\.crash: it did not end'
check "one that hangs" has c_hung 'status hung' 'counts 1 1 0 ?'
check "one that is missing" has d_missing 'status missing' 'why get it from somewhere' 'counts 0 0 0'
check "a splat is a failure, and is named" has e_splat 'counts 1 1 0 ?' 'splat .*BUG: made up'
check "one that takes the guest down" has f_crash 'status crashed' 'counts 1 2 0 ?' 'failed before the end'
check "the next one runs in another guest, and may be impossible" has g_after 'status skipped' 'why it has no device'
for row in "| a_good: made up | 1.2 | uml | 2 / 0 / 1 |" "| c_hung: made up |  | uml | 1 / 1 / 0 hung |" \
	"missing: FOREIGN/d/there: get it from somewhere" "| 1 / 1 / 0 splat |" "| 1 / 2 / 0 crashed |" "| not possible |" \
	"- softmr: failed: is not known"; do
	check "the table has: $row" table_has "$row"
done
check "the table is JSON, too" python3 -m json.tool "$OUT/table.json"
cp "$OUT/results/b_bad.softmr" "$WORK/b_bad.softmr"
rm "$OUT"/results/*
cp "$WORK/b_bad.softmr" "$OUT/results"
explained "is known [1]" "x.*"
check "a failure without a reason is one" is $? 1
check "and is named" lists "  b_bad: is not known"
explained "is known [1]" "x.*" "is not*"
check "reasons for all of them" is $? 0
explained "is known [1]" "x.*" "is not*" "has passed"
check "a reason that explains nothing is no failure" is $? 0
check "and is named" lists "  b_bad | has passed"
check "the others are not" test "$(grep -c '^  b_bad |' "$WORK/out")" = 1
run_all -l >"$WORK/out"
check "the list says what is missing" lists "                         missing: FOREIGN/d/there: get it from somewhere"
finish
