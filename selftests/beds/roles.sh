#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which kernels the beds get from a changing archive: scripts/lib/roles.sh on made-up package lists. Then: what happens
# if a patch does not fit the source.
# timeout: 60
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# kernel SUITE RELEASE FLAVOUR: the packages of one kernel, as the archive's lists have them
kernel() {
	local suite=$1 base=$2 flavour=$3
	echo "$suite linux-image-$base-$flavour $base-1 kmod linux-base"
	echo "$suite linux-headers-$base-$flavour $base-1 linux-headers-$base-common linux-kbuild-$base gcc-14-for-host"
	echo "$suite linux-headers-$base-common $base-1"
	echo "$suite linux-kbuild-$base $base-1 libc6"
}

# The archive on the day on which this was written, reduced
today() {
	kernel bookworm 6.1.0-49 amd64
	kernel bookworm 6.1.0-50 amd64
	kernel bookworm 6.1.0-50 cloud-amd64
	kernel bookworm 6.1.0-50 rt-amd64
	kernel trixie 6.12.107+deb13 amd64
	kernel trixie 6.12.117+deb13 amd64
	kernel trixie 6.12.117+deb13 cloud-amd64
	kernel trixie 6.12.117+deb13 rt-amd64
	kernel trixie-updates 6.12.95+deb13 amd64
	kernel trixie-backports 7.2.12+deb13 amd64
	kernel trixie-backports 7.3.4+deb13 amd64
	kernel trixie-backports 7.3.4+deb13 cloud-amd64
	kernel trixie-backports 7.3.4+deb13 rt-amd64
	echo "trixie-backports linux-image-amd64 7.3.4-1 linux-image-7.3.4+deb13-amd64"
	echo "trixie-backports linux-image-7.3.4+deb13-amd64-unsigned 7.3.4-1 kmod"
	echo "trixie linux-source-6.12 6.12.117-1"
	echo "trixie-backports linux-source-7.2 7.2.12-1~bpo13+1"
	echo "trixie-backports linux-source-7.3 7.3.4-1~bpo13+1"
	echo "trixie-backports linux-source 7.3.4-1~bpo13+1"
}

# roles: the kernel that each role gets from the list on standard input, "role release suites"
roles() {
	local role
	cat >"$WORK/list"
	for role in "${ROLES[@]}"; do
		echo "$role $(role_kernel "$WORK/list" "$role" 2>>"$WORK/said" || echo none)"
	done
}

role_of() { grep "^$1 " | cut -d' ' -f2-; }

said() { grep -qF -- "$1" "$WORK/said" && echo yes; }

echo "TAP version 13"
: >"$WORK/said"
check "each role has its kernel" is "$(today | roles)" "newest 7.3.4+deb13-amd64 trixie-backports
stable 6.12.117+deb13-amd64 trixie+trixie-updates
oldest 6.1.0-50-amd64 bookworm
cloud 6.12.117+deb13-cloud-amd64 trixie+trixie-updates
rt 7.3.4+deb13-rt-amd64 trixie-backports"
check "no message if each role has its kernel" is "$(<"$WORK/said")" ""
check "7.2 has left the archive" is "$(today | grep -v 7.2.12 | roles | role_of newest)" "7.3.4+deb13-amd64 trixie-backports"
later() {
	today | grep -v '7\.[23]'
	kernel trixie-backports 7.4.11+deb13 amd64
	kernel trixie-backports 8.0.2+deb13 amd64
	kernel trixie-backports 7.10.1+deb13 amd64
	echo "trixie-backports linux-source-7.10 7.10.1-1~bpo13+1"
	echo "trixie-backports linux-source-8.0 8.0.2-1~bpo13+1"
}
check "7.4, 7.10 and 8.0 are there: 8.0" is "$(later | roles | role_of newest)" "8.0.2+deb13-amd64 trixie-backports"
check "without 8.0: 7.10, not 7.4" is "$(later | grep -v '8\.0' | roles | role_of newest)" \
	"7.10.1+deb13-amd64 trixie-backports"
