#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: Intel MPI benchmarks (IMB-MPI1, IMB-RMA) with Open MPI, data checked
# bed: uml
# packages: openmpi-bin ucx-utils
# foreign: imb/IMB-MPI1
# get: github.com/intel/mpi-benchmarks, made with Open MPI's mpicc and mpicxx (make CPPFLAGS=-DCHECK IMB-MPI1 IMB-RMA), the programs in DIR/imb
# timeout: 1800
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/foreign_mpi.sh
. "$LIB/foreign_mpi.sh"

MPI1="pingpong pingping sendrecv exchange bcast allgather allgatherv gather gatherv scatter scatterv alltoall alltoallv reduce
	reduce_scatter allreduce barrier"
RMA="unidir_get unidir_put bidir_get bidir_put one_get_all one_put_all all_get_all all_put_all put_local
	exchange_get exchange_put accumulate get_accumulate fetch_and_op compare_and_swap truly_passive_put get_local"

# imb WAY PROGRAM TEST OPTION...: built with -DCHECK it compares what it receives. It says what is wrong, and goes on
imb() {
	local status=0
	mpi "$1" 40 2 "$FOREIGN/imb/$2" "${@:3}" -iter 20 -npmin 2 >"$WORK/imb.out" 2>&1 || status=$?
	! grep -E '^Process [0-9]+: ' "$WORK/imb.out" || status=1
	[ "$3" = barrier ] || grep -q ' defects *$' "$WORK/imb.out" || { echo "no data is checked: it was built without -DCHECK"; status=1; }
	[ "$status" = 0 ] || tail -n 20 "$WORK/imb.out"
	return "$status"
}

device_up
says "$(grep -aoE 'Intel\(R\) MPI Benchmarks [0-9.]+' "$FOREIGN/imb/IMB-MPI1" | head -n 1 | grep -oE '[0-9.]+$')"
for way in $(mpi_ways); do
	for test in $MPI1; do
		check "$way: IMB-MPI1 $test" imb "$way" IMB-MPI1 "$test" -msglog 18
	done
	[ -e "$FOREIGN/imb/IMB-RMA" ] || continue
	for test in $RMA; do
		if mpi_has_rma "$way"; then
			check "$way: IMB-RMA $test" imb "$way" IMB-RMA "$test" -msglog 16
		else
			skip "$way: IMB-RMA $test" "$NO_RMA"
		fi
	done
done
finish
