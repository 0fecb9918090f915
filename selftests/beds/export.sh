#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/export: softmr in the sources of the kernel and of rdma-core, and what can be built there. The kernel's source
# is the one that the UML kernels are made of, rdma-core's that of Debian sid, or what RDMA_CORE_SOURCES names.
# timeout: 900
# shellcheck disable=SC2317 # functions are called by report
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
COUNT=0 FAILED=0
# beside the source, so that it can be copied as links
mkdir -p "$CACHE" "$BUILD/image"
WORK=$(mktemp -d "$CACHE/tmp.export.XXXXXX")
CORE=$BUILD/image/export-core
LINUX=$WORK/linux
OUT=$WORK/out
DRIVER=drivers/infiniband/sw/softmr
UPSTREAM=$TOP/Documentation/upstream
EXPORT=("$TOP/scripts/export" -m 'A Tester <tester@example.org>')
trap 'rm -rf "$WORK" "$CORE" "$CORE-build"' EXIT
trap 'exit 143' INT TERM

# report DESCRIPTION COMMAND...: COMMAND must succeed. If it is a function, it is called in a condition, where "set -e"
# is off: so its commands are joined by "&&".
report() {
	local what=$1 status=0
	shift
	COUNT=$((COUNT + 1))
	"$@" >"$WORK/log" 2>&1 || status=$?
	[ "$status" = 0 ] || {
		{ grep -A5 'error:' "$WORK/log"; tail -n 40 "$WORK/log"; } | sed 's/^/# /'
		printf 'not '
		FAILED=1
	}
	echo "ok $COUNT $what"
	return "$status"
}

# refused PATTERN COMMAND...: COMMAND fails, and its output matches PATTERN
refused() {
	local pattern=$1
	shift
	! "$@" >"$WORK/said" 2>&1 || { echo "it succeeded"; return 1; }
	grep -E "$pattern" "$WORK/said" || { cat "$WORK/said"; return 1; }
}

# -- the kernel

kernel() { make -s -C "$LINUX" ARCH=um O="$OUT" -j"$(nproc)" "$@"; }

prepare() {
	mkdir "$OUT" && KCONFIG_ALLCONFIG=$TOP/scripts/export.d/ask.config kernel allnoconfig && kernel modules_prepare
}

# nothing WHERE PATTERN: no file has a match
nothing() { ! grep -rnE "$2" "$1"; }

untouched() { refused "$1" "${EXPORT[@]}" kernel "$2" && [ "$(find "$2" -type f | wc -l)" = "$3" ]; }

broken_tree() {
	local dir=$WORK/broken
	mkdir -p "$dir/drivers/infiniband/sw" "$dir/include/uapi/rdma" "$dir/include/rdma"
	touch "$dir"/{Kbuild,Kconfig,MAINTAINERS} "$dir"/drivers/infiniband/{Kconfig,sw/Makefile} \
		"$dir/include/rdma/ib_verbs.h" "$dir/include/uapi/rdma/ib_user_ioctl_verbs.h"
	mkdir "$dir/$DRIVER"
	untouched 'has softmr already' "$dir" 7
}

checkpatch() {
	local CHECKPATCH_OFF=
	eval "$(grep '^CHECKPATCH_OFF' "$TOP/scripts/lint.sh")"
	cd "$LINUX" || return
	[ -n "$CHECKPATCH_OFF" ] || { echo "lint.sh has no CHECKPATCH_OFF"; return 1; }
	find "$DRIVER" include/uapi/rdma/softmr-{abi,why}.h -name '*.[ch]' |
		xargs perl scripts/checkpatch.pl --no-tree --strict --terse --show-types --no-summary --quiet \
			--ignore "$CHECKPATCH_OFF" --max-line-length=100 -f >"$WORK/checkpatch" 2>&1 || true
	! grep -vE '/trace\.h:[0-9]+: CHECK:(OPEN_ENDED_LINE|PARENTHESIS_ALIGNMENT)' "$WORK/checkpatch"
}

# configured WHAT OPTION...: after scripts/config with these options, softmr's setting is WHAT
configured() {
	local what=$1
	shift
	"$LINUX/scripts/config" --file "$OUT/.config" "$@" && kernel olddefconfig || return
	grep -x "CONFIG_INFINIBAND_SOFTMR=$what" "$OUT/.config" || { grep SOFTMR "$OUT/.config"; return 1; }
}

# All of its objects are compiled; a warning is an error
compiled() {
	local source
	find "$OUT/$DRIVER" -name '*.o' -delete
	kernel W=1 KCFLAGS=-Werror "$DRIVER/" || return
	(cd "$LINUX/$DRIVER" && find . -name '*.c') | while IFS= read -r source; do
		[ -e "$OUT/$DRIVER/${source%c}o" ] || { echo "$source was not compiled"; return 1; }
	done
}

# The last id of the enum is softmr's
driver_id_last() {
	sed -n '/^enum rdma_driver_id {/,/^};/p' "$1" | tail -n 2 | head -n 1 | grep -x $'\tRDMA_DRIVER_SOFTMR,'
}

