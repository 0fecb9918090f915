# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Pages whose commands are run (guide.py says how they are marked). The guest has a copy of them, and of the programs that
# they are about, in $SELFTESTS/guides.

# guide_run DIR PAGE [SECTION]: run it in DIR; its TAP is in $WORK/guide
guide_run() { (cd "$1" && python3 "$SELFTESTS/lib/guide.py" "${@:2}") >"$WORK/guide" 2>&1; }

# guide PAGE [SECTION]: its results are results of this test. Pages share a directory, so that programs are compiled once, and
# each begins on a machine without links
guide() {
	[ -d "$WORK/tree" ] || cp -r "$SELFTESTS/guides" "$WORK/tree"
	guide_run "$WORK/tree" "$@"
	tap_include "$WORK/guide"
	grep -q '^1\.\.' "$WORK/guide" || not_ok "$1 was run to its end" "$WORK/guide"
	guide_tidy
}

# guide_suite PAGE: all of a foreign suite that is a page
guide_suite() {
	[ "$LINK_TYPE" = softmr ] || skip_all "the page is about softmr"
	need_link_type softmr
	modprobe -q rdma_ucm
	says "$(uname -r)"
	on_exit guide_tidy
	guide "$1"
	finish
}

guide_tidy() {
	local link
	for link in $(rdma link show | sed -n 's|^link \([^/]*\)/.*|\1|p'); do rdma link del "$link"; done
	ip link del wire0
	ip addr del 192.0.2.1/24 dev eth0
	modprobe -r rdma_rxe
	modprobe -r brd
} 2>/dev/null
