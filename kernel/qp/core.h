/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The data of a QP: its state, and that of each of its parts. This header includes only headers
 * of lower layers, and contains no code that works on a QP.
 */
#ifndef SMR_QP_CORE_H
#define SMR_QP_CORE_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "account.h"
#include "fault.h"
#include "ref.h"
#include "mw.h"
#include "net/icrc.h"
#include "net/path.h"
#include "net/udp_rx.h"
#include "net/egress.h"
#include "net/wire.h"
#include "qp/cwnd.h"
#include "qp/env.h"
#include "qp/qptab.h"
#include "qp/ring.h"
#include "qp/rd_req.h"
#include "qp/rq.h"
#include "qp/rto.h"
#include "qp/snd.h"
#include "qp/tally.h"
#include "qp/task.h"
#include "sgl.h"
#include "why.h"

struct smr_cq;
struct smr_pace;
struct smr_pd;
struct smr_qp_handle;
struct smr_rx_train;
struct smr_srq;
struct smr_stats;
struct smr_swqe;
struct smr_user;

/*
 * The verdict on a request: the result of its check, or of its complete execution. The tables in
 * qp/resp_reply.c define the reaction.
 */
enum smr_resp_verdict {
	SMR_RESP_OK,		/* of a check: execute it; of an execution: done */
	SMR_RESP_DROP,		/* drop it without an answer */
	SMR_RESP_DUPLICATE,	/* executed before */
	SMR_RESP_GAP,		/* an earlier request is missing */
	SMR_RESP_RNR,		/* no receive work request */
	SMR_RESP_INV_REQ,	/* malformed, or not for this QP */
	SMR_RESP_ACCESS,	/* its key does not grant this range */
	SMR_RESP_TOO_LONG,	/* does not fit the receive work request */
	SMR_RESP_BAD_RECV,	/* the receive work request is malformed */
	SMR_RESP_LOC_PROT,	/* a key of the receive work request is refused */
	SMR_RESP_BROKEN,	/* the ring of the receive queue is corrupt */
	SMR_RESP_NO_MEMORY,	/* a fault ran out of memory */
	SMR_RESP_PEER_PROT,	/* local: a key of the requester's own list is refused */
	SMR_RESP_FAR,		/* its PSN is too far ahead of the expected one */
	SMR_RESP_IMM_ACCESS,	/* SMR_RESP_ACCESS of a WRITE with immediate data */
	SMR_RESP_NR,
};

enum smr_swqe_state {
	SMR_SWQE_POSTED,	/* copied and checked, nothing sent */
	SMR_SWQE_STARTED,	/* has its PSNs, partly sent */
	SMR_SWQE_SENT,		/* completely sent */
};

/**
 * struct smr_flush - the range and the FETH of a FLUSH
 * @len: bytes
 * @feth: the FETH: placement types and selectivity level
 */
struct smr_flush {
	u32 len;
	u32 feth;
};

/**
 * struct smr_swqe - the kernel's own copy of a send work request
 * @wr_id: set by the consumer
 * @remote_addr: address in the peer's memory: all but SENDs and local work requests
 * @rkey: likewise its key
 * @compare_add: atomics
 * @swap: atomics
 * @ud: datagrams: the number of an address vector, the receiver's QP number
 *	and Q_Key
 * @imm_or_rkey: immediate data in network order, or the rkey to invalidate
 * @xrc_srqn: XRC: number of the receiving SRQ
 * @len: bytes of the message
 * @psn: its first PSN
 * @npsn: number of its PSNs
 * @send_flags: enum ib_uverbs send flags
 * @opcode: enum ib_wr_opcode
 * @num_sge: entries of @sge; 0 with inline data
 * @status: enum ib_wc_status, once it is known
 * @state: enum smr_swqe_state
 * @sge: the gather or scatter list
 * @data: inline data
 * @flush: of IB_WR_FLUSH: the range and the FETH
 * @bind: of IB_UVERBS_WR_BIND_MW: the bind request
 *
 * Owned by the QP's send task.
 */
struct smr_swqe {
	u64 wr_id;
	u64 remote_addr;
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		struct {
			u32 ah;
			u32 qpn;
			u32 qkey;
		} ud;
	};
	u32 rkey;
	__be32 imm_or_rkey;
	u32 xrc_srqn;
	u32 len;
	u32 psn;
	u32 npsn;
	u32 send_flags;
	u8 opcode;
	u8 num_sge;
	u8 status;
	u8 state;
	union {
		struct smr_sge sge[SMR_MAX_SGE];
		u8 data[SMR_MAX_INLINE];
		struct smr_flush flush;
		struct smr_mw_bind bind;
	};
};

