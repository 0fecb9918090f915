/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same-host shortcut: a requester hands its work request to the peer's
 * responder, which copies from one process's memory to the other's.
 */
#ifndef SMR_LOOPBACK_H
#define SMR_LOOPBACK_H

#include <linux/types.h>

#include "qp/task.h"
#include "net/wire.h"

struct smr_qp;
struct smr_swqe;

enum smr_local_state {
	SMR_LOCAL_IDLE,		/* the requester's */
	SMR_LOCAL_HANDED,	/* the peer's response task's, when claimed */
	SMR_LOCAL_FAULT,	/* the requester's, to bring pages in */
	SMR_LOCAL_ANSWERED,	/* the requester's, with an answer */
};

enum smr_local_answer {
	SMR_LOCAL_REPLY,	/* what an acknowledge packet would say */
	SMR_LOCAL_DROPPED,	/* nobody was there to answer */
	SMR_LOCAL_FAILED,	/* the requester's own memory was no good */
};

/**
 * struct smr_local - an operation on its way to a peer on the same host
 * @state: says who owns the rest; it changes with release and acquire
 * @src: the requester's QP; the response task that has claimed it holds a
 *	reference
 * @peer: where it is; a reference is held until it is answered or taken back
 * @wqe: the work request, unchanged while handed
 * @hdr: what the packet would say
 * @npsn: PSNs it takes
 * @done: bytes that the responder has copied
 * @executed: an atomic was, and what it found is in @hdr
 * @faulted: the responder has brought its own pages in
 * @invalidating: the responder has shut what it asks to invalidate
 * @err: why the requester cannot bring its pages in, or 0
 * @cancel: the requester does not want it any more
 * @answer: which of the fields below counts
 * @syndrome: the AETH that a reply would carry
 * @psn: of the reply
 */
struct smr_local {
	enum smr_local_state state;
	struct smr_qp *src;
	struct smr_qp *peer;
	struct smr_swqe *wqe;
	struct smr_hdr hdr;
	u32 npsn;
	u64 done;
	bool executed;
	bool faulted;
	bool invalidating;
	int err;
	bool cancel;
	enum smr_local_answer answer;
	u8 syndrome;
	u32 psn;
};

bool smr_loopback_usable(struct smr_qp *qp);
void smr_loopback_hand(struct smr_qp *qp, struct smr_swqe *wqe,
		       const struct smr_hdr *hdr, u32 npsn,
		       struct smr_run *run);
bool smr_loopback_check(const struct smr_qp *qp, const struct smr_local *local);
void smr_loopback_answer(struct smr_qp *qp, struct smr_local *local,
			 enum smr_local_answer answer, u8 syndrome, u32 psn,
			 struct smr_run *run);
struct smr_local *smr_loopback_claim(struct smr_qp *qp);
void smr_loopback_park(struct smr_qp *qp, struct smr_local *local);
bool smr_loopback_unpark(struct smr_qp *qp, struct smr_local *local);
bool smr_loopback_retract(struct smr_qp *qp);
void smr_loopback_fault(struct smr_local *local, struct smr_run *run);
enum smr_task_verdict smr_loopback_resume(struct smr_qp *qp, bool up,
					  struct smr_run *run);
void smr_loopback_flush(struct smr_qp *qp);

#endif /* SMR_LOOPBACK_H */
