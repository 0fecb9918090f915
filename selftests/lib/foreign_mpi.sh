# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Open MPI, as Debian packages it, for the suites that use it.

# The packages are unpacked and not configured, so there are no alternatives
MPIRUN=/usr/bin/mpirun.openmpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export UCX_WARN_UNUSED_ENV_VARS=n FI_VERBS_IFACE=eth0

# mpi_ways: how messages can go over this device
mpi_ways() {
	iwarp || printf '%s\n' ucx-rc ucx-ud
	echo ofi-verbs
}

# mpi_has_rma WAY: Open MPI 5 has no one-sided communication for libfabric's verbs, which have no atomics
mpi_has_rma() { [ "$1" != ofi-verbs ]; }
# shellcheck disable=SC2034 # the suites use it
NO_RMA="Open MPI has no one-sided communication this way"

# mpi WAY LIMIT PROCESSES COMMAND...: other transports are excluded, so that no message goes another way
mpi() {
	local way=$1 limit=$2 processes=$3 options
	shift 3
	case $way in
	ucx-rc) options=(--mca pml ucx --mca osc ucx -x "UCX_TLS=rc_v,self" -x "UCX_NET_DEVICES=$DEV:1") ;;
	ucx-ud) options=(--mca pml ucx --mca osc ucx -x "UCX_TLS=ud_v,self" -x "UCX_NET_DEVICES=$DEV:1") ;;
	ofi-verbs) options=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxm" --mca osc ^ucx) ;;
	esac
	limited "$limit" "$MPIRUN" --np "$processes" --map-by :OVERSUBSCRIBE --bind-to none "${options[@]}" "$@" </dev/null
}
