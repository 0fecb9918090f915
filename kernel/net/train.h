/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transmit: trains of equal segments that the stack handles as one UDP GSO packet.
 */
#ifndef SMR_TRAIN_H
#define SMR_TRAIN_H

#include <linux/list.h>
#include <linux/types.h>

#include "net/egress.h"
#include "net/icrc.h"
#include "net/path.h"

struct sk_buff;

/* No train has more segments (UDP_MAX_SEGMENTS) nor bytes than this. */
#define SMR_TRAIN_SEGS	64
#define SMR_TRAIN_BYTES	65000

/**
 * struct smr_train - segments under construction
 * @path: the path to its destination
 * @eg: its sender's socket
 * @skb: the packet
 * @room: bytes left in the run of memory that @skb's last fragment is in
 * @len: bytes in all segments
 * @seg_len: UDP payload of each segment except the last
 * @nsegs: segments begun
 * @max: maximum number of segments
 * @sport: UDP source port; initially that of @path, and may be changed before the first segment
 * @ip_id: identification of the first segment, IPv4
 * @icrc: cached CRC state: @own, or that of a side of a QP
 * @own: see @icrc
 * @control: it has the traffic class of network control instead of that of its path: DSCP 48
 *	(CS6) and priority 6, the defaults of adapters for their CNPs. Networks configured for
 *	DCQCN have a queue for it. Set it before smr_train_send()
 *
 * On the stack of the function that builds it; needs no lock.
 */
struct smr_train {
	struct smr_path *path;
	struct smr_egress *eg;
	struct sk_buff *skb;
	unsigned int room;
	unsigned int len;
	unsigned int seg_len;
	unsigned int nsegs;
	unsigned int max;
	u16 sport;
	u16 ip_id;
	struct smr_icrc *icrc;
	struct smr_icrc own;
	bool control;
};

int smr_xmit_result(struct smr_egress *eg, struct smr_refused *refused, int err);

void smr_xmit_push_ip(struct sk_buff *skb, const struct smr_path *path, u16 id);

int smr_train_begin(struct smr_train *train, struct smr_path *path,
		    struct smr_egress *eg, struct smr_icrc *icrc,
		    unsigned int nsegs, unsigned int seg_len);
int smr_train_begin_urgent(struct smr_train *train, struct smr_path *path,
			   struct smr_egress *eg, struct smr_icrc *icrc,
			   unsigned int len);
void *smr_train_segs(struct smr_train *train, unsigned int len,
		     unsigned int *n);
struct sk_buff *smr_train_copy(const struct smr_train *train);
int smr_train_send(struct smr_train *train, struct smr_refused *refused);
void smr_train_abort(struct smr_train *train);

#endif /* SMR_TRAIN_H */
