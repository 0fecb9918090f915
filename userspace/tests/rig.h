/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The base of the tests: a QP in RTS, and access to its rings.
 */
#ifndef SMR_TEST_RIG_H
#define SMR_TEST_RIG_H

#include <string.h>
#include <unistd.h>

#include "../provider/abi.h"
#include "../provider/softmr.h"
#include "fake_kernel.h"
#include "tap.h"

static inline struct smr_qp *rig_qp(enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (send_ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp;

	fake.doorbell_err = 0;
	qp = smr_create_qp_ex(fake_context(), &attr);
	if (!qp)
		return NULL;
	qp->state = IBV_QPS_RTS;
	return to_smr_qp(qp);
}

/* The last note of the provider is about this reason and errno; its first number is @num. */
static inline bool rig_noted(uint32_t id, int error, uint64_t num)
{
	return fake.note.id == id && fake.note.error == (uint32_t)error &&
	       fake.note.num[0] == num;
}

static inline struct smr_send_wqe *rig_sent(struct smr_qp *qp, uint32_t i)
{
	return smr_ring_entry(&qp->sq.ring, fake.start_index + i);
}

/* Entries that the kernel can see. */
static inline uint32_t rig_pending(const struct smr_wq *wq)
{
	return wq->ring.hdr->prod - wq->ring.hdr->cons;
}

/*
 * The memory at @at now belongs to another ring, which has three entries of
 * @qp_num. Write it, or check that it is unchanged.
 */
static inline bool rig_other_ring(uint64_t at, bool write, uint32_t qp_num)
{
	struct {
		struct smr_ring_hdr hdr;
		struct smr_cqe cqe[FAKE_DEPTH];
	} ring = { .hdr.prod = 3 }, now;
	int fd = fake_context()->cmd_fd, i;

	for (i = 0; i < FAKE_DEPTH; i++)
		ring.cqe[i].qp_num = qp_num;
	if (write)
		return pwrite(fd, &ring, sizeof(ring), (off_t)at) > 0;
	return pread(fd, &now, sizeof(now), (off_t)at) == sizeof(now) &&
	       !memcmp(&now, &ring, sizeof(ring));
}

#endif /* SMR_TEST_RIG_H */
