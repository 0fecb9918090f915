# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# User-Mode Linux kernels, built from Debian's newest linux-source by the host's compiler; with SOFTMR_LINUX_SOURCE=FILE,
# from that file: a linux-source package, the tarball that it installs (a package's build has no network), or a tarball
# of kernel.org.
#
#   $CACHE/linux-source-KEY/     the source, with those patches of scripts/uml that fit; .package names its origin
#   $CACHE/uml-FLAVOUR-KEY/      the build directory (modules are built against it); vmlinux; root/: its modules

UML_PATCHES=("$TOP"/scripts/uml/*.patch)
UML_CC=$TOP/scripts/uml/cc
UML_FLAVOURS=(plain checked ulps gcov)

# The fragment of a flavour between base.config and its own
declare -A UML_BASE=([ulps]=checked [gcov]=checked)

# Source that no UML kernel reads; the Kconfig files stay, because their parents source them
UML_UNUSED=('arch/[!ux]*' arch/xtensa drivers/gpu drivers/media drivers/net/ethernet drivers/net/wireless drivers/staging 'drivers/scsi/*'
	drivers/usb drivers/iio drivers/infiniband/hw drivers/accel sound fs/xfs fs/btrfs fs/f2fs)

uml_check_flavour() {
	[[ " ${UML_FLAVOURS[*]} " == *" $1 "* ]] || die 2 "there is no UML flavour '$1'; there are: ${UML_FLAVOURS[*]}"
}

# The key of the source, except for Debian's package: a file that is named has a source of its own
uml_source_key() {
	{
		cat "${UML_PATCHES[@]}"
		echo "${UML_UNUSED[*]}"
		[ -z "${SOFTMR_LINUX_SOURCE:-}" ] || stat -Lc '%s %Y' "$SOFTMR_LINUX_SOURCE" || true
		declare -f uml_fetch_source uml_patch
	} | sha256sum | cut -c1-12
}

# uml_patch DIR: apply the patches that fit this source. They make UML faster, or fix bugs that tests would find again
# and again; softmr does not depend on them
uml_patch() {
	local dir=$1 patch
	for patch in "${UML_PATCHES[@]}"; do
		if patch -d "$dir" -p1 --dry-run --force <"$patch" >/dev/null; then
			patch -d "$dir" -p1 --no-backup-if-mismatch <"$patch"
		else
			echo "left out: ${patch##*/} does not fit $(cat "$dir/.package")" | tee -a "$dir/.left-out"
		fi
	done
}

uml_fetch_source() {
	local out=$1 package version dir excludes=()
	read -r package version < <(newest_source "$APT_DIR/kernels") ||
		die 1 "the archive has no linux-source package, which the UML kernels are made of"
	echo "$package $version" >"$out/.package"
	(cd "$out" && apt_own apt-get download "$package=$version")
	for dir in "${UML_UNUSED[@]}"; do
		excludes+=(--exclude="linux-source-*/$dir/*.[chS]" --exclude="linux-source-*/$dir/*.dts*")
	done
	dpkg-deb --fsys-tarfile "$out"/linux-source-*.deb | tar -xO "./usr/src/$package.tar.xz" |
		xz -dc | tar -C "$out" --strip-components=1 --no-same-owner --wildcards "${excludes[@]}" -xf -
	rm "$out"/linux-source-*.deb
	uml_patch "$out"
}

# uml_file_package FILE: "NAME VERSION" of a linux-source package, of the package that has installed this tarball, or of
# a tarball of kernel.org
uml_file_package() {
	# shellcheck disable=SC2016 # dpkg's variables, not the shell's
	case ${1##*/} in
	*.deb) dpkg-deb --show --showformat '${Package} ${Version}\n' "$1" ;;
	linux-[0-9]*.tar.xz) basename "$1" .tar.xz | tr - ' ' ;;
	*) dpkg-query -W -f '${Package} ${Version}\n' "$(basename "$1" .tar.xz)" ;;
	esac
}

# uml_file_tar FILE: the source in it, as a tar stream
uml_file_tar() {
	case $1 in
	*.deb) dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' ;;
	*) cat "$1" ;;
	esac | xz -dc
}

uml_unpack_source() {
	local out=$1
	uml_file_package "$SOFTMR_LINUX_SOURCE" >"$out/.package"
	uml_file_tar "$SOFTMR_LINUX_SOURCE" | tar -C "$out" --strip-components=1 --no-same-owner -xf -
	uml_patch "$out"
}

# uml_source_into DIR: from the file or the archive
uml_source_into() {
	if [ -n "${SOFTMR_LINUX_SOURCE:-}" ]; then
		uml_has_seccomp "$SOFTMR_LINUX_SOURCE" || {
			warn "$SOFTMR_LINUX_SOURCE is no source of Linux 6.16 or newer: User-Mode Linux needs its seccomp mode"
			return 1
		}
		step "Linux source for UML" uml_unpack_source "$1"
		return
	fi
	[ -s "$APT_DIR/kernels" ] || step "package lists" apt_refresh || return
	step "Linux source for UML" uml_fetch_source "$1"
}

UML_SOURCE=$CACHE/linux-source-$(uml_source_key)

uml_source_make() { [ -e "$UML_SOURCE/.done" ] || { cached "$UML_SOURCE/.done" uml_source_into && say_uml; }; }