/**
 * struct smr_sq - a send queue
 * @ring: shared with the consumer; @ring.idx is the next to copy out
 * @wqes: the copies, see smr_sq_wqe()
 * @wqe_size: bytes from one copy to the next
 * @head: index of the oldest work request that is not retired; see also struct smr_snd
 * @max_wr: maximum of outstanding work requests
 * @max_sge: maximum SGEs of each
 * @max_inline: maximum bytes of inline data
 * @post_lock: guards the producer's side of a kernel consumer's ring; IRQ-safe
 *
 * Owned by the send task, except @post_lock and the constant maxima.
 */
struct smr_sq {
	/* the producer's side of @ring, see above */
	spinlock_t post_lock;
	struct smr_ring ring;
	void *wqes;
	size_t wqe_size;
	u32 head;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
};

static inline struct smr_swqe *smr_sq_wqe(const struct smr_sq *sq, u32 idx)
{
	return sq->wqes + (idx & (sq->ring.depth - 1)) * sq->wqe_size;
}

enum smr_local_state {
	SMR_LOCAL_IDLE,		/* the requester's */
	SMR_LOCAL_HANDED,	/* owned by the peer's response task */
	SMR_LOCAL_FAULT,	/* owned by the requester, which brings pages in */
	SMR_LOCAL_ANSWERED,	/* owned by the requester, with an answer */
};

enum smr_local_answer {
	SMR_LOCAL_REPLY,	/* as an acknowledge packet */
	SMR_LOCAL_DROPPED,	/* no answer, as if the packet was lost */
	SMR_LOCAL_FAILED,	/* the requester's own list did not open */
};

/**
 * struct smr_local - an operation on its way to a peer on the same host
 * @state: says who owns the other fields; written with release, read with acquire
 * @src: the requester's QP, which is not freed before the operation is answered
 * @wqe: the work request, unchanged while handed
 * @hdr: the headers that an ONLY packet would have
 * @npsn: number of its PSNs
 * @done: bytes that the responder has copied, or written back
 * @executed: the atomic was executed, and the original value is in @hdr; or the SEND was, except
 *	for its completion, which waits for its invalidate
 * @faulted: the responder has brought in its own pages
 * @err: the error of the requester's own fault, or 0
 * @cancel: the requester asks for an answer at once, without further execution
 * @opened: the requester's own list is open in @src->req.sgl. Written by the requester, and by
 *	the response task while smr_loopback_hand() runs it
 * @answer: which of the fields below are valid
 * @syndrome: the AETH that a reply would carry
 * @psn: of the reply
 */
struct smr_local {
	enum smr_local_state state;
	struct smr_qp *src;
	struct smr_swqe *wqe;
	struct smr_hdr *hdr;
	u32 npsn;
	u64 done;
	bool executed;
	bool faulted;
	int err;
	bool cancel;
	bool opened;
	enum smr_local_answer answer;
	u8 syndrome;
	u32 psn;
};

/**
 * struct smr_inval - an invalidate, or a bind, that waits for the spans of a key to end
 * @begun: one waits: its key is invalid, and it will be finished
 * @rkey: the key
 * @waiter: runs @task when it can be finished
 * @task: the task that executes it, and owns the other fields; constant
 *
 * See smr_inval_exec().
 */
struct smr_inval {
	bool begun;
	u32 rkey;
	struct smr_ref_waiter waiter;
	struct smr_task *task;
};

/**
 * struct smr_paging - the pages that a side of a QP waits for; see qp/paging.h
 * @fault: brings them in, or has ended; NULL: none
 * @faults: number of attempts to bring pages in
 * @cb: runs @task when it has ended
 * @task: the task of that side, which owns @fault and @faults; constant
 */
struct smr_paging {
	struct smr_fault *fault;
	u64 faults;
	struct smr_fault_cb cb;
	struct smr_task *task;
};

/**
 * struct smr_requester - the sending half of the send task
 * @icrc: cached CRC state of the packets that it sends
 * @refused: since when the stack has refused its packets
 * @inval: the LOCAL_INV or bind that waits
 * @paging: missing pages of the memory that it sends, or that a local peer reads or writes
 * @sent: counts of work done by it and the completer, for diagnosis
 * @captures: number of captures that had begun or ended when @captured was determined; 0: none
 * @captured: a capture wants the messages that it sends
 * @diverted: messages to this host were sent as packets for a capture, and may be in flight
 * @hdr: scratch: the headers of the next packet of a message, or of the operation that is handed
 *	over, which are those of an ONLY packet
 * @sgl: scratch
 *
 * Owned by the send task.
 */
