#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Print the directory of the rdma-core source (or of a part of it) from which a provider for the installed libibverbs is
# built; see --help.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/lib/common.sh"

usage() {
	cat <<-EOF
		Usage: scripts/rdma-core-source.sh [VERSION]

		Prints the directory of the source of rdma-core VERSION (default: that of the installed libibverbs). It is the
		first of these that exists:

		  1. RDMA_CORE_SOURCE=DIR. A source that does not fit that version is an error.
		  2. packaging/rdma-core/VERSION: the headers alone. They come with softmr for $(vendored), one or two
		     for each layout of the private interface, and each does for all releases of the same layout.
		  3. What an earlier call fetched, in $CACHE/rdma-core.
		  4. The source package in the archive that this machine's apt uses. Neither deb-src lines nor root are needed.

		  --installed           print only the version of the installed libibverbs
		  --headers [VERSION]   print only what is in packaging/rdma-core, if it is there
		  --range [VERSION]     print "FIRST END": a provider for VERSION fits from FIRST to before END
	EOF
}

vendored() { (cd "$TOP/packaging/rdma-core" && printf '%s\n' * | sort -V | paste -sd ' '); }

# layouts: the first release of each layout of the private interface, as userspace/cmake has them
layouts() { sed -nE 's/^set\(RDMA_CORE_LAYOUTS ([0-9 ]+)\)$/\1/p' "$TOP"/userspace/cmake/*.cmake | tr ' ' '\n'; }

# range_of VERSION: "FIRST END", the releases of the same layout, END not included. A release newer than the table has a
# layout of its own.
range_of() {
	layouts | awk -v major="${1%%.*}" '
		{ newest = $1 }
		$1 <= major { first = $1 }
		$1 > major && !end { end = $1 }
		END {
			if (!first || major >= newest) first = major
			print first, end && major < newest ? end : major + 1
		}'
}

# headers_for VERSION: the folder of its headers, or of those of a release with the same layout; nothing if there is
# none
headers_for() {
	local version
	for version in "$1" $(vendored); do
		if [ -d "$TOP/packaging/rdma-core/$version" ] && [ "$(range_of "$version")" = "$(range_of "$1")" ]; then
			echo "$TOP/packaging/rdma-core/$version"
			return
		fi
	done
}

# libibverbs.so.1.14.56.1 is of rdma-core 56.1
installed_version() {
	local cc=${CC:-cc} lib=''
	if have "$cc"; then lib=$("$cc" -print-file-name=libibverbs.so.1); fi
	[ -e "$lib" ] || lib=$(ldconfig -p 2>/dev/null | awk '$1 == "libibverbs.so.1" { print $NF; exit }')
	[ -e "$lib" ] || die 1 "libibverbs is not installed (Debian: apt-get install libibverbs-dev;" \
		"Fedora: dnf install rdma-core-devel)"
	lib=$(realpath "$lib")
	[[ $lib =~ \.so\.1\.[0-9]+\.([0-9]+\.[0-9]+)$ ]] || die 1 "cannot tell the version of rdma-core from the name $lib"
	echo "${BASH_REMATCH[1]}"
}

# source_version DIR
source_version() { sed -nE 's/^set\(PACKAGE_VERSION "([0-9.]+)"\)/\1/p' "$1/CMakeLists.txt" 2>/dev/null; }

given_source() {
	[ -e "$RDMA_CORE_SOURCE/libibverbs/driver.h" ] ||
		die 1 "RDMA_CORE_SOURCE=$RDMA_CORE_SOURCE is no unpacked rdma-core source (it has no libibverbs/driver.h)"
	[ "$(range_of "$(source_version "$RDMA_CORE_SOURCE")")" = "$(range_of "$1")" ] ||
		die 1 "RDMA_CORE_SOURCE=$RDMA_CORE_SOURCE is rdma-core $(source_version "$RDMA_CORE_SOURCE")," \
			"but libibverbs here is of $1; the two do not fit together"
	realpath "$RDMA_CORE_SOURCE"
}

# -- from the archive: the machine's own sources with deb-src in place of deb, in an apt state of our own

own_sources() {
	local uri suite component signed
	# shellcheck disable=SC2016 # apt's variables, not the shell's
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' 'Created-By: Packages' |
		sort -u | while read -r uri suite component signed; do
		# a key may also be in the sources file itself; apt then has it in trusted.gpg.d's place, so name files only
		[[ $signed = /* ]] && signed="[signed-by=${signed%% *}] " || signed=
		case $suite in
		*/) echo "deb-src $signed$uri $suite" ;;
		*) echo "deb-src $signed$uri $suite $component" ;;
		esac
	done
}

