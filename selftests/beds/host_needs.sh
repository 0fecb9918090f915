#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What "scripts/build.sh run" says on a machine that lacks something: in the words of its distribution, and before it begins
# what it will take. The machines are directories of programs (PATH) and files like /etc/os-release.
# timeout: 60
# shellcheck disable=SC2317,SC2016 # check calls them; a text is for another shell
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# What the scripts themselves run
PROGRAMS=(bash awk sed grep sort tr cut id basename dirname date mkdir uname cat nproc df sha256sum find xargs rm env mktemp flock)
BIN=$WORK/bin
mkdir "$BIN"
for program in "${PROGRAMS[@]}"; do ln -s "$(command -v "$program")" "$BIN/$program"; done

# fake NAME [LINE]: in place of a program of the machine's, which $BIN has as a link
fake() {
	rm -f "$BIN/$1"
	printf '#!/bin/sh\n%s\n' "${2:-}" >"$BIN/$1"
	chmod +x "$BIN/$1"
}

# An ordinary user, for whom nothing is installed
fake id "echo 1000"

# distribution LINE...: the file of one
distribution() { printf '%s\n' "$@" >"$WORK/os-release"; }

# run_build HEADERS [NAME=VALUE]...: what "build.sh run" says until it takes the first lock, which it does not get. HEADERS: a
# command that says whether a header is there
run_build() {
	env -i HOME="$WORK" OS_RELEASE="$WORK/os-release" XDG_CACHE_HOME="$WORK/cache" SOFTMR_BUILD="$WORK/build" "${@:2}" bash -c '
		. "$0/scripts/lib/all.sh"
		PATH=$1 HEADERS=$2
		UML_SOURCE=${SOURCE:-$UML_SOURCE}
		has_header() { "$HEADERS"; }
		with_lock() { echo "begins: $*"; return 1; }
		build_run' "$TOP" "$BIN" "$1" 2>&1
}

# says PATTERN...: each is in what it says
says() {
	local pattern out
	out=$(run_build false)
	for pattern in "$@"; do grep -qE -- "$pattern" <<<"$out" || { printf '%s\n' "lacks: $pattern" "$out"; return 1; }; done
}

echo "TAP version 13"
distribution ID=debian
check "Debian" says "apt-get install apt .*libelf-dev libibverbs-dev .*xz-utils"
distribution ID=ubuntu ID_LIKE=debian
check "Ubuntu" says "apt-get install .*libibverbs-dev"
distribution ID=fedora
check "Fedora" says "as root: dnf install .*" "elfutils-libelf-devel" "rdma-core-devel" "glibc-static"
check "... and with that, what it takes and where the source of Linux is" says "about [0-9]+ minutes on" "SOFTMR_LINUX_SOURCE=FILE"
distribution 'ID="rocky"' 'ID_LIKE="rhel centos fedora"'
check "what is made of Fedora" says "as root: dnf install "
distribution 'ID="opensuse-leap"' 'ID_LIKE="suse opensuse"'
check "openSUSE" says "as root: zypper install " "libelf-devel" "glibc-devel-static"
distribution ID=arch
check "Arch" says "as root: pacman -S --needed " "rdma-core" " libelf "
distribution ID=alpine
check "Alpine" says "as root: apk add " "rdma-core-dev" "elfutils-dev" "musl-dev"
distribution ID=nixos
check "NixOS" says "nix-shell -p " "gnumake" "glibc.static"
distribution ID=plan9
check "another one" says "what Debian calls .*libibverbs-dev"
rm "$WORK/os-release"
check "one without a name" says "what Debian calls "
mkdir "$WORK/source"
touch "$WORK/source/.done"
no_compiler() { ! grep -E "gcc|\.package" <(run_build false "SOURCE=$WORK/source" | grep -v "lacks:\|calls"); }
check "the minutes are counted without a compiler" no_compiler

# root on Debian installs what is missing
if [ -e /etc/debian_version ]; then
	distribution ID=debian
	fake id "echo 0"
	fake apt-get
	installs() { is "$(run_build false | sed -n '1s/This takes about .*/costs/p;/begins: host step/s/:.*//p' | paste -sd ' ')" "costs begins"; }
	check "minutes and space come before packages are installed" installs
	fake id "echo 1000"
	rm "$BIN/apt-get"
else
	skip "packages that are installed" "this is not Debian"
fi

# a machine that has it all
for program in make tar xz patch cmake gcc flex bison bc perl depmod; do fake "$program"; done
fake cc "echo /usr/lib/libc.a"
distribution ID=fedora
check "with SOFTMR_LINUX_SOURCE nothing is missing; minutes and space are said" \
	grep -zE 'about [0-9]+ minutes on [0-9]+ processors, and 1360 MB in.*begins: linux-source' <(run_build true SOFTMR_LINUX_SOURCE=/linux.tar.xz)
check_error "without, it says where the source of Linux is" "kernel.org, linux-.*SOFTMR_LINUX_SOURCE=FILE" run_build true
fake df 'echo "x x x 1359 x x"'
check_error "too little space is said before it begins" "has 1359 MB left" run_build true SOFTMR_LINUX_SOURCE=/linux.tar.xz
finish
