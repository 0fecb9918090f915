/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Why softmr refuses a request: the reasons, and the interface that reports them.
 *
 * An id never changes its meaning, and is never given to another reason: programs print ids,
 * and completions carry them. The upper byte is the source of the refusal:
 *
 *	0x01..	verbs: memory regions
 *	0x02..	verbs: memory windows
 *	0x03..	verbs: queue pairs
 *	0x04..	verbs: completion queues
 *	0x05..	verbs: receive queues
 *	0x06..	verbs: addresses
 *	0x07..	verbs: steering rules
 *	0x08..	verbs: multicast
 *	0x09..	verbs: device memory
 *	0x0e..	verbs: posting
 *	0x0f..	verbs: any
 *	0x10..	keys
 *	0x11..	work requests
 *	0x12..	the peer's answers
 *	0x13..	requests of the peer, and the receives for them
 */
#ifndef SOFTMR_WHY_H
#define SOFTMR_WHY_H

#include <linux/types.h>

/* Maximum numbers of a reason */
#define SMR_WHY_NUMBERS	8

/* Bytes of a reason's name, with the 0 at its end */
#define SMR_WHY_NAME	24

/*
 * X(name, id, error)
 *
 * error: the errno of the verb; 0: no verb, the status of the completion is the error
 *
 * The texts, and the names of the numbers, are the provider's: why_table.h there.
 */

