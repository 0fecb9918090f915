# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The headers of kernels that are not yet in Debian 13, and the module built with them.

# A separate apt state: no bed may take a package from these suites
AHEAD_APT=$CACHE/apt-ahead
AHEAD=$IMAGE/ahead

# A mirror's copy of sid may be days old
# shellcheck disable=SC2034 # apt_lists uses them
ahead_lists() {
	local APT_DIR=$AHEAD_APT APT_OPTIONS='Acquire::Check-Valid-Until "false";'
	apt_lists apt_lines deb sid experimental
	archive_kernels >"$APT_DIR/kernels"
}

# The packages of the headers of RELEASE: its own, and those of the kernel's packages that they depend on
header_packages() {
	awk -v name="linux-headers-$1" '
		$2 == name { print $2; for (i = 4; i <= NF; i++) if ($i ~ /^linux-(headers|kbuild)-/) print $i }' "$AHEAD_APT/kernels" |
		sort -u
}

# ahead_headers RELEASE: unpack them below $AHEAD/RELEASE, with their paths adjusted to that place in the image
ahead_headers() {
	local dir=$AHEAD/$1 deb APT_DIR=$AHEAD_APT
	rm -rf "$dir"
	mkdir -p "$dir/debs"
	# shellcheck disable=SC2046 # words are meant
	(cd "$dir/debs" && apt_own apt-get -q download $(header_packages "$1"))
	for deb in "$dir"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$dir" --no-same-owner --transform 's:^\./lib/:./usr/lib/:' -xf -
	done
	rm -r "$dir/debs"
	sed -i "s:/usr/src/:/build/ahead/$1/usr/src/:g" "$dir/usr/src/linux-headers-$1/Makefile"
}

# ahead_lacks RELEASE: why DKMS would not even try to build the module for it
ahead_lacks() { config_lacks "$AHEAD/$1/usr/src/linux-headers-$1/.config"; }

# That suite's compiler is newer than the image's. So the image's compiler warns about attributes that it does not know,
# and a warning must not be an error here: a probe would fail. The objects are never loaded.
ahead_build() {
	local release=$1
	sync_tree "$TOP/kernel" "$AHEAD/kernel-$release"
	in_image make -C "/build/ahead/$release/usr/src/linux-headers-$release" M="/build/ahead/kernel-$release" CC=gcc \
		W=1 KCFLAGS=-Wno-attributes -j"$(nproc)" modules
}
