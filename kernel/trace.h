/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: what happened to each message, and why. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softmr

#if !defined(SMR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SMR_TRACE_H

#include <linux/in6.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "uapi/softmr-why.h"

#ifndef SMR_TRACE_HELPERS
#define SMR_TRACE_HELPERS

u32 smr_trace_pid(const struct ib_qp *ibqp);

/* Size of a link's name. bpftrace reads fields of a fixed size most easily. */
#define SMR_TRACE_NAME	16

/*
 * Fields of each event of a QP: its link, the process that created it (0: the kernel), its
 * number
 */
#define SMR_TRACE_QP							\
	__array(char, dev, SMR_TRACE_NAME)				\
	__field(u32, pid)						\
	__field(u32, qpn)

#define SMR_TRACE_QP_ASSIGN						\
	strscpy(__entry->dev, dev_name(&ibqp->device->dev), SMR_TRACE_NAME); \
	__entry->pid = smr_trace_pid(ibqp);				\
	__entry->qpn = ibqp->qp_num

#define SMR_TRACE_QP_FMT	"dev=%s pid=%u qpn=%#x "
#define SMR_TRACE_QP_ARGS	__entry->dev, __entry->pid, __entry->qpn

/* Numbers of standards and of the ABI, so that perf and trace-cmd need no table of enums */

/* enum ib_uverbs_wr_opcode; and IB_WR_REG_MR */
#define smr_show_wr(opcode)						\
	__print_symbolic(opcode,					\
		{ 0, "WRITE" }, { 1, "WRITE_WITH_IMM" }, { 2, "SEND" },	\
		{ 3, "SEND_WITH_IMM" }, { 4, "READ" },			\
		{ 5, "COMPARE_SWAP" }, { 6, "FETCH_ADD" },		\
		{ 7, "LOCAL_INV" }, { 8, "BIND_MW" },			\
		{ 9, "SEND_WITH_INV" }, { 14, "FLUSH" },		\
		{ 15, "ATOMIC_WRITE" }, { 32, "REG_MR" })

/* enum smr_why_id */
#define SMR_TRACE_WHY(name, id, ...)	{ id, #name },
#define smr_show_why(id) \
	__print_symbolic(id, SMR_WHYS(SMR_TRACE_WHY) { 0, "NONE" })

/* IBTA 9.2.1: the lower bits of the BTH's opcode; the upper ones are the service */
#define smr_show_packet(opcode)						\
	__print_symbolic((opcode) & 0x1f,				\
		{ 0x00, "SEND_FIRST" }, { 0x01, "SEND_MIDDLE" },	\
		{ 0x02, "SEND_LAST" }, { 0x03, "SEND_LAST_IMM" },	\
		{ 0x04, "SEND_ONLY" }, { 0x05, "SEND_ONLY_IMM" },	\
		{ 0x06, "WRITE_FIRST" }, { 0x07, "WRITE_MIDDLE" },	\
		{ 0x08, "WRITE_LAST" }, { 0x09, "WRITE_LAST_IMM" },	\
		{ 0x0a, "WRITE_ONLY" }, { 0x0b, "WRITE_ONLY_IMM" },	\
		{ 0x0c, "READ_REQUEST" }, { 0x0d, "READ_RESPONSE_FIRST" }, \
		{ 0x0e, "READ_RESPONSE_MIDDLE" },			\
		{ 0x0f, "READ_RESPONSE_LAST" },				\
		{ 0x10, "READ_RESPONSE_ONLY" }, { 0x11, "ACK" },	\
		{ 0x12, "ATOMIC_ACK" }, { 0x13, "COMPARE_SWAP" },	\
		{ 0x14, "FETCH_ADD" }, { 0x16, "SEND_LAST_INV" },	\
		{ 0x17, "SEND_ONLY_INV" }, { 0x1c, "FLUSH" },		\
		{ 0x1d, "ATOMIC_WRITE" })

