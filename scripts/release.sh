#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make release: the files of a release. Each is made twice, in directories of different names, and compared; see --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

VERSION=$(cat "$TOP/VERSION")
OUT=${OUT:-$BUILD/release}
SUITES=(bookworm trixie)
PARTS=(source dkms deb rpm tar)
WORK=$BUILD/release-work

usage() {
	cat <<-EOF2
		Usage: scripts/release.sh [PART]...

		Makes in $OUT (OUT=DIR: there), as root, because packages are built in trees of their own:
		  source  softmr-$VERSION.tar.xz
		  dkms    softmr-$VERSION-dkms.tar.gz, the module's source: dkms ldtarball takes it
		  deb     packages for Debian: ${SUITES[*]}. softmr-uml is not among them: the archive of "tar" runs on any release
		  rpm     packages for Fedora and others
		  tar     softmr-run-$VERSION-x86_64.tar.xz, the kernel in it compiled twice, too
		and of what is there then SHA256SUMS.
		Without PART all of them. It fails if what was made twice is not the same.
	EOF2
}

# The time stamp of all files
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$TOP" log -1 --format=%ct 2>/dev/null || date -d "$(sed -n 's/^ -- .*>  //p' "$TOP/debian/changelog" | head -n 1)" +%s)}
export SOURCE_DATE_EPOCH

# -- the parts: make_PART N DIR makes it the Nth time, in DIR

make_source() { SOFTMR_BUILD=$WORK/$1-build OUT=$2 "$TOP/scripts/package.sh" dist; }

make_dkms() { SOFTMR_BUILD=$WORK/$1-build OUT=$2 "$TOP/scripts/package.sh" dkms; }

# in_suite SUITE N COMMAND: run COMMAND in a tree with that Debian, where the source is /root/N-source; OUT is
# $WORK/packages
in_suite() {
	local SUITE=$1 n=$2 WORK=$WORK/$1
	mkdir -p "$WORK/packages"
	# shellcheck source=scripts/lib/tree.sh
	. "$TOP/scripts/lib/tree.sh"
	build_base
	rm -rf "$WORK/tree"
	unpack_base "$WORK/tree"
	mkdir -p "$WORK/tree/root/$n-source"
	tar -C "$WORK/tree/root/$n-source" --strip-components=1 -xf "$SOURCE"
	in_tree "$WORK/tree" env SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" DEB_BUILD_PROFILES=pkg.softmr.nouml \
		sh -ec "cd /root/$n-source; $3"
	rm -rf "$WORK/tree"
}

# All packages are made from the source's archive
need_source() {
	SOURCE=$WORK/softmr-$VERSION.tar.xz
	[ -e "$SOURCE" ] || { make_source 0 "$WORK/0-out" && mv "$WORK/0-out/softmr-$VERSION.tar.xz" "$SOURCE"; }
}

make_deb() {
	local suite
	need_source
	for suite in "${SUITES[@]}"; do
		in_suite "$suite" "$1" "make deb OUT=/packages/$1-out"
		cp "$WORK/$suite/packages/$1-out"/*.deb "$2"
		rm -f "$2"/*-dbgsym_*.deb
	done
}

# rpmbuild puts the expanded spec into the source package, with the directory of the build, and that package's hash into
# all others. So always use the same directory, as mock does
make_rpm() {
	need_source
	in_suite trixie "$1" "apt-get -q -y install rpm zstd && SOFTMR_BUILD=/builddir make rpm OUT=/packages/$1-out"
	cp "$WORK/trixie/packages/$1-out"/*.rpm "$2"
}

# The second time the cache has no kernel, only its source
make_tar() {
	local build=$BUILD cache=${CACHE%/softmr}
	if [ "$1" = 2 ]; then
		build=$WORK/2-build cache=$WORK/2-cache
		mkdir -p "$cache/softmr"
		ln -sfn "$UML_SOURCE" "$cache/softmr/${UML_SOURCE##*/}"
		ln -sfn "$RDMA_CORE_APT" "$cache/softmr/${RDMA_CORE_APT##*/}"
	fi
	XDG_CACHE_HOME=$cache SOFTMR_BUILD=$build OUT=$2 "$TOP/scripts/package.sh" tar
}

# twice PART
twice() {
	local part=$1 n dirs=()
	for n in 1 2; do
		dirs[n]=$WORK/$n-$part
		rm -rf "${dirs[n]}"
		mkdir -p "${dirs[n]}"
		"make_$part" "$n" "${dirs[n]}"
	done
	diff -r "${dirs[1]}" "${dirs[2]}" >&2 || die 1 "$part: what was made twice is not the same: ${dirs[1]}, ${dirs[2]}"
	cp "${dirs[1]}"/* "$OUT"
	say "  SAME  $part, made twice: $(cd "${dirs[1]}" && echo *)"
}

hash_files() {
	cd "$OUT"
	rm -f SHA256SUMS
	sha256sum -- * >"$WORK/SHA256SUMS"
	cp "$WORK/SHA256SUMS" .
}

case ${1:-} in
--help | -h)
	usage
	exit
	;;
esac
for part in "$@"; do
	[[ " ${PARTS[*]} " == *" $part "* ]] || die 2 "there is no part '$part'; there are: ${PARTS[*]}"
done
am_root || die 1 "packages are built in trees of Debian: run make release as root, in a container for instance"
at_exit end_jobs
rm -rf "$WORK"
mkdir -p "$WORK" "$OUT"
[ $# != 0 ] || set -- "${PARTS[@]}"
for part in "$@"; do twice "$part"; done
hash_files
say "The release is in $OUT: $(cd "$OUT" && echo *)"