/* Verbs */
#define SMR_WHYS_VERBS(X)						\
	X(MR_ACCESS, 0x0101, EOPNOTSUPP)				\
	X(MR_PERSISTENT, 0x0102, EOPNOTSUPP)				\
	X(MR_DM_ON_DEMAND, 0x0103, EINVAL)				\
	X(MR_IMPLICIT, 0x0104, EINVAL)					\
	X(MR_WRAPS, 0x0105, EINVAL)					\
	X(MR_NO_ATOMICS, 0x0106, EOPNOTSUPP)				\
	X(MR_NOT_PERSISTENT, 0x0107, EINVAL)				\
	X(MR_BUSY, 0x0108, EBUSY)					\
	X(MR_OTHER_PROCESS, 0x0109, EACCES)				\
	X(MR_FIXED, 0x010b, EINVAL)					\
	X(MR_DMABUF_FD, 0x010c, EBADF)					\
	X(MR_UNMAPPED, 0x010d, EFAULT)					\
	X(MR_MEMLOCK, 0x010e, ENOMEM)					\
	X(MR_DMABUF, 0x010f, EINVAL)					\
	X(MR_DMABUF_ON_DEMAND, 0x0110, EINVAL)				\
	X(MR_ATTRS, 0x0111, EINVAL)					\
	X(MR_IO_MEMORY, 0x0112, EOPNOTSUPP)				\
	X(MR_START_WRAPS, 0x0113, EINVAL)				\
	X(MR_TYPE, 0x0114, EOPNOTSUPP)					\
	X(MR_BLOCKS, 0x0115, EINVAL)					\
	X(ADVICE, 0x0181, EOPNOTSUPP)					\
	X(ADVISE_NO_KEY, 0x0182, ENOENT)				\
	X(ADVISE_PD, 0x0183, EPERM)					\
	X(ADVISE_RIGHT, 0x0184, EPERM)					\
	X(ADVISE_WINDOW, 0x0185, EINVAL)				\
	X(ADVISE_PINNED, 0x0186, ENOENT)				\
	X(ADVISE_RANGE, 0x0187, EFAULT)					\
	X(ADVISE_UNMAPPED, 0x0188, EFAULT)				\
	X(MW_TYPE, 0x0201, EINVAL)					\
	X(QP_TYPE, 0x0301, EOPNOTSUPP)					\
	X(QP_FLAGS, 0x0302, EOPNOTSUPP)					\
	X(QP_SEND_WR, 0x0303, EINVAL)					\
	X(QP_SEND_SGE, 0x0304, EINVAL)					\
	X(QP_INLINE, 0x0305, EINVAL)					\
	X(QP_RECV_WR, 0x0306, EINVAL)					\
	X(QP_RECV_SGE, 0x0307, EINVAL)					\
	X(QP_NO_XRCD, 0x0308, EINVAL)					\
	X(QP_NO_CQ, 0x0309, EINVAL)					\
	X(QP_SEND_OPS, 0x030a, EOPNOTSUPP)				\
	X(QP_CGROUP, 0x030c, EPERM)					\
	X(QP_ATTR, 0x0311, EOPNOTSUPP)					\
	X(QP_ACCESS, 0x0312, EOPNOTSUPP)				\
	X(QP_VALUE, 0x0313, EINVAL)					\
	X(QP_CUR_STATE, 0x0314, EINVAL)					\
	X(QP_TRANSITION, 0x0315, EINVAL)				\
	X(QP_ATTR_MISSING, 0x0316, EINVAL)				\
	X(QP_ATTR_EXCESS, 0x0317, EINVAL)				\
	X(QP_DRAINING, 0x0318, EINVAL)					\
	X(QP_PATH_MTU, 0x0319, EINVAL)					\
	X(QP_RATE_TYPE, 0x031a, EOPNOTSUPP)				\
	X(QP_RATE_STATE, 0x031b, EINVAL)				\
	X(QP_RATE_BURST, 0x031c, EINVAL)				\
	X(QP_PEER_TAKEN, 0x031d, EPERM)					\
	X(QP_ERROR_MEANWHILE, 0x031e, EINVAL)				\
	X(QP_ECE, 0x031f, EINVAL)					\
	X(CQ_FLAGS, 0x0401, EOPNOTSUPP)					\
	X(CQ_CQE, 0x0402, EINVAL)					\
	X(CQ_VECTOR, 0x0403, EINVAL)					\
	X(CQ_FULL, 0x0404, EINVAL)					\
	X(CQ_WC_FLAGS, 0x0405, EOPNOTSUPP)				\
	X(CQ_PARENT, 0x0406, EINVAL)					\
	X(CQ_RESPONSE, 0x0407, EINVAL)					\
	X(SRQ_TYPE, 0x0501, EOPNOTSUPP)					\
	X(SRQ_WR, 0x0502, EINVAL)					\
	X(SRQ_SGE, 0x0503, EINVAL)					\
	X(SRQ_LIMIT, 0x0504, EINVAL)					\
	X(SRQ_FULL, 0x0505, EINVAL)					\
	X(SRQ_SIZE, 0x0506, EOPNOTSUPP)					\
	X(SRQ_ATTR, 0x0507, EINVAL)					\
	X(SRQ_NO_NUMBER, 0x0508, EOPNOTSUPP)				\
	X(AH_NO_GRH, 0x0601, EINVAL)					\
	X(AH_PORT, 0x0602, EINVAL)					\
	X(AH_GID_TYPE, 0x0603, EINVAL)					\
	X(AH_NO_DGID, 0x0604, EINVAL)					\
	X(AH_FAMILY, 0x0605, EINVAL)					\
	X(AH_NETDEV, 0x0606, EINVAL)					\
	X(AH_SGID_INDEX, 0x0610, EINVAL)				\
	X(AH_UNREACHABLE, 0x0611, ETIMEDOUT)				\
	X(FLOW_QP, 0x0701, EOPNOTSUPP)					\
	X(FLOW_FLAGS, 0x0702, EOPNOTSUPP)				\
	X(FLOW_TYPE, 0x0703, EINVAL)					\
	X(FLOW_DEFAULT, 0x0704, EINVAL)					\
	X(FLOW_SPEC, 0x0705, EOPNOTSUPP)				\
	X(FLOW_IP_FLAGS, 0x0706, EOPNOTSUPP)				\
	X(FLOW_TWICE, 0x0707, EINVAL)					\
	X(FLOW_DROP, 0x0708, EINVAL)					\
	X(FLOW_MANY, 0x0709, ENOMEM)					\
	X(FLOW_NETDEV, 0x070a, ENODEV)					\
	X(FLOW_RX_MODE, 0x070e, EOVERFLOW)				\
	X(MCAST_AGAIN, 0x0801, EINVAL)					\
	X(MCAST_QPS, 0x0802, ENOMEM)					\
	X(MCAST_GROUPS, 0x0803, ENOMEM)					\
	X(MCAST_NETDEV, 0x0804, ENODEV)					\
	X(DM_NO_LENGTH, 0x0901, EINVAL)					\
	X(DM_ALIGN, 0x0902, EINVAL)					\
	X(DM_FULL, 0x0903, ENOMEM)					\
	X(DM_UNALIGNED, 0x0904, EFAULT)					\
	X(DM_RANGE, 0x0905, EFAULT)					\
	X(POST_STATE, 0x0e01, EINVAL)					\
	X(POST_NO_QUEUE, 0x0e02, EINVAL)				\
	X(POST_OPCODE, 0x0e03, EINVAL)					\
	X(POST_FLAGS, 0x0e04, EINVAL)					\
	X(POST_INLINE, 0x0e05, EINVAL)					\
	X(POST_INLINE_LENGTH, 0x0e06, EINVAL)				\
	X(POST_SGE, 0x0e07, EINVAL)					\
	X(POST_FULL, 0x0e08, ENOMEM)					\
	X(POST_NO_AH, 0x0e09, EINVAL)					\
	X(POST_NO_WINDOW, 0x0e0a, EINVAL)				\
	X(POST_ZERO_BASED, 0x0e0b, EINVAL)				\
	X(POST_ATOMIC_WRITE, 0x0e0c, EINVAL)				\
	X(LIMIT, 0x0f01, ENOMEM)					\
	X(NO_MEMORY, 0x0f02, ENOMEM)					\
	X(SIGNAL, 0x0f03, EINTR)					\
	X(FIELDS_UNKNOWN, 0x0f04, EOPNOTSUPP)				\
	X(FIELDS_INVALID, 0x0f05, EINVAL)				\
	X(PD_IN_USE, 0x0f06, EBUSY)					\
	X(TD_IN_USE, 0x0f07, EBUSY)					\
	X(PARENT_PD, 0x0f08, EINVAL)					\
	X(PARENT_ALLOCATORS, 0x0f09, EINVAL)				\
	X(CAPTURE_USER, 0x0f0a, EPERM)					\
	X(DEVICE_GOES, 0x0f0b, EIO)					\
	X(INPUT_UNKNOWN, 0x0f0c, EOPNOTSUPP)				\
	X(NO_NUMBER, 0x0f0d, ENOSPC)					\
	X(FILES, 0x0f0e, EMFILE)					\
	X(COMMAND_MEMORY, 0x0f0f, EFAULT)				\
	X(IN_USE, 0x0f10, EBUSY)					\
	X(RING_UNKNOWN, 0x0f14, EPROTO)					\
	X(CAPTURE_ALL, 0x0f15, EPERM)					\
	X(UNSAID, 0x0fff, 0)

