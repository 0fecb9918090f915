#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make ahead: compile the module against the next kernels of Debian, those of sid and experimental. It is an early
# warning: it reports a kernel for which the module does not compile, but does not fail.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

# ahead SUITE CODENAME: the package list names suites by their codenames
ahead() {
	local release lacks
	release=$(usable_kernels "$AHEAD_APT/kernels" "$2" amd64 | tail -n 1)
	if [ -z "$release" ]; then
		say "AHEAD: $1 has no kernel of its own now"
	elif ! step "headers of $release" ahead_headers "$release"; then
		warn "AHEAD: the headers of $1's kernel $release cannot be had"
	elif lacks=$(ahead_lacks "$release") && [ -n "$lacks" ]; then
		warn "AHEAD: DKMS would leave softmr out of $1's kernel $release, which has no $lacks: see packaging/dkms.conf.in"
	elif step "module for $release" ahead_build "$release"; then
		say "AHEAD: softmr builds for $1's kernel $release"
	else
		warn "AHEAD: softmr does NOT build for $1's kernel $release, which comes to Debian 13's backports next"
	fi
}

at_exit end_jobs
# shellcheck disable=SC2119 # no bed is needed
if ! { host_require && with_lock image image_make; }; then die 1 "what the module is built in could not be made"; fi
if step "package lists of sid" ahead_lists; then
	ahead sid sid
	ahead experimental rc-buggy
else
	warn "AHEAD: the package lists of sid and experimental cannot be had"
fi
