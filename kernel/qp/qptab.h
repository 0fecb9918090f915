/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of the QPs of a network namespace: by number, and by multicast group. */
#ifndef SMR_QPTAB_H
#define SMR_QPTAB_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "qp/peers.h"

struct smr_group;
struct smr_qp;
struct smr_qp_handle;
struct smr_why_log;

#define SMR_MEMBERS_HASH_BITS	8

/**
 * struct smr_member - an attachment of a QP to a group
 * @node: in struct smr_members
 * @addr: the group, an IPv4 one in its mapped form
 * @qp: the QP, which is detached before it is destroyed; readers of the table use @handle
 * @handle: of the QP
 * @group: the netdev's membership, which the QPs of its link share
 * @rcu: defers freeing: readers may still access @node
 *
 * Constant while it is in the table.
 */
struct smr_member {
	struct hlist_node node;
	struct in6_addr addr;
	struct smr_qp *qp;
	struct smr_qp_handle *handle;
	struct smr_group *group;
	struct rcu_head rcu;
};

/**
 * struct smr_members - the attachments of a network namespace
 * @mutex: guards changes of @hash; taken before RTNL
 * @hash: by the group's address; readers use RCU
 */
struct smr_members {
	struct mutex mutex;
	struct hlist_head hash[1 << SMR_MEMBERS_HASH_BITS];
};

/**
 * struct smr_qptab - the QPs of one network namespace
 * @hash: struct smr_qp_handle by the QP's number, except QP1s; RCU for readers
 * @gsi: netdev's index -> struct smr_qp_handle of its device's QP1; RCU for readers
 * @members: attachments to multicast groups
 * @peers: claims on peers
 * @strays: count of packets for a QP number that does not exist
 * @whys: the log of these packets; valid while the namespace has a link
 * @captures: struct smr_capture; RCU for readers, written under the lock of capture.c
 *
 * QP numbers are unique in the namespace, not only on a device, since all its
 * devices share the sockets.
 */
struct smr_qptab {
	struct rhashtable hash;
	struct xarray gsi;
	struct smr_members members;
	struct smr_peers peers;
	atomic64_t strays;
	struct smr_why_log *whys;
	struct list_head captures;
};

#endif /* SMR_QPTAB_H */
