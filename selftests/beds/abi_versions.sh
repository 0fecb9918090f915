#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The first provider that there was on the module of today, and the provider of today on the first module: these have
# another version of the ABI, and a program is told (Documentation/abi.rst, "How the ABI grows"). Both are built from the
# first commit that has the ABI, and run in QEMU. In a copy of the sources without history there is nothing to build.
# timeout: 900
# shellcheck disable=SC2317 # what "check" calls looks unreachable
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
ABI=kernel/uapi/softmr-abi.h
DIR=$IMAGE/first-abi # /build/first-abi in the image

# The first commit with the ABI
first_commit() { git -C "$TOP" log --diff-filter=A --format=%H -- "$ABI" 2>/dev/null | tail -1; }

get_source() {
	rm -rf "$DIR" && mkdir -p "$DIR/source" "$DIR/share"
	git -C "$TOP" archive "$1" kernel userspace | tar -x -C "$DIR/source"
}

abi_version() { sed -nE 's/^#define SMR_ABI_VERSION	([0-9]+)$/\1/p' "$1/$ABI"; }
is_first() { is "$(abi_version "$DIR/source")" 1; }

build_first_provider() {
	in_image cmake -S /build/first-abi/source/userspace -B /build/first-abi/provider -GNinja \
		-DRDMA_CORE_SOURCE=/usr/src/rdma-core -DCMAKE_BUILD_TYPE=RelWithDebInfo &&
		in_image ninja -C /build/first-abi/provider &&
		cp -L "$DIR"/provider/provider/libsoftmr.so.1 "$DIR/share/libsoftmr.so"
}

# build_first_module ROLE: for a kernel that it still compiles for
build_first_module() {
	in_image make -C "/lib/modules/$(kernel_release "$1")/build" M=/build/first-abi/source/kernel -j"$(nproc)" modules &&
		cp "$DIR/source/kernel/softmr.ko" "$DIR/share"
}

# run PART ROLE: lib/other_version.sh says what runs there
run() {
	"$TOP/scripts/qemu-boot.sh" --kernel "$2" --share "$DIR/share" --timeout 400 \
		"/usr/lib/$SELFTESTS_REST/lib/other_version.sh" "$1" /mnt/share "$(abi_version "$TOP")" >"$WORK/out" 2>&1
	report $? "$1: the guest ran it all"
	! [ -e "$DIR/share/$1.tap" ] || tap_include "$DIR/share/$1.tap"
}
SELFTESTS_REST=${SELFTESTS_DIR#usr/lib/}

commit=$(first_commit)
[ -n "$commit" ] || skip_all "these sources have no history"
with_lock image image_make >&2 || exit
check "the sources of the first ABI" get_source "$commit" || finish
check "they have version 1 of the ABI" is_first
if check "the first provider is built" build_first_provider; then
	run provider newest
fi
for role in newest stable oldest; do
	build_first_module "$role" >"$WORK/out" 2>&1 && break
	diag "the first module does not compile for the $role kernel"
	role=
done
if [ -n "$role" ]; then
	ok "the first module is built"
	run module "$role"
else
	skip "the first module" "no kernel here is old enough for it"
fi
finish
