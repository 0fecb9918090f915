#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 32-bit programs of Debian (bookworm, i386) on a 64-bit kernel: selftests/packages/fresh.sh. Runs on the host ("make test
# BED=host").
# timeout: 1800
exec "$(dirname "$0")/../packages/fresh.sh" bookworm 32bit
