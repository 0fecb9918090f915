#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: UCX's gtest: the tests of the verbs transports
# bed: uml
# foreign: ucx/test/gtest/gtest
# get: github.com/openucx/ucx, configured with --enable-gtest and --enable-params-check in DIR/ucx, and made there (make -C test/gtest too)
# timeout: 3600
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

export UCX_NET_DEVICES=$DEV:1 LD_LIBRARY_PATH=
skip_iwarp "UCX has no transport on iWARP"
wide_path # two tests ask for a path MTU of 4096, whatever the port's is
device_up
lib=$FOREIGN/ucx/src
LD_LIBRARY_PATH=$lib/ucp/.libs:$lib/uct/.libs:$lib/ucs/.libs:$lib/ucm/.libs:$lib/uct/ib/.libs
export UCX_MODULE_DIR=$FOREIGN/ucx/modules
program=$FOREIGN/ucx/test/gtest/.libs/gtest
[ -e "$program" ] || program=$FOREIGN/ucx/test/gtest/gtest
says "$(sed -nE 's/^#define UCX_VERSION_STRING "?([^"]*)"?/\1/p;s/^#define PACKAGE_VERSION "(.*)"/\1/p' "$FOREIGN/ucx/config.h" | head -n 1)"
# Not its benchmarks, nor test_uct_event's 100,000 rounds over UD, in each of which UCX waits for a timer (over rdma_rxe,
# too): they take longer than the quarter of an hour after which its watchdog aborts all of it
FILTER='rc_verbs/*:ud_verbs/*:rcv/*:udv/*:-*/test_uct_perf.*:ud_verbs/test_uct_event.am_*'
# test_uct_peer_failure_multiple makes a receiver of tens of MB for each 16 files that it may open, 256 by default
ulimit -n 512
# a process that aborts takes the tests behind it along
export GTEST_TOTAL_SHARDS=16 GTEST_SHARD_INDEX
for ((GTEST_SHARD_INDEX = 0; GTEST_SHARD_INDEX < GTEST_TOTAL_SHARDS; GTEST_SHARD_INDEX++)); do
	gtest "$program" 300 --gtest_filter="$FILTER"
done
finish