/* enum ib_wc_status */
#define smr_show_status(status)						\
	__print_symbolic(status,					\
		{ 0, "SUCCESS" }, { 1, "LOC_LEN_ERR" },			\
		{ 2, "LOC_QP_OP_ERR" }, { 4, "LOC_PROT_ERR" },		\
		{ 5, "WR_FLUSH_ERR" }, { 6, "MW_BIND_ERR" },		\
		{ 7, "BAD_RESP_ERR" }, { 8, "LOC_ACCESS_ERR" },		\
		{ 9, "REM_INV_REQ_ERR" }, { 10, "REM_ACCESS_ERR" },	\
		{ 11, "REM_OP_ERR" }, { 12, "RETRY_EXC_ERR" },		\
		{ 13, "RNR_RETRY_EXC_ERR" })

/*
 * enum smr_step, unless it is done: then 16 more than enum smr_resp_verdict. qp/responder.c asserts
 * that it is complete
 */
#define smr_show_outcome(step, verdict)					\
	__print_symbolic((step) ?: 16 + (verdict),			\
		{ 1, "AGAIN" }, { 2, "WAIT" }, { 3, "DEFER" },		\
		{ 4, "PEER" }, { 16, "OK" }, { 17, "DROP" },		\
		{ 18, "DUPLICATE" }, { 19, "GAP" }, { 20, "RNR" },	\
		{ 21, "INV_REQ" }, { 22, "ACCESS" }, { 23, "TOO_LONG" }, \
		{ 24, "BAD_RECV" }, { 25, "LOC_PROT" }, { 26, "BROKEN" }, \
		{ 27, "NO_MEMORY" }, { 28, "PEER_PROT" }, { 29, "FAR" }, \
		{ 30, "IMM_ACCESS" })

/* IBTA 9.7.5.1.2: an ACK has credits in its lower bits, an RNR NAK the timer */
#define smr_show_syndrome(syndrome)					\
	__print_symbolic((syndrome) & 0x40 ? (syndrome) : (syndrome) & 0x60, \
		{ 0x00, "ACK" }, { 0x20, "RNR_NAK" },			\
		{ 0x60, "NAK_SEQUENCE" }, { 0x61, "NAK_INVALID_REQUEST" }, \
		{ 0x62, "NAK_REMOTE_ACCESS" },				\
		{ 0x63, "NAK_REMOTE_OPERATIONAL" })

#endif /* SMR_TRACE_HELPERS */

TRACE_EVENT(smr_send_start,
	TP_PROTO(const struct ib_qp *ibqp, u64 wr_id, u8 opcode, u32 len,
		 u32 psn, u32 npsn),
	TP_ARGS(ibqp, wr_id, opcode, len, psn, npsn),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u64, wr_id)
		__field(u32, len)
		__field(u32, psn)
		__field(u32, npsn)
		__field(u8, opcode)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->wr_id = wr_id;
		__entry->len = len;
		__entry->psn = psn;
		__entry->npsn = npsn;
		__entry->opcode = opcode;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "wr_id=%#llx opcode=%u len=%u psn=%#x npsn=%u op=%s",
		  SMR_TRACE_QP_ARGS, __entry->wr_id, __entry->opcode,
		  __entry->len, __entry->psn, __entry->npsn,
		  smr_show_wr(__entry->opcode))
);

DECLARE_EVENT_CLASS(smr_complete,
	TP_PROTO(const struct ib_qp *ibqp, u64 wr_id, u32 status, u32 len),
	TP_ARGS(ibqp, wr_id, status, len),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u64, wr_id)
		__field(u32, status)
		__field(u32, len)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->wr_id = wr_id;
		__entry->status = status;
		__entry->len = len;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "wr_id=%#llx status=%u len=%u result=%s",
		  SMR_TRACE_QP_ARGS, __entry->wr_id, __entry->status, __entry->len,
		  smr_show_status(__entry->status))
);

