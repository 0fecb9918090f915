#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure softmr, rdma_rxe, siw and TCP side by side, in one boot. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

OUT=$BUILD/bench
QUICK=
PARTS=(network loss regions counted)
CHOSEN=()
WHATS="softmr rxe tcp"
JSON=
PROFILE=
LIMIT=5400
NODE_COUNTS=(2 4 8 16 32 64)
CPU_COUNTS=(1 2 4 8)
BOOTS=1

usage() {
	cat <<-EOF
		Usage: scripts/bench.sh [--quick] [--part PART]... [--boots N] [--out DIR] [--json FILE] [--profile]

		Boots a UML guest (native speed, 2 CPUs) and measures in it, one after the other: softmr,
		rdma_rxe, siw (iWARP over TCP), plain TCP, and UCX over shared memory, on one host and between two namespaces
		over veth with MTU 1500 and 9000: perftest's bandwidth of 64 KiB and latency of 2 B. Then what gets through when
		packets are lost, and what memory regions cost, softmr beside rdma_rxe. Last, the instructions that a message
		costs, both ends together, of softmr, rdma_rxe and TCP: counted in a QEMU guest with Debian's newest kernel and
		one CPU, whose time is the number of instructions. Writes results.md and results.csv.

		  --part P     only this part, or these: network, loss, regions or counted; or one that is not
		               measured otherwise: cpus: instructions of messages that 1, 2, 4 and 8 CPUs exchange; scale: many
		               QPs, namespaces and links, in a QEMU guest with Debian's newest kernel; nodes: Open MPI on 2 to
		               64 nodes, all to all, in a UML guest of 10 GiB, whose network delays packets by 100 us; walks:
		               what a message calls in softmr: calls, functions, files and depth, by a module without inlined
		               functions, in a QEMU guest with Debian's newest kernel
		  --boots N    measure each part in N boots, and report the median, the least and the most (default 1)
		  --out DIR    where to write (default $OUT)
		  --quick      counted: fewer messages
		  --what WHAT  counted: only softmr, rxe or tcp
		  --json FILE  counted: also write an array of {"what", "where", "test", "size", "instructions"}
		  --profile    counted: also print in which functions softmr's messages spend their instructions, by this
		               machine's perf

		Nothing else should run on this machine meanwhile. Figures of different boots do not compare; ratios do. What is
		counted hardly differs (softmr's by 0.5 %), whatever else runs. results.csv is the form of the files in
		Documentation/figures; performance.rst says which part each of them is.
	EOF
}

while [ $# -gt 0 ]; do
	case $1 in
	--quick) QUICK=1 ;;
	--part)
		[[ ${2-} =~ ^(network|loss|regions|counted|cpus|scale|nodes|walks)$ ]] ||
			die 2 "--part needs network, loss, regions, counted, cpus, scale, nodes or walks"
		CHOSEN+=("$2")
		shift
		;;
	--boots)
		[[ ${2-} =~ ^[1-9][0-9]?$ ]] || die 2 "--boots needs a number from 1 to 99"
		BOOTS=$2
		shift
		;;
	--out)
		[ $# -ge 2 ] || die 2 "--out needs a directory"
		OUT=$2
		shift
		;;
	--what)
		[[ ${2-} =~ ^(softmr|rxe|tcp)$ ]] || die 2 "--what needs softmr, rxe or tcp"
		WHATS=$2
		shift
		;;
	--json)
		[ $# -ge 2 ] || die 2 "--json needs a file"
		JSON=$2
		shift
		;;
	--profile) PROFILE=1 ;;
	--help | -h)
		usage
		exit
		;;
	*) die 2 "unknown option $1 (see --help)" ;;
	esac
	shift
done

[ "${#CHOSEN[@]}" = 0 ] || PARTS=("${CHOSEN[@]}")

# shellcheck disable=SC2317 # called by at_exit
bench_cleanup() {
	end_jobs
	[ -z "${SHARE:-}" ] || rm -rf "$SHARE"
}
at_exit bench_cleanup

# Lines of the guest: "@ CSV-LINE" is a result; the rest is progress
follow() {
	local line start=$SECONDS
	while IFS= read -r line; do
		case $line in
		"@ "*) echo "${line#@ }" >>"$OUT/results.csv" ;;
		*) printf '  %5s  %s\n' "$(elapsed $((SECONDS - start)))" "$line" ;;
		esac
	done
}

# The load of the machine
load() { cut -d' ' -f1 /proc/loadavg; }

machine() {
	sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1
}

# The releases of the kernels
kernels() {
	if in_uml; then echo "UML $(uml_release plain)"; fi
	if in_qemu; then kernel_release newest; fi
}

# in_part PART: this part is selected
in_part() { [[ " ${PARTS[*]} " == *" $1 "* ]]; }

# in_uml: a selected part runs in UML
in_uml() { in_part network || in_part loss || in_part regions || in_part nodes; }
in_qemu() { in_part counted || in_part cpus || in_part scale || in_part walks; }

# share_perf: put this machine's perf, with its libraries, into the share; the guest image has none. perf needs its own
# libraries, but works with other kernels
share_perf() {
	local lib
	have perf || { warn "no profile: neither this machine nor the guest image has perf"; return; }
	mkdir "$SHARE/perf"
	cp "$(command -v perf)" "$SHARE/perf/perf.bin"
	ldd "$SHARE/perf/perf.bin" | grep -o '/[^ ]*' | while IFS= read -r lib; do cp -L "$lib" "$SHARE/perf"; done
	cat >"$SHARE/perf/perf" <<-'EOF'
		#!/bin/sh
		here=$(dirname "$0")
		exec "$here"/ld-linux-*.so.* --library-path "$here" "$here/perf.bin" "$@"
	EOF
	chmod +x "$SHARE/perf/perf"
}

