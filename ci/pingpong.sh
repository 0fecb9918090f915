#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A test as CI runs one after setup-softmr: it takes all that it needs from the environment, and is the same whether
# RDMA is on this machine or in a guest. Both ends of ibv_rc_pingpong, with the data compared.
set -euo pipefail

: "${SOFTMR_DEVICE:?run setup-softmr first, and take over what it prints}" "${SOFTMR_GID_INDEX:?}"

# Both ends are to be in the same guest, so they are one command
if [ "${1:-}" != both ]; then
	# shellcheck disable=SC2086 # SOFTMR_RUN is words
	exec ${SOFTMR_RUN:-} "$0" both
fi

export SOFTMR_DEVICE SOFTMR_GID_INDEX
pingpong=(ibv_rc_pingpong -d "$SOFTMR_DEVICE" -g "$SOFTMR_GID_INDEX" -n 1000 -c)
ibv_devinfo -d "$SOFTMR_DEVICE"
"${pingpong[@]}" >/dev/null &
server=$!
for ((i = 0; i < 50; i++)); do
	"${pingpong[@]}" 127.0.0.1 && break
	kill -0 "$server"
	sleep 0.2
done
wait "$server"
