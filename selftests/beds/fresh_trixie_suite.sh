#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rdma-core's suite of Debian (trixie), with the provider that is built for it: selftests/packages/fresh.sh. Runs on the
# host ("make test BED=host").
# timeout: 1800
exec "$(dirname "$0")/../packages/fresh.sh" trixie suite
