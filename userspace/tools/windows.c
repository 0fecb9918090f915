// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The windows: bound, listed, unbound.
 */
#include "demo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* -- bind and unbind */

static struct ibv_mw_bind_info bind_info(const struct demo *demo,
					 const struct window *win)
{
	return (struct ibv_mw_bind_info){
		.mr = demo->mr,
		.addr = (uintptr_t)win->addr,
		.length = win->length,
		.mw_access_flags = DEMO_ACCESS,
	};
}

static int bind_type1(struct demo *demo, struct window *win)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = bind_info(demo, win),
	};
	int ret = ibv_bind_mw(win->via, win->mw, &bind);

	return ret ? demo_fail("cannot bind a type 1 window", ret) :
		     demo_wait(demo, "bind a type 1 window");
}

static int bind_type2(struct demo *demo, struct window *win)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = win->mw,
			.rkey = ibv_inc_rkey(win->mw->rkey),
			.bind_info = bind_info(demo, win),
		},
	};

	if (demo_post(demo, win->via, &wr, "bind a type 2 window"))
		return -1;
	win->mw->rkey = wr.bind_mw.rkey;
	return 0;
}

static int unbind_type1(struct demo *demo, struct window *win)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	int ret = ibv_bind_mw(win->via, win->mw, &bind);

	return ret ? demo_fail("cannot unbind a type 1 window", ret) :
		     demo_wait(demo, "unbind a type 1 window");
}

static int unbind_type2(struct demo *demo, struct window *win)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = win->mw->rkey,
	};

	return demo_post(demo, win->via, &wr, "invalidate a type 2 window");
}

/* Each window has its own part of the memory; the QPs take turns. */
static int window_make(struct demo *demo, uint32_t i)
{
	enum ibv_mw_type type = i < demo->nr_windows / 2 ? IBV_MW_TYPE_1 :
							    IBV_MW_TYPE_2;
	struct window *win = &demo->windows[i];

	win->length = demo->size / demo->nr_windows;
	win->addr = demo->buf + i * win->length;
	win->via = demo->qp[i % 2];
	win->peer = demo->qp[!(i % 2)];
	win->mw = ibv_alloc_mw(demo->pd, type);
	if (!win->mw)
		return demo_fail("cannot allocate a window", errno);
	return type == IBV_MW_TYPE_1 ? bind_type1(demo, win) :
				       bind_type2(demo, win);
}

int windows_bind(struct demo *demo, uint32_t each)
{
	uint32_t i;

	demo->nr_windows = 2 * each;
	demo->windows = calloc(demo->nr_windows, sizeof(*demo->windows));
	if (!demo->windows)
		return demo_fail("no memory", 0);
	for (i = 0; i < demo->nr_windows; i++)
		if (window_make(demo, i))
			return -1;
	return 0;
}

int windows_unbind(struct demo *demo)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < demo->nr_windows && !ret; i++)
		ret = demo->windows[i].mw->type == IBV_MW_TYPE_1 ?
			      unbind_type1(demo, &demo->windows[i]) :
			      unbind_type2(demo, &demo->windows[i]);
	return ret;
}

/* -- the bound windows, as the kernel lists them */

static const struct {
	unsigned int flag;
	const char *name;
} rights[] = {
	{ IBV_ACCESS_LOCAL_WRITE, "local-write" },
	{ IBV_ACCESS_REMOTE_READ, "remote-read" },
	{ IBV_ACCESS_REMOTE_WRITE, "remote-write" },
	{ IBV_ACCESS_REMOTE_ATOMIC, "remote-atomic" },
	{ IBV_ACCESS_ZERO_BASED, "zero-based" },
};

/* The names of the rights in @access, each between two of @quote */
static void print_rights(uint32_t access, const char *quote)
{
	const char *comma = "";
	size_t i;

	for (i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
		if (!(access & rights[i].flag))
			continue;
		printf("%s%s%s%s", comma, quote, rights[i].name, quote);
		comma = ",";
	}
}

