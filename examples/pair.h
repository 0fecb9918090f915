/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The common part of the examples except write.c: two connected queue pairs of one process, and the output of a
 * completion.
 */
#ifndef PAIR_H
#define PAIR_H

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#define REQUESTER 0
#define RESPONDER 1

struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	/*
	 * The attributes of the connection, with the responder's rights; may be changed between pair_open() and
	 * pair_connect()
	 */
	struct ibv_qp_attr init, rtr, rts;
	int quiet; /* say nothing of success */
};

/* For argv[1] and argv[2], the device and the index of its GID */
void pair_open(struct pair *pair, int argc, char **argv);
void pair_connect(struct pair *pair);
void pair_close(struct pair *pair);

/* Post one request, and wait for its completion: its status */
enum ibv_wc_status pair_do(struct pair *pair, int end, struct ibv_send_wr *wr, const char *what);
/* WRITE length bytes from one region to the other */
enum ibv_wc_status pair_write(struct pair *pair, struct ibv_mr *from, uint64_t to, uint32_t rkey, uint32_t length,
			      const char *what);
enum ibv_wc_status pair_wait(struct pair *pair, int end, const char *what);

#endif /* PAIR_H */
