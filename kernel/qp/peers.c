// SPDX-License-Identifier: GPL-2.0
/*
 * The peer of a connection accepts packets with the right source address, QP number and PSN. It
 * cannot distinguish two QPs of one host. So this host must: while a user's QP is connected to
 * a peer, another user's QP must not be connected to the same one. A peer is an address and a
 * QP number, as seen from one of this host's addresses.
 *
 * A QP claims its peer from RTR until it is reset, enters an error state or is destroyed. QPs
 * of one owner may share a peer: a program that reconnects may do so for a short time. Users
 * with the right to send raw packets may share any peer, as guests. While only guests are
 * connected to a peer, no other user can claim it.
 */
#include "qp/peers.h"

#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat/cleanup.h"
#include "net/path.h"

/**
 * struct peer_key - identity of a peer
 * @saddr: the local address, IPv4 in its mapped form
 * @daddr: the peer's address, likewise
 * @oif: the netdev's index, for link-local addresses; 0 for others
 * @qpn: the peer's QP number
 */
struct peer_key {
	struct in6_addr saddr;
	struct in6_addr daddr;
	int oif;
	u32 qpn;
};

/**
 * struct smr_peer - a peer that QPs are connected to
 * @node: in the table
 * @key: its identity; constant
 * @owner: the owner that connected a QP to it first; no user and no context: only guests are
 *	left, or it is the kernel
 * @owners: number of QPs of @owner
 * @guests: number of QPs of other owners
 */
struct smr_peer {
	struct rhash_head node;
	struct peer_key key;
	struct smr_owner owner;
	u32 owners;
	u32 guests;
};

static const struct rhashtable_params peer_params = {
	.head_offset = offsetof(struct smr_peer, node),
	.key_offset = offsetof(struct smr_peer, key),
	.key_len = sizeof(struct peer_key),
	.automatic_shrinking = true,
};

/* Initialize a namespace's table of peers. @peers: the table; free it with smr_peers_fini(). */
int smr_peers_init(struct smr_peers *peers)
{
	spin_lock_init(&peers->lock);
	return rhashtable_init(&peers->hash, &peer_params);
}

void smr_peers_fini(struct smr_peers *peers)
{
	WARN_ON_ONCE(atomic_read(&peers->hash.nelems));
	rhashtable_destroy(&peers->hash);
}

static const struct smr_owner nobody = { .uid = INVALID_UID };

static bool owner_is(const struct smr_owner *a, const struct smr_owner *b)
{
	return uid_eq(a->uid, b->uid) ||
	       (a->context && a->context == b->context);
}

/*
 * Returns the peer if the caller must free it, otherwise NULL. Look-ups hold the lock, so no
 * grace period is needed.
 */
static struct smr_peer *claim_drop(struct smr_peers *peers,
				   struct smr_claim *claim)
{
	struct smr_peer *peer = claim->peer;

	lockdep_assert_held(&peers->lock);
	claim->peer = NULL;
	if (!peer)
		return NULL;
	if (claim->guest)
		peer->guests--;
	else if (!--peer->owners)
		peer->owner = nobody;
	if (peer->owners || peer->guests)
		return NULL;
	rhashtable_remove_fast(&peers->hash, &peer->node, peer_params);
	return peer;
}

/* Find the peer, or add @new. Sets @claim. */
static int claim_take(struct smr_peers *peers, struct smr_claim *claim,
		      struct smr_peer *new, const struct smr_owner *owner,
		      bool may_share)
{
	struct smr_peer *peer;
	int ret;

	lockdep_assert_held(&peers->lock);
	peer = rhashtable_lookup_fast(&peers->hash, &new->key, peer_params);
	if (!peer) {
		ret = rhashtable_insert_fast(&peers->hash, &new->node,
					     peer_params);
		if (ret)
			return ret;
		peer = new;
		peer->owner = *owner;
	}
	claim->guest = !owner_is(&peer->owner, owner);
	if (claim->guest && !may_share)
		return -EPERM;
	claim->peer = peer;
	if (claim->guest)
		peer->guests++;
	else
		peer->owners++;
	return 0;
}

static void peer_key_init(struct peer_key *key, const struct smr_path *path, u32 qpn)
{
	key->saddr = path->saddr;
	key->daddr = path->daddr;
	key->oif = ipv6_addr_type(&path->daddr) & IPV6_ADDR_LINKLOCAL ?
		   path->oif : 0;
	key->qpn = qpn;
}

/*
 * Claim a peer for a QP that is about to be connected to it. @claim: of the QP; a peer that it
 * already holds is released on success. @qpn: the peer's QP number. @owner: the owner of the QP.
 * @may_share: allow it even if another owner's QP is connected to the peer. Context: process; takes
 * @peers->lock. Returns 0; -EPERM: it is the peer of another owner's QP; -ENOMEM or another error
 * of rhashtable_insert_fast().
 */
int smr_peer_claim(struct smr_peers *peers, struct smr_claim *claim,
		   const struct smr_path *path, u32 qpn,
		   const struct smr_owner *owner, bool may_share)
{
	struct smr_peer *new, *unused = NULL;
	struct smr_claim taken = {};
	int ret;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	peer_key_init(&new->key, path, qpn);
	scoped_guard(spinlock_bh, &peers->lock) {
		ret = claim_take(peers, &taken, new, owner, may_share);
		if (!ret) {
			unused = claim_drop(peers, claim);
			*claim = taken;
		}
	}
	if (taken.peer != new)
		kfree(new);
	kfree(unused);
	return ret;
}

/*
 * Release the claim of a QP that is no longer connected. @claim: of the QP; may hold nothing.
 * Context: any but hard interrupts; takes @peers->lock.
 */
void smr_peer_release(struct smr_peers *peers, struct smr_claim *claim)
{
	struct smr_peer *unused;

	scoped_guard(spinlock_bh, &peers->lock)
		unused = claim_drop(peers, claim);
	kfree(unused);
}
