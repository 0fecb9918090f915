/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Captures: a process reads from a file (capture.c) the packets of its user's QPs on a link, or,
 * with CAP_NET_RAW, all RoCEv2 packets of the link.
 */
#ifndef SMR_QP_CAPTURE_H
#define SMR_QP_CAPTURE_H

#include <linux/jump_label_ratelimit.h>
#include <linux/kfifo.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "uapi/softmr-abi.h"

struct ib_device;
struct sk_buff;
struct smr_env;
struct smr_limits;
struct smr_qp;
struct smr_qptab;
struct smr_train;

/* Bytes of packets that wait for the reader, powers of 2: of a user's QPs, of a link */
#define SMR_CAPTURE_RING_OWN	SZ_1M
#define SMR_CAPTURE_RING_ALL	SZ_8M
/* The longest packet: 4096 bytes of payload, and all headers */
#define SMR_CAPTURE_FRAME	4352

/**
 * struct smr_capture - an open file of packets
 * @node: in the namespace's list, read under RCU
 * @of_context: in the context's list
 * @env: the link; valid until a grace period after @ended
 * @ibdev: likewise
 * @limits: of the user; valid until @ended
 * @all: all packets of the link, not only those of @uid
 * @uid: the packets are of QPs of this user
 * @unseen: enum smr_capture_unseen: messages within this host do not become packets for it
 * @ended: the context is closed; written under the lock of its list
 * @wait: the reader
 * @reader: guards the reading end of @fifo
 * @lock: guards the writing end of @fifo, @lost, @packet and @room; BH-safe
 * @fifo: packets, a record each: struct smr_captured_packet and its bytes
 * @lost: packets lost since the last one of @fifo
 * @packet: a record that is being written
 * @room: its bytes
 * @ring: memory of @fifo
 */
struct smr_capture {
	struct list_head node;
	struct list_head of_context;
	struct smr_env *env;
	struct ib_device *ibdev;
	struct smr_limits *limits;
	bool all;
	kuid_t uid;
	u32 unseen;
	bool ended;
	wait_queue_head_t wait;
	struct mutex reader;	/* see above */
	spinlock_t lock;	/* see above */
	struct kfifo_rec_ptr_2 fifo;
	u32 lost;
	struct smr_captured_packet packet;
	u8 room[SMR_CAPTURE_FRAME];
	u8 ring[];
};

static_assert(offsetof(struct smr_capture, packet) + sizeof(struct smr_captured_packet) ==
	      offsetof(struct smr_capture, room));

extern struct static_key_false_deferred smr_captured;

/* Is there a capture? */
static inline bool smr_is_captured(void)
{
	return static_branch_unlikely(&smr_captured.key);
}

void smr_captures_changed(void);
bool __cold smr_capture_wants(const struct smr_qp *from, const struct smr_qp *to, u16 family);
bool __cold smr_capture_wants_next_all(struct smr_qp *qp);
void __cold smr_capture_sent_all(const struct smr_qp *qp,
				 const struct smr_train *train);
void __cold smr_capture_arrived_all(struct smr_qptab *tab, struct sk_buff *skb, u32 why);
void __cold smr_capture_received_all(const struct smr_qp *qp, struct sk_buff *skb);

/* Does a capture want the next message of a connected QP to its peer? Called by its send task. */
static inline bool smr_capture_wants_next(struct smr_qp *qp)
{
	return smr_is_captured() && smr_capture_wants_next_all(qp);
}

/* A train, all its segments sealed, is about to be sent. */
static inline void smr_capture_sent(const struct smr_qp *qp,
				    const struct smr_train *train)
{
	if (smr_is_captured())
		smr_capture_sent_all(qp, train);
}

/*
 * A packet has arrived, described by struct smr_rx_part. @why: it is dropped for this reason, enum
 * smr_why_id; 0: a QP or a group gets it.
 */
static inline void smr_capture_arrived(struct smr_qptab *tab, struct sk_buff *skb, u32 why)
{
	if (smr_is_captured())
		smr_capture_arrived_all(tab, skb, why);
}

/* A QP receives a packet. */
static inline void smr_capture_received(const struct smr_qp *qp, struct sk_buff *skb)
{
	if (smr_is_captured())
		smr_capture_received_all(qp, skb);
}

#endif /* SMR_QP_CAPTURE_H */