/* Requests, of a QP or of its peer */
#define SMR_WHYS_REQUESTS(X)						\
	X(KEY_UNKNOWN, 0x1001, 0)					\
	X(KEY_STALE, 0x1002, 0)						\
	X(KEY_DEAD, 0x1003, 0)						\
	X(KEY_PD, 0x1004, 0)						\
	X(KEY_ACCESS, 0x1005, 0)					\
	X(KEY_RANGE, 0x1006, 0)						\
	X(KEY_ENDED, 0x1007, 0)						\
	X(WR_FLUSHED, 0x1100, 0)					\
	X(WR_OPCODE, 0x1101, 0)						\
	X(WR_FLUSH, 0x1102, 0)						\
	X(WR_INLINE, 0x1103, 0)						\
	X(WR_SGE, 0x1104, 0)						\
	X(WR_LENGTH, 0x1105, 0)						\
	X(WR_NO_RD_ATOMIC, 0x1106, 0)					\
	X(WR_PAGE, 0x1107, 0)						\
	X(WR_BIND, 0x1108, 0)						\
	X(WR_INVALIDATE, 0x1109, 0)					\
	X(WR_ADDRESS, 0x110a, 0)					\
	X(WR_NO_MEMORY, 0x110b, 0)					\
	X(WR_FRAME, 0x110c, 0)						\
	X(SEND_RING, 0x110d, 0)						\
	X(CQ_OVERRUN, 0x110e, 0)					\
	X(WR_OTHER, 0x110f, 0)						\
	X(PEER_INVALID, 0x1201, 0)					\
	X(PEER_ACCESS, 0x1202, 0)					\
	X(PEER_FAILED, 0x1203, 0)					\
	X(PEER_NONSENSE, 0x1204, 0)					\
	X(PEER_SILENT, 0x1205, 0)					\
	X(PEER_NOT_READY, 0x1206, 0)					\
	X(REQ_OPCODE, 0x1301, 0)					\
	X(REQ_SEQUENCE, 0x1302, 0)					\
	X(REQ_FORBIDDEN, 0x1303, 0)					\
	X(REQ_PAYLOAD, 0x1304, 0)					\
	X(REQ_WRITE_LENGTH, 0x1305, 0)					\
	X(REQ_READ_LENGTH, 0x1306, 0)					\
	X(REQ_UNALIGNED, 0x1307, 0)					\
	X(REQ_XRC, 0x1308, 0)						\
	X(REQ_INVALIDATE, 0x1309, 0)					\
	X(REQ_PAGE, 0x130a, 0)						\
	X(REQ_NO_MEMORY, 0x130b, 0)					\
	X(RECV_TOO_SHORT, 0x1311, 0)					\
	X(RECV_SGE, 0x1312, 0)						\
	X(RECV_PAGE, 0x1313, 0)						\
	X(RECV_RING, 0x1314, 0)