check "UML is of the newest source" is "$(later >"$WORK/list" && newest_source "$WORK/list")" \
	"linux-source-8.0 8.0.2-1~bpo13+1"
check "the package linux-source, which only depends on one, is none" is \
	"$(today | grep -v 'linux-source-' >"$WORK/list" && newest_source "$WORK/list")" ""

only_stable() { today | grep -E '^trixie .*6\.12'; }
: >"$WORK/said"
check "only 6.12 is left: it has all roles" is "$(only_stable | roles | cut -d' ' -f2 | sort -u | tr '\n' ' ')" \
	"6.12.117+deb13-amd64 6.12.117+deb13-cloud-amd64 6.12.117+deb13-rt-amd64 "
check "a message says that the newest kernel is another one" is \
	"$(said "no usable kernel in trixie-backports: the newest kernel is 6.12.117+deb13-amd64")" yes
check "a message says that the oldest kernel is another one" is "$(said "no usable kernel in bookworm: the oldest kernel is 6.12.117+deb13-amd64")" yes

check "a mirror that has the image, but no headers yet" is \
	"$(today | grep -v 'linux-headers-7.3.4+deb13-amd64 ' | roles | role_of newest)" "7.2.12+deb13-amd64 trixie-backports"
check "a mirror that has no linux-kbuild yet" is \
	"$(today | grep -v 'linux-kbuild-7.3.4' | roles | role_of newest)" "7.2.12+deb13-amd64 trixie-backports"
check "a kernel in -updates counts for stable" is \
	"$({ today; kernel trixie-updates 6.12.120+deb13 amd64; } | roles | role_of stable)" \
	"6.12.120+deb13-amd64 trixie+trixie-updates"
: >"$WORK/said"
check "an archive without any kernel gives none" is "$(grep source <(today) | roles | sort | uniq -c | wc -l)" "${#ROLES[@]}"
check "a message says what was looked for" is "$(said "the archive has no kernel for the role oldest")" yes

# -- our patches on a source that has changed

mkdir -p "$WORK/source/a"
printf 'one\ntwo\nthree\n' >"$WORK/source/a/file"
echo "linux-source-9.9 9.9.1-1" >"$WORK/source/.package"
printf -- '--- x/a/file\n+++ y/a/file\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n' >"$WORK/fits.patch"
printf -- '--- x/a/file\n+++ y/a/file\n@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n drei\n' >"$WORK/misfit.patch"
UML_PATCHES=("$WORK/misfit.patch" "$WORK/fits.patch")
uml_patch "$WORK/source" >"$WORK/out" 2>&1
check "a patch that fits is applied beside one that does not" is "$(tr '\n' ' ' <"$WORK/source/a/file")" "one 2 three "
check "a patch that is left out is named" is "$(<"$WORK/source/.left-out")" \
	"left out: misfit.patch does not fit linux-source-9.9 9.9.1-1"
check "... and in the summary of a run" is "$(UML_SOURCE=$WORK/source && uml_left_out)" \
	"1 of 2 patches are not in the UML kernels, since they do not fit: misfit.patch"
check "... which says nothing if all fit" is "$(UML_SOURCE=$WORK/none && uml_left_out)" ""
check "a patch that is left out leaves no files behind" is "$(cd "$WORK/source" && find . -type f | sort | tr '\n' ' ')" \
	"./.left-out ./.package ./a/file "

# -- no other file names a kernel series

series='(^|[^0-9.])(qemu-|linux-(image|headers|source)-)?(6\.12|7\.[0-9]+)([^0-9.]|$)'
check "no script names the series of a bed's kernel" is \
	"$(cd "$TOP" && git ls-files -- scripts Makefile .ci | grep -v '\.patch$' | xargs grep -nE -- "$series")" ""
finish
