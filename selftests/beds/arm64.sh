#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Module and provider for arm64: cross-compiled, booted in QEMU on the newest kernel of Debian 13's backports, and
# ibv_rc_pingpong run there.
# timeout: 900
exec "$(dirname "$0")/../../scripts/arm64.sh" --kernel newest