/* Packets that were dropped. Whether the peer sends them again depends on its transport */
#define SMR_WHYS_DROPS(X)						\
	X(DROP_STATE, 0x1401, 0)					\
	X(DROP_SOURCE, 0x1402, 0)					\
	X(DROP_PKEY, 0x1403, 0)						\
	X(DROP_QKEY, 0x1404, 0)						\
	X(DROP_NO_RECV, 0x1405, 0)					\
	X(DROP_HEADER, 0x1406, 0)					\
	X(DROP_ICRC, 0x1407, 0)						\
	X(DROP_QUEUE, 0x1408, 0)					\
	X(DROP_PSN, 0x1409, 0)						\
	X(DROP_SERVICE, 0x140a, 0)					\
	X(DROP_NO_QP, 0x140b, 0)					\
	X(DROP_NOT_READY, 0x140c, 0)					\
	X(DROP_GAP, 0x140d, 0)						\
	X(DROP_NO_MEMORY, 0x140e, 0)					\
	X(DROP_BUDGET, 0x140f, 0)

#define SMR_WHYS(X) \
	SMR_WHYS_VERBS(X) SMR_WHYS_REQUESTS(X) SMR_WHYS_DROPS(X)

enum smr_why_id {
	SMR_WHY_NONE = 0,
#define SMR_WHY_ENUM(name, id, ...) SMR_WHY_##name = id,
	SMR_WHYS(SMR_WHY_ENUM)
#undef SMR_WHY_ENUM
};