struct smr_requester {
	struct smr_icrc icrc;
	struct smr_refused refused;
	struct smr_inval inval;
	struct smr_paging paging;
	struct smr_sent sent;
	u32 captures;
	bool captured;
	bool diverted;
	struct smr_hdr hdr;
	struct smr_sgl sgl;
};

/**
 * struct smr_completer - the receiving half of the send task
 * @queue: response packets; has its own lock
 * @seg: the next segment of the queue's first skb
 * @retry: retries left before IBV_WC_RETRY_EXC_ERR
 * @rnr_retry: RNR retries left, 7: for ever
 * @gap: everything from a missing response on was requested again, but has not arrived yet
 * @gap_end: with @gap, one past the highest PSN that was sent before that
 * @again: the first packet of @queue has been handled in part
 * @icrc: cached CRC state of received packets
 * @rnr_again: RNR NAKs since the last progress
 * @paging: pages that the data of responses is copied to
 * @hdr: scratch: the headers of the response
 * @sgl: scratch
 *
 * Owned by the send task except @queue.
 */
struct smr_completer {
	struct sk_buff_head queue;
	unsigned int seg;
	u8 retry;
	u8 rnr_retry;
	bool gap;
	bool again;
	struct smr_icrc icrc;
	u32 gap_end;
	u32 rnr_again;
	struct smr_paging paging;
	struct smr_hdr hdr;
	struct smr_sgl sgl;
};

/* Bytes of a local operation that one call copies if it may not sleep, see smr_exec_slice() */
#define SMR_RESP_SLICE	(64 * 1024)

/**
 * struct smr_op - a request at the responder
 * @hdr: the packet's headers; a local operation has those of an ONLY packet. For several
 *	packets: the headers of the first, the length of all, and whether any of them requests
 *	an ACK
 * @skb: the packet, whose payload begins @off bytes behind skb->data; or NULL
 * @train: reads @skb
 * @local: the operation of a requester on the same host; or NULL
 * @off: see @skb
 * @npsn: number of its PSNs
 * @count: number of packets: consecutive MIDDLEs in @skb, all of equal length
 * @verdict: on it, when its execution has returned SMR_STEP_DONE
 */
struct smr_op {
	struct smr_hdr *hdr;
	struct sk_buff *skb;
	struct smr_rx_train *train;
	struct smr_local *local;
	unsigned int off;
	u32 npsn;
	u32 count;
	enum smr_resp_verdict verdict;
};

/**
 * struct smr_rd_res - a READ or atomic that was executed, kept for duplicates
 * @psn: its first PSN
 * @npsn: number of its PSNs; 0: the entry is free
 * @atomic: an atomic, else a READ
 * @orig: the value before the atomic
 * @va: of a READ
 * @rkey: of a READ
 * @len: of a READ
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
 * struct smr_read_stream - an answer that is being sent on the wire: to a READ, an atomic, an
 *	ATOMIC WRITE or a FLUSH
 * @psn: of the next response
 * @va: of the next byte
 * @rkey: the key
 * @srqn: XRC: number of the SRQ it is for
 * @left: bytes still to be sent
 * @active: the other fields are in use
 * @first: the next response is the first
 * @atomic: the answer is that to an atomic, and @va is the original value
 * @repeat: it was answered before
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
	bool repeat;
};

/**
 * struct smr_responder - the responder's state
 * @queue: request packets; has its own lock
 * @inbox: a local operation, or NULL. Set by the requester that hands it over, cleared by
 *	whoever answers it: the response task, or a control verb that has paused it
 * @seg: the next segment of the queue's first skb
 * @epsn: expected PSN
 * @msn: message sequence number
 * @acks: executed packets that wait for an ACK, counted from the first one that requests it
 * @unasked: messages were executed without a request for an ACK so far
 * @nak_due: a NAK waits until the stack accepts packets
 * @nak_syndrome: its AETH syndrome
 * @nak_psn: its PSN
 * @nak_sent: a NAK for a gap, or an RNR NAK, was sent for @epsn
 * @established: IB_EVENT_COMM_EST was raised
 * @in_message: a FIRST was executed, but not yet its LAST
 * @in_class: enum smr_class of the previous request
 * @last_wqe: IB_EVENT_QP_LAST_WQE_REACHED was raised
 * @have_rwqe: @rwqe is in use
 * @va: next byte of the WRITE in progress
 * @rkey: its key
 * @left: bytes of the WRITE in progress that are still missing
 * @received: bytes of the SEND or WRITE in progress so far
 * @flushed: bytes of the FLUSH in progress that have been written back
 * @executed: the next packet in @queue is a SEND that was executed, except for its completion,
 *	which waits for @inval
 * @srqn: XRC: number of the SRQ of the last message, or of the one in progress
 * @xsrq: XRC: the SRQ of the request in progress; see smr_xrc_enter()
 * @rwqe_srqn: XRC: number of the SRQ that @rwqe is from
 * @rwqe: the receive work request in use
 * @res: READs and atomics for duplicates
 * @res_next: the next entry of @res to use
 * @nr_res: size of @res
 * @icrc: cached CRC state of the responses that it sends
 * @icrc_in: cached CRC state of received requests
 * @refused: since when the stack has refused its packets
 * @inval: the invalidate that a SEND has begun. Nothing else is done before it is finished
 * @read: the answer in progress
 * @paging: pages that requests need on this side
 * @served: counts of work done, for diagnosis
 * @hdr: scratch: the headers of the request. Zeroed if the QP receives frames
 * @sgl: scratch
 *
 * Owned by the response task except @queue and @inbox.
 */
