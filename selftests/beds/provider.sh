#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The provider's own tests, which need no device: built in the guest image, with sanitizers, and run there. Its description
# of libibverbs' private interface is compared with the sources of rdma-core that Debian's suites have, and those that
# RDMA_CORE_SOURCES names; so are the numbers of the plugins, and those in the page about rdma-core. It is built with the
# headers of the newest of these, too.
# timeout: 240
# shellcheck disable=SC2317 # what "check" calls looks unreachable
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

PLUGINS=$BUILD/image/provider-test/provider

echo "TAP version 13"
{ check "they can be built" in_image sh -ec '
	cmake -S /src/userspace -B /build/provider-test -GNinja -DSMR_TESTS=ON -DSMR_WERROR=ON
	ninja -C /build/provider-test' &&
	check "they pass" in_image ctest --test-dir /build/provider-test --output-on-failure --no-tests=error; } || true

# old_libc: what is built here is loaded by programs on older systems, too
old_libc() {
	in_image objdump -T /build/provider-test/provider/libsoftmr.so.1 | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -n 1 |
		grep -E 'GLIBC_2\.([0-9]|[12][0-9]|3[0-4])$'
}
check "the provider needs no newer C library than 2.34" old_libc || true

# page_says MAJOR: the number in the plugin's name, as Documentation/rdma-core.rst has it
page_says() {
	awk -v major="$1" '/^[0-9].* rdmav[0-9]/ {
		gsub(/,| to| and newer/, " ")
		if (major >= $1 && major <= ($2 + 0 ? $2 : $1) && match($0, /rdmav[0-9]+/))
			print substr($0, RSTART + 5, RLENGTH - 5)
	}' "$TOP/Documentation/rdma-core.rst"
}

# compared DIR: the description is right for that source. The image sees a copy of what it is compared with
compared() {
	local copy=$BUILD/image/real-rdma-core
	rm -rf "$copy"
	mkdir -p "$copy"
	(cd "$1" && cp -r --parents CMakeLists.txt buildlib/make_abi_structs.py ccan/*.h kernel-headers libibverbs/*.h util/*.h \
		"$copy") && in_image /src/userspace/ibverbs/compare /build/real-rdma-core
}

numbered() { [ -L "$PLUGINS/libsoftmr-rdmav$1.so" ] && is "$(page_says "$2")" "$1"; }

n=0 version=0
while IFS= read -r dir; do
	version=$(rdma_core_value "$dir" PACKAGE_VERSION)
	n=$((n + 1))
	check "rdma-core $version is as described" compared "$dir" || true
	check "... and its number is in a plugin's name, and in the page" \
		numbered "$(rdma_core_value "$dir" IBVERBS_PABI_VERSION)" "${version%%.*}" || true
done < <(rdma_core_all)
# real: the provider with the headers of the newest source, of which compared() has left a copy
real() {
	in_image sh -ec '
		cmake -S /src/userspace -B /build/provider-real -GNinja -DSMR_TOOLS=OFF -DSMR_WERROR=ON \
			-DRDMA_CORE_SOURCE=/build/real-rdma-core
		ninja -C /build/provider-real softmr'
}

if [ "${version%%.*}" -ge 65 ]; then
	check "the provider can be built with the headers of rdma-core $version" real || true
else
	skip "the provider with rdma-core's own headers" "it is written for 65, and the newest is ${version:-none}"
fi
[ "$n" -gt 0 ] || not_ok "there is a source of rdma-core to compare with: apt, or RDMA_CORE_SOURCES" /dev/null
finish
