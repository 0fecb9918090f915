/* SPDX-License-Identifier: GPL-2.0 */
/* Whose QP has which peer: no user's QP may speak to the peer of another user's. */
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
 * struct smr_peers - the peers of a network namespace's QPs
 * @lock: guards @hash and its entries; BH-safe, a leaf
 * @hash: struct smr_peer, by their key
 */
struct smr_peers {
	spinlock_t lock;	/* hash and entries */
	struct rhashtable hash;
};

/**
 * struct smr_claim - what a QP holds of a peer
 * @peer: the peer, or NULL
 * @guest: the peer is another user's
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
		   const struct smr_path *path, u32 qpn, kuid_t uid,
		   bool may_share);
void smr_peer_release(struct smr_peers *peers, struct smr_claim *claim);

#endif /* SMR_PEERS_H */
