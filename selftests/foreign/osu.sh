#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: the OSU micro benchmarks with Open MPI: those that block; two processes
# bed: uml
# packages: openmpi-bin ucx-utils
# foreign: osu/pt2pt
# get: mvapich.cse.ohio-state.edu/benchmarks, made with Open MPI's mpicc; DIR/osu is its installed folder libexec/osu-micro-benchmarks/mpi
# timeout: 1800
#
# No program twice: not the persistent, non-blocking and neighbourhood forms of the same operations. Not those that want
# more than one node; and not osu_latency_mt, which ends without MPI_Finalize(), over shared memory too.
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/foreign_mpi.sh
. "$LIB/foreign_mpi.sh"

# one WAY PROGRAM: sizes up to 64 KiB; what can validate its data does so
one() {
	local program=$2 options=(-m 65536 -i 20 -x 2)
	if [[ $program = */one-sided/* ]] && ! mpi_has_rma "$1"; then
		skip "$1: ${program##*/}" "$NO_RMA"
		return
	fi
	case ${program##*/} in
	osu_barrier | osu_init | osu_hello) options=() ;;
	osu_cas_latency | osu_fop_latency) options=(-i 20 -x 2) ;;
	esac
	case $program in
	*/osu_barrier | */congestion/*) ;;
	*/pt2pt/* | */collective/*) options+=(-c) ;;
	esac
	check "$1: ${program##*/}" mpi "$1" 60 2 "$program" "${options[@]}"
}

programs() {
	find "$FOREIGN/osu" \( -name .libs -o -name persistent \) -prune -o -type f -name 'osu_*' -perm -u+x -print |
		grep -vE '/(osu_i(all|barrier|bcast|gather|neighbor|reduce|scatter).*|osu_neighbor_.*|.*_persistent|osu_bw_fan_.*|osu_latency_mt)$' |
		LC_ALL=C sort
}

# Sums of bytes wrap around, but where Open MPI adds 16 and more at once they saturate, and the comparison fails
export OMPI_MCA_op=^avx
device_up
says "$(find "$FOREIGN/osu" -type f -perm -u+x -exec grep -aohE 'OSU MPI.* v[0-9.]+' {} + -quit | grep -oE 'v[0-9.]+$' | head -n 1)"
for way in $(mpi_ways); do
	for program in $(programs); do one "$way" "$program"; done
done
finish
