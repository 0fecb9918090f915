#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make install: build and install softmr for this machine: the module for the running kernel, and the
# provider for the installed libibverbs. DESTDIR is honoured.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

DESTDIR=${DESTDIR:-}
KDIR=${KDIR:-/lib/modules/$(uname -r)/build}
OUT=$BUILD/host

install_needs() {
	[ -e "$KDIR/Makefile" ] ||
		die 1 "there are no kernel headers in $KDIR; install linux-headers-$(uname -r), or give KDIR="
	have cmake || die 1 "this machine lacks cmake; install cmake, ninja-build, libnl-3-dev and libnl-route-3-dev"
	[ -z "$DESTDIR" ] || mkdir -p "$DESTDIR" || exit
	[ -w "${DESTDIR:-/usr}" ] || die 1 "cannot write to ${DESTDIR:-/usr}; run this as root, or give DESTDIR="
}

# A provider works only with the libibverbs it was built for, so the versions have to be the same.
rdma_core_source() {
	local installed
	[ -z "${RDMA_CORE_SOURCE:-}" ] || return 0
	RDMA_CORE_SOURCE=$BASE/root/usr/src/rdma-core
	with_lock image image_make
	installed=$(dpkg-query -W -f '${source:Upstream-Version}' libibverbs1 2>/dev/null || echo none)
	grep -q "set(PACKAGE_VERSION \"$installed\")" "$RDMA_CORE_SOURCE/CMakeLists.txt" ||
		die 1 "libibverbs1 here is of version $installed, and the source at hand is not;" \
			"give RDMA_CORE_SOURCE=DIR with the rdma-core source of that version"
}

install_module() {
	sync_tree "$TOP/kernel" "$OUT/kernel"
	make -C "$KDIR" M="$OUT/kernel" -j"$(nproc)" modules
	make -C "$KDIR" M="$OUT/kernel" INSTALL_MOD_PATH="$DESTDIR" modules_install
	[ -n "$DESTDIR" ] || depmod -a
}

install_provider() {
	cmake -S "$TOP/userspace" -B "$OUT/provider" -DRDMA_CORE_SOURCE="$1" -DCMAKE_INSTALL_PREFIX=/usr \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build "$OUT/provider" -j "$(nproc)"
	DESTDIR=$DESTDIR cmake --install "$OUT/provider"
}

at_exit end_jobs
export DESTDIR
install_needs
rdma_core_source
mkdir -p "$OUT"
install_module
install_provider "$RDMA_CORE_SOURCE"
say "softmr is installed. Try: rdma link add softmr0 type softmr netdev eth0"
