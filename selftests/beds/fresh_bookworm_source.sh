#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make install" on a fresh Debian (bookworm): selftests/packages/fresh.sh. Runs on the host ("make test BED=host").
# timeout: 1800
exec "$(dirname "$0")/../packages/fresh.sh" bookworm source
