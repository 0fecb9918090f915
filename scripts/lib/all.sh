# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The whole library, in the order in which its parts depend on each other.

# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/lib/host.sh
. "$TOP/scripts/lib/host.sh"
# shellcheck source=scripts/lib/roles.sh
. "$TOP/scripts/lib/roles.sh"
# shellcheck source=scripts/lib/apt.sh
. "$TOP/scripts/lib/apt.sh"
# shellcheck source=scripts/lib/rdma-core.sh
. "$TOP/scripts/lib/rdma-core.sh"
# shellcheck source=scripts/lib/image.sh
. "$TOP/scripts/lib/image.sh"
# shellcheck source=scripts/lib/uml.sh
. "$TOP/scripts/lib/uml.sh"
# shellcheck source=scripts/lib/race.sh
. "$TOP/scripts/lib/race.sh"
# shellcheck source=scripts/lib/build.sh
. "$TOP/scripts/lib/build.sh"
# shellcheck source=scripts/lib/run.sh
. "$TOP/scripts/lib/run.sh"
# shellcheck source=scripts/lib/archive.sh
. "$TOP/scripts/lib/archive.sh"
# shellcheck source=scripts/lib/ahead.sh
. "$TOP/scripts/lib/ahead.sh"
# shellcheck source=scripts/lib/arm64.sh
. "$TOP/scripts/lib/arm64.sh"
# shellcheck source=scripts/lib/foreign.sh
. "$TOP/scripts/lib/foreign.sh"
