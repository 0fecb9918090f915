# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What each shell test starts with.

LIB=${BASH_SOURCE[0]%/*}
# shellcheck source=selftests/lib/tap.sh
. "$LIB/tap.sh"
# shellcheck source=selftests/lib/net.sh
. "$LIB/net.sh"
# shellcheck source=selftests/lib/pair.sh
. "$LIB/pair.sh"
# shellcheck source=selftests/lib/nodes.sh
. "$LIB/nodes.sh"
# shellcheck source=selftests/lib/memory.sh
. "$LIB/memory.sh"
# shellcheck source=selftests/lib/topology.sh
. "$LIB/topology.sh"

echo "TAP version 13"
