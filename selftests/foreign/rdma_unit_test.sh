#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: Google's rdma-unit-test
# bed: uml
# foreign: rdma-unit-test/bazel-bin
# get: github.com/google/rdma-unit-test, built by Bazel in DIR/rdma-unit-test; --per_file_copt=unit/gunit_main.cc@-include,FILE with the FILE selftests/foreign/introspection_softmr.hh
# timeout: 1800
#
# Without these tests:
#   DeviceLimitTest       of each kind of object it makes as many as the device allows, which are 131072 and take minutes, and
#                         for QPs 4 GiB
#   QpIdRollover          it makes and destroys more QPs than the device allows at a time: 131104 took 4 minutes, and it passed
#   StressTest            ten million WRITEs
#   MwType2AdvancedTest.Rebind
#                         it does not end on softmr, which is a failure
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

skip_iwarp "it connects QPs without rdma_cm"
wide_path # it aborts on another one
device_up
says "$(cat "$FOREIGN/rdma-unit-test/VERSION" 2>/dev/null)"
mapfile -t programs < <(find -L "$FOREIGN/rdma-unit-test/bazel-bin/unit" -maxdepth 1 -type f -name '*_test' -perm -u+x |
	LC_ALL=C sort)
without='DeviceLimitTest.*:QpStateTest.QpIdRollover:StressTest.*:MwType2AdvancedTest.Rebind'
# most of them wait most of the time, for what should not come
for program in "${programs[@]}"; do
	gtest_run "$program" 100 --gtest_filter="-$without" --device_name="$DEV" --ipv4_only=true &
done
wait
for program in "${programs[@]}"; do gtest_judge "$program"; done
[ "$LINK_TYPE" != softmr ] || not_ok MwType2AdvancedTest.Rebind
finish