struct smr_responder {
	struct sk_buff_head queue;
	struct smr_local *inbox;
	unsigned int seg;
	u32 epsn;
	u32 msn;
	u32 acks;
	bool unasked;
	bool nak_due;
	u8 nak_syndrome;
	u32 nak_psn;
	bool nak_sent;
	bool established;
	bool in_message;
	bool last_wqe;
	bool have_rwqe;
	u8 in_class;
	u64 va;
	u32 rkey;
	u32 left;
	u32 received;
	u64 flushed;
	bool executed;
	u32 srqn;
	struct smr_srq *xsrq;
	u32 rwqe_srqn;
	struct smr_rwqe rwqe;
	struct smr_rd_res *res;
	u32 res_next;
	u32 nr_res;
	struct smr_icrc icrc;
	struct smr_icrc icrc_in;
	struct smr_refused refused;
	struct smr_inval inval;
	struct smr_read_stream read;
	struct smr_paging paging;
	struct smr_served served;
	struct smr_hdr hdr;
	struct smr_sgl sgl;
};

/**
 * struct smr_qp_handle - RCU handle for looking up a QP
 * @node: in the namespace's table
 * @qpn: its number in the table: that of the QP; for a QP1, the netdev's index
 * @ref: one for the QP's owner, one for each work item or look-up
 * @qp: the QP; valid as long as @ref is not 0
 * @rcu: defers freeing: readers may still access @ref
 *
 * The RDMA core frees a QP as soon as its destroy function has returned. The handle is freed
 * with kfree_rcu(), so destroy need not wait for a grace period.
 */
struct smr_qp_handle {
	struct rhash_head node;
	u32 qpn;
	refcount_t ref;
	struct smr_qp *qp;
	struct rcu_head rcu;
};

/**
 * struct smr_ends - the addresses in the packets of a connection
 * @peer: the peer's, an IPv4 address in its mapped form
 * @own: the QP's, likewise
 * @oif: index of the netdev that has @own
 * @rcu: defers freeing: readers may still access it
 *
 * Constant.
 */
struct smr_ends {
	struct in6_addr peer;
	struct in6_addr own;
	int oif;
	struct rcu_head rcu;
};

