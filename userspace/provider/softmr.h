/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The provider's objects. Functions that make one return NULL and set errno if they cannot; all that return int return 0 or
 * a positive errno. An object stays valid if the kernel refuses to end it.
 */
#ifndef SMR_PROVIDER_SOFTMR_H
#define SMR_PROVIDER_SOFTMR_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#include "doorbell.h"
#include "domain.h"
#include "lock.h"
#include "ring.h"
#include "why_core.h"
#include "wq.h"

/* Immediate data crosses the ABI unchanged, in network order. */
#ifdef __CHECKER__
#define smr_imm_to_abi(imm)	((__attribute__((force)) uint32_t)(imm))
#define smr_imm_of_abi(raw)	((__attribute__((force)) __be32)(raw))
#else
#define smr_imm_to_abi(imm)	((uint32_t)(imm))
#define smr_imm_of_abi(raw)	((__be32)(raw))
#endif

struct smr_why_watch;

/**
 * struct smr_context - an open device
 * @abi_minor: how far the module's ABI has grown, SMR_ABI_MINOR
 * @bell_fd: its doorbell
 * @maps: the shared mappings of its rings
 * @watch: prints refusals, or NULL; see why_watch.c
 * @room: for what libibverbs has before @vctx
 * @vctx: libibverbs' part
 */
struct smr_context {
	uint32_t abi_minor;
	int bell_fd;
	struct smr_maps maps;
	struct smr_why_watch *watch;
	struct smr_layout_room room;
	struct verbs_context vctx;
};

/**
 * struct smr_ah - an address handle
 * @ah: libibverbs' part
 * @number: identifies it in a work request
 */
struct smr_ah {
	struct ibv_ah ah;
	uint32_t number;
};

/**
 * struct smr_cq - a completion queue
 * @vcq: libibverbs' part
 * @home: see smr_object_alloc()
 * @lock: guards all below; not taken when @single_threaded
 * @single_threaded: the application promised to serialise its calls
 * @ring: the completions; the kernel produces
 * @cons: the next completion to read; the ring's own index lags behind while a
 *	batch is polled
 * @prod: the kernel's index when it was last read
 * @cur: the completion that the read_*() functions of the extended CQ read;
 *	NULL unless a batch is being polled
 */
struct smr_cq {
	struct verbs_cq vcq;
	struct smr_home home;
	struct smr_lock lock;
	bool single_threaded;
	struct smr_ring ring;
	uint32_t cons;
	uint32_t prod;
	const struct smr_cqe *cur;
};

/**
 * struct smr_srq - a shared receive queue
 * @vsrq: libibverbs' part
 * @home: see smr_object_alloc()
 * @srqn: its number for XRC peers
 */
struct smr_srq {
	struct verbs_srq vsrq;
	struct smr_home home;
	struct smr_wq rq;
	uint32_t srqn;
};

/**
 * struct smr_qp - a queue pair
 * @vqp: libibverbs' part
 * @home: see smr_object_alloc()
 * @send_ops: bit n is set if opcode n may be posted to this type of QP
 * @sq: the send queue
 * @rq: the receive queue; without a ring if the QP uses an SRQ
 * @wr: the entry that ibv_wr_*() is filling, NULL after an error; it, and
 *	the three below, are guarded by @sq's lock, which is held from
 *	ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort()
 * @wr_opcode: of @wr
 * @wr_first: @sq's prod at ibv_wr_start()
 * @wr_err: the first error since ibv_wr_start(); EINVAL also while @wr is a
 *	datagram that has no address yet
 */
struct smr_qp {
	struct verbs_qp vqp;
	struct smr_home home;
	uint32_t send_ops;
	struct smr_wq sq;
	struct smr_wq rq;
	struct smr_send_wqe *wr;
	uint8_t wr_opcode;
	uint32_t wr_first;
	int wr_err;
};

static inline struct smr_context *to_smr_context(struct ibv_context *context)
{
	return container_of(verbs_get_ctx(context), struct smr_context, vctx);
}

static inline int smr_ring_bell(const struct ibv_qp *qp, unsigned long request)
{
	return smr_doorbell_ring(to_smr_context(qp->context)->bell_fd, request,
				 qp->qp_num);
}

static inline struct smr_ah *to_smr_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct smr_ah, ah);
}

static inline struct smr_cq *to_smr_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct smr_cq, vcq.cq);
}

static inline struct smr_srq *to_smr_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct smr_srq, vsrq.srq);
}

static inline struct smr_qp *to_smr_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct smr_qp, vqp.qp);
}

static inline struct smr_qp *to_smr_qp_ex(struct ibv_qp_ex *qpx)
{
	return container_of(qpx, struct smr_qp, vqp.qp_ex);
}

/* query.c */
int smr_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);
int smr_query_port(struct ibv_context *context, uint8_t port,
		   struct ibv_port_attr *attr);
int smr_query_rt_values(struct ibv_context *context,
			struct ibv_values_ex *values);

/* dm.c */
struct ibv_dm *smr_alloc_dm(struct ibv_context *context,
			    struct ibv_alloc_dm_attr *attr);
int smr_free_dm(struct ibv_dm *dm);
struct ibv_dm *smr_import_dm(struct ibv_context *context, uint32_t handle);
void smr_unimport_dm(struct ibv_dm *dm);
struct ibv_mr *smr_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			     uint64_t offset, size_t length,
			     unsigned int access);

/* handles.c */
struct ibv_xrcd *smr_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr);
int smr_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_ah *smr_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int smr_destroy_ah(struct ibv_ah *ah);
struct ibv_mw *smr_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int smr_dealloc_mw(struct ibv_mw *mw);
struct ibv_flow *smr_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int smr_destroy_flow(struct ibv_flow *flow);

/* mr.c */
struct ibv_mr *smr_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t hca_va, int access);
struct ibv_mr *smr_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access);
struct ibv_mr *smr_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
int smr_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		 void *addr, size_t length, int access);
int smr_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *smr_import_mr(struct ibv_pd *pd, uint32_t handle);
void smr_unimport_mr(struct ibv_mr *mr);

/* cq.c */
struct ibv_cq *smr_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel,
			     int comp_vector);
struct ibv_cq_ex *smr_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);
int smr_resize_cq(struct ibv_cq *cq, int cqe);
int smr_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int smr_destroy_cq(struct ibv_cq *cq);
void smr_cq_forget_qp(struct ibv_cq *cq, uint32_t qp_num);
int smr_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/* srq.c */
struct ibv_srq *smr_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr);
struct ibv_srq *smr_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr);
int smr_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		   int attr_mask);
int smr_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int smr_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int smr_destroy_srq(struct ibv_srq *srq);

/* qp.c */
struct ibv_qp *smr_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *smr_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *smr_open_qp(struct ibv_context *context,
			   struct ibv_qp_open_attr *attr);
int smr_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int smr_modify_qp_rate_limit(struct ibv_qp *qp,
			     struct ibv_qp_rate_limit_attr *limit);
int smr_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);
int smr_destroy_qp(struct ibv_qp *qp);
int smr_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int smr_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/* post.c */
int smr_sq_ring(const struct smr_qp *qp);
int smr_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int smr_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		struct ibv_mw_bind *mw_bind);

/* recv.c */
int smr_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int smr_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);

/* wr_api.c */
int smr_qp_set_wr_ops(struct smr_qp *qp, enum ibv_qp_type type,
		      uint64_t send_ops_flags);

#endif /* SMR_PROVIDER_SOFTMR_H */
