#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make soak: all kinds of work at once on a bad network, for as long as one likes, in a guest of uml-checked:
# scripts/soak.sh [-t SECONDS] [-s SEED]. Logs are in build/soak.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/long.sh
. "$TOP/scripts/lib/long.sh"

LENGTH=1800 SETTINGS=()
while getopts 't:s:' option; do
	case $option in
	t) LENGTH=$OPTARG ;;
	s) SETTINGS+=("SMR_SEED=$OPTARG") ;;
	*) die 2 "usage: scripts/soak.sh [-t SECONDS] [-s SEED]" ;;
	esac
done
need_seconds -t "$LENGTH"
run_long "$BUILD/soak" soak "$LENGTH" "SMR_SOAK_SECONDS=$LENGTH" "${SETTINGS[@]}"
