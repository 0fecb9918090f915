# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sources of rdma-core to compare with and to export to: those of Debian's suites, fetched by apt. RDMA_CORE_SOURCES
# names directories of others, separated by ":".
#
#   $CACHE/rdma-core/VERSION   an unpacked source

RDMA_CORE_SUITES=(bookworm trixie sid)
RDMA_CORE_APT=$CACHE/apt-rdma-core # the beds' own package lists are of other suites

# rdma_core_value DIR NAME: the value that rdma-core's own build sets
rdma_core_value() { sed -n "s/^set($2 \"\\(.*\\)\")/\\1/p" "$1/CMakeLists.txt"; }

# rdma_core_archive MINUTES: update the package lists if they are older than that
rdma_core_archive() {
	local APT_DIR=$RDMA_CORE_APT
	[ -z "$(find "$APT_DIR/updated" -mmin "-$1" 2>/dev/null)" ] || return 0
	apt_lists rdma_core_lines >&2 && touch "$APT_DIR/updated"
}

rdma_core_lines() { apt_lines deb "${RDMA_CORE_SUITES[@]}" && apt_lines deb-src "${RDMA_CORE_SUITES[@]}"; }

# rdma_core_full SUITE: the version of the source package: 56.1-1
rdma_core_full() {
	APT_DIR=$RDMA_CORE_APT apt_own apt-cache madison rdma-core |
		awk -F' *[|] *' -v suite=" $1/main Sources" 'index($3, suite) { print $2; exit }'
}

# rdma_core_given VERSION: one of RDMA_CORE_SOURCES
rdma_core_given() {
	local dirs dir
	IFS=: read -ra dirs <<<"${RDMA_CORE_SOURCES:-}"
	for dir in "${dirs[@]}"; do
		[ "$(rdma_core_value "$dir" PACKAGE_VERSION)" = "$1" ] && echo "$dir" && return
	done
	return 1
}

# rdma_core_source FULL: print the directory of the source
rdma_core_source() {
	local version=${1%-*} dir
	rdma_core_given "$version" && return
	dir=$CACHE/rdma-core/$version
	if [ ! -e "$dir" ]; then
		mkdir -p "$CACHE/rdma-core"
		rm -rf "$dir.new"
		APT_DIR=$RDMA_CORE_APT apt_source "rdma-core=$1" "$dir.new" >"$CACHE/rdma-core/log" 2>&1 || true
		[ -e "$dir.new/libibverbs/driver.h" ] || {
			say "  NOTE  the archive names the source of rdma-core $version, but does not have it"
			rm -rf "$dir.new"
			return 1
		}
		mv "$dir.new" "$dir"
	fi
	echo "$dir"
}

# rdma_core_sources: print the directories of all, the newest last. Checking once a month whether a suite has another
# one is enough: rdma-core is released four times a year
rdma_core_sources() {
	local suite full dirs
	if rdma_core_archive 43200; then
		for suite in "${RDMA_CORE_SUITES[@]}"; do
			full=$(rdma_core_full "$suite")
			[ -z "$full" ] || with_lock rdma-core rdma_core_source "$full" || true
		done
	fi
	IFS=: read -ra dirs <<<"${RDMA_CORE_SOURCES:-}"
	printf '%s\n' "${dirs[@]}"
}

# rdma_core_all: the same, each once, by their version
rdma_core_all() {
	local dir
	rdma_core_sources | grep . | sort -u | while IFS= read -r dir; do
		echo "$(rdma_core_value "$dir" PACKAGE_VERSION) $dir"
	done | sort -V | cut -d' ' -f2-
}
