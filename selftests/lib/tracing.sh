# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tests that trace the kernel need of it.

TRACING=/sys/kernel/tracing

# Skip the test if the kernel cannot trace
need_tracefs() { [ -d "$TRACING/events" ] || mount -t tracefs none "$TRACING" || skip_all "no tracefs"; }