# Print the source of the UML kernels
say_uml() {
	local line
	say "  BED   uml: $(cat "$UML_SOURCE/.package")"
	while IFS= read -r line; do say "  NOTE  $line"; done < <(cat "$UML_SOURCE/.left-out" 2>/dev/null)
}

# uml_left_out: how many patches do not fit, and which; nothing if all fit
uml_left_out() {
	[ -s "$UML_SOURCE/.left-out" ] || return 0
	echo "$(wc -l <"$UML_SOURCE/.left-out") of ${#UML_PATCHES[@]} patches are not in the UML kernels, since they do not fit:" \
		"$(awk '{ print $3 }' "$UML_SOURCE/.left-out" | paste -sd ' ')"
}

# uml_fragments FLAVOUR: its configuration, from the general to the special
uml_fragments() {
	local name
	for name in base ${UML_BASE[$1]:-} "$1"; do echo "$TOP/scripts/uml/$name.config"; done
}

# uml_dir FLAVOUR: where this flavour's kernel is (once it is made), given the source
uml_dir() {
	local key
	# shellcheck disable=SC2046 # names without blanks
	key=$({
		grep -hv '^#' $(uml_fragments "$1")
		declare -f uml_build uml_configure
		cat "$UML_CC" "${UML_CC%/*}/precompiled.h"
		uml_source_key
		cat "$UML_SOURCE/.package"
		gcc -dumpfullversion
	} | sha256sum | cut -c1-12)
	echo "$CACHE/uml-$1-$key"
}

uml_configure() {
	local flavour=$1 out=$2
	make -C "$UML_SOURCE" ARCH=um O="$out" defconfig
	# shellcheck disable=SC2046 # names without blanks
	(cd "$out" && "$UML_SOURCE/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" \
		$(uml_fragments "$flavour"))
	"$UML_SOURCE/scripts/config" --file "$out/.config" --set-str LOCALVERSION "-uml-$flavour"
	make -C "$UML_SOURCE" ARCH=um O="$out" olddefconfig
}

uml_build() {
	local flavour=$1 out=$2 first='fs/open.o drivers/net/dummy.o'
	uml_configure "$flavour" "$out"
	# shellcheck disable=SC2086 # two words
	PRECOMPILE=$first make -C "$UML_SOURCE" ARCH=um O="$out" CC="$UML_CC" $first
	make -C "$UML_SOURCE" ARCH=um O="$out" CC="$UML_CC" -j"$(nproc)" vmlinux modules
	make -C "$UML_SOURCE" ARCH=um O="$out" INSTALL_MOD_PATH="$out/root" modules_install
	strip --strip-debug "$out/vmlinux"
}

# uml_identity: the same source gives the same kernel, so the build information in a kernel is derived from the source
uml_identity() {
	export KBUILD_BUILD_USER=softmr KBUILD_BUILD_HOST=softmr KBUILD_BUILD_VERSION=1
	KBUILD_BUILD_TIMESTAMP=$(date -ud "@$(stat -c %Y "$UML_SOURCE/Makefile")")
	export KBUILD_BUILD_TIMESTAMP
}

uml_make() {
	local flavour=$1 dir
	with_lock linux-source uml_source_make || return
	dir=$(uml_dir "$flavour")
	[ -e "$dir/.done" ] && return
	# in place, not in a temporary directory: the build records its path, and one that was interrupted goes on. The name
	# has all that the objects depend on
	mkdir -p "$dir"
	uml_identity
	step "UML kernel, $flavour" uml_build "$flavour" "$dir" || return
	touch "$dir/.done"
	prune_cache "uml-$flavour-*"
}

uml_release() { cat "$(uml_dir "$1")/include/config/kernel.release"; }

# -- the source of the kernel in a package

# uml_has_seccomp FILE: UML of this source runs its processes under seccomp filters. Older UML only has ptrace, on one
# processor, and on a machine that is itself a guest its init died.
uml_has_seccomp() {
	local text
	# tar stops at the file that it searches for, which is an error for the programs before it in the pipe
	text=$(uml_file_tar "$1" 2>/dev/null | tar -xO --occurrence=1 --wildcards '*/arch/um/os-Linux/start_up.c' 2>/dev/null) || true
	[[ $text == *'"seccomp='* ]]
}

# The newest installed source
uml_installed_source() { find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V | tail -n 1; }

# uml_download DIR: the newest linux-source package of the archive
uml_download() {
	local package version
	apt_refresh
	read -r package version < <(newest_source "$APT_DIR/kernels") || die 1 "the archive has no linux-source package"
	mkdir -p "$1"
	(cd "$1" && apt_own apt-get download "$package=$version")
}

# uml_package_source DIR: choose the file for the kernel in a package: SOFTMR_LINUX_SOURCE, or the newest source that is
# installed, or the newest one of the archive, which is fetched into DIR. Its name is in $UML_FILE. False if none has
# seccomp mode.
uml_package_source() {
	local dir=$1
	UML_FILE=${SOFTMR_LINUX_SOURCE:-$(uml_installed_source)}
	if [ -e "$UML_FILE" ] && uml_has_seccomp "$UML_FILE"; then return; fi
	[ -z "${SOFTMR_LINUX_SOURCE:-}" ] || return
	rm -rf "$dir"
	with_lock linux-source step "newest Linux source of the archive" uml_download "$dir" || return
	UML_FILE=$(find "$dir" -name 'linux-source-*.deb')
	uml_has_seccomp "$UML_FILE"
}
