#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Nothing of rdma-core's sources is in the tree: no run of six equal lines, compared with the sources that Debian's suites
# have and those that RDMA_CORE_SOURCES names. scripts/equal-lines notices such a run.
# timeout: 240
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

THEIRS=$WORK/theirs
OURS=$WORK/ours

# ours LINE...: a tree of one file with these lines
ours() {
	rm -rf "$OURS"
	mkdir -p "$OURS/folder"
	printf '%s\n' "$@" >"$OURS/folder/file.c"
}

compared() { "$TOP/scripts/equal-lines" -d "$OURS" "$THEIRS"; }

echo "TAP version 13"
mkdir -p "$THEIRS/deep"
printf '%s\n' zero one two "	three" "four  five" "" six seven >"$THEIRS/deep/file.h"
ours none one two three "four five" six other
check "five equal lines are none of theirs" compared
ours none one two three "four five" six seven
check_error "six are, in any folder" 'folder/file.c:2-7 is also in .*/deep/file.h:2' compared
ours none "  one" two "" three "	four five" six seven none
check_error "... with other white space" 'folder/file.c:2-8 is also in ' compared
ours zero one two three "four five" six seven
check "a longer run is reported once" is "$(compared)" "folder/file.c:1-7 is also in $THEIRS/deep/file.h:1"
ours one two three "/* ours */" "four five" six seven
check "a line of our own ends a run" compared
ours zero one two three "four five" six seven
mv "$OURS/folder" "$OURS/LICENSES"
check "licences may be equal" compared
check_error "no source, no answer" 'there is no text in' "$TOP/scripts/equal-lines" "$WORK/nowhere"

n=0
while IFS= read -r dir; do
	n=$((n + 1))
	check "nothing of rdma-core $(rdma_core_value "$dir" PACKAGE_VERSION) is in the tree" "$TOP/scripts/equal-lines" "$dir"
done < <(rdma_core_all)
[ "$n" -gt 0 ] || not_ok "there is a source of rdma-core to compare with: apt, or RDMA_CORE_SOURCES" /dev/null
finish
