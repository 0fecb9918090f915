#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml-checked qemu-newest
# nodes: 1
# timeout: 900
#
# The guides: runs each command of these pages, in the order of the page, and compares its output with the page. With
# arguments: those pages only. First it checks that wrong pages are detected. Commands that need packages that the guest
# lacks are skipped here, and run by foreign/guide_*.sh. Lockdep is off because of NVMe's target (testing.rst).
# shellcheck disable=SC2317 # on_exit and "check" call them
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/guide.sh
. "$LIB/guide.sh"

SELFTESTS=$PWD

# notices WHAT SED-COMMAND NUMBER: NUMBER results of a page fail if SED-COMMAND changes it
notices() {
	rm -rf "$WORK/made"
	mkdir "$WORK/made"
	printf '%s\n' "Title" "=====" "" ".. run" "" "::" "" "    \$ echo one two; echo 0x123456" "    one two" "    0xabcdef" \
		"    \$ test -e /" "" ".. from: text" "" "::" "" "    a line" | sed "$2" >"$WORK/made/page.rst"
	printf '%s\n' "another line" "a  line" >"$WORK/made/text"
	guide_run "$WORK/made" page.rst
	check "$1" is "$(grep -c "^not ok" "$WORK/guide") of $(sed -n 's/^1\.\.//p' "$WORK/guide")" "$3 of 2"
}

[ "$LINK_TYPE" = softmr ] || skip_all "the pages are about softmr"
need_link_type softmr
modprobe -a ib_uverbs rdma_ucm 2>/dev/null
on_exit guide_tidy
lockdep_off

notices "a page that is true passes" "" 0
notices "another word of an output" "s/^    one two/    one too/" 1
notices "a line too few" "/^    one two/d" 1
notices "a line too many" "s/^    one two/&\n    three/" 1
notices "a number that is none" "s/0xabcdef/0xabcdefg/" 1
notices "a command that fails" "s,test -e /,test -e /nothing," 1
notices "an excerpt that is none" "s/a line/a lime/" 1
notices "a block without a mark" "/^\.\. run/d" 1
notices "a block that is not run, without a reason" "s/^\.\. run/.. not run:/" 1

pages=("$@")
[ $# -gt 0 ] || pages=(learn troubleshooting debugging storage ai README)
for page in "${pages[@]}"; do
	case $page in
	README)
		check "a link for README" link_add softmr0 eth0
		check "its GID" within 10 gid_index softmr0 10.0.0.1
		guide README "It says why"
		;;
	*) guide "Documentation/$page.rst" ;;
	esac
done
finish
