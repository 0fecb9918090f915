/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The objects that softmr-mr makes, uses and destroys.
 *
 * Functions that return int return 0, or -1 when the reason has been printed.
 */
#ifndef SOFTMR_MR_DEMO_H
#define SOFTMR_MR_DEMO_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/softmrdv.h>

#define ME		"softmr-mr"
#define DEMO_ACCESS	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/**
 * struct window - one of our windows, and its range
 * @via: the QP that binds it, through which peers access it
 * @peer: the QP at the other end
 * @addr: first byte
 * @length: bytes
 */
struct window {
	struct ibv_mw *mw;
	struct ibv_qp *via;
	struct ibv_qp *peer;
	char *addr;
	size_t length;
};

/**
 * struct demo - all objects
 * @pd: the protection domain of all below
 * @cq: of all work requests
 * @qp: two that are connected with each other
 * @buf: the memory
 * @size: its size, in bytes
 * @mr: its registration
 * @out: the source of WRITEs, in separate memory
 * @out_mr: its registration
 * @windows: @nr_windows of them
 * @nr_windows: types 1 and 2 together
 * @json: only JSON is printed
 */
struct demo {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	char *buf;
	size_t size;
	struct ibv_mr *mr;
	uint64_t out;
	struct ibv_mr *out_mr;
	struct window *windows;
	uint32_t nr_windows;
	int json;
};

/* demo.c */
/* printf(), unless the output is JSON */
void demo_say(const struct demo *demo, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int demo_fail(const char *what, int err);
int demo_want(int ok, const char *what);
int demo_open(struct demo *demo, const char *name);
int demo_register(struct demo *demo, size_t size);
int demo_make_qps(struct demo *demo);
int demo_wait(struct demo *demo, const char *what);
int demo_post(struct demo *demo, struct ibv_qp *qp, struct ibv_send_wr *wr,
	      const char *what);
int demo_clean_up(struct demo *demo);

/* windows.c */
int windows_bind(struct demo *demo, uint32_t each);
int windows_unbind(struct demo *demo);
int windows_count(struct demo *demo, uint32_t expected);
int windows_show(struct demo *demo);

#endif /* SOFTMR_MR_DEMO_H */
