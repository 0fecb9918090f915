/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A kernel for what no real one shows: a module of another version, rings that are described wrongly or begin at the end of
 * the index's range, and failures at a given moment. Rings are in a memfd.
 */
#ifndef SMR_FAKE_KERNEL_H
#define SMR_FAKE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#include <softmr-abi.h>
#include <softmr-why.h>

enum {
	FAKE_DEPTH = 8,
	FAKE_MAX_WR = 6,
	FAKE_MAX_SGE = 4,
	FAKE_MAX_INLINE = 64,
	FAKE_MR_HANDLE = 9,
	FAKE_DM_HANDLE = 11,
	FAKE_DM_LENGTH = 4096,
	FAKE_MAX_CQE = 4096,
	FAKE_SRQ_HANDLE = 19,
	FAKE_QP_HANDLE = 7,
	FAKE_QP_NUM = 17,
	FAKE_MAP_SIZE = 65536,
	FAKE_BELL_FD = 78,
	FAKE_OPS = 100,
};

/* A region that is to be registered */
struct fake_reg {
	uint64_t start;		/* an address, or an offset in a dma-buf */
	uint64_t length;	/* bytes */
	uint64_t iova;		/* of @start */
	int fd;			/* the dma-buf, or -1 */
	int access;		/* enum ibv_access_flags */
};

/* Why the provider cannot map a ring that the kernel has made */
enum fake_ring_fault {
	FAKE_RING_GOOD,
	/* not a power of two */
	FAKE_RING_DEPTH,
	/* mmap() fails */
	FAKE_RING_MMAP,
	/* there is none */
	FAKE_RING_NONE,
};

/* State and settings of the fake kernel */
struct fake_kernel {
	int doorbell_err;		/* the error of the next doorbells, or 0 */
	void (*at_doorbell)(void);	/* called by each doorbell, or NULL */
	/* the last doorbell file that was opened; -1: the process can have none */
	int bell_fd;
	uint32_t start_index;		/* the first index of new and of reset rings */
	uint32_t max_inline;		/* of the next QPs */
	uint32_t max_sge;		/* likewise */
	uint64_t ring_at;		/* the offset of the last ring in the context's file */
	enum fake_ring_fault bad_ring;	/* why the provider cannot map the next rings */
	unsigned int resize_usecs;	/* how long a resize takes */
	bool resizing;			/* one is under way */
	uint32_t windows;		/* the number that is bound to the region */
	/* the error of the next queries about windows and the device, or 0 */
	int query_err;
	unsigned int queries;		/* the number of such queries so far */
	uint64_t fw_ver;		/* of the device */
	struct smr_query_device_resp caps;	/* the driver's part of the device's attributes */
	uint32_t abi_version;		/* reported to the next contexts */
	uint32_t abi_minor;		/* likewise */
	size_t answer;			/* the size of the driver's answer about a context */
	int context_err;		/* the error of the next commands about a context, or 0 */
	size_t not_for_child;		/* bytes that a child does not inherit */
	int dontfork_err;		/* the error of the next calls to change that, or 0 */
	struct fake_reg reg;		/* the last region of a registration */
	int reg_err;			/* the error of commands for regions, or 0 */
	uint32_t rate_limit;		/* of the last QP */
	struct smr_modify_qp burst;	/* likewise; 0 if the command had no driver's part */
	void *ops[FAKE_OPS];		/* the operations of the last context */
	/* the libibverbs has one more operation, before all others */
	bool new_op;
	const struct smr_abi_why *whys;	/* the refusals of the context */
	uint32_t nr_whys;		/* the number of these */
	struct smr_why_note note;	/* the last refusal of the provider */
	unsigned int notes;		/* the number of these */
};

extern struct fake_kernel fake;

struct ibv_context *fake_context(void);
struct ibv_device *fake_device(void);

#endif /* SMR_FAKE_KERNEL_H */
