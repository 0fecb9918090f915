// SPDX-License-Identifier: GPL-2.0
/*
 * The peer of a connection accepts what comes from the right address with the right QP
 * number and PSN. It cannot tell two QPs of one host apart. So this host has to: while a
 * user's QP is connected to a peer, another user's QP must not be connected to the same
 * one. A peer is an address and a QP number, as seen from one of this host's addresses.
 *
 * A QP holds its peer from RTR on until it is reset, gets an error or is destroyed. QPs of
 * one owner may share a peer: no program does that for long, but one that reconnects may.
 * Users who may send raw packets may share any peer, as guests.
 */
#include "qp/peers.h"

#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat/cleanup.h"
#include "net/path.h"

/**
 * struct peer_key - what makes a peer
 * @saddr: our address, an IPv4 address in its mapped form
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
 * @key: constant
 * @owner: who connected a QP to it first; no user and no context: only guests are left,
 *	or it is the kernel
 * @owners: QPs of @owner's
 * @guests: QPs of others
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

/**
 * smr_peers_init() - prepare a namespace's empty table of peers
 * @peers: the table; to be ended with smr_peers_fini()
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_peers_init(struct smr_peers *peers)
{
	spin_lock_init(&peers->lock);
	return rhashtable_init(&peers->hash, &peer_params);
}

/**
 * smr_peers_fini() - free a table
 * @peers: the table, empty
 *
 * Context: process, may sleep.
 */
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

/* Returns the peer if it is to be freed, otherwise NULL. Look-ups hold the lock: at once. */
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

/**
 * smr_peer_claim() - a QP is about to be connected to a peer
 * @peers: the namespace's
 * @claim: the QP's; may hold a peer, which is released on success
 * @path: to the peer
 * @qpn: the peer's QP number
 * @owner: who connects it
 * @may_share: another owner's QP may be connected to it as well
 *
 * Context: process, may sleep; takes @peers->lock.
 * Return: 0; -EPERM: it is the peer of another owner's QP; -ENOMEM and what else
 * rhashtable_insert_fast() returns.
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

/**
 * smr_peer_release() - a QP is not connected any more
 * @peers: the namespace's
 * @claim: the QP's, which may hold nothing
 *
 * Context: any but hard interrupts; takes @peers->lock.
 */
void smr_peer_release(struct smr_peers *peers, struct smr_claim *claim)
{
	struct smr_peer *unused;

	scoped_guard(spinlock_bh, &peers->lock)
		unused = claim_drop(peers, claim);
	kfree(unused);
}
