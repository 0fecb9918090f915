# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Other people's suites, for scripts/foreign.sh: the settings in the heads of selftests/foreign/*.sh, and the layer on
# top of the guest image with the Debian packages that they need.
#
#   $CACHE/foreign-KEY/layer/         the packages that the image lacks, unpacked
#   $BUILD/foreign/qemu.erofs         the same, and modules that the image is made without, for QEMU

FOREIGN_SUITES=${FOREIGN_SUITES:-$TOP/selftests/foreign}
# Modules that the image lacks: SCSI, for iSER and SRP
FOREIGN_MODULES=(drivers/scsi)

foreign_suites() { find "$FOREIGN_SUITES" -maxdepth 1 -name '*.sh' -printf '%f\n' | sed 's/\.sh$//' | LC_ALL=C sort; }

# foreign_setting SUITE KEY [DEFAULT]: a setting in its head
foreign_setting() {
	local value
	value=$(sed -n "/^#/!q; s/^# $2: *//p" "$FOREIGN_SUITES/$1.sh")
	echo "${value:-${3:-}}"
}

foreign_packages() {
	local suite
	for suite in $(foreign_suites); do foreign_setting "$suite" packages; done | tr ' ' '\n' | grep . | LC_ALL=C sort -u || true
}

# shellcheck disable=SC2153 # BASE is the guest image
foreign_key() {
	{
		echo "$BASE ${FOREIGN_MODULES[*]}"
		foreign_packages
		declare -f foreign_fetch foreign_unpack foreign_take
	} | sha256sum | cut -c1-16
}

# foreign_apt TOOL ARGS...: the archive, for a machine that has the image's packages
foreign_apt() {
	local tool=$1
	shift
	apt_own "$tool" -o Dir::State::status="$BASE/root/var/lib/dpkg/status" -o Dir::Cache::archives="$ARCHIVES" "$@"
}

foreign_fetch() { foreign_apt apt-get -q -y --no-install-recommends --download-only install "$@"; }

# foreign_unpack DEB DIR: as dpkg would, but without configuring it: no script runs. Directories such as /bin are moved
# below /usr, as in the image
foreign_unpack() {
	local dir
	dpkg-deb -x "$1" "$2"
	for dir in bin sbin lib lib64; do
		[ -d "$2/$dir" ] || continue
		mkdir -p "$2/usr/$dir"
		cp -a "$2/$dir/." "$2/usr/$dir/"
		rm -rf "${2:?}/$dir"
	done
}

# foreign_take OUT: fetch and unpack them, and the modules of the newest kernel
foreign_take() {
	local out=$1 release deb dir package packages
	ARCHIVES=$out/archives
	release=$(kernel_release newest)
	mkdir -p "$ARCHIVES/partial" "$out/layer" "$out/modules"
	mapfile -t packages < <(foreign_packages)
	# the lists are as old as the image; the packages in them may be gone from the archive
	foreign_fetch "${packages[@]}" || { apt_refresh && foreign_fetch "${packages[@]}"; }
	for deb in "$ARCHIVES"/*.deb; do foreign_unpack "$deb" "$out/layer"; done
	rm -rf "$out/layer"/usr/share/{man,doc,locale} "${ARCHIVES:?}"
	# the package of the modules: for some releases it is not the one of the image
	package=$(cd "$BASE/root/var/lib/dpkg/info" && grep -l "/modules/$release/kernel/" linux-*.list | head -n 1)
	mkdir -p "$out/kernel/root"
	(cd "$out/kernel" && apt_own apt-get -q download "${package%.list}")
	dpkg-deb -x "$out"/kernel/*.deb "$out/kernel/root"
	for dir in "${FOREIGN_MODULES[@]}"; do
		find "$out/kernel/root" -path "*/modules/$release/kernel/$dir/*" -name '*.ko*' -exec cp {} "$out/modules" \;
	done
	find "$out/modules" -name '*.xz' -exec xz -d {} +
	rm -r "$out/kernel"
	find "$out/modules" -name '*.ko' | grep -q .
}

foreign_base() { echo "$CACHE/foreign-$(foreign_key)"; }

foreign_make() { cached "$(foreign_base)/done" step "packages of other people's suites" foreign_take; }

# foreign_pack: the same as a disk, with an index of all modules together: the image's, ours and these
foreign_pack() {
	local release
	release=$(kernel_release newest)
	mkdir -p "$BUILD/foreign"
	# shellcheck disable=SC2016 # expanded inside the image
	IN_ROOT_BINDS="$TOP:/src $IMAGE:/build $(foreign_base):/mnt $BUILD/foreign:/base" in_root "$BASE/root" sh -ec '
		all=/tmp/all/lib/modules/$1 out=/tmp/out/usr/lib/modules/$1
		mkdir -p "$all/kernel" "$all/updates" "$all/foreign" "$out/foreign"
		cp "/lib/modules/$1"/modules.builtin* "/lib/modules/$1/modules.order" "$all"
		mount --bind "/lib/modules/$1/kernel" "$all/kernel"
		cp "/build/layer/usr/lib/modules/$1"/updates/*.ko "$all/updates"
		cp /mnt/modules/*.ko "$all/foreign"
		depmod -b /tmp/all "$1"
		cp -r /mnt/layer/. /tmp/out
		cp /mnt/modules/*.ko "$out/foreign"
		cp "$all"/modules.* "$out"
		rm -f /base/qemu.erofs
		mkfs.erofs --quiet --all-root -T 0 /base/qemu.erofs /tmp/out' sh "$release"
}

build_foreign() { with_lock foreign foreign_make; }

# After build_layer newest
build_foreign_qemu() {
	build_part foreign-qemu "$(foreign_base) $(cat "$BUILD/.stamp-module-newest")" "disk of other people's suites" foreign_pack
}
