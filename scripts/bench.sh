#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure softmr, rdma_rxe, siw and TCP side by side, in one boot. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

OUT=$BUILD/bench
QUICK=
LIMIT=5400

usage() {
	cat <<-EOF
		Usage: scripts/bench.sh [--quick] [--out DIR]

		Boots a UML guest (kernel $UML_SERIES, native speed, 2 CPUs) and measures in it, one after the other: softmr,
		rdma_rxe, siw (iWARP over TCP) and plain TCP, on one host and between two namespaces over veth with MTU 1500
		and 9000; perftest with messages of 2 B to 8 MiB. Writes results.md, results.csv and an SVG per plot.

		  --quick    64 KiB bandwidth and 2 B latency only: about two minutes
		  --out DIR  where to write (default $OUT)

		Nothing else should run on this machine meanwhile. Figures of different boots do not compare; ratios do.
	EOF
}

while [ $# -gt 0 ]; do
	case $1 in
	--quick) QUICK=1 ;;
	--out)
		[ $# -ge 2 ] || die 2 "--out needs a directory"
		OUT=$2
		shift
		;;
	--help | -h)
		usage
		exit
		;;
	*) die 2 "unknown option $1 (see --help)" ;;
	esac
	shift
done

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

# How busy the machine is otherwise
load() { cut -d' ' -f1 /proc/loadavg; }

machine() {
	sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1
}

host_require uml || exit 1
build_layer_with_tests uml && build_uml_layer plain || exit 1
if ! have gnuplot && am_root; then step "host package: gnuplot" host_install gnuplot-nox || true; fi
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
rm -f "$OUT"/results.* "$OUT"/*.svg "$OUT"/*.gnuplot
SHARE=$(mktemp -d "${TMPDIR:-/tmp}/softmr-bench.XXXXXX")
cp "$TOP/scripts/bench/guest" "$SHARE/guest"
LOAD=$(load)
cat >"$OUT/results.csv" <<-EOF
	# $(date -u +%Y-%m-%d), $(machine), $(nproc) processors, load before the run $LOAD; UML kernel $(uml_release plain)
	# $(git -C "$TOP" describe --always --dirty 2>/dev/null || echo "no version")
	where,what,test,size,metric,value
	EOF
say "Measuring; what else runs on this machine spoils the figures (load now: $LOAD)."
status=0
follow < <(
	"$TOP/scripts/uml-boot.sh" --no-build --flavour plain --share "$SHARE" --timeout "$LIMIT" --log "$OUT/log" \
		-- bash /mnt/share/guest "/$SELFTESTS_DIR/lib" "$QUICK" || echo "@ # failed with status $?"
)
if grep '^# failed' "$OUT/results.csv"; then status=1; fi
"$TOP/scripts/bench/report.py" "$OUT" || status=$?
echo
cat "$OUT/results.md"
echo
if have gnuplot; then
	(cd "$OUT" && for plot in *.gnuplot; do [ ! -e "$plot" ] || gnuplot "$plot"; done)
	say "Plots: $OUT/*.svg"
else
	say "No gnuplot, so there are no plots: apt-get install gnuplot-nox"
fi
say "Results: $OUT/results.md, $OUT/results.csv"
exit "$status"
