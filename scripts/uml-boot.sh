#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot a User-Mode Linux guest and run a command in it. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/bed.sh
. "$TOP/scripts/lib/bed.sh"

BED=uml
FLAVOUR=plain

bed_usage_head() {
	cat <<-EOF
		Usage: scripts/uml-boot.sh [--flavour plain|kasan|lockdep] [OPTION...] [--] [COMMAND...]

		A Debian 13 guest on a User-Mode Linux kernel, at native speed: a process like any other. Nodes are
		network namespaces on one bridge; they share the kernel, so RDMA device names must differ between them.
	EOF
}

bed_option() {
	[ "$1" = --flavour ] || return
	uml_check_flavour "$2"
	FLAVOUR=$2
}

bed_prepare() {
	MEM=${MEM:-2G}
	[ -n "${SOFTMR_NO_BUILD:-}" ] && return
	build_layer uml || return
	build_uml_layer "$FLAVOUR"
}

# UML's terminals are given as file descriptors: the console's, and one per node
bed_start() {
	local node fd terminals=() nodes=() slabs=()
	# each cache by itself, so that one can be told to fail, and a report names the right one
	[ "$FLAVOUR" = plain ] || slabs=(slab_nomerge)
	mkdir "$RUN/job"
	write_job 1 "$RUN/job/job"
	cp /proc/cpuinfo "$RUN/job/cpuinfo"
	ln -s job/verdict "$RUN/verdict.0"
	ln -s job/dmesg "$RUN/dmesg.0"
	for ((node = 1; node <= NODES; node++)); do
		nodes+=("$node")
		if [ -n "$INTERACTIVE" ] && [ "$node" = 1 ]; then
			exec {fd}>&1
			terminals+=("ssl$node=fd:$STDIN,fd:$fd")
		else
			node_output "$node"
			exec {fd}>"$RUN/out.$node"
			terminals+=("ssl$node=null,fd:$fd")
		fi
		fds+=("$fd")
	done
	# shellcheck disable=SC2086 # CMDLINE is words
	TMPDIR=${TMPDIR:-/dev/shm} start_instance "${nodes[*]}" "$(uml_dir "$FLAVOUR")/vmlinux" \
		"mem=$MEM" seccomp=on "ncpus=$CPUS" con=null con0=null,fd:1 "${terminals[@]}" \
		"uml_dir=$RUN/" umid=guest "initrd=$IMAGE/initrd-uml" panic=-1 loglevel=5 log_buf_len=1M "${slabs[@]}" \
		bed.kind=uml "bed.base=$BASE/root" "bed.layer=$LAYER" \
		"bed.modules=$BUILD/uml-$FLAVOUR/layer" "bed.job=$RUN/job" $CMDLINE \
		>"$RUN/console.0" 2>&1
	# only the guest may hold the pipes open, so that they end when it does
	for fd in "${fds[@]}"; do exec {fd}>&-; done
}
fds=()

bed_main "$@"
