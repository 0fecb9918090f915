/* SPDX-License-Identifier: GPL-2.0 */
/* Claims on peers: a QP must not be connected to the peer of another user's QP. */
#ifndef SMR_PEERS_H
#define SMR_PEERS_H

#include <linux/in6.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct smr_path;
struct smr_peer;

/**
 * struct smr_owner - the owner of a connected QP
 * @uid: the user; INVALID_UID: the kernel
 * @context: the id of the context that created the QP; 0: a kernel consumer
 *
 * A process may change its user while it has a context open. So two QPs have the same owner if
 * they have the same user or the same context.
 */
struct smr_owner {
	kuid_t uid;
	u64 context;
};

/**
 * struct smr_peers - the peers of a network namespace's QPs
 * @lock: guards @hash and its entries; BH-safe, a leaf
 * @hash: struct smr_peer, by their key
 */
struct smr_peers {
	spinlock_t lock;	/* hash and entries */
	struct rhashtable hash;
};

/**
 * struct smr_claim - the claim of a QP on a peer
 * @peer: the peer, or NULL
 * @guest: the peer is claimed by another owner
 *
 * The lock of struct smr_peers guards it.
 */
struct smr_claim {
	struct smr_peer *peer;
	bool guest;
};

int smr_peers_init(struct smr_peers *peers);
void smr_peers_fini(struct smr_peers *peers);
int smr_peer_claim(struct smr_peers *peers, struct smr_claim *claim,
		   const struct smr_path *path, u32 qpn,
		   const struct smr_owner *owner, bool may_share);
void smr_peer_release(struct smr_peers *peers, struct smr_claim *claim);

#endif /* SMR_PEERS_H */
