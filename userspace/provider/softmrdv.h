/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Functions of softmr devices beyond verbs. Link with -lsoftmr.
 */
#ifndef SOFTMRDV_H
#define SOFTMRDV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Windows that softmrdv_query_mr_windows() asks the kernel for at once, at most */
#define SOFTMRDV_MR_WINDOWS_MAX	1024

/* flags of a window */
enum softmrdv_mr_window_flags {
	/* it is not bound yet: the bind waits for the end of the former binding */
	SOFTMRDV_MR_WINDOW_PENDING = 1 << 0,
};

/**
 * struct softmrdv_mr_window - a memory window that prevents a deregistration
 * @handle: the handle of its struct ibv_mw; 0 while it is being deallocated
 * @rkey: its current key; of a pending bind: the future key
 * @type: enum ibv_mw_type
 * @qp_num: the QP that a type 2 window is associated with, 0: none; of a pending bind: the QP that
 *	it was posted to
 * @addr: its first byte, as peers address it
 * @length: bytes
 * @access: enum ibv_access_flags
 * @flags: enum softmrdv_mr_window_flags
 */
struct softmrdv_mr_window {
	uint32_t handle;
	uint32_t rkey;
	uint32_t type;
	uint32_t qp_num;
	uint64_t addr;
	uint64_t length;
	uint32_t access;
	uint32_t flags;
};

/**
 * enum softmrdv_res_type - the object for which a parent domain's allocator is
 * called (ibv_alloc_parent_domain(3)); the queues themselves are memory of the
 * kernel
 */
enum softmrdv_res_type {
	SOFTMRDV_RES_TYPE_QP = 1,
	SOFTMRDV_RES_TYPE_SRQ = 2,
	SOFTMRDV_RES_TYPE_CQ = 3,
};

/**
 * softmrdv_is_supported - is this device one of softmr?
 * @device: any device from ibv_get_device_list()
 */
bool softmrdv_is_supported(struct ibv_device *device);

/**
 * softmrdv_query_mr_windows - which windows keep a region from being
 * deregistered?
 * @mr: the region
 * @windows: an array for @max of them, NULL if @max is 0
 * @max: the size of the array
 * @total: set to the number of bound windows, whatever @max is
 *
 * The first @max or @total windows, whichever is less, are in @windows.
 *
 * If there are many windows, the library queries the kernel in several calls. A window that is
 * bound during all of them is listed, whatever else is bound and unbound during that time.
 *
 * Return: 0 or a positive errno: EINVAL (@mr or @total is NULL, or @windows is
 * NULL and @max is not 0), EOPNOTSUPP (the region is not one of softmr), ENOMEM,
 * EIO (the device is gone).
 */
int softmrdv_query_mr_windows(struct ibv_mr *mr,
			      struct softmrdv_mr_window *windows,
			      uint32_t max, uint32_t *total);

/**
 * struct softmrdv_device - the version of the interface between module and
 * provider
 * @comp_mask: 0; for later extensions
 * @abi_version: of the interface; 2
 * @abi_minor: how far it has grown in the module
 */
struct softmrdv_device {
	uint64_t comp_mask;
	uint32_t abi_version;
	uint32_t abi_minor;
};

/**
 * softmrdv_query_device - the capabilities of this device's module
 * @context: the open device
 * @device: the answer; its comp_mask must be 0
 *
 * Return: 0 or a positive errno: EINVAL (@context or @device is NULL, or comp_mask
 * is not 0), EOPNOTSUPP (the device is not one of softmr).
 */
int softmrdv_query_device(struct ibv_context *context,
			  struct softmrdv_device *device);

/* The maximum number of numbers of a reason */
#define SOFTMRDV_WHY_NUMBERS	8
/* Bytes of its name, with the 0 at its end */
#define SOFTMRDV_WHY_NAME	24

/**
 * struct softmrdv_why - a refusal, and its reason
 * @comp_mask: 0; for later extensions
 * @time: when, nanoseconds of CLOCK_REALTIME
 * @wr_id: of the work request, if there is one
 * @id: the reason; "softmr why ID" explains it. vendor_err of a completion is the same number
 * @error: the errno of the call, or the status of the completion
 * @qp_num: the QP, or 0
 * @peer_qp_num: the one that it is connected to, or 0
 * @peer: the peer's GID, or zeros
 * @psn: of the packet, or of the first packet of the work request, or 0
 * @opcode: enum ibv_wr_opcode of a work request; of a packet that of its BTH
 * @numbers: how many entries of @number the reason has
 * @number: its numbers
 * @name: of the reason; "softmr why --json" prints it
 */
