#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: UCX's gtest: the tests of the verbs transports
# bed: uml
# foreign: ucx/test/gtest/gtest
# get: github.com/openucx/ucx, configured with --enable-gtest in DIR/ucx, and made there (make -C test/gtest too)
# timeout: 2400
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

export UCX_NET_DEVICES=$DEV:1 LD_LIBRARY_PATH=
skip_iwarp "UCX has no transport on iWARP"
device_up
lib=$FOREIGN/ucx/src
LD_LIBRARY_PATH=$lib/ucp/.libs:$lib/uct/.libs:$lib/ucs/.libs:$lib/ucm/.libs:$lib/uct/ib/.libs
program=$FOREIGN/ucx/test/gtest/.libs/gtest
[ -e "$program" ] || program=$FOREIGN/ucx/test/gtest/gtest
says "$(sed -nE 's/^#define UCX_VERSION_STRING "?([^"]*)"?/\1/p;s/^#define PACKAGE_VERSION "(.*)"/\1/p' "$FOREIGN/ucx/config.h" | head -n 1)"
gtest "$program" 700 --gtest_filter='rc_verbs/*:ud_verbs/*:rcv/*:udv/*'
finish
