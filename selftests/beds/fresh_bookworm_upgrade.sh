#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One libsoftmr1 of Debian 12, under which libibverbs is upgraded to that of 13 and of sid, and downgraded again:
# selftests/packages/fresh.sh. Runs on the host ("make test BED=host").
# needs: uml-plain
# timeout: 1800
exec "$(dirname "$0")/../packages/fresh.sh" bookworm upgrade
