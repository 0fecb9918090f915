// SPDX-License-Identifier: GPL-2.0
/* Select a work queue for a frame by the Toeplitz hash of its header fields. */
#include "steer/rss.h"

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "compat/unaligned.h"
#include "steer/match.h"
#include "why.h"

#define IPV4_FIELDS	(SMR_RX_HASH_SRC_IPV4 | SMR_RX_HASH_DST_IPV4)
#define IPV6_FIELDS	(SMR_RX_HASH_SRC_IPV6 | SMR_RX_HASH_DST_IPV6)
#define TCP_FIELDS	(SMR_RX_HASH_SRC_PORT_TCP | SMR_RX_HASH_DST_PORT_TCP)
#define UDP_FIELDS	(SMR_RX_HASH_SRC_PORT_UDP | SMR_RX_HASH_DST_PORT_UDP)

/* Maximum input of the hash: two IPv6 addresses and two ports. The key is 4 bytes longer. */
#define INPUT_MAX	(SMR_RX_HASH_KEY - sizeof(u32))

/**
 * struct input - the bytes that are hashed
 * @bytes: the bytes
 * @len: number of bytes
 */
struct input {
	u8 bytes[INPUT_MAX];
	unsigned int len;
};

static int check(const struct smr_create_qp *how, u32 log_size,
		 struct smr_why *why)
{
	u64 fields = how->rx_hash_fields_mask;

	if (memchr_inv(how->rsvd, 0, sizeof(how->rsvd)))
		return smr_why(why, INPUT_UNKNOWN);
	if (how->rx_hash_function != SMR_RX_HASH_TOEPLITZ)
		return smr_why(why, RSS_FUNCTION, how->rx_hash_function);
	if (fields & ~(u64)SMR_RX_HASH_ALL)
		return smr_why(why, RSS_FIELDS, fields,
			       fields & ~(u64)SMR_RX_HASH_ALL);
	if (how->rx_hash_key_len != SMR_RX_HASH_KEY)
		return smr_why(why, RSS_KEY, how->rx_hash_key_len,
			       SMR_RX_HASH_KEY);
	if ((fields & IPV4_FIELDS && fields & IPV6_FIELDS) ||
	    (fields & TCP_FIELDS && fields & UDP_FIELDS))
		return smr_why(why, RSS_MIXED, fields);
	if (!fields && log_size)
		return smr_why(why, RSS_NO_FIELD, 1U << log_size);
	return 0;
}

/**
 * smr_rss_create() - set up RSS for a QP
 * @table: the work queues; outlives the result
 * @how: parameters of the command that creates the QP
 * @why: a refusal says why
 *
 * Context: process, may sleep.
 * Return: the RSS state, which smr_rss_destroy() frees; -EINVAL: a wrong length of the key,
 *	fields of two IP versions or of two protocols, or no field for several queues;
 *	-EOPNOTSUPP: an unknown function or field; -ENOMEM.
 */
struct smr_rss *smr_rss_create(const struct ib_rwq_ind_table *table,
			       const struct smr_create_qp *how,
			       struct smr_why *why)
{
	u32 i, size = 1U << table->log_ind_tbl_size;
	struct smr_rss *rss;
	int ret;

	ret = check(how, table->log_ind_tbl_size, why);
	if (ret)
		return ERR_PTR(ret);
	rss = kvzalloc(struct_size(rss, table, size), GFP_KERNEL_ACCOUNT);
	if (!rss)
		return ERR_PTR(-ENOMEM);
	rss->fields = how->rx_hash_fields_mask;
	rss->mask = size - 1;
	memcpy(rss->key, how->rx_hash_key, sizeof(rss->key));
	for (i = 0; i < size; i++)
		rss->table[i] = to_smr_rwq(table->ind_tbl[i])->qp.handle;
	return rss;
}

/**
 * smr_rss_destroy() - free RSS state
 * @rss: no longer used; or NULL
 *
 * Context: process, may sleep.
 */
void smr_rss_destroy(struct smr_rss *rss)
{
	kvfree(rss);
}

static void add(struct input *in, const void *field, unsigned int len)
{
	memcpy(in->bytes + in->len, field, len);
	in->len += len;
}

/* Fields that a frame lacks are left out: a fragment is hashed by its addresses. */
static void add_fields(struct input *in, u32 fields,
		       const struct smr_frame_key *key)
{
	bool tcp = key->l4 == IPPROTO_TCP, udp = key->l4 == IPPROTO_UDP;

	if (key->l3 == 4 && fields & SMR_RX_HASH_SRC_IPV4)
		add(in, &key->ip4.src_ip, sizeof(key->ip4.src_ip));
	if (key->l3 == 6 && fields & SMR_RX_HASH_SRC_IPV6)
		add(in, key->ip6.src_ip, sizeof(key->ip6.src_ip));
	if (key->l3 == 4 && fields & SMR_RX_HASH_DST_IPV4)
		add(in, &key->ip4.dst_ip, sizeof(key->ip4.dst_ip));
	if (key->l3 == 6 && fields & SMR_RX_HASH_DST_IPV6)
		add(in, key->ip6.dst_ip, sizeof(key->ip6.dst_ip));
	if ((tcp && fields & SMR_RX_HASH_SRC_PORT_TCP) ||
	    (udp && fields & SMR_RX_HASH_SRC_PORT_UDP))
		add(in, &key->ports.src_port, sizeof(key->ports.src_port));
	if ((tcp && fields & SMR_RX_HASH_DST_PORT_TCP) ||
	    (udp && fields & SMR_RX_HASH_DST_PORT_UDP))
		add(in, &key->ports.dst_port, sizeof(key->ports.dst_port));
}

/*
 * Each set bit of the input XORs the 32 bits of the key that begin at its position. @window has
 * these for the current bit, and the next 32.
 */
static u32 toeplitz(const struct input *in, const u8 *key)
{
	u64 window = get_unaligned_be64(key);
	unsigned int i;
	u32 hash = 0;
	int bit;

	for (i = 0; i < in->len; i++) {
		for (bit = 7; bit >= 0; bit--) {
			if (in->bytes[i] & BIT(bit))
				hash ^= window >> 32;
			window <<= 1;
		}
		if (i + 8 < SMR_RX_HASH_KEY)
			window |= key[i + 8];
	}
	return hash;
}

/**
 * smr_rss_target() - find the work queue of a frame
 * @rss: of the QP
 * @frame: the frame, which begins with its Ethernet header
 *
 * A frame without any of the fields goes to the first queue.
 *
 * Return: the queue's handle.
 */
struct smr_qp_handle *smr_rss_target(const struct smr_rss *rss,
				     const struct sk_buff *frame)
{
	struct smr_frame_key key;
	struct input in = {};

	if (!rss->mask)
		return rss->table[0];
	smr_frame_key_parse(&key, frame, 0);
	add_fields(&in, rss->fields, &key);
	return rss->table[toeplitz(&in, rss->key) & rss->mask];
}
