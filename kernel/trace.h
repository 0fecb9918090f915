/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: what happened to each message, and why. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softmr

#if !defined(SMR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SMR_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>

TRACE_EVENT(smr_send_start,
	TP_PROTO(u32 qpn, u64 wr_id, u8 opcode, u32 len, u32 psn, u32 npsn),
	TP_ARGS(qpn, wr_id, opcode, len, psn, npsn),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, len)
		__field(u32, psn)
		__field(u32, npsn)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->wr_id = wr_id;
		__entry->qpn = qpn;
		__entry->len = len;
		__entry->psn = psn;
		__entry->npsn = npsn;
		__entry->opcode = opcode;
	),
	TP_printk("qpn=%#x wr_id=%#llx opcode=%u len=%u psn=%#x npsn=%u",
		  __entry->qpn, __entry->wr_id, __entry->opcode, __entry->len,
		  __entry->psn, __entry->npsn)
);

DECLARE_EVENT_CLASS(smr_complete,
	TP_PROTO(u32 qpn, u64 wr_id, u32 status, u32 len),
	TP_ARGS(qpn, wr_id, status, len),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, status)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->wr_id = wr_id;
		__entry->qpn = qpn;
		__entry->status = status;
		__entry->len = len;
	),
	TP_printk("qpn=%#x wr_id=%#llx status=%u len=%u", __entry->qpn,
		  __entry->wr_id, __entry->status, __entry->len)
);

DEFINE_EVENT(smr_complete, smr_send_done,
	TP_PROTO(u32 qpn, u64 wr_id, u32 status, u32 len),
	TP_ARGS(qpn, wr_id, status, len)
);

DEFINE_EVENT(smr_complete, smr_recv_done,
	TP_PROTO(u32 qpn, u64 wr_id, u32 status, u32 len),
	TP_ARGS(qpn, wr_id, status, len)
);

/* A request at the responder; the verdict is an enum smr_resp_verdict. */
TRACE_EVENT(smr_request,
	TP_PROTO(u32 qpn, u8 opcode, u32 psn, u32 len, bool local,
		 u32 verdict),
	TP_ARGS(qpn, opcode, psn, len, local, verdict),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, len)
		__field(u32, verdict)
		__field(u8, opcode)
		__field(bool, local)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = psn;
		__entry->len = len;
		__entry->verdict = verdict;
		__entry->opcode = opcode;
		__entry->local = local;
	),
	TP_printk("qpn=%#x opcode=%#x psn=%#x len=%u local=%d verdict=%u",
		  __entry->qpn, __entry->opcode, __entry->psn, __entry->len,
		  __entry->local, __entry->verdict)
);

/* An AETH at the requester, from a packet or from a peer on this host (which has no MSN). */
TRACE_EVENT(smr_aeth,
	TP_PROTO(u32 qpn, u8 opcode, u8 syndrome, u32 msn, u32 psn, u32 una),
	TP_ARGS(qpn, opcode, syndrome, msn, psn, una),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, msn)
		__field(u32, psn)
		__field(u32, una)
		__field(u8, opcode)
		__field(u8, syndrome)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->msn = msn;
		__entry->psn = psn;
		__entry->una = una;
		__entry->opcode = opcode;
		__entry->syndrome = syndrome;
	),
	TP_printk("qpn=%#x opcode=%#x syndrome=%#x msn=%#x psn=%#x una=%#x",
		  __entry->qpn, __entry->opcode, __entry->syndrome,
		  __entry->msn, __entry->psn, __entry->una)
);

TRACE_EVENT(smr_retry,
	TP_PROTO(u32 qpn, u32 una, u32 psn, u32 retries),
	TP_ARGS(qpn, una, psn, retries),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, una)
		__field(u32, psn)
		__field(u32, retries)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->una = una;
		__entry->psn = psn;
		__entry->retries = retries;
	),
	TP_printk("qpn=%#x una=%#x psn=%#x retries_left=%u", __entry->qpn,
		  __entry->una, __entry->psn, __entry->retries)
);