/**
 * struct smr_abi_why - a refusal
 * @seq: counts the refusals of a context from 1 on
 * @time: time of the refusal, ns of CLOCK_REALTIME
 * @id: enum smr_why_id, or a newer one
 * @error: errno of the verb, or status of the completion: enum ibv_wc_status
 * @qpn: the queue pair concerned; 0: none
 * @peer_qpn: QP number of the peer, if @qpn is connected
 * @peer: the peer's GID, likewise
 * @wr_id: of the work request, if there is one
 * @psn: of the packet, if there is one
 * @opcode: of the work request: enum ibv_wr_opcode; of a packet: that of its BTH
 * @tid: the thread that has called the verb, in the namespace of its process; 0: no verb
 * @nr: number of @num; 0 also from a module that does not say it
 * @num: the numbers of the reason
 * @name: of the reason, for programs that do not know its id; empty if the module does not
 */
struct smr_abi_why {
	__aligned_u64 seq;
	__aligned_u64 time;
	__u32 id;
	__u32 error;
	__u32 qpn;
	__u32 peer_qpn;
	__u8 peer[16];
	__aligned_u64 wr_id;
	__u32 psn;
	__u32 opcode;
	__u32 tid;
	__u32 nr;
	__aligned_u64 num[SMR_WHY_NUMBERS];
	__u8 name[SMR_WHY_NAME];
};

/*
 * A process reads the last refusals of its context: a driver method of the device object. The
 * array is filled as far as they fit, the oldest first.
 */
enum smr_device_methods {
	SMR_METHOD_WHY_READ = (1U << 12),
	/* (1U << 12) + 1 is SMR_METHOD_DOORBELL_OPEN */
	SMR_METHOD_WHY_NOTE = (1U << 12) + 2,
};

enum smr_why_read_attrs {
	/* __u64, optional: the seq of the last one that the caller has; absent: none */
	SMR_ATTR_WHY_FROM = (1U << 12),
	/* struct smr_abi_why[] */
	SMR_ATTR_WHY_ARRAY,
	/* __u32: bytes of an entry of the array; further bytes of a longer one are zero */
	SMR_ATTR_WHY_SIZE,
	/* __u32: number of entries in the array */
	SMR_ATTR_WHY_COUNT,
};

/**
 * struct smr_why_note - what the provider has refused without asking the kernel
 * @id: enum smr_why_id of a verb: less than 0x1000
 * @error: errno of the verb
 * @qpn: the queue pair that it is about; 0: none
 * @rsvd: 0
 * @num: the numbers of the reason
 *
 * It is logged with the context's other refusals, without verification.
 */
struct smr_why_note {
	__u32 id;
	__u32 error;
	__u32 qpn;
	__u32 rsvd;
	__aligned_u64 num[SMR_WHY_NUMBERS];
};

enum smr_why_note_attrs {
	/* struct smr_why_note */
	SMR_ATTR_WHY_NOTE = (1U << 12),
};

/*
 * Generic netlink: the last refusals of all contexts of a network namespace, and of closed
 * contexts. A process with CAP_NET_ADMIN there gets all, and others get those of their user.
 */
#define SMR_GENL_NAME		"softmr"
#define SMR_GENL_VERSION	1

enum smr_genl_commands {
	/* a dump; each message has the attributes below */
	SMR_GENL_WHY = 1,
	/*
	 * Count the bytes copied from and to regions for the next seconds. Without attributes;
	 * needs CAP_NET_ADMIN
	 */
	SMR_GENL_WATCH,
};

#define SMR_WHY_NO_DEV		0xffffffffu

enum smr_genl_why_attrs {
	/* struct smr_abi_why */
	SMR_GENL_WHY_RECORD = 1,
	/* __u32: the index of the RDMA device; SMR_WHY_NO_DEV: the refusal concerns none */
	SMR_GENL_WHY_DEV,
	/*
	 * __u32: the process that opened the context; 0: the kernel, or it is not in the reader's
	 * namespace
	 */
	SMR_GENL_WHY_PID,
	/* its command */
	SMR_GENL_WHY_COMM,
	/* u8: the context is closed */
	SMR_GENL_WHY_ENDED,
};

#endif /* SOFTMR_WHY_H */
