/* SPDX-License-Identifier: GPL-2.0 */
/* Two RC QPs of one device that are connected to each other. */
#ifndef KVERBS_PAIR_H
#define KVERBS_PAIR_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>

#define BUF_SIZE	(32 * 1024)
#define MAX_WR		64
#define MAX_INLINE	128
#define MAX_SGE		4

/* The device under test, and the GID by which each side reaches the other. */
struct target {
	struct ib_device *dev;
	int gid_index;
	union ib_gid gid;
};

/*
 * A work request in flight, and its completion. Static: if a case ends early,
 * the request completes when the pair is destroyed.
 */
struct request {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

struct side {
	struct ib_cq *cq;
	struct ib_qp *qp;
	u8 *buf;
	u64 dma;
};

struct pair {
	const struct target *t;
	struct ib_pd *pd;
	struct ib_srq *srq;
	struct side a;
	struct side b;
};

/* How a pair is made; all zero: in the ordinary way. */
struct pair_options {
	enum ib_poll_context ctx;
	bool with_srq;
	bool sig_all;
	struct ib_cq *cq;	/* both complete into this one, not their own */
};

int pair_init(struct pair *p, const struct target *t,
	      const struct pair_options *opt);
void pair_fini(struct pair *p);

void request_init(struct request *r);
int request_wait(struct side *s, struct request *r);

int post_send(struct side *s, struct ib_send_wr *wr, struct request *r);
int post_recv(struct pair *p, struct side *s, u32 off, u32 len,
	      struct request *r);
int send_bytes(struct pair *p, struct side *s, u32 off, u32 len, int flags,
	       struct request *r);
int rdma(struct pair *p, struct side *s, enum ib_wr_opcode op, u32 len,
	 u64 addr, u32 rkey, struct request *r);

#endif /* KVERBS_PAIR_H */
