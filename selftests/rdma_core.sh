#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml-kasan uml-lockdep qemu-7.2
# nodes: 1
# timeout: 240
# boot: kmemleak
#
# rdma-core's own tests, as Debian ships them, each module in a process of its own: memory regions, queue pairs,
# windows and on-demand paging, and what they stand on
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

SUITE=/usr/share/doc/rdma-core/tests
MODULES=(test_pd test_cq_events test_mr test_odp test_fork test_srq test_cqex test_atomic test_qpex
	test_relaxed_ordering test_device test_cq test_qp test_parent_domain test_shared_pd test_addr test_flow)

need_link_type "$LINK_TYPE"
[ -d "$SUITE" ] || skip_all "rdma-core's tests are not installed: python3-pyverbs has them"

# Debian compresses the longer ones
# shellcheck disable=SC2317 # check calls it
unpack_suite() { cp -r "$SUITE" "$WORK/tests" && find "$WORK/tests" -name '*.gz' -exec gunzip -f {} +; }

# The lines that pyverbs_tap.py prints, counted
report() {
	local module=$1 verdict name why
	while IFS=$'\t' read -r verdict name why; do
		case $verdict in
		ok) ok "$name" ;;
		skip) skip "$name" "$why" ;;
		"not ok") not_ok "$name" ;;
		*) echo "# $verdict" ;;
		esac
	done <"$WORK/$module.log"
}

run_module() {
	local module=$1 status=0
	timeout 100 python3 "$LIB/pyverbs_tap.py" "$WORK/tests" "$module" --dev "$2" --gid "$3" \
		>"$WORK/$module.log" 2>"$WORK/$module.err" || status=$?
	report "$module"
	if [ "$status" = 0 ]; then
		ok "$module came to its end"
	else
		not_ok "$module came to its end (status $status)" "$WORK/$module.err"
	fi
}

# Some tests need huge pages, and are skipped without; UML has none at all
if [ -w "$HUGE_PAGES" ]; then check "huge pages are there" huge_pages 16; fi
check "the suite is unpacked" unpack_suite
if topology_host Y; then
	for module in "${MODULES[@]}"; do
		run_module "$module" "${SIDE_DEV[server]}" 1
	done
	topology_down
else
	not_ok "link for the tests"
fi
finish
