// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider is linked with this in place of libibverbs. The functions of the real one have symbol versions, which
 * change with the number of the private interface. References to these functions have no version, so they find the
 * function of the libibverbs that has loaded the provider.
 *
 * For a public function with several versions they would find the oldest one, which is for programs of OFED 1.0: the
 * provider calls no such function.
 */
#define FUNCTION(release, result, name, arguments)                             \
	void name(void);                                                       \
	void name(void)                                                        \
	{                                                                      \
	}
#define UNTIL(release, result, name, arguments)
#include <infiniband/functions.def>

/* of the public interface, and of <infiniband/cmd_ioctl.h> */
FUNCTION(39, int, execute_ioctl, )
FUNCTION(39, struct ibv_device **, ibv_get_device_list, )
FUNCTION(39, int, _ibv_query_gid_ex, )
FUNCTION(39, struct ibv_qp_ex *, ibv_qp_to_qp_ex, )
/* of rdma-core's own headers (RDMA_CORE_SOURCE) */
#ifdef REGISTRAR
FUNCTION(39, void, REGISTRAR, )
#endif
