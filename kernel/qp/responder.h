/* SPDX-License-Identifier: GPL-2.0 */
/* The responder: executes what a peer requests, and answers. */
#ifndef SMR_RESPONDER_H
#define SMR_RESPONDER_H

#include <linux/skbuff.h>
#include <linux/types.h>

#include "qp/resp_check.h"
#include "qp/rq.h"
#include "sgl.h"
#include "qp/task.h"
#include "net/wire.h"

struct smr_qp;
struct smr_local;
struct smr_pd;
struct smr_srq;

/**
 * struct smr_op - what a responder is asked to do
 * @hdr: the packet's headers; a local operation has those of an ONLY packet
 * @skb: where the payload is, @off bytes behind skb->data; or
 * @local: the requester on the same host whose work request it is
 * @off: see @skb
 * @npsn: PSNs it takes; 1 on the wire
 */
struct smr_op {
	struct smr_hdr hdr;
	struct sk_buff *skb;
	struct smr_local *local;
	unsigned int off;
	u32 npsn;
};

/**
 * struct smr_rd_res - what a READ or an atomic left behind for duplicates
 * @psn: its first PSN
 * @npsn: how many it takes; 0: the entry is free
 * @atomic: an atomic, else a READ
 * @orig: what the atomic found
 * @va: READ
 * @rkey: READ
 * @len: READ
 */
struct smr_rd_res {
	u32 psn;
	u32 npsn;
	bool atomic;
	u64 orig;
	u64 va;
	u32 rkey;
	u32 len;
};

/**
 * struct smr_read_stream - a READ that is being answered on the wire
 * @psn: of the next response
 * @va: of the next byte
 * @rkey: the key
 * @srqn: XRC: the queue that it is for
 * @left: bytes still to be sent
 * @active: there is one
 * @first: the next response is the first
 * @atomic: not a READ: the answer to an atomic is due, @va is its value
 */
struct smr_read_stream {
	u32 psn;
	u64 va;
	u32 rkey;
	u32 srqn;
	u32 left;
	bool active;
	bool first;
	bool atomic;
};

/**
 * struct smr_responder - the responder's state
 * @queue: request packets; has its own lock
 * @inbox: a local operation, put there by the requester that hands it over
 *	and taken out by whoever answers it, or by the requester; with marks,
 *	see qp/loopback.c
 * @seg: the next segment of the queue's first skb
 * @epsn: expected PSN
 * @msn: message sequence number
 * @acks: requests that wait to be acknowledged, counted from the first that
 *	asks for it
 * @nak_due: a NAK could not leave yet
 * @nak_syndrome: which
 * @nak_psn: for which PSN
 * @nak_sent: a sequence NAK was sent for @epsn
 * @established: IB_EVENT_COMM_EST was raised
 * @in_message: a FIRST came, its LAST did not yet
 * @last_flags: opcode info flags of the packet before, in a message
 * @last_wqe: IB_EVENT_QP_LAST_WQE_REACHED was raised
 * @have_rwqe: @rwqe is in use
 * @va: next byte of the WRITE in progress
 * @rkey: its key
 * @left: bytes that are missing of the WRITE in progress
 * @received: bytes of the SEND or WRITE in progress so far
 * @srqn: XRC: the queue that the message before, or in progress, is for
 * @xsrq: XRC: the queue of the request in progress; see smr_xrc_enter()
 * @rwqe_srqn: XRC: the queue that @rwqe is from
 * @rwqe: the receive work request in use
 * @res: READs and atomics for duplicates
 * @res_next: the next entry of @res to use
 * @nr_res: how many entries there are
 * @inv_rkey: what the SEND in progress waits to invalidate
 * @inv_pd: the protection domain that it must be in; NULL: nothing waits
 * @inv_local: that SEND is a local operation
 * @read: READ in progress
 * @sgl: scratch
 *
 * Owned by the response task but for @queue, @inbox.
 */
struct smr_responder {
	struct sk_buff_head queue;
	struct smr_local *inbox;
	unsigned int seg;
	u32 epsn;
	u32 msn;
	u32 acks;
	bool nak_due;
	u8 nak_syndrome;
	u32 nak_psn;
	bool nak_sent;
	bool established;
	bool in_message;
	bool last_wqe;
	bool have_rwqe;
	u32 last_flags;
	u64 va;
	u32 rkey;
	u32 left;
	u32 received;
	u32 srqn;
	struct smr_srq *xsrq;
	u32 rwqe_srqn;
	struct smr_rwqe rwqe;
	struct smr_rd_res *res;
	u32 res_next;
	u32 nr_res;
	u32 inv_rkey;
	const struct smr_pd *inv_pd;
	bool inv_local;
	struct smr_read_stream read;
	struct smr_sgl sgl;
};

void smr_responder_init(struct smr_qp *qp);
int smr_responder_resize(struct smr_qp *qp, u32 nr);
void smr_responder_start(struct smr_qp *qp, u32 psn);
void smr_responder_settle(struct smr_qp *qp);
void smr_resp_read_error(struct smr_qp *qp, u32 psn,
			 enum smr_resp_verdict why);
void smr_responder_reset(struct smr_qp *qp);
void smr_responder_fini(struct smr_qp *qp);
enum smr_task_verdict smr_responder_run(struct smr_qp *qp,
					struct smr_run *run);

#endif /* SMR_RESPONDER_H */