DEFINE_EVENT(smr_complete, smr_send_done,
	TP_PROTO(const struct ib_qp *ibqp, u64 wr_id, u32 status, u32 len),
	TP_ARGS(ibqp, wr_id, status, len)
);

DEFINE_EVENT(smr_complete, smr_recv_done,
	TP_PROTO(const struct ib_qp *ibqp, u64 wr_id, u32 status, u32 len),
	TP_ARGS(ibqp, wr_id, status, len)
);

/* A request at the responder. Key and address are 0 if its packet has none. */
TRACE_EVENT(smr_request,
	TP_PROTO(const struct ib_qp *ibqp, u8 opcode, u32 psn, u32 len,
		 bool local, u8 step, u8 verdict, u32 rkey, u64 va),
	TP_ARGS(ibqp, opcode, psn, len, local, step, verdict, rkey, va),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u64, va)
		__field(u32, psn)
		__field(u32, len)
		__field(u32, rkey)
		__field(u8, step)
		__field(u8, verdict)
		__field(u8, opcode)
		__field(bool, local)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->va = va;
		__entry->psn = psn;
		__entry->len = len;
		__entry->step = step;
		__entry->verdict = verdict;
		__entry->rkey = rkey;
		__entry->opcode = opcode;
		__entry->local = local;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "opcode=%#x psn=%#x len=%u local=%d step=%u verdict=%u rkey=%#x va=%#llx op=%s says=%s",
		  SMR_TRACE_QP_ARGS, __entry->opcode, __entry->psn,
		  __entry->len, __entry->local, __entry->step, __entry->verdict,
		  __entry->rkey, __entry->va, smr_show_packet(__entry->opcode),
		  smr_show_outcome(__entry->step, __entry->verdict))
);

/* An AETH at the requester, from a packet or from a peer on this host (which has no MSN). */
TRACE_EVENT(smr_aeth,
	TP_PROTO(const struct ib_qp *ibqp, u8 opcode, u8 syndrome, u32 msn, u32 psn, u32 una),
	TP_ARGS(ibqp, opcode, syndrome, msn, psn, una),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u32, msn)
		__field(u32, psn)
		__field(u32, una)
		__field(u8, opcode)
		__field(u8, syndrome)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->msn = msn;
		__entry->psn = psn;
		__entry->una = una;
		__entry->opcode = opcode;
		__entry->syndrome = syndrome;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "opcode=%#x syndrome=%#x msn=%#x psn=%#x una=%#x op=%s says=%s",
		  SMR_TRACE_QP_ARGS, __entry->opcode, __entry->syndrome,
		  __entry->msn, __entry->psn, __entry->una,
		  smr_show_packet(__entry->opcode),
		  smr_show_syndrome(__entry->syndrome))
);

TRACE_EVENT(smr_retry,
	TP_PROTO(const struct ib_qp *ibqp, u32 una, u32 psn, u32 retries),
	TP_ARGS(ibqp, una, psn, retries),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u32, una)
		__field(u32, psn)
		__field(u32, retries)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->una = una;
		__entry->psn = psn;
		__entry->retries = retries;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "una=%#x psn=%#x retries_left=%u",
		  SMR_TRACE_QP_ARGS, __entry->una, __entry->psn, __entry->retries)
);

/* A CNP was sent to the peer, since a packet from it arrived with a congestion mark. */
TRACE_EVENT(smr_cnp_sent,
	TP_PROTO(const struct ib_qp *ibqp, u32 peer, u8 opcode, u32 psn),
	TP_ARGS(ibqp, peer, opcode, psn),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u32, peer)
		__field(u32, psn)
		__field(u8, opcode)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->peer = peer;
		__entry->psn = psn;
		__entry->opcode = opcode;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "peer=%#x opcode=%#x psn=%#x",
		  SMR_TRACE_QP_ARGS, __entry->peer, __entry->opcode, __entry->psn)
);