struct softmrdv_why {
	uint64_t comp_mask;
	uint64_t time;
	uint64_t wr_id;
	uint32_t id;
	uint32_t error;
	uint32_t qp_num;
	uint32_t peer_qp_num;
	union ibv_gid peer;
	uint32_t psn;
	uint32_t opcode;
	uint32_t numbers;
	uint32_t rsvd;
	uint64_t number[SOFTMRDV_WHY_NUMBERS];
	char name[SOFTMRDV_WHY_NAME];
};

/**
 * softmrdv_why - why was the last call of this thread refused?
 * @context: the open device
 * @why: the answer
 *
 * The device keeps up to 64 refusals of a context, the last ones, of any kind. It does not see calls that
 * libibverbs refuses. Of the calls that the kernel's RDMA core refuses it sees only those about
 * addresses, ports, states, and objects in use.
 *
 * Return: 0 or a positive errno: ENOENT (nothing was refused), EINVAL (NULL), EOPNOTSUPP
 * (the device is not one of softmr, or the module is too old), ENOMEM, EIO (the device is gone).
 */
int softmrdv_why(struct ibv_context *context, struct softmrdv_why *why);

/**
 * softmrdv_why_qp - the last refusal that concerns a QP: a call, a request of its own, or one
 * of its peer
 * @qp: the QP
 * @why: the answer
 *
 * Return: as softmrdv_why().
 */
int softmrdv_why_qp(struct ibv_qp *qp, struct softmrdv_why *why);

/**
 * softmrdv_why_wc - why did a work request complete with an error?
 * @context: the open device
 * @wc: the completion
 * @why: the answer
 *
 * Return: as softmrdv_why(); ENOENT also if the completion was flushed, and so has no reason of its
 * own.
 */
int softmrdv_why_wc(struct ibv_context *context, const struct ibv_wc *wc,
		    struct softmrdv_why *why);

/**
 * softmrdv_why_text - describe a refusal: what was wrong, and what to do
 * @why: the refusal
 * @text: the text
 * @size: bytes of @text
 *
 * Return: as snprintf(3): how long the text is, whatever @size is.
 */
int softmrdv_why_text(const struct softmrdv_why *why, char *text, size_t size);

/**
 * struct softmrdv_packet - what each read(2) of a capture begins with; an Ethernet frame follows
 * @time: when, nanoseconds of CLOCK_REALTIME
 * @lost: packets that were lost before this one, since the reader was slow
 * @length: bytes of the frame
 * @id: the reason why no QP got it, as in struct softmrdv_why; 0: one did, or it was sent
 * @rsvd: 0
 */
struct softmrdv_packet {
	uint64_t time;
	uint32_t lost;
	uint32_t length;
	uint32_t id;
	uint32_t rsvd;
};

/* See softmrdv_capture_open(). */
enum softmrdv_capture_flags {
	SOFTMRDV_CAPTURE_ALL = 1 << 0,
};

enum softmrdv_capture_unseen {
	SOFTMRDV_CAPTURE_UNSEEN_V4 = 1 << 0,
	SOFTMRDV_CAPTURE_UNSEEN_V6 = 1 << 1,
};

/**
 * softmrdv_capture_open - capture the packets of one's own QPs, or of a link
 * @context: the open device
 * @flags: SOFTMRDV_CAPTURE_ALL: all RoCEv2 packets of the link, also those that no QP gets; or 0
 * @fd: the file to read them from, which the caller closes
 * @unseen: set to SOFTMRDV_CAPTURE_UNSEEN_V4 and _V6 for the IP versions of which packets to the
 *	link's own addresses do not arrive, perhaps because of a firewall; may be NULL
 *
 * Without flags the file has the packets that QPs of the caller's user send and receive on the
 * device, in any process of that user. Messages between two QPs of this host, which usually have no
 * packets, are sent as packets while they are captured, unless these would not arrive: see @unseen.
 * Each read(2) returns one packet. It waits for one, unless O_NONBLOCK is set; poll(2) works, too.
 * It returns 0 when the context is closed or the device is gone, and all packets were read.
 *
 * Return: 0 or a positive errno: EINVAL (NULL, an unknown flag), EOPNOTSUPP (the device is not one of
 * softmr, or the module is too old), EPERM (the process has privileges that its user lacks; or all
 * packets, without CAP_NET_RAW), ENOMEM (also: the user has reached the limit on captures and
 * steering rules), EMFILE, EIO (the device is gone).
 */
int softmrdv_capture_open(struct ibv_context *context, uint32_t flags, int *fd, uint32_t *unseen);

#ifdef __cplusplus
}
#endif

#endif /* SOFTMRDV_H */