/**
 * struct smr_qp - a queue pair
 * @ibqp: the core's part
 * @env: the part of its device that it uses
 * @user: the user whose workqueue its tasks use; NULL: the device's
 * @limits: of @user, or of the device; constant
 * @context: the id of the context that created it; 0: a kernel consumer
 * @whys: the refusals of that context, or of the kernel; a reference
 * @pd: protection domain; NULL for XRC_TGT
 * @scq: completion queue of sends; NULL for XRC_TGT
 * @rcq: completion queue of receives; NULL for XRC
 * @published: it is in @env->tab
 * @handle: has its reference count; constant
 * @released: completed when the reference count has dropped to 0
 * @mutex: serialises control verbs
 * @lock: guards @state, and writes to @attr; BH-safe
 * @state: may be read without the lock
 * @attr: set by modify_qp. The tasks read it without the lock, since the fields that
 *	they need change only while they are disabled
 * @mtu: path MTU, bytes of payload, of a connected QP
 * @service: enum smr_transport of its packets; constant
 * @sig_all: each send is signalled
 * @no_echo: it does not receive the multicasts that it has sent
 * @drained: IB_EVENT_SQ_DRAINED was raised
 * @path: the path to the peer; used by the tasks, changes only while they are paused
 * @ends: the addresses of @path, for code outside the tasks; NULL before the QP is connected.
 *	Read under RCU, written under @mutex
 * @claim: the claim on the peer, which excludes QPs of other owners; guarded by
 *	@env->tab->peers.lock
 * @cnp_next: when the next CNP may be sent, ns of CLOCK_MONOTONIC
 * @egress: the socket that it sends from; runs both tasks when the stack accepts packets again
 * @send_task: runs completer and requester
 * @resp_task: runs the responder
 * @packets: the account of its user, or of the kernel; constant
 * @rx_mem: bytes of memory of the packets in its queues
 * @sq: send queue
 * @rq: receive queue; max_wr is 0 with an SRQ
 * @srq: the shared receive queue in place of @rq, or NULL
 * @snd: the part of @sq that was sent and acknowledged
 * @cwnd: the congestion window
 * @rd_req: READ requests and atomics in flight
 * @rto: the timer of the send side
 * @req: requester
 * @comp: completer
 * @resp: responder
 * @pace: its rate limit, or NULL; set once, under @mutex, while its tasks are paused
 * @windows: type 2 windows associated with this QP; has its own lock
 * @handed: the operation handed to a peer on this host
 */
struct smr_qp {
	struct ib_qp ibqp;
	struct smr_env *env;
	struct smr_user *user;
	struct smr_limits *limits;
	u64 context;
	struct smr_why_log *whys;
	struct smr_pd *pd;
	struct smr_cq *scq;
	struct smr_cq *rcq;
	bool published;
	struct smr_qp_handle *handle;
	struct completion released;
	struct mutex mutex;	/* control verbs */
	spinlock_t lock;	/* state */
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	u32 mtu;
	u8 service;
	bool sig_all;
	bool no_echo;
	bool drained;
	struct smr_path path;
	struct smr_ends __rcu *ends;
	struct smr_claim claim;
	atomic64_t cnp_next;
	struct smr_egress *egress;
	struct smr_task send_task;
	struct smr_task resp_task;
	struct smr_packets *packets;
	atomic_t rx_mem;
	struct smr_sq sq;
	struct smr_rq rq;
	struct smr_srq *srq;
	struct smr_snd snd;
	struct smr_cwnd cwnd;
	struct smr_rd_req rd_req;
	struct smr_rto rto;
	struct smr_requester req;
	struct smr_completer comp;
	struct smr_responder resp;
	struct smr_pace *pace;
	struct smr_mw_owner windows;
	struct smr_local handed;
};

/**
 * struct smr_frames - how QPs of a link send and receive Ethernet frames
 * @send: sends the oldest work request of a QP in RTS; it may have completed on return. Called by
 *	the send task; returns as smr_ud_send()
 * @receive: receives the frame in @op's packet, and sets the verdict on SMR_STEP_DONE. Called by
 *	the response task; returns as smr_ud_receive()
 */
struct smr_frames {
	enum smr_step (*send)(struct smr_qp *qp, struct smr_swqe *wqe,
			      struct smr_budget *budget);
	enum smr_step (*receive)(struct smr_qp *qp, struct smr_op *op,
				 struct smr_budget *budget);
};

/**
 * struct smr_rx_part - the transport's data in a queued packet, in skb->cb
 * @info: the receive path's part
 * @first: index of the first segment for this side of this QP
 * @flow_tag: in place of @first, for a frame, which is one segment: the tag of its steering
 *	rule
 * @count: number of such segments
 * @sealed: received from the wire, with an ICRC
 * @careful: one of its ICRCs is wrong, so each packet is checked before its data is copied
 * @reason: enum skb_drop_reason of a dropped segment; 0: none was dropped
 * @qp: the QP in whose queue it is
 */
struct smr_rx_part {
	struct smr_rx_info info;
	union {
		u32 first;
		u32 flow_tag;
	};
	u32 count;
	bool sealed;
	bool careful;
	u16 reason;
	struct smr_qp *qp;
};

static_assert(sizeof(struct smr_rx_part) <=
	      sizeof_field(struct sk_buff, cb));

