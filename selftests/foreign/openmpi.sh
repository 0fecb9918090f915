#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: Open MPI on UCX (rc_v, ud_v) and on libfabric (verbs;ofi_rxm): mpi4py's benchmarks, NetPIPE
# bed: uml
# packages: openmpi-bin python3-mpi4py netpipe-openmpi ucx-utils
# timeout: 1200
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/foreign_mpi.sh
. "$LIB/foreign_mpi.sh"

netpipe() { mpi "$1" 60 2 NPopenmpi -u 262144 -n 10 -o "$WORK/np.out" -I && grep -qE '^ *[0-9]+ ' "$WORK/np.out"; }

device_up
says "$("$MPIRUN" --version | sed -nE 's/^mpirun.* ([0-9.]+)$/\1/p')"
for way in $(mpi_ways); do
	check "$way: mpi4py.bench helloworld" mpi "$way" 60 2 python3 -m mpi4py.bench helloworld
	check "$way: mpi4py.bench pingpong" mpi "$way" 60 2 python3 -m mpi4py.bench pingpong -n 1048576 -l 100 --loop-large 5
	check "$way: mpi4py.bench ringtest, 4 processes" mpi "$way" 60 4 python3 -m mpi4py.bench ringtest -n 100 -l 1
	check "$way: NetPIPE" netpipe "$way"
done
finish
