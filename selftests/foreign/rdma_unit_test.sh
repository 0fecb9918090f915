#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: Google's rdma-unit-test
# bed: uml
# foreign: rdma-unit-test/bazel-bin
# get: github.com/google/rdma-unit-test, built by Bazel in DIR/rdma-unit-test (bazel build ...)
# timeout: 1800
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# The suite knows devices by their names, and aborts at a name that it does not know. What it expects of irdma is nearest to
# the InfiniBand architecture: no shortcuts of a NIC, and the exceptions that it makes for it are few
[ "$LINK_TYPE" = rxe ] || DEV=irdma0

skip_iwarp "it connects QPs without rdma_cm"
device_up
says "$(cat "$FOREIGN/rdma-unit-test/VERSION" 2>/dev/null)"
while IFS= read -r program; do
	gtest "$program" 150 --device_name="$DEV" --ipv4_only=true
done < <(find -L "$FOREIGN/rdma-unit-test/bazel-bin/unit" -maxdepth 1 -type f -name '*_test' -perm -u+x | LC_ALL=C sort)
finish