/*
 * Congestion marks have reduced the window of a requester, or its rate, in kbit/s (0: not limited);
 * congestion is in 1/1024.
 */
TRACE_EVENT(smr_slow,
	TP_PROTO(const struct ib_qp *ibqp, u32 una, u32 max_psn, u32 was, u32 window,
		 u32 congestion, u32 rate),
	TP_ARGS(ibqp, una, max_psn, was, window, congestion, rate),
	TP_STRUCT__entry(
		SMR_TRACE_QP
		__field(u32, una)
		__field(u32, max_psn)
		__field(u32, was)
		__field(u32, window)
		__field(u32, congestion)
		__field(u32, rate)
	),
	TP_fast_assign(
		SMR_TRACE_QP_ASSIGN;
		__entry->una = una;
		__entry->max_psn = max_psn;
		__entry->was = was;
		__entry->window = window;
		__entry->congestion = congestion;
		__entry->rate = rate;
	),
	TP_printk(SMR_TRACE_QP_FMT
		  "una=%#x max_psn=%#x was=%u window=%u congestion=%u rate=%u",
		  SMR_TRACE_QP_ARGS, __entry->una, __entry->max_psn, __entry->was,
		  __entry->window, __entry->congestion, __entry->rate)
);

/* net/antispoof.c has dropped a packet that a process's socket sent to RoCEv2's port. */
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

/* A deregistration was refused because a window is bound. */
TRACE_EVENT(smr_dereg_busy,
	TP_PROTO(const struct ib_device *ibdev, u32 lkey, u32 windows,
		 u32 rkey),
	TP_ARGS(ibdev, lkey, windows, rkey),
	TP_STRUCT__entry(
		__array(char, dev, SMR_TRACE_NAME)
		__field(u32, pid)
		__field(u32, lkey)
		__field(u32, windows)
		__field(u32, rkey)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&ibdev->dev), SMR_TRACE_NAME);
		__entry->pid = task_tgid_nr(current);
		__entry->lkey = lkey;
		__entry->windows = windows;
		__entry->rkey = rkey;
	),
	TP_printk("dev=%s pid=%u lkey=%#x windows=%u first_rkey=%#x",
		  __entry->dev, __entry->pid, __entry->lkey, __entry->windows,
		  __entry->rkey)
);

/*
 * A verb or work request was refused, or a packet dropped: "softmr why ID" explains the reason.
 * A packet for a QP that does not exist belongs to no link.
 */
TRACE_EVENT(smr_refused,
	TP_PROTO(const struct ib_device *ibdev, u32 pid, u32 qpn, u32 id,
		 u32 error, u32 psn, const u64 *num),
	TP_ARGS(ibdev, pid, qpn, id, error, psn, num),
	TP_STRUCT__entry(
		__array(u64, num, 8)
		__array(char, dev, SMR_TRACE_NAME)
		__field(u32, pid)
		__field(u32, qpn)
		__field(u32, id)
		__field(u32, error)
		__field(u32, psn)
	),
	TP_fast_assign(
		memcpy(__entry->num, num, sizeof(__entry->num));
		strscpy(__entry->dev, ibdev ? dev_name(&ibdev->dev) : "-",
			SMR_TRACE_NAME);
		__entry->pid = pid;
		__entry->qpn = qpn;
		__entry->id = id;
		__entry->error = error;
		__entry->psn = psn;
	),
	TP_printk("dev=%s pid=%u qpn=%#x why=%#06x error=%u psn=%#x numbers=%#llx,%#llx,%#llx,%#llx,%#llx,%#llx,%#llx,%#llx says=%s",
		  __entry->dev, __entry->pid, __entry->qpn, __entry->id,
		  __entry->error, __entry->psn, __entry->num[0],
		  __entry->num[1], __entry->num[2], __entry->num[3],
		  __entry->num[4], __entry->num[5], __entry->num[6],
		  __entry->num[7], smr_show_why(__entry->id))
);

#endif /* SMR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