DECLARE_EVENT_CLASS(smr_responses,
	TP_PROTO(u32 qpn, u32 una, u32 psn, u32 count),
	TP_ARGS(qpn, una, psn, count),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, una)
		__field(u32, psn)
		__field(u32, count)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->una = una;
		__entry->psn = psn;
		__entry->count = count;
	),
	TP_printk("qpn=%#x una=%#x psn=%#x count=%u", __entry->qpn,
		  __entry->una, __entry->psn, __entry->count)
);

/* READ responses are in place behind a missing one. */
DEFINE_EVENT(smr_responses, smr_ahead,
	     TP_PROTO(u32 qpn, u32 una, u32 psn, u32 count),
	     TP_ARGS(qpn, una, psn, count));

/* A missing part of a READ is asked for again, and nothing else. */
DEFINE_EVENT(smr_responses, smr_ask_again,
	     TP_PROTO(u32 qpn, u32 una, u32 psn, u32 count),
	     TP_ARGS(qpn, una, psn, count));

/* A CNP was sent to the peer, which has sent a packet that the network has marked. */
TRACE_EVENT(smr_cnp_sent,
	TP_PROTO(u32 qpn, u32 peer, u8 opcode, u32 psn),
	TP_ARGS(qpn, peer, opcode, psn),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, peer)
		__field(u32, psn)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->peer = peer;
		__entry->psn = psn;
		__entry->opcode = opcode;
	),
	TP_printk("qpn=%#x peer=%#x opcode=%#x psn=%#x", __entry->qpn,
		  __entry->peer, __entry->opcode, __entry->psn)
);

/* Marks have narrowed the window of a requester; congestion is of 1024. */
TRACE_EVENT(smr_slow,
	TP_PROTO(u32 qpn, u32 una, u32 max_psn, u32 was, u32 window,
		 u32 congestion),
	TP_ARGS(qpn, una, max_psn, was, window, congestion),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, una)
		__field(u32, max_psn)
		__field(u32, was)
		__field(u32, window)
		__field(u32, congestion)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->una = una;
		__entry->max_psn = max_psn;
		__entry->was = was;
		__entry->window = window;
		__entry->congestion = congestion;
	),
	TP_printk("qpn=%#x una=%#x max_psn=%#x was=%u window=%u congestion=%u",
		  __entry->qpn, __entry->una, __entry->max_psn, __entry->was,
		  __entry->window, __entry->congestion)
);

/* net/guard.c has dropped what a process's socket sent to RoCEv2's port. */
TRACE_EVENT(smr_udp_refused,
	TP_PROTO(u32 uid, u16 sport, const struct in6_addr *daddr),
	TP_ARGS(uid, sport, daddr),
	TP_STRUCT__entry(
		__array(u8, daddr, 16)
		__field(u32, uid)
		__field(u16, sport)
	),
	TP_fast_assign(
		memcpy(__entry->daddr, daddr, 16);
		__entry->uid = uid;
		__entry->sport = sport;
	),
	TP_printk("uid=%u sport=%u daddr=%pI6c", __entry->uid, __entry->sport,
		  __entry->daddr)
);

/* A window stands in the way of a deregistration. */
TRACE_EVENT(smr_dereg_busy,
	TP_PROTO(u32 lkey, u32 windows, u32 rkey),
	TP_ARGS(lkey, windows, rkey),
	TP_STRUCT__entry(
		__field(u32, lkey)
		__field(u32, windows)
		__field(u32, rkey)
	),
	TP_fast_assign(
		__entry->lkey = lkey;
		__entry->windows = windows;
		__entry->rkey = rkey;
	),
	TP_printk("lkey=%#x windows=%u first_rkey=%#x", __entry->lkey,
		  __entry->windows, __entry->rkey)
);

#endif /* SMR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
