// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the provider is linked with in place of libibverbs. The functions of the real one have a version in their
 * names, which changes with the number of the private interface. References to these have none, and so they find the
 * function of whichever libibverbs has loaded the provider.
 *
 * Of a public function that has several versions they would find the oldest one, which is for programs of OFED 1.0: the
 * provider calls none of those.
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
FUNCTION(39, struct ibv_qp_ex *, ibv_qp_to_qp_ex, )
