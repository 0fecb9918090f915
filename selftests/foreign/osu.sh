#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: the OSU micro benchmarks with Open MPI
# bed: uml
# packages: openmpi-bin ucx-utils
# foreign: osu/pt2pt
# get: mvapich.cse.ohio-state.edu/benchmarks, made with Open MPI's mpicc; DIR/osu is its installed folder libexec/osu-micro-benchmarks/mpi
# timeout: 900
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/foreign_mpi.sh
. "$LIB/foreign_mpi.sh"

# Sizes up to 256 KiB; those that validate data do so
one() {
	local program=$2 options=(-m 262144 -i 20 -x 2)
	case ${program##*/} in
	osu_barrier | osu_init | osu_hello | osu_ibarrier) options=() ;;
	osu_latency_mt | osu_latency_mp) options=(-m 65536 -i 20 -x 2) ;;
	esac
	check "$1: ${program##*/}" mpi "$1" 60 2 "$program" "${options[@]}"
}

device_up
says "$(find "$FOREIGN/osu" -type f -perm -u+x -exec grep -aohE 'OSU MPI.* v[0-9.]+' {} + -quit | grep -oE 'v[0-9.]+$' | head -n 1)"
for way in $(mpi_ways); do
	while IFS= read -r program; do one "$way" "$program"; done < <(find "$FOREIGN/osu" -path '*/.libs' -prune -o \
		-type f -name 'osu_*' -perm -u+x -print | LC_ALL=C sort)
done
finish
