// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
struct probe { struct ib_device ibdev; } *probe(struct net *net);
struct probe *probe(struct net *net)
{ return ib_alloc_device_with_net(probe, ibdev, net); }
