#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot a User-Mode Linux guest and run a command in it. See --help.
#
# This runs softmr-run (userspace/run) on the root of a test bed: the guest image, and everything that was built from
# this tree; or with --tree, another Debian with its installed packages, and only the modules of this tree.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/bed.sh
. "$TOP/scripts/lib/bed.sh"

FLAVOUR=plain
TREE=
MORE_LAYERS=()

bed_usage_head() {
	cat <<-EOF
		Usage: scripts/uml-boot.sh [--flavour plain|checked|ulps|gcov] [--tree DIR] [--layer DIR]... [OPTION...] [--] [COMMAND...]

		A Debian 13 guest on a User-Mode Linux kernel, at native speed: a process like any other. Nodes are
		network namespaces on one bridge; they share the kernel, so RDMA device names must differ between them.
		With --tree the guest's root is the system unpacked in DIR, which has a provider of its own. --layer DIR puts
		more files on top of the root.
	EOF
}

bed_option() {
	case $1 in
	--flavour)
		uml_check_flavour "$2"
		FLAVOUR=$2
		;;
	--tree)
		[ -d "$2/usr" ] || die 2 "--tree: there is no system in $2"
		TREE=$(realpath "$2")
		;;
	--layer)
		[ -d "$2" ] || die 2 "--layer: $2 is not a directory"
		MORE_LAYERS+=(--layer "$(realpath "$2")")
		;;
	*) return 1 ;;
	esac
}

prepare() {
	[ -z "${SOFTMR_NO_BUILD:-}" ] || return 0
	host_require uml && build_layer uml && build_uml_layer "$FLAVOUR"
}

# run_guest OPTION...: replace this shell, so that signals reach softmr-run. The guest's environment is that of a fresh
# machine; the file with its memory is in TMPDIR
run_guest() {
	local dir=$BUILD/uml-$FLAVOUR more=() root=(--layer "$BASE/root" --layer "$LAYER")
	local environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8)
	[ -z "$SHARE" ] || more+=(--rw "$SHARE" --at /mnt/share)
	[ -z "$LOG_DIR" ] || more+=(--log "$LOG_DIR")
	[ -z "$TREE" ] || root=(--layer "$TREE")
	exec env -i "${environment[@]}" SOFTMR_RUN_TMPDIR="${TMPDIR:-/dev/shm}" SOFTMR_BOOT_LIMIT="$BOOT_LIMIT" \
		"$dir/run/softmr-run" --runtime "$dir/run" --nodes "$NODES" --cpus "$CPUS" --mem "${MEM:-2G}" \
		--timeout "$TIMEOUT" --cmdline "$CMDLINE" --root --no-link --chdir /root "${more[@]}" \
		"${root[@]}" "${MORE_LAYERS[@]}" --layer "$dir/layer" "$@"
}

bed_parse "$@"
prepare || die "$EXIT_NO_BOOT" "what the guest boots from could not be made"
# slab_nomerge: each cache is separate, so that one can be made to fail, and a report names the right one. kmemleak
# takes half of the time, and more if other work delays the guest: all CPUs wait for its lock. With kmemleak, UML's
# start of another CPU calls call_rcu() before that CPU is online, which lockdep reports; so callers that turn it on
# must also ask for one CPU.
[ "$FLAVOUR" = plain ] || CMDLINE="slab_nomerge $CMDLINE"
[ "$FLAVOUR" = plain ] || [[ $CMDLINE = *kmemleak=* ]] || CMDLINE+=" kmemleak=off"
if [ -n "$INTERACTIVE" ]; then
	[ -t 0 ] || die 2 "no COMMAND was given, and standard input is not a terminal"
	run_guest -- env TERM="${TERM:-linux}" bash -l
fi
# shellcheck disable=SC2016 # the guest's shell expands it
run_guest --each -- env TERM=dumb NO_COLOR=1 bash -c 'exec "$@" 2>&1' bash "${COMMAND[@]}"
