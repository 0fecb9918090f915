#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The packages on a fresh Debian (trixie): selftests/packages/fresh.sh. Runs on the host ("make test BED=host").
# timeout: 1800
exec "$(dirname "$0")/../packages/fresh.sh" trixie packages
