/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * The interface of the softmr module and its rdma-core provider: the rings that are mapped into
 * the process, and the driver's part of the verbs commands.
 *
 * Nothing in a ring is a pointer, and the kernel trusts nothing in it: every
 * entry is copied out once and only the copy is checked and used.
 */
#ifndef SOFTMR_ABI_H
#define SOFTMR_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Modules and providers of different versions do not work together. Within a version the
 * definitions below keep their meaning and layout. The ABI grows by new methods, by new optional
 * attributes, by fields at the end of a response or in place of reserved ones, all of which read
 * as 0 from a module that does not know them, and by input that a provider sends only to a
 * sufficiently new module.
 */
#define SMR_ABI_VERSION	2

/*
 * How far the ABI has grown within its version, for features that cannot be probed. A module has
 * all features up to the number that it reports.
 */
#define SMR_ABI_MINOR	0

/*
 * Reported as the device's RDMA driver id, by which the provider recognises its devices,
 * whatever their names. The number is outside the range of enum rdma_driver_id.
 */
#define SMR_DRIVER_ID	0x534d5200

/* Upper bounds that hold on both sides of a ring. */
#define SMR_MAX_SGE		32
#define SMR_MAX_INLINE		512

/*
 * The head of each ring. The producer owns @prod, the consumer owns @cons; each is written with
 * release and read with acquire semantics. Both run freely through 2^32; the entry is index &
 * (depth - 1). Entries begin directly after the head.
 */
struct smr_ring_hdr {
	__u32 prod;
	__u32 rsvd0[15];
	__u32 cons;
	/* enum smr_ring_flags, written by the kernel only */
	__u32 flags;
	__u32 rsvd1[14];
};

enum smr_ring_flags {
	/*
	 * The kernel waits for entries of this receive ring: ring the
	 * doorbell after publishing one. The producer's check needs a full
	 * barrier between its store to prod and its load of flags.
	 */
	SMR_RING_NEED_DOORBELL = 1 << 0,
};

struct smr_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/*
 * An entry of the send queue. opcode and send_flags have the values of
 * enum ib_uverbs_wr_opcode and enum ibv_send_flags. With IBV_SEND_INLINE the
 * payload of inline_len bytes begins at sge[0] and num_sge is 0.
 */
struct smr_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 num_sge;
	__u16 inline_len;
	__u32 send_flags;
	/* immediate data in network order, or the rkey to invalidate */
	__u32 imm_or_rkey;
	/* the shared receive queue's number, for XRC */
	__u32 xrc_srqn;
	union {
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 rsvd;
		} rdma;
		struct {
			__aligned_u64 remote_addr;
			/* the value to compare, or to add */
			__aligned_u64 compare_add;
			__aligned_u64 swap;
			__u32 rkey;
			__u32 rsvd;
		} atomic;
		struct {
			__u32 ah_handle;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 rsvd;
		} ud;
		struct {
			/* the range; a length of 0 unbinds a type 1 window */
			__aligned_u64 addr;
			__aligned_u64 length;
			__u32 mr_lkey;
			/* identifies the window; its tag is ignored */
			__u32 mw_rkey;
			/* only its tag is used: that of the window's next key */
			__u32 new_rkey;
			/* enum ibv_access_flags */
			__u32 access;
		} bind_mw;
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 length;
			__u32 rkey;
			/* enum ibv_placement_type, enum ibv_selectivity_level */
			__u8 type;
			__u8 level;
			__u16 rsvd;
		} flush;
		__u8 rsvd_op[40];
	};
	struct smr_sge sge[];
};

struct smr_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 rsvd;
	struct smr_sge sge[];
};

/* wc_flags of a completion: enum ibv_wc_flags, which is in no kernel header */
enum smr_wc_flags {
	SMR_WC_GRH = 1 << 0,
	SMR_WC_WITH_IMM = 1 << 1,
	SMR_WC_WITH_INV = 1 << 3,
};

/*
 * sl of a datagram's completion. There is no service level on RoCEv2, and IBTA A17.4.5.1
 * requires a flag for the IP version of the received header. Adapters report it here, and UCX
 * (before 1.19) expects it here.
 */
enum smr_wc_sl {
	SMR_WC_SL_IPV6 = 0x9,
	SMR_WC_SL_IPV4 = 0xa,
};

