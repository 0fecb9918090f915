#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the kernel in the package softmr-uml is made of: scripts/lib/uml.sh on made-up sources, installed ones and packages
# of an archive, with UML that has a seccomp mode and without.
# timeout: 60
# shellcheck disable=SC2317 # check and the library call them
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

INSTALLED=$WORK/installed
ARCHIVE=$WORK/archive

# tarball DIR SERIES TEXT: what linux-source-SERIES installs; TEXT is in UML's start-up
tarball() {
	local name=linux-source-$2 start
	start=$WORK/tree/$name/arch/um/os-Linux/start_up.c
	rm -rf "$WORK/tree"
	mkdir -p "$1" "${start%/*}" "$WORK/tree/$name/block"
	echo "$3" >"$start"
	# a source is longer than what a pipe holds
	head -c 2000000 /dev/urandom >"$WORK/tree/$name/block/noise"
	cp "$WORK/tree/$name/block/noise" "$WORK/tree/$name/zone"
	tar -C "$WORK/tree" --sort=name -cJf "$1/$name.tar.xz" "$name"
}

# package DIR SERIES TEXT: the package with it
package() {
	rm -rf "$WORK/package"
	tarball "$WORK/package/usr/src" "$2" "$3"
	mkdir -p "$WORK/package/DEBIAN" "$1"
	printf 'Package: linux-source-%s\nVersion: %s.4-1\nArchitecture: all\nMaintainer: nobody\nDescription: made up\n' \
		"$2" "$2" >"$WORK/package/DEBIAN/control"
	dpkg-deb --root-owner-group -Zgzip --build "$WORK/package" "$1/linux-source-$2_$2.4-1_all.deb" >/dev/null
}

OLD='__uml_setup("nosysemu", nosysemu_cmd_param,'
NEW='__uml_setup("seccomp=", uml_seccomp_config,'

# The machine and the archive of this test
uml_installed_source() { find "$INSTALLED" -name 'linux-source-*' | sort -V | tail -n 1; }
uml_download() { mkdir -p "$1" && cp "$ARCHIVE"/*.deb "$1"; }
step() { "${@:2}"; }

# die ends a shell
package_build() (
	UML_SOURCE=$WORK/linux-source-$(uml_source_key)
	run_package "$WORK" "$WORK/dest"
)

# chosen: the file's name, or "none"
chosen() {
	if uml_package_source "$WORK/fetched" 2>/dev/null; then echo "${UML_FILE##*/}"; else echo none; fi
}

# source_of CHECKOUT: where the source of its UML kernels is, with a cache that this test's checkouts share
source_of() {
	XDG_CACHE_HOME=$WORK/cache SOFTMR_LINUX_SOURCE=$ARCHIVE/linux-source-8.10_8.10.4-1_all.deb bash -euc '
		. "$1/scripts/lib/all.sh"
		uml_source_make >&2
		echo "$UML_SOURCE"' - "$1"
}

# go_on: the first build is interrupted, and the second one finds what it has made
go_on() (
	CACHE=$WORK/kernels
	UML_SOURCE=$WORK/made
	mkdir -p "$UML_SOURCE"
	touch "$UML_SOURCE"/{.done,.package,Makefile}
	uml_build() { [ -e "$2/object" ] || { touch "$2/object" && return 1; }; }
	! uml_make plain && uml_make plain && [ -e "$(uml_dir plain)/.done" ]
)

# files_of DIR: a file that is made anew has another inode
files_of() { (cd "$1" && find . -type f -exec stat -c '%n %i' {} + | sort); }

has() { uml_has_seccomp "$1" && echo seccomp || echo ptrace; }

echo "TAP version 13"
tarball "$INSTALLED" 8.2 "$OLD"
package "$ARCHIVE" 8.10 "$NEW"
check "an installed source without a seccomp mode" is "$(has "$INSTALLED/linux-source-8.2.tar.xz")" ptrace
check "a package of a source that has one" is "$(has "$ARCHIVE/linux-source-8.10_8.10.4-1_all.deb")" seccomp
check "no file has none" is "$(has "$WORK/nothing")" ptrace
check "the installed one is too old: the archive's" is "$(chosen)" linux-source-8.10_8.10.4-1_all.deb
check "the package's name and version are known" is \
	"$(uml_file_package "$WORK/fetched/linux-source-8.10_8.10.4-1_all.deb")" "linux-source-8.10 8.10.4-1"
SOFTMR_LINUX_SOURCE=$INSTALLED/linux-source-8.2.tar.xz
check "one that is named and too old: none, whatever the archive has" is "$(chosen)" none
check_error "a package's build with it says what to do" "no source of Linux 6.16 or newer: User-Mode Linux needs its seccomp mode" \
	package_build
SOFTMR_LINUX_SOURCE=''
check_error "a package's build without any says so, too" "there is no linux-source.*pkg.softmr.nouml" \
	package_build
mkdir "$WORK/source"
UML_PATCHES=()
SOFTMR_LINUX_SOURCE=$ARCHIVE/linux-source-8.10_8.10.4-1_all.deb uml_unpack_source "$WORK/source"
check "a package is unpacked as the source" is "$(cat "$WORK/source/.package" "$WORK/source/arch/um/os-Linux/start_up.c")" \
	"linux-source-8.10 8.10.4-1
$NEW"
mkdir "$WORK/other"
cp -r "$TOP/scripts" "$TOP/VERSION" "$WORK/other"
rm "$WORK/other/scripts/uml/compat-dev.patch"
ours=$(source_of "$TOP")
before=$(files_of "$ours")
theirs=$(source_of "$WORK/other")
check "a checkout with other patches has its own source" grep -q . "$theirs/.package"
check "and leaves that of this one as it was" is "$(files_of "$ours")" "$before"
check "a kernel's build that was interrupted goes on" go_on
tarball "$INSTALLED" 8.9 "$NEW"
check "the newest installed one does, by its number: it is taken" is "$(chosen)" linux-source-8.9.tar.xz
rm -r "$INSTALLED"
mkdir "$INSTALLED"
check "none is installed: the archive's" is "$(chosen)" linux-source-8.10_8.10.4-1_all.deb
rm "$ARCHIVE"/*
package "$ARCHIVE" 8.2 "$OLD"
check "the archive's newest is too old: none" is "$(chosen)" none
uml_download() { return 1; }
check "the archive cannot be read: none" is "$(chosen)" none
finish
