#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The provider's own tests, which need no device: built in the guest image, with sanitizers, and run there. And whether
# the page about rdma-core has the numbers of the plugins right.
# timeout: 240
# shellcheck disable=SC2317 # what "check" calls looks unreachable
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

echo "TAP version 13"
{ check "they can be built" in_image sh -ec '
	cmake -S /src/userspace -B /build/provider-test -GNinja -DRDMA_CORE_SOURCE=/usr/src/rdma-core \
		-DSMR_TESTS=ON -DSMR_WERROR=ON
	ninja -C /build/provider-test' &&
	check "they pass" in_image ctest --test-dir /build/provider-test --output-on-failure --no-tests=error; } || true

# gcc 12 only warns of functions that are not declared, which tell what an older rdma-core lacks
check "such a compiler builds it for an old rdma-core" in_image sh -ec '
	cmake -S /src/userspace -B /build/provider-old -GNinja -DRDMA_CORE_SOURCE=/src/packaging/rdma-core/44.0 \
		-DSMR_FOREIGN_LIBIBVERBS=ON -DCMAKE_C_FLAGS=-Wno-error=implicit-function-declaration
	ninja -C /build/provider-old provider/all' || true

# page_says MAJOR: the number in the plugin's name, as Documentation/rdma-core.rst has it
page_says() {
	awk -v major="$1" '/^[0-9].* rdmav[0-9]/ {
		gsub(/,| to/, " ")
		if (major >= $1 && major <= ($2 + 0 ? $2 : $1) && match($0, /rdmav[0-9]+/))
			print substr($0, RSTART + 5, RLENGTH - 5)
	}' "$TOP/Documentation/rdma-core.rst"
}

page_is_right() {
	local dir number wrong=0
	for dir in "$TOP"/packaging/rdma-core/*/; do
		number=$(sed -n 's/^set(IBVERBS_PABI_VERSION "\(.*\)")/\1/p' "$dir/CMakeLists.txt")
		is "$(basename "$dir") $(page_says "$(basename "${dir%.*}")")" "$(basename "$dir") $number" || wrong=1
	done
	return "$wrong"
}
check "the page about rdma-core has each plugin's number" page_is_right || true
finish