apt_state() {
	echo "-o Dir::Etc::SourceList=$1/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$1/lists" \
		"-o Dir::Cache=$1/cache -o APT::Sandbox::User= -o APT::Get::List-Cleanup=false -o Acquire::Languages=none"
}

# The source package's version: that of the installed binary, or another one of the same upstream version
package_version() {
	local state=$1 version=$2 exact=''
	exact=$(dpkg-query -W -f '${source:Version}' libibverbs1 2>/dev/null || true)
	# shellcheck disable=SC2086 # words are meant
	apt-cache $state showsrc rdma-core 2>/dev/null | sed -n 's/^Version: //p' |
		awk -v exact="$exact" -v upstream="$version" '
			index($0, upstream "-") != 1 { next }
			$0 == exact { print; found = 1; exit }
			{ other = $0 }
			END { if (!found && other) print other }'
}

from_archive() {
	local version=$1 work=$2 state package
	have apt-get || die 1 "the source of rdma-core $version is needed, and this machine has no apt to get it with;" \
		"unpack it and give RDMA_CORE_SOURCE=DIR (its releases: https://github.com/linux-rdma/rdma-core/releases)"
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
	own_sources >"$work/sources.list"
	[ -s "$work/sources.list" ] || die 1 "apt knows no archive yet; run apt-get update, or give RDMA_CORE_SOURCE=DIR"
	state=$(apt_state "$work")
	# shellcheck disable=SC2086 # words are meant
	apt-get -q $state update >&2 || die 1 "the package lists of the sources could not be had (see above)"
	package=$(package_version "$state" "$version")
	[ -n "$package" ] || die 1 "the archive has no source of rdma-core $version;" \
		"unpack it and give RDMA_CORE_SOURCE=DIR (its releases: https://github.com/linux-rdma/rdma-core/releases)"
	# shellcheck disable=SC2086 # words are meant
	(cd "$work" && apt-get -q $state source --download-only "rdma-core=$package" >&2) ||
		die 1 "the source of rdma-core $package could not be fetched (see above); give RDMA_CORE_SOURCE=DIR"
	mkdir "$work/source"
	tar -C "$work/source" --strip-components=1 --no-same-owner -xf "$work"/rdma-core_*.orig.tar.*
}

# fetched_source VERSION: only the headers are kept; an incomplete source is never found
fetched_source() {
	local version=$1 dir=$CACHE/rdma-core/$1
	if [ ! -e "$dir/CMakeLists.txt" ]; then
		have python3 || die 1 "this machine lacks python3"
		mkdir -p "$CACHE/rdma-core"
		WORK=$(mktemp -d "$CACHE/rdma-core/tmp.XXXXXX")
		say "fetching the source of rdma-core $version"
		from_archive "$version" "$WORK"
		"$TOP/scripts/rdma-core-headers" "$WORK/source" "$WORK/headers"
		mv "$WORK/headers" "$dir"
	fi
	echo "$dir"
}

tidy() { [ -z "${WORK:-}" ] || rm -rf "$WORK"; }

case ${1:-} in
--help | -h) usage ;;
--installed) installed_version ;;
--range) range_of "${2:-$(installed_version)}" ;;
--headers)
	version=${2:-$(installed_version)}
	headers_for "$version" | grep . || die 1 "packaging/rdma-core has no headers that fit rdma-core $version"
	;;
-*) die 2 "unknown option $1 (see --help)" ;;
*)
	at_exit tidy
	version=${1:-$(installed_version)}
	if [ -n "${RDMA_CORE_SOURCE:-}" ]; then
		given_source "$version"
	elif [ -n "$(headers_for "$version")" ]; then
		headers_for "$version"
	else
		with_lock rdma-core fetched_source "$version"
	fi
	;;
esac
