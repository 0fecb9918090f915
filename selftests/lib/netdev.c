// SPDX-License-Identifier: GPL-2.0
#include "netdev.h"

#include <errno.h>
#include <stdlib.h>

/**
 * vt_own_link_add() - create a dummy netdev and a link on it
 *
 * From here on both ends that this process opens are on that link.
 *
 * Return: 0 or a negative errno
 */
int vt_own_link_add(void)
{
	/* remains of a test that failed */
	system("ip link del " VT_OWN_NETDEV " 2>/dev/null");
	setenv("SMR_DEV", VT_OWN_LINK, 1);
	setenv("SMR_DEV2", VT_OWN_LINK, 1);
	return system("ip link add " VT_OWN_NETDEV " type dummy && "
		      "ip addr add 10.98.0.1/24 dev " VT_OWN_NETDEV " && "
		      "ip addr add fd98::1/64 dev " VT_OWN_NETDEV " nodad && "
		      "ip link set " VT_OWN_NETDEV " up && rdma link add "
		      VT_OWN_LINK " type softmr netdev " VT_OWN_NETDEV) ?
	       -EIO : 0;
}

int vt_own_link_del(void)
{
	return system("rdma link del " VT_OWN_LINK) ? -EIO : 0;
}