/* A completion; the fields have the values of struct ibv_wc. */
struct smr_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;
	__u32 status;
	__u32 opcode;
	__u32 vendor_err;
	__u32 byte_len;
	union {
		/* immediate data in network order, or the rkey that was invalidated */
		__u32 imm_or_rkey;
		/* a frame: the tag of its steering rule, or 0 */
		__u32 flow_tag;
	};
	__u32 qp_num;
	__u32 src_qp;
	__u32 wc_flags;
	__u32 slid;
	__u16 pkey_index;
	__u16 vlan_id;
	__u8 sl;
	__u8 dlid_path_bits;
	__u8 smac[6];
};

/* Pages of an arena that several rings share, at most */
#define SMR_ARENA_PAGES	256

/*
 * Where a ring is, and its geometry. A process maps the arena that the ring is in, once for all
 * rings of that arena. This is embedded in responses, so it cannot grow: additions follow at the
 * end of these responses.
 */
struct smr_ring_info {
	/* of the arena */
	__aligned_u64 mmap_offset;
	/* names the arena within the context; not given to another one */
	__aligned_u64 arena;
	/* of the arena, in bytes */
	__u32 mmap_size;
	/* of the ring in the arena */
	__u32 offset;
	/* entries, a power of two; 0: there is no such ring */
	__u32 depth;
	/* bytes from one entry to the next */
	__u32 stride;
	__u32 max_sge;
	__u32 max_inline;
	/* work requests that may be outstanding, at most depth */
	__u32 max_wr;
	__u32 rsvd;
};

struct smr_alloc_ucontext_resp {
	/* SMR_ABI_VERSION */
	__u32 abi_version;
	/* SMR_ABI_MINOR */
	__u32 abi_minor;
};

struct smr_create_cq_resp {
	struct smr_ring_info cq;
};

struct smr_resize_cq_resp {
	struct smr_ring_info cq;
};

struct smr_create_srq_resp {
	struct smr_ring_info rq;
	__u32 srqn;
	__u32 rsvd;
};

struct smr_resize_srq_resp {
	struct smr_ring_info rq;
};

struct smr_create_qp_resp {
	struct smr_ring_info sq;
	struct smr_ring_info rq;
};

/* Capabilities of the device that the RDMA core does not know. */
struct smr_query_device_resp {
	/* kbit/s */
	__u32 rate_limit_min;
	__u32 rate_limit_max;
	/* bits 1 << type of those QPs that can have a rate limit */
	__u32 rate_limit_qpts;
	__u32 rsvd;
};

/* Input for a QP's rate limit (IB_QP_RATE_LIMIT). */
struct smr_modify_qp {
	/* bytes that may be sent at once; 0: the module decides */
	__u32 max_burst_sz;
	/* bytes of a packet; 0: from the netdev's MTU */
	__u16 typical_pkt_sz;
	__u16 rsvd;
};

struct smr_create_ah_resp {
	/* the number of this address handle in work requests */
	__u32 ah_handle;
	__u32 rsvd;
};

/*
 * The doorbell is a file, which a driver method of the DEVICE object opens. 1 << 12 is
 * UVERBS_ID_NS_SHIFT: the driver's name space of ids.
 */
enum smr_doorbell_methods {
	SMR_METHOD_DOORBELL_OPEN = (1U << 12) + 1,
};

enum smr_doorbell_open_attrs {
	/* the file descriptor, 4 bytes */
	SMR_ATTR_DOORBELL_FD = (1U << 12),
};

/*
 * They run one side of a QP of the file's context. The argument is the QP's number. EIO: the
 * device is gone. ENOENT: the context has no such QP.
 */
#define SMR_IOC_RING_SQ	_IO('s', 0xe0)
#define SMR_IOC_RING_RQ	_IO('s', 0xe1)

/*
 * A capture: a driver method of the DEVICE object opens a file. It has the packets of the QPs
 * of the context's user, also of other contexts, or all RoCEv2 packets of the link; each read()
 * takes one. EMSGSIZE: it is longer than the buffer, and waits. 0: the context is closed, and all
 * has been read. EPERM: the process has privileges that its user lacks; or SMR_CAPTURE_ALL, and it
 * has no CAP_NET_RAW in the link's namespace.
 */
enum smr_capture_methods {
	/* (1U << 12) + 2 is SMR_METHOD_WHY_NOTE */
	SMR_METHOD_CAPTURE_OPEN = (1U << 12) + 3,
};

enum smr_capture_open_attrs {
	/* the file descriptor, 4 bytes */
	SMR_ATTR_CAPTURE_FD = (1U << 12),
	/* enum smr_capture_flags, 4 or 8 bytes; optional, then 0 */
	SMR_ATTR_CAPTURE_FLAGS,
	/* enum smr_capture_unseen, 4 bytes; optional */
	SMR_ATTR_CAPTURE_UNSEEN,
};

