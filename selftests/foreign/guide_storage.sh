#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: storage.rst: its recipes for NVMe, NFS, iSER and SRP, each command as the page has it
# bed: qemu
# packages: open-iscsi nfs-kernel-server fio
# timeout: 900
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/guide.sh
. "$LIB/guide.sh"

guide_suite Documentation/storage.rst