static void print_window(const struct softmrdv_mr_window *w)
{
	char qp[16] = "any";

	if (w->qp_num)
		snprintf(qp, sizeof(qp), "%" PRIu32, w->qp_num);
	printf("%6" PRIu32 "  %4" PRIu32 "  0x%08" PRIx32 "  %8s  0x%016" PRIx64
	       "  %10" PRIu64 "  ",
	       w->handle, w->type, w->rkey, qp, w->addr, w->length);
	print_rights(w->access, "");
	printf("\n");
}

static void print_windows(const struct softmrdv_mr_window *w, uint32_t n)
{
	printf("%6s  %4s  %-10s  %8s  %-18s  %10s  %s\n", "HANDLE", "TYPE",
	       "RKEY", "QP", "ADDRESS", "LENGTH", "ACCESS");
	while (n--)
		print_window(w++);
}

/* A QP's number is null if any QP may be used. */
static void print_json(const struct demo *demo, const struct softmrdv_mr_window *w, uint32_t n)
{
	const char *comma = "";

	printf("{\n  \"lkey\": %" PRIu32 ",\n  \"addr\": %" PRIu64 ",\n  \"length\": %zu,\n  \"windows\": [",
	       demo->mr->lkey, (uint64_t)(uintptr_t)demo->buf, demo->size);
	for (; n--; w++, comma = ",") {
		char qp[16] = "null";

		if (w->qp_num)
			snprintf(qp, sizeof(qp), "%" PRIu32, w->qp_num);
		printf("%s\n    { \"handle\": %" PRIu32 ", \"type\": %" PRIu32 ", \"rkey\": %" PRIu32
		       ", \"qp\": %s, \"addr\": %" PRIu64 ", \"length\": %" PRIu64 ", \"access\": [",
		       comma, w->handle, w->type, w->rkey, qp, w->addr, w->length);
		print_rights(w->access, "\"");
		printf("] }");
	}
	printf("\n  ]\n}\n");
}

/* Does the kernel's description match our window? */
static int window_matches(const struct window *win,
			  const struct softmrdv_mr_window *w)
{
	uint32_t tied_to = win->mw->type == IBV_MW_TYPE_2 ? win->via->qp_num : 0;

	return w->handle == win->mw->handle && w->rkey == win->mw->rkey &&
	       w->type == win->mw->type && w->qp_num == tied_to &&
	       w->addr == (uintptr_t)win->addr && w->length == win->length &&
	       w->access == DEMO_ACCESS;
}

static int windows_match(const struct demo *demo,
			 const struct softmrdv_mr_window *w)
{
	uint32_t i, k;

	for (i = 0; i < demo->nr_windows; i++) {
		for (k = 0; k < demo->nr_windows; k++)
			if (window_matches(&demo->windows[i], &w[k]))
				break;
		if (k == demo->nr_windows)
			return demo_fail("a window is missing or wrong", 0);
	}
	return 0;
}

int windows_show(struct demo *demo)
{
	struct softmrdv_mr_window *w;
	uint32_t total;
	int ret;

	w = calloc(demo->nr_windows, sizeof(*w));
	if (!w)
		return demo_fail("no memory", 0);
	ret = softmrdv_query_mr_windows(demo->mr, w, demo->nr_windows, &total);
	if (ret) {
		ret = demo_fail("cannot ask for the windows", ret);
	} else if (total != demo->nr_windows) {
		ret = demo_fail("there are not as many windows as were bound", 0);
	} else {
		if (demo->json)
			print_json(demo, w, total);
		else
			print_windows(w, total);
		ret = windows_match(demo, w);
	}
	free(w);
	return ret;
}

int windows_count(struct demo *demo, uint32_t expected)
{
	uint32_t total;
	int ret = softmrdv_query_mr_windows(demo->mr, NULL, 0, &total);

	if (ret)
		return demo_fail("cannot count the windows", ret);
	return demo_want(total == expected, "the count of windows is wrong");
}
