/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: what happened to each message, and why. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softmr

#if !defined(SMR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SMR_TRACE_H

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

/* An AETH at the requester, from a packet or from a peer on this host. */
TRACE_EVENT(smr_aeth,
	TP_PROTO(u32 qpn, u8 syndrome, u32 psn, u32 una),
	TP_ARGS(qpn, syndrome, psn, una),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, una)
		__field(u8, syndrome)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = psn;
		__entry->una = una;
		__entry->syndrome = syndrome;
	),
	TP_printk("qpn=%#x syndrome=%#x psn=%#x una=%#x", __entry->qpn,
		  __entry->syndrome, __entry->psn, __entry->una)
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
