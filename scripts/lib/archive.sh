# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The archive softmr-run-VERSION-x86_64.tar.xz: "softmr run" for any Linux on x86-64, unpacked anywhere. It has the
# runtime (run.sh), and also
#
#   verbs/lib/       a libibverbs, librdmacm and libnl, for guests of machines that have none (--with-verbs)
#   verbs/libc/      the C library that the programs are run with
#   verbs/programs/  ibv_devinfo, ibv_rc_pingpong...
#   verbs/bin/       the same, as they are called: each by that C library's loader
#   SOURCES          what kernel and verbs/ were made of
#   softmr-run.1  README  LICENSES/

# The oldest suite: its programs run with the oldest C library
ARCHIVE_SUITE=${RDMA_CORE_SUITES[0]}
ARCHIVE_PACKAGES=(libibverbs1 librdmacm1 libnl-3-200 libnl-route-3-200 ibverbs-utils libc6)
ARCHIVE_LIBRARIES=(libibverbs.so.1 librdmacm.so.1 libnl-3.so.200 libnl-route-3.so.200)
ARCHIVE_LIBC=(libc.so.6 libm.so.6 ld-linux-x86-64.so.2)
ARCHIVE_MOST=$((40 << 20)) # bytes

# archive_fetch DIR: the packages, unpacked in DIR/root
# shellcheck disable=SC2034 # apt_own uses APT_DIR
archive_fetch() {
	local dir=$1 deb APT_DIR=$RDMA_CORE_APT
	mkdir -p "$dir/root"
	rdma_core_archive 43200
	(cd "$dir" && apt_own apt-get -q download "${ARCHIVE_PACKAGES[@]/%//$ARCHIVE_SUITE}")
	# shellcheck disable=SC2016 # dpkg's variables, not the shell's
	for deb in "$dir"/*.deb; do
		dpkg-deb -x "$deb" "$dir/root"
		dpkg-deb --show --showformat '${Package} ${Version} ${source:Package} ${source:Version}\n' "$deb"
	done | LC_ALL=C sort >"$dir/packages"
}

# in_packages ROOT NAME: the file to which a library's name links
in_packages() { realpath -e "$1"/{usr/,}lib{/x86_64-linux-gnu,64}/"$2" 2>/dev/null | head -n 1; }

# archive_add_verbs DIR FETCHED
archive_add_verbs() {
	local dir=$1/verbs fetched=$2 name path
	mkdir -p "$dir"/{lib,libc,programs,bin}
	for name in "${ARCHIVE_LIBRARIES[@]}"; do cp "$(in_packages "$fetched/root" "$name")" "$dir/lib/$name"; done
	for name in "${ARCHIVE_LIBC[@]}"; do cp "$(in_packages "$fetched/root" "$name")" "$dir/libc/$name"; done
	for path in "$fetched"/root/usr/bin/ibv_*; do
		name=${path##*/}
		cp "$path" "$dir/programs"
		cat >"$dir/bin/$name" <<-EOF2
			#!/bin/sh
			at=/run/softmr/verbs
			exec "\$at/libc/ld-linux-x86-64.so.2" --library-path "\$at/lib:\$at/libc" "\$at/programs/$name" "\$@"
		EOF2
		chmod 755 "$dir/bin/$name"
	done
}

# archive_fill DIR FETCHED
archive_fill() {
	local dir=$1
	rm -rf "$dir"
	mkdir -p "${dir%/*}"
	cp -r "$RUN_RUNTIME" "$dir"
	# debug information. The modules need their symbols
	strip --strip-debug "$dir"/modules/updates/*.ko
	strip "$dir/softmr-run" "$dir"/provider/{libsoftmr,plugin}.so
	archive_add_verbs "$dir" "$2"
	cp "$TOP/userspace/run/softmr-run.1" "$dir"
	cp -r "$TOP/LICENSES" "$dir"
	sed -e 1d -e "s/@VERSION@/$(cat "$TOP/VERSION")/" "$TOP/packaging/run-README.in" >"$dir/README"
	{
		echo "vmlinux, modules: $(cat "$UML_SOURCE/.package") of Debian, with scripts/uml/*.patch and kernel/ of softmr"
		sed -E 's/^([^ ]+) [^ ]+ ([^ ]+) ([^ ]+)$/verbs: \1 of Debian, source package \2 \3/' "$2/packages"
	} >"$dir/SOURCES"
}

# archive_check FILE: it is not larger than the documented size
archive_check() {
	local size
	size=$(stat -c %s "$1")
	[ "$size" -le "$ARCHIVE_MOST" ] || die 1 "$1 has $size bytes, more than $ARCHIVE_MOST"
	say "made $1: $((size / 100000 / 10)).$((size / 100000 % 10)) MB"
}
