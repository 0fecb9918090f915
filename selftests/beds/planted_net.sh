#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The bugs of selftests/planted/net are found, each by the test that it names.
# needs: uml-checked
# timeout: 1500
exec "$(dirname "$0")/../../scripts/planted.sh" net
