#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Module and provider for arm64: cross-compiled, booted in QEMU on the newest kernel of Debian 13's backports. There
# ibv_rc_pingpong runs, and tests of data that two processors share. An x86-64 host shows the order in which arm64's
# compiler puts stores, but not that in which its processors may.
# timeout: 1800
export SOFTMR_ARM64_LIMIT=1200
exec "$(dirname "$0")/../../scripts/arm64.sh" --kernel newest --tests "data rc_mixed mw_race odp_traffic"
