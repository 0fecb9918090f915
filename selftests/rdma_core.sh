#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# rdma-core's own tests, as Debian ships them: all modules except those for vendors' devices, each in its own process.
# Documentation/conformance.rst lists what they skip, and where
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

SUITE=/usr/share/doc/rdma-core/tests
# The vendors whose devices the other modules are for
VENDORS='bnxt_re|cuda|efa|efadv|hns|irdma|mana|mlx4|mlx5'
# The release of rdma-core, and how many tests it has: at least as many as the last one here before it
RELEASE=$(readlink -f /usr/lib/*/libibverbs.so.1 | sed 's/.*\.so\.1\.[0-9]*\.//')
RELEASE=${RELEASE%%.*}
for known in 44:170 56:181 65:231; do
	[ "$RELEASE" -lt "${known%:*}" ] || TESTS=${known#*:}
done

need_link_type "$LINK_TYPE"
[ -d "$SUITE" ] || skip_all "rdma-core's tests are not installed: python3-pyverbs has them"

# Debian compresses the longer ones
unpack_suite() {
	cp -r "$SUITE" "$WORK/tests" && find "$WORK/tests" -name '*.gz' -exec gunzip -f {} + &&
		find "$WORK/tests" -regextype posix-extended -regex ".*/test_($VENDORS)(_.*)?\.py" -delete
}

modules() { find "$WORK/tests" -name 'test_*.py' -printf '%f\n' | sed 's/\.py$//' | LC_ALL=C sort; }

# -- what may be skipped: rows "   TEST | BED | why", TEST being a pattern, and BED everywhere, UML, a kernel's series, or
# a release of rdma-core: rdma-core-44, and rdma-core-65+ for 65 and newer

PAGE=$(dirname "$0")/conformance.rst
[ -e "$PAGE" ] || PAGE=$(dirname "$0")/../Documentation/conformance.rst
HERE=$(uname -r | cut -d. -f1-2)
! grep -q uml /proc/version || HERE=UML
declare -A SKIPS=()

# applies BED: this is that bed
applies() {
	local from
	case $1 in
	everywhere | "$HERE" | "rdma-core-$RELEASE") ;;
	rdma-core-*+)
		from=${1#rdma-core-}
		[ "$RELEASE" -ge "${from%+}" ]
		;;
	*) return 1 ;;
	esac
}

list_of_skips() {
	local pattern bed
	while read -r pattern bed; do
		if applies "$bed"; then SKIPS[$pattern]=unused; fi
	done < <(sed -nE 's/^   (test_[^ |]+) +\| ([^ |]+) +\| .+/\1 \2/p' "$PAGE")
	[ "${#SKIPS[@]}" -gt 0 ]
}

# may_skip TEST: mark the row that allows it
may_skip() {
	local pattern
	for pattern in "${!SKIPS[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 != $pattern ]] || { SKIPS[$pattern]=used; return 0; }
	done
	return 1
}

# The lines that pyverbs_tap.py prints, counted
count_verdicts() {
	local verdict name why
	while IFS=$'\t' read -r verdict name why; do
		case $verdict in
		ok) ok "$name" ;;
		skip) if may_skip "$name"; then skip "$name" "$why"; else not_ok "$name is skipped, but not on the list: $why"; fi ;;
		"not ok") not_ok "$name" ;;
		*) echo "$verdict" ;;
		esac
	done
}

# A row whose test is no longer skipped must be removed
no_row_too_many() {
	local pattern status=0
	for pattern in "${!SKIPS[@]}"; do
		[ "${SKIPS[$pattern]}" = unused ] || continue
		echo "on the list in Documentation/conformance.rst, but not skipped: $pattern"
		status=1
	done
	return "$status"
}

all_there() { [ "$1" -ge "$TESTS" ] || { echo "only $1 tests have a result"; return 1; }; }

run_suite() {
	local names
	mapfile -t names < <(modules)
	python3 "$LIB/pyverbs_tap.py" "$WORK/tests" 100 "${names[@]}" -- --dev "$1" --gid "$2" \
		>"$WORK/out" 2>"$WORK/err" || not_ok "the suite" "$WORK/err"
	count_verdicts <"$WORK/out"
	[ "$TAP_FAILED" = 0 ] || diag "$(tail -n 50 "$WORK/err")"
	check "each of the $TESTS tests has a result" all_there "$(grep -cE $'^(ok|not ok|skip)\ttest_[^ ]*\\.' "$WORK/out")"
}

# Some tests need huge pages, and are skipped without; UML has none at all
if [ -w "$HUGE_PAGES" ]; then check "huge pages are there" huge_pages 16; fi
modprobe rdma_ucm
check "there is a list of what may be skipped" list_of_skips
check "the suite is unpacked" unpack_suite
if topology_host Y; then
	run_suite "${SIDE_DEV[server]}" 1
	check "all that is on the list is skipped" no_row_too_many
	topology_down
else
	not_ok "link for the tests"
fi
finish