enum smr_capture_flags {
	SMR_CAPTURE_ALL = 1 << 0,
};

/*
 * Packets to the link's own addresses do not arrive, perhaps because of a firewall. So messages
 * between two QPs of this host are not sent as packets, and the capture does not have them.
 */
enum smr_capture_unseen {
	SMR_CAPTURE_UNSEEN_V4 = 1 << 0,
	SMR_CAPTURE_UNSEEN_V6 = 1 << 1,
};

/* What each read() begins with; an Ethernet frame follows. */
struct smr_captured_packet {
	/* ns of CLOCK_REALTIME */
	__aligned_u64 time;
	/* number of packets lost before this one, since the last one */
	__u32 lost;
	/* bytes of the frame */
	__u32 len;
	/* the reason why it was dropped when it arrived, enum smr_why_id; 0: see softmr-why.h */
	__u32 why;
	__u32 rsvd;
};

/*
 * Resize of a shared receive queue: a driver method of the SRQ object, since the verbs command
 * has no response for the new ring.
 */
enum smr_srq_methods {
	SMR_METHOD_SRQ_RESIZE = (1U << 12),
};

enum smr_srq_resize_attrs {
	SMR_ATTR_RESIZE_SRQ = (1U << 12),
	/* __u32 */
	SMR_ATTR_RESIZE_MAX_WR,
	/* __u32, optional: also arm this limit */
	SMR_ATTR_RESIZE_LIMIT,
	/* struct smr_resize_srq_resp: the new ring */
	SMR_ATTR_RESIZE_RING,
};

/* Sharing an open device: the driver's part of the method QUERY_CONTEXT. */
enum smr_query_context_attrs {
	/* struct smr_alloc_ucontext_resp */
	SMR_ATTR_QUERY_CONTEXT_RESP = (1U << 12),
};

/* Device memory, and how to map it: a driver method of the DM object. */
enum smr_dm_methods {
	SMR_METHOD_DM_QUERY = (1U << 12),
};

enum smr_dm_query_attrs {
	SMR_ATTR_DM_QUERY_DM = (1U << 12),
	/* struct smr_dm_info */
	SMR_ATTR_DM_QUERY_INFO,
};

struct smr_dm_info {
	__aligned_u64 mmap_offset;
	__u32 mmap_size;
	__u32 length;
};

/*
 * The windows that are bound to a region, or wait to be: a driver method of the MR object. The
 * array is filled as far as they fit; the total is their number.
 */
enum smr_mr_methods {
	SMR_METHOD_MR_QUERY_WINDOWS = (1U << 12),
};

enum smr_mr_query_windows_attrs {
	SMR_ATTR_WINDOWS_MR = (1U << 12),
	/* struct smr_abi_window[], optional */
	SMR_ATTR_WINDOWS_ARRAY,
	/* __u32 */
	SMR_ATTR_WINDOWS_TOTAL,
	/* __u64, optional: smr_windows_page.next of the previous call; 0: from the beginning */
	SMR_ATTR_WINDOWS_FROM,
	/* struct smr_windows_page, optional */
	SMR_ATTR_WINDOWS_PAGE,
	/*
	 * __u32, optional: bytes of an entry of the array, a multiple of 8. Absent: 40. Further
	 * bytes of a longer one are zero.
	 */
	SMR_ATTR_WINDOWS_SIZE,
};

/* The part of the list that is in the array. */
struct smr_windows_page {
	/* where the next call must continue; 0: there are no more windows */
	__aligned_u64 next;
	/* windows in the array */
	__u32 count;
	__u32 rsvd;
};

enum smr_window_flags {
	/*
	 * A bind of the window to this region waits until the former binding ends. The entry
	 * describes the future window, except that qpn is the QP that the request was posted
	 * to.
	 */
	SMR_WINDOW_PENDING = 1 << 0,
};

struct smr_abi_window {
	/* the window's handle, 0 if it no longer has one */
	__u32 handle;
	__u32 rkey;
	/* enum ibv_mw_type */
	__u32 type;
	/* the QP that it is associated with, 0: none */
	__u32 qpn;
	__aligned_u64 addr;
	__aligned_u64 length;
	/* enum ibv_access_flags */
	__u32 access;
	/* enum smr_window_flags */
	__u32 flags;
};

#endif /* SOFTMR_ABI_H */