kernel_tests() {
	report "a directory that is not a kernel is refused" refused 'is not a kernel source: it has no' \
		"${EXPORT[@]}" kernel "$TOP/selftests" || true
	report "a kernel that has softmr is refused" broken_tree || true
	report "the kernel can be prepared" prepare || return
	report "the driver goes in" "${EXPORT[@]}" -b "$OUT" kernel "$LINUX" || return
	report "once" refused 'has softmr already' "${EXPORT[@]}" -b "$OUT" kernel "$LINUX" || true
	report "without compat" nothing "$LINUX/$DRIVER" \
		'"(compat|uapi)/|generated\.h|\bHAVE_[A-Z]|SMR_DRIVER_ID|smr_compat|KERNEL_VERSION' || true
	report "with a driver id" driver_id_last "$LINUX/include/uapi/rdma/ib_user_ioctl_verbs.h" || true
	report "with a maintainer" grep -x 'M:	A Tester <tester@example.org>' "$LINUX/MAINTAINERS" || true
	report "it can be posted as the series" "$TOP/scripts/export.d/series" "$UPSTREAM/series" "$LINUX/$DRIVER" || true
	report "checkpatch" checkpatch || true
	report "it can be a module" configured m -m INFINIBAND_SOFTMR || return
	report "as which it compiles" compiled || true
	report "it must be one where VLANs are one" configured m -e INFINIBAND -e INFINIBAND_USER_ACCESS -m VLAN_8021Q \
		-e INFINIBAND_SOFTMR || true
	report "it can be built in" configured y -d VLAN_8021Q -e INFINIBAND_SOFTMR || return
	report "as which it compiles" compiled || true
}

# -- rdma-core

# An older release than the provider is written for, and the newest that there is
OLD_CORE=$BASE/root/usr/src/rdma-core

copy_core() {
	rm -rf "$CORE" "$CORE-build" && cp -r "$(rdma_core_all | tail -n 1)" "$CORE"
}

# The library, its plugin and its archive
core_build() {
	in_image cmake -S /build/export-core -B /build/export-core-build -GNinja -DENABLE_STATIC=1 -DNO_PYVERBS=1 \
		-DNO_MAN_PAGES=1 && in_image nice ninja -C /build/export-core-build providers/softmr/all
}

core_symbols() {
	in_image sh -c 'nm -D --defined-only /build/export-core-build/lib/libsoftmr.so.1' |
		grep -oE 'softmrdv_[a-z_]+' | sort >"$WORK/has" &&
		grep -oE 'softmrdv_[a-z_]+;' "$TOP/userspace/provider/libsoftmr.map" | tr -d ';' | sort | diff - "$WORK/has" &&
		ls "$CORE-build"/lib/libsoftmr-rdmav*.so "$CORE-build"/lib/statics/libsoftmr.a
}

# lists_have FILE PATTERN...
lists_have() {
	local file=$1 pattern
	shift
	for pattern in "$@"; do grep -q -- "$pattern" "$CORE/$file" || { echo "$file lacks $pattern"; return 1; }; done
}

core_lists() {
	lists_have CMakeLists.txt 'add_subdirectory(providers/softmr)' 'add_subdirectory(providers/softmr/man)' &&
		lists_have libibverbs/verbs.h 'verbs_provider_softmr;' &&
		lists_have debian/libibverbs-dev.install softmrdv.h libsoftmr.a libsoftmr.so libsoftmr.pc 'softmrdv_\*.3' &&
		lists_have debian/ibverbs-providers.install libsoftmr.so &&
		lists_have debian/ibverbs-providers.symbols 'libsoftmr.so.1 ' softmrdv_query_mr_windows &&
		lists_have redhat/rdma-core.spec 'libsoftmr.so' 'man3/softmrdv' '^- libsoftmr' &&
		lists_have suse/rdma-core.spec 'files -n %softmr_lname' 'package -n %softmr_lname' 'man3/softmrdv' &&
		[ "$(head -n 1 "$CORE/providers/softmr/man/softmrdv_query_mr_windows.3.md")" = --- ] &&
		[ "$(grep -c 'rdma/softmr-abi.h' "$CORE/kernel-headers/CMakeLists.txt")" = 2 ]
}

core_tests() {
	report "a directory that is not rdma-core is refused" refused 'is not an rdma-core source: it has no' \
		"${EXPORT[@]}" rdma-core "$LINUX" || true
	report "rdma-core $(rdma_core_value "$OLD_CORE" PACKAGE_VERSION), which is too old, is refused" \
		refused 'is written for 65' "${EXPORT[@]}" rdma-core "$OLD_CORE" || true
	report "there is a newer source" copy_core || return
	report "the provider goes in" "${EXPORT[@]}" -k "$LINUX" rdma-core "$CORE" || return
	report "once" refused 'has softmr already' "${EXPORT[@]}" -k "$LINUX" rdma-core "$CORE" || true
	report "with the kernel's id" driver_id_last "$CORE/kernel-headers/rdma/ib_user_ioctl_verbs.h" || true
	report "with the kernel's header" \
		cmp "$LINUX/include/uapi/rdma/softmr-abi.h" "$CORE/kernel-headers/rdma/softmr-abi.h" || true
	report "and that of the reasons" \
		cmp "$LINUX/include/uapi/rdma/softmr-why.h" "$CORE/kernel-headers/rdma/softmr-why.h" || true
	report "without what is for other releases" nothing "$CORE/providers/softmr" \
		'smr_layout|SMR_DRIVER_ID' || true
	report "in all lists" core_lists || true
	report "it compiles, static too" core_build || return
	report "with the symbols of its map" core_symbols || true
}

echo "TAP version 13"
cp -al "$UML_SOURCE" "$LINUX"
kernel_tests || true
core_tests || true
echo "1..$COUNT"
exit "$FAILED"
