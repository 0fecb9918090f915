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

/**
 * struct fake_reg - a region that is to be registered
 * @start: an address, or an offset in a dma-buf
 * @length: bytes
 * @iova: of @start
 * @fd: the dma-buf, or -1
 * @access: enum ibv_access_flags
 */
struct fake_reg {
	uint64_t start;
	uint64_t length;
	uint64_t iova;
	int fd;
	int access;
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

/**
 * struct fake_kernel - state and settings of the fake kernel
 * @doorbell_err: the error of the next doorbells, or 0
 * @at_doorbell: called by each doorbell, or NULL
 * @bell_fd: the last doorbell file that was opened; -1: the module has none
 * @start_index: the first index of new and of reset rings
 * @max_inline: of the next QPs
 * @max_sge: likewise
 * @ring_at: the offset of the last ring in the context's file
 * @bad_ring: why the provider cannot map the next rings
 * @resize_usecs: how long a resize takes
 * @resizing: one is under way
 * @windows: the number that is bound to the region
 * @query_err: the error of the next queries about windows and the device, or 0
 * @queries: the number of such queries so far
 * @fw_ver: of the device
 * @caps: the driver's part of the device's attributes
 * @abi_version: reported to the next contexts
 * @abi_minor: likewise
 * @answer: the size of the driver's answer about a context
 * @context_err: the error of the next commands about a context, or 0
 * @not_for_child: bytes that a child does not inherit
 * @dontfork_err: the error of the next calls to change that, or 0
 * @reg: the last region of a registration
 * @reg_err: the error of commands for regions, or 0
 * @rate_limit: of the last QP
 * @burst: likewise; 0 if the command had no driver's part
 * @ops: the operations of the last context
 * @new_op: the libibverbs has one more operation, before all others
 * @whys: the refusals of the context
 * @nr_whys: the number of these
 * @note: the last refusal of the provider
 * @notes: the number of these
 */
struct fake_kernel {
	int doorbell_err;
	void (*at_doorbell)(void);
	int bell_fd;
	uint32_t start_index;
	uint32_t max_inline;
	uint32_t max_sge;
	uint64_t ring_at;
	enum fake_ring_fault bad_ring;
	unsigned int resize_usecs;
	bool resizing;
	uint32_t windows;
	int query_err;
	unsigned int queries;
	uint64_t fw_ver;
	struct smr_query_device_resp caps;
	uint32_t abi_version;
	uint32_t abi_minor;
	size_t answer;
	int context_err;
	size_t not_for_child;
	int dontfork_err;
	struct fake_reg reg;
	int reg_err;
	uint32_t rate_limit;
	struct smr_modify_qp burst;
	void *ops[FAKE_OPS];
	bool new_op;
	const struct smr_abi_why *whys;
	uint32_t nr_whys;
	struct smr_why_note note;
	unsigned int notes;
};

extern struct fake_kernel fake;

struct ibv_context *fake_context(void);
struct ibv_device *fake_device(void);

#endif /* SMR_FAKE_KERNEL_H */