static inline struct smr_rx_part *smr_rx_part(const struct sk_buff *skb)
{
	return (struct smr_rx_part *)skb->cb;
}

/* The offset of a segment in the packet, and its length. */
static inline unsigned int smr_rx_seg(const struct sk_buff *skb,
				      unsigned int seg, unsigned int *len)
{
	const struct smr_rx_info *info = smr_rx_info(skb);
	unsigned int off = seg * info->seg_len;

	*len = min(info->seg_len, info->len - off);
	return off;
}

static inline struct smr_qp *to_smr_qp(const struct ib_qp *ibqp)
{
	return container_of(ibqp, struct smr_qp, ibqp);
}

/* Add @n events or bytes to a counter of a QP; in any context. */
static inline void smr_qp_add(const struct smr_qp *qp, enum smr_counter id,
			      u64 n)
{
	smr_stat_add(qp->env->stats, id, n);
}

static inline void smr_qp_inc(const struct smr_qp *qp, enum smr_counter id)
{
	smr_qp_add(qp, id, 1);
}

/* Count the verdict of a key that did not open. */
static inline void smr_qp_key(const struct smr_qp *qp,
			      enum smr_key_verdict verdict)
{
	if (verdict != SMR_KEY_OK)
		smr_qp_inc(qp, smr_key_counter(verdict));
}

/* Does the peer of a QP acknowledge messages? */
static inline bool smr_qp_is_reliable(const struct smr_qp *qp)
{
	return qp->service == SMR_TRANSPORT_RC ||
	       qp->service == SMR_TRANSPORT_XRC;
}

/* The caller already has a reference, or otherwise keeps the QP alive. */
static inline void smr_qp_hold(struct smr_qp *qp)
{
	refcount_inc(&qp->handle->ref);
}

bool smr_env_has_addr(struct smr_env *env, struct ib_device *ibdev,
		      const struct in6_addr *addr, int iif);
bool smr_env_has_ndev(const struct smr_env *env, int iif);

/* smr_env_has_addr() of the QP's device */
static inline bool smr_qp_has_addr(const struct smr_qp *qp, const struct in6_addr *addr, int iif)
{
	return smr_env_has_addr(qp->env, qp->ibqp.device, addr, iif);
}

int smr_qptab_init(struct smr_qptab *tab);
int __must_check smr_qptab_add(struct smr_qptab *tab,
			       struct smr_qp_handle *handle);
void smr_qptab_del(struct smr_qptab *tab, struct smr_qp_handle *handle);
void smr_qptab_fini(struct smr_qptab *tab);

struct smr_qp *__must_check smr_qp_get(struct smr_qp_handle *handle);
void __cold smr_qptab_stray(struct smr_qptab *tab, const struct smr_bth *bth,
			    const struct in6_addr *from, u32 count);
struct smr_qp *__must_check smr_qp_find(struct smr_qptab *tab, u32 qpn);
void smr_qp_put(struct smr_qp *qp);
void smr_qp_event(struct smr_qp *qp, enum ib_event_type type);
void smr_qp_set_error(struct smr_qp *qp);
void smr_qp_error(struct smr_qp *qp);
void smr_qp_send_error(struct smr_qp *qp);
void smr_qp_flush(struct smr_qp *qp);
void __cold smr_qp_overrun(struct smr_qp *qp, const struct smr_cq *cq,
			   const struct smr_cqe *cqe);
void __cold smr_qp_refused(const struct smr_qp *qp, struct smr_reason why,
			   u32 status, u64 wr_id, u32 opcode, u32 psn);
void __cold smr_qp_dropped(struct smr_qp *qp, enum smr_counter counter,
			   struct smr_reason why, const struct in6_addr *from);

/* Refuse a verb of a QP; as smr_why() */
#define smr_qp_why(qp, name, ...) \
	smr_why_qp((qp)->whys, (qp)->ibqp.qp_num, name, ##__VA_ARGS__)

/**
 * smr_qp_drop() - count a packet that is dropped, and log the reason
 * @qp: the QP that it was for
 * @name: name of the reason in SMR_WHYS(), DROP_...
 * @counter: enum smr_counter
 * @from: address that it came from, or NULL
 * @...: the numbers of the reason
 *
 * Context: any.
 */
#define smr_qp_drop(qp, name, counter, from, ...) \
	smr_qp_dropped(qp, counter, SMR_REASON(name, ##__VA_ARGS__), from)
bool smr_qp_receives(enum ib_qp_state state);

#endif /* SMR_QP_CORE_H */