# share_walks: put a module without inlined functions, and which file defines which function, into the share
share_walks() {
	local copy=$BUILD/walks
	sync_tree "$TOP/kernel" "$copy"
	find "$copy" -name '*.[ch]' -exec sed -i 's/\bstatic inline\b/static noinline __maybe_unused/' {} +
	rm "$copy/.sources"
	make_module "$copy" newest -j"$(nproc)" KCFLAGS='-fno-inline -fno-optimize-sibling-calls' >"$OUT/log.walks-module" 2>&1 || return
	cp "$IMAGE/walks-newest/softmr.ko" "$TOP"/scripts/bench/walks{,.py} "$SHARE"
	(cd "$copy" && grep -nHoP '^(?:static )?[a-z][\w *]*?\b\K\w+(?=\()' -r --include='*.[ch]' .) | awk -F: '{ print $3, $1 }' >"$SHARE/functions"
}

# timed: a part other than the counted one is selected
timed() { [[ ! "${PARTS[*]}" =~ ^(counted|cpus|walks)$ ]]; }

# run_nodes COUNT...: on the nodes of softmr run, with the Open MPI of the foreign suites' layer. The last COUNT is the
# largest
run_nodes() {
	local dir=$BUILD/uml-plain
	env -i PATH="$PATH" HOME=/root LC_ALL=C.UTF-8 SOFTMR_RUN_TMPDIR="${TMPDIR:-/dev/shm}" \
		"$dir/run/softmr-run" --runtime "$dir/run" --nodes "${!#}" --netem "delay 100us" --cpus 2 --mem 10G --timeout "$LIMIT" \
		--root --chdir /root --rw "$SHARE" --at /mnt/share --layer "$BASE/root" --layer "$IMAGE/layer" --layer "$(foreign_base)/layer" \
		--layer "$dir/layer" -- bash /mnt/share/nodes "$@" </dev/null 2>"$OUT/log.nodes"
}

# boot_counted CPUS PART ARGUMENT...
# shellcheck disable=SC2317,SC2016 # boot calls it; the guest's shell expands "$@"
boot_counted() {
	# from the guest's own memory: the host decides when the share answers
	SOFTMR_ACCEL=icount "$TOP/scripts/qemu-boot.sh" --kernel newest --cpus "$1" "${@:3}" -- bash -c \
		'cp -r /mnt/share /tmp/bench && exec bash /tmp/bench/counted "$@"' \
		counted "/$SELFTESTS_DIR/lib" "$QUICK" "$WHATS" "$2"
}

# shellcheck disable=SC2317 # the pipe below calls it
# boot PART: run that part of bench/guest on its machine
boot() {
	local args=(--no-build --share "$SHARE" --timeout "$LIMIT" --log "$OUT/log.$1" --mem 3G)
	local command=(bash /mnt/share/guest "/$SELFTESTS_DIR/lib" "$1")
	case $1 in
	scale) "$TOP/scripts/qemu-boot.sh" --kernel newest "${args[@]}" --mem 5G -- "${command[@]}" ;;
	counted) boot_counted 1 "$1" "${args[@]}" ;;
	cpus)
		local count
		for count in "${CPU_COUNTS[@]}"; do boot_counted "$count" "$1" "${args[@]}"; done
		;;
	nodes) run_nodes "${NODE_COUNTS[@]}" ;;
	walks) "$TOP/scripts/qemu-boot.sh" --kernel newest --cpus 1 "${args[@]}" -- bash /mnt/share/walks "/$SELFTESTS_DIR/lib" ;;
	network) "$TOP/scripts/uml-boot.sh" --flavour plain --layer "$(foreign_base)/layer" "${args[@]}" -- "${command[@]}" ;;
	*) "$TOP/scripts/uml-boot.sh" --flavour plain "${args[@]}" -- "${command[@]}" ;;
	esac
}

if in_uml; then
	host_require uml && build_layer_with_tests uml && build_uml_layer plain || exit 1
fi
if in_part nodes || in_part network; then build_foreign || exit 1; fi
if in_qemu; then host_require qemu && build_layer_with_tests newest || exit 1; fi
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
rm -f "$OUT"/results.*
SHARE=$(mktemp -d "${TMPDIR:-/tmp}/softmr-bench.XXXXXX")
cp "$TOP"/scripts/bench/{guest,counted,nodes,alltoall.py} "$IMAGE"/selftests/bench/{membench,tcpbench,scalebench} "$SHARE"
[ -z "$PROFILE" ] || share_perf
! in_part walks || share_walks || exit
LOAD=$(load)
cat >"$OUT/results.csv" <<-EOF
	# $(date -u +%Y-%m-%d), $(machine), $(nproc) processors, load before the run $LOAD; kernels: $(kernels | paste -sd, -)
	# $(git -C "$TOP" describe --always --dirty 2>/dev/null || echo "no version")
	where,what,test,size,metric,value
	EOF
! timed ||
	say "Measuring; what else runs on this machine spoils the figures (load now: $LOAD)."
status=0
for part in "${PARTS[@]}"; do
	for ((n = 1; n <= BOOTS; n++)); do
		follow < <(boot "$part" || echo "@ # $part failed with status $?")
	done
done
if grep '^# .*failed' "$OUT/results.csv"; then status=1; fi
"$TOP/scripts/bench/report.py" "$OUT" ${JSON:+"$JSON"} || status=$?
echo
cat "$OUT/results.md"
echo
say "Results: $OUT/results.md, $OUT/results.csv"
exit "$status"
