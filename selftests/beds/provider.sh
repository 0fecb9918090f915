#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The provider's own tests, which need no device: built in the guest image, with sanitizers, and run there.
# timeout: 240
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
finish
