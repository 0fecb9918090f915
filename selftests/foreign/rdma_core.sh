#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: rdma-core's own suite (pyverbs), of the release that the image has
# bed: uml
# packages: python3-pyverbs
# timeout: 1200
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

device_up
says "$(dpkg-query -W -f '${Version}' python3-pyverbs)"
pyverbs_suite /usr/share/doc/rdma-core/tests
finish
