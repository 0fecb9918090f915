/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Captures: a process reads the packets of its user's QPs from a file (capture.c). Unlike a
 * sniffer, which sees all packets of a link, this needs no privilege.
 */
#ifndef SMR_QP_CAPTURE_H
#define SMR_QP_CAPTURE_H

#include <linux/jump_label_ratelimit.h>
#include <linux/kfifo.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "uapi/softmr-abi.h"

struct sk_buff;
struct smr_limits;
struct smr_qp;
struct smr_train;

/* Bytes of packets that wait for the reader; a power of 2 */
#define SMR_CAPTURE_RING	(1024 * 1024)
/* The longest packet: 4096 bytes of payload, and all headers */
#define SMR_CAPTURE_FRAME	4352

/**
 * struct smr_capture - an open file of packets
 * @node: in the link's list, read under RCU
 * @of_context: in the context's list
 * @limits: of the user; valid until @ended
 * @uid: the packets are of QPs of this user
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
	struct smr_limits *limits;
	kuid_t uid;
	bool ended;
	wait_queue_head_t wait;
	struct mutex reader;	/* see above */
	spinlock_t lock;	/* see above */
	struct kfifo_rec_ptr_2 fifo;
	u32 lost;
	struct smr_captured_packet packet;
	u8 room[SMR_CAPTURE_FRAME];
	u8 ring[SMR_CAPTURE_RING];
};

static_assert(offsetof(struct smr_capture, packet) + sizeof(struct smr_captured_packet) ==
	      offsetof(struct smr_capture, room));

extern struct static_key_false_deferred smr_captured;

/* Is there a capture of any user? */
static inline bool smr_is_captured(void)
{
	return static_branch_unlikely(&smr_captured.key);
}

bool smr_capture_wants(const struct smr_qp *from, const struct smr_qp *to);
void __cold smr_capture_sent_all(const struct smr_qp *qp,
				 const struct smr_train *train);
void __cold smr_capture_received_all(const struct smr_qp *qp,
				     struct sk_buff *skb);
void __cold smr_capture_local_all(const struct smr_qp *from,
				  const struct smr_qp *to, struct sk_buff *skb);

/**
 * smr_capture_sent() - add a train that is about to be sent to the captures
 * @qp: its sender
 * @train: all its segments are sealed
 *
 * Context: any but hard interrupts.
 */
static inline void smr_capture_sent(const struct smr_qp *qp,
				    const struct smr_train *train)
{
	if (smr_is_captured())
		smr_capture_sent_all(qp, train);
}

/**
 * smr_capture_received() - add a packet that a QP receives to the captures
 * @qp: its receiver
 * @skb: the packet, described by struct smr_rx_part; not changed
 *
 * Context: as struct smr_rx_ops.rx.
 */
static inline void smr_capture_received(const struct smr_qp *qp,
					struct sk_buff *skb)
{
	if (smr_is_captured())
		smr_capture_received_all(qp, skb);
}

/**
 * smr_capture_local() - add a packet that two QPs of this host exchange without sending it
 * @from: its sender
 * @to: its receiver
 * @skb: the packet, as for taps; not changed
 *
 * Context: BH off.
 */
static inline void smr_capture_local(const struct smr_qp *from,
				     const struct smr_qp *to,
				     struct sk_buff *skb)
{
	if (smr_is_captured())
		smr_capture_local_all(from, to, skb);
}

#endif /* SMR_QP_CAPTURE_H */
