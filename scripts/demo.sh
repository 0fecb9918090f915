#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make demo: two guests, softmr on eth0 in each, unmodified RDMA programs between them.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

KERNEL=${KERNEL:-newest}
is_role "$KERNEL" || die 2 "KERNEL: there is no '$KERNEL'; there are: ${ROLES[*]}"

# shellcheck disable=SC2317 # called by the exit trap
demo_cleanup() {
	end_jobs
	[ -z "${SHARE:-}" ] || rm -rf "$SHARE"
}

at_exit demo_cleanup
if [ -t 1 ]; then BOLD=$(printf '\033[1m') PLAIN=$(printf '\033[0m'); else BOLD='' PLAIN=''; fi

cat <<EOF
${BOLD}softmr demo${PLAIN}
Two Debian 13 guests on one virtual Ethernet segment. In each, softmr makes an RDMA device of eth0; then programs
that know nothing of softmr move data between the two.

EOF
host_require qemu || exit 1
build_layer "$KERNEL" || exit 1
echo "Debian's kernel: $(kernel_release "$KERNEL")"
SHARE=$(mktemp -d "${TMPDIR:-/tmp}/softmr-demo.XXXXXX")
cp "$TOP/scripts/guest/demo" "$SHARE/demo"
start=$SECONDS
say "  BOOT  two guests"
status=0
start_job "$TOP/scripts/qemu-boot.sh" --no-build --kernel "$KERNEL" --nodes 2 --share "$SHARE" --timeout 300 \
	-- bash /mnt/share/demo
wait "$job" || status=$?
echo
if [ "$status" = 0 ]; then
	echo "${BOLD}It works.${PLAIN} Both guests ended well after $((SECONDS - start)) s, boot included."
	echo "Go on by hand: scripts/qemu-boot.sh --nodes 2   (a shell on node 1; softmr is installed)"
else
	echo "${BOLD}The demo failed${PLAIN} (status $status); what went wrong is above."
fi
exit "$status"
