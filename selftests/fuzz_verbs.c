// SPDX-License-Identifier: GPL-2.0
/*
 * Random verbs on objects of each kind, compared with a model of them: each call must succeed, or
 * fail with exactly the errno or completion status that the model says. In the model an object can
 * be destroyed only when no other object uses it; the state table of QPs and semantics.rst decide
 * the rest. Another thread does the same on its own objects.
 *
 *   SMR_SEED=N ./fuzz_verbs	repeats a run: the calls depend on nothing else
 *   SMR_FUZZ_SECONDS=N		for how long
 *
 * beds: uml-checked uml
 * timeout: 90
 * boot: kmemleak
 * paths: host
 */
#include "harness.h"

#include <stdarg.h>

#include "cover.h"
#include "qp_steps.h"
#include "random.h"
#include "region.h"
#include "window.h"

#define SECONDS		10
#define BRIEFLY		5
#define SLOTS		6
#define HISTORY		24
#define LINE		160
#define THREADS		2
#define MEMORY		(64 * 1024)
#define PORT		1

enum kind {
	PD, CQ, CHANNEL, SRQ, QP, MR, MW, AH, DM, DM_MR, XRCD, XSRQ, XTGT, NR_KINDS,
};

static const char * const kinds[] = {
	"pd", "cq", "channel", "srq", "qp", "mr", "mw", "ah", "dm", "dm_mr", "xrcd", "xsrq",
	"xtgt",
};

/**
 * struct object - the model of an object
 * @p: NULL: this slot is free
 * @users: the number of objects that use it, and of windows that are bound to it
 * @parts: the objects that it uses
 * @state: of a QP
 * @access: of a region
 * @depth: of a queue, as requested; bytes of device memory
 * @type: of a window
 * @bound: the region that a window is bound to
 * @rights: of a window that is bound
 */
struct object {
	void *p;
	int users;
	struct object *parts[4];
	enum ibv_qp_state state;
	int access;
	uint32_t depth;
	enum ibv_mw_type type;
	struct object *bound;
	int rights;
};

/**
 * struct world - one thread's objects
 * @pair: two connected QPs, whose PD (of b) is the first of the PDs
 * @ops: calls so far
 * @refused: those of them that had to fail
 * @found: those whose result differs from the model's
 * @last: the last call, as text
 */
struct world {
	pthread_t thread;
	struct vt_pair pair;
	struct vt_dev *dev;
	struct object o[NR_KINDS][SLOTS];
	uint8_t *memory;
	uint64_t random;
	uint64_t end;
	uint64_t ops, refused, found, per_kind[NR_KINDS];
	char last[HISTORY][LINE];
	bool broken;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return vt_random_below(&w->random, n);
}

/* -- the verdict on one call */

static void __attribute__((format(printf, 4, 5)))
judge(struct world *w, int got, int want, const char *format, ...)
{
	char *line = w->last[w->ops++ % HISTORY];
	va_list args;
	int at, i;

	va_start(args, format);
	at = vsnprintf(line, LINE, format, args);
	va_end(args);
	if (at < LINE)
		snprintf(line + at, LINE - at, " = %d", got);
	w->refused += want != 0;
	if (got == want)
		return;
	w->found++;
	printf("# found: %s, not %d; call %llu, and before it:\n", line, want,
	       (unsigned long long)w->ops);
	for (i = 2; i <= HISTORY && i <= (int)w->ops; i++)
		printf("#   %s\n", w->last[(w->ops - i) % HISTORY]);
}

static struct object *some(struct world *w, enum kind kind)
{
	int i, first = below(w, SLOTS);

	for (i = 0; i < SLOTS; i++)
		if (w->o[kind][(first + i) % SLOTS].p)
			return &w->o[kind][(first + i) % SLOTS];
	return NULL;
}

static struct object *room(struct world *w, enum kind kind)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (!w->o[kind][i].p)
			return &w->o[kind][i];
	return NULL;
}

static int number(struct world *w, enum kind kind, const struct object *o)
{
	return o - w->o[kind];
}

/*
 * A create has returned @p. Record it even if the call should have failed, so that it is destroyed
 * at the end.
 */
static void created(struct world *w, enum kind kind, struct object *o, void *p, int want,
		    const char *how)
{
	int i, err = p ? 0 : errno;

	w->per_kind[kind]++;
	o->p = p;
	for (i = 0; p && i < 4 && o->parts[i]; i++)
		o->parts[i]->users++;
	judge(w, err, want, "create %s%d %s", kinds[kind], number(w, kind, o), how);
}

/* -- creating */

static void make_pd(struct world *w, struct object *o)
{
	created(w, PD, o, ibv_alloc_pd(w->dev->ctx), 0, "");
}

static void make_channel(struct world *w, struct object *o)
{
	created(w, CHANNEL, o, ibv_create_comp_channel(w->dev->ctx), 0, "");
}

static void make_cq(struct world *w, struct object *o)
{
	static const int bad[] = { 0, -1, INT32_MIN };
	struct object *channel = below(w, 2) ? some(w, CHANNEL) : NULL;
	int want = below(w, 4) ? 0 : EINVAL;

	o->parts[0] = channel;
	o->depth = 1 + below(w, 100);
	if (want)
		o->depth = below(w, 2) ? bad[below(w, 3)] : w->dev->attr.max_cqe + 1;
	created(w, CQ, o, ibv_create_cq(w->dev->ctx, o->depth, NULL,
					channel ? channel->p : NULL, 0), want, "");
}

static void make_srq(struct world *w, struct object *o)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 1 + below(w, 64), .max_sge = 1 + below(w, 4) },
	};
	int want = below(w, 4) ? 0 : EINVAL;

	o->parts[0] = some(w, PD);
	if (want && below(w, 2))
		init.attr.max_wr = w->dev->attr.max_srq_wr + 1;
	else if (want)
		init.attr.max_sge = w->dev->attr.max_srq_sge + 1;
	o->depth = init.attr.max_wr;
	created(w, SRQ, o, ibv_create_srq(o->parts[0]->p, &init), want, "");
}

static void make_qp(struct world *w, struct object *o)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 1 + below(w, 32), 1 + below(w, 32), 1, 1, 0 },
	};
	int want = below(w, 4) ? 0 : EINVAL;

	o->parts[0] = some(w, PD);
	o->parts[1] = some(w, CQ);
	o->parts[2] = some(w, CQ);
	if (!o->parts[1])
		return;
	o->parts[3] = below(w, 2) ? some(w, SRQ) : NULL;
	init.send_cq = o->parts[1]->p;
	init.recv_cq = o->parts[2]->p;
	init.srq = o->parts[3] ? o->parts[3]->p : NULL;
	if (want && below(w, 2))
		init.cap.max_send_wr = w->dev->attr.max_qp_wr + 1;
	else if (want)
		init.cap.max_send_sge = w->dev->attr.max_sge + 1;
	o->state = IBV_QPS_RESET;
	created(w, QP, o, ibv_create_qp(o->parts[0]->p, &init), want, "");
}

static int random_access(struct world *w)
{
	static const int flags[] = {
		IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_MW_BIND,
		IBV_ACCESS_ON_DEMAND, IBV_ACCESS_RELAXED_ORDERING,
	};
	int i, access = 0;

	for (i = 0; i < (int)ARRAY_SIZE(flags); i++)
		if (below(w, 2))
			access |= flags[i];
	return access;
}

/* The core's rule for regions: remote write or atomic access requires local write. */
static int access_errno(int access)
{
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

static void make_mr(struct world *w, struct object *o)
{
	uint64_t start = (uintptr_t)w->memory, iova = start;
	size_t len = MEMORY;
	int want;

	o->parts[0] = below(w, 2) ? &w->o[PD][0] : some(w, PD);
	o->access = random_access(w);
	want = access_errno(o->access);
	if (!want && !below(w, 6)) {
		switch (below(w, 3)) {
		case 0: /* the page after the memory */
			want = o->access & IBV_ACCESS_ON_DEMAND ? 0 : EFAULT;
			len += 4096;
			break;
		case 1:
			want = EINVAL;
			iova += 8;
			break;
		case 2:
			want = EINVAL;
			iova = -4096ull;
			break;
		}
		if (!want)
			len = MEMORY;
	}
	created(w, MR, o, ibv_reg_mr_iova(o->parts[0]->p, (void *)(uintptr_t)start, len, iova,
					  o->access), want, "");
}

static void make_mw(struct world *w, struct object *o)
{
	o->parts[0] = below(w, 2) ? &w->o[PD][0] : some(w, PD);
	o->type = below(w, 2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	o->bound = NULL;
	created(w, MW, o, ibv_alloc_mw(o->parts[0]->p, o->type), 0, "");
}

static void make_ah(struct world *w, struct object *o)
{
	struct ibv_ah_attr attr = vt_ah_attr(w->dev->gid_index, &w->dev->gid);
	int want = below(w, 3) ? 0 : EINVAL;

	o->parts[0] = some(w, PD);
	if (want)
		switch (below(w, 3)) {
		case 0:
			attr.is_global = 0;
			break;
		case 1:
			attr.port_num = 2;
			break;
		case 2:
			memset(&attr.grh.dgid, 0, 16);
			break;
		}
	created(w, AH, o, ibv_create_ah(o->parts[0]->p, &attr), want, "");
}

static void make_dm(struct world *w, struct object *o)
{
	struct ibv_alloc_dm_attr attr = { .length = 1 + below(w, 8192) };
	int want = below(w, 4) ? 0 : EINVAL;

	if (want && below(w, 2))
		attr.length = 0;
	else if (want)
		attr.log_align_req = 13;
	o->depth = attr.length;
	created(w, DM, o, ibv_alloc_dm(w->dev->ctx, &attr), want, "");
}

static void make_dm_mr(struct world *w, struct object *o)
{
	int want = below(w, 4) ? 0 : EINVAL;
	uint32_t over = want ? 1 : 0;

	o->parts[0] = some(w, PD);
	o->parts[1] = some(w, DM);
	if (!o->parts[1])
		return;
	o->access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
	created(w, DM_MR, o, ibv_reg_dm_mr(o->parts[0]->p, o->parts[1]->p, 0,
					   o->parts[1]->depth + over, o->access), want, "");
}

static void make_xrcd(struct world *w, struct object *o)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	created(w, XRCD, o, ibv_open_xrcd(w->dev->ctx, &attr), 0, "");
}

static void make_xsrq(struct world *w, struct object *o)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 1 + below(w, 16), .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};

	o->parts[0] = some(w, PD);
	o->parts[1] = some(w, CQ);
	if (!o->parts[1])
		return;
	o->parts[2] = some(w, XRCD);
	if (!o->parts[2])
		return;
	attr.pd = o->parts[0]->p;
	attr.cq = o->parts[1]->p;
	attr.xrcd = o->parts[2]->p;
	created(w, XSRQ, o, ibv_create_srq_ex(w->dev->ctx, &attr), 0, "");
}

static void make_xtgt(struct world *w, struct object *o)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	o->parts[0] = some(w, XRCD);
	if (!o->parts[0])
		return;
	init.xrcd = o->parts[0]->p;
	created(w, XTGT, o, ibv_create_qp_ex(w->dev->ctx, &init), 0, "");
}

static void create(struct world *w)
{
	static void (* const make[])(struct world *, struct object *) = {
		[PD] = make_pd, [CQ] = make_cq, [CHANNEL] = make_channel, [SRQ] = make_srq,
		[QP] = make_qp, [MR] = make_mr, [MW] = make_mw, [AH] = make_ah, [DM] = make_dm,
		[DM_MR] = make_dm_mr, [XRCD] = make_xrcd, [XSRQ] = make_xsrq, [XTGT] = make_xtgt,
	};
	enum kind kind = below(w, NR_KINDS);
	struct object *o = room(w, kind);

	if (!o)
		return;
	memset(o, 0, sizeof(*o));
	make[kind](w, o);
}

/* -- destroying */

static int call_destroy(enum kind kind, void *p)
{
	switch (kind) {
	case PD:
		return ibv_dealloc_pd(p);
	case CQ:
		return ibv_destroy_cq(p);
	case CHANNEL:
		return ibv_destroy_comp_channel(p);
	case SRQ:
	case XSRQ:
		return ibv_destroy_srq(p);
	case QP:
	case XTGT:
		return ibv_destroy_qp(p);
	case MR:
	case DM_MR:
		return ibv_dereg_mr(p);
	case MW:
		return ibv_dealloc_mw(p);
	case AH:
		return ibv_destroy_ah(p);
	case DM:
		return ibv_free_dm(p);
	case XRCD:
		return ibv_close_xrcd(p);
	default:
		return EINVAL;
	}
}

static void unbind(struct object *window)
{
	if (window->bound)
		window->bound->users--;
	window->bound = NULL;
}

static void destroy(struct world *w, enum kind kind, struct object *o)
{
	int i, want = o->users ? EBUSY : 0, ret = call_destroy(kind, o->p);

	judge(w, ret, want, "destroy %s%d", kinds[kind], number(w, kind, o));
	if (ret)
		return;
	o->p = NULL;
	unbind(o);
	for (i = 0; i < 4 && o->parts[i]; i++)
		o->parts[i]->users--;
}

static void destroy_some(struct world *w)
{
	enum kind kind = below(w, NR_KINDS);
	struct object *o = some(w, kind);

	/* the pair's PD stays */
	if (o && o != &w->o[PD][0])
		destroy(w, kind, o);
}

/* -- other operations on objects */

static void modify_qp(struct world *w)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR,
	};
	struct object *o = some(w, QP);
	const struct vt_step *step;
	struct ibv_qp_attr attr = {
		.port_num = PORT, .qp_access_flags = VT_ACCESS_ALL, .path_mtu = IBV_MTU_1024,
		.rq_psn = 1, .sq_psn = 2, .max_rd_atomic = 1, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
	};
	int mask, want = 0, extra;

	if (!o)
		return;
	attr.qp_state = states[below(w, ARRAY_SIZE(states))];
	attr.cur_qp_state = o->state;
	attr.dest_qp_num = ((struct ibv_qp *)o->p)->qp_num;
	attr.ah_attr = vt_ah_attr(w->dev->gid_index, &w->dev->gid);
	step = vt_step_find(o->state, attr.qp_state);
	mask = step ? step->required : 0;
	if (!step)
		want = EINVAL;
	extra = vt_attributes[below(w, ARRAY_SIZE(vt_attributes))];
	/* the core accepts the port if it is the right one */
	if (step && !below(w, 4) && extra != IBV_QP_PORT) {
		if (!(extra & (step->required | step->optional)))
			want = EINVAL;
		if (step->required & extra) {
			want = EINVAL;
			mask &= ~extra;
		} else if (want) {
			mask |= extra;
		}
	}
	judge(w, ibv_modify_qp(o->p, &attr, mask | IBV_QP_STATE), want, "modify qp%d %d to %d, mask 0x%x",
	      number(w, QP, o), o->state, attr.qp_state, mask);
	if (!want)
		o->state = attr.qp_state;
	judge(w, vt_qp_state(o->p), o->state, "state qp%d", number(w, QP, o));
}

static void resize_cq(struct world *w)
{
	struct object *o = some(w, CQ);
	int want = below(w, 3) ? 0 : EINVAL;
	int cqe = want ? (int)below(w, 2) * (w->dev->attr.max_cqe + 1) : 1 + (int)below(w, 100);

	if (o)
		judge(w, ibv_resize_cq(o->p, cqe), want, "resize cq%d to %d", number(w, CQ, o),
		      cqe);
}

static void modify_srq(struct world *w)
{
	struct object *o = some(w, SRQ);
	struct ibv_srq_attr attr;
	int want;

	if (!o)
		return;
	/* the module may have rounded the depth up, so query it */
	if (ibv_query_srq(o->p, &attr))
		return;
	want = below(w, 3) ? 0 : EINVAL;
	attr.srq_limit = want ? attr.max_wr + 1 + below(w, 100) : below(w, attr.max_wr + 1);
	judge(w, ibv_modify_srq(o->p, &attr, IBV_SRQ_LIMIT), want, "modify srq%d, limit %u",
	      number(w, SRQ, o), attr.srq_limit);
}

static void post_recv(struct world *w)
{
	struct object *o = some(w, QP);
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	int want;

	if (!o)
		return;
	want = o->parts[3] || o->state == IBV_QPS_RESET ? EINVAL : 0;
	if (!want && !below(w, 2)) {
		wr.num_sge = w->dev->attr.max_sge + 1;
		want = EINVAL;
	}
	if (want)
		judge(w, ibv_post_recv(o->p, &wr, &bad), want, "post_recv qp%d, state %d, %d sges",
		      number(w, QP, o), o->state, wr.num_sge);
}

static void rereg_mr(struct world *w)
{
	struct object *o = some(w, MR);
	int access = random_access(w), want, ret;

	if (!o)
		return;
	/* do not switch between pinned and on demand: that is a row of its own */
	access = (access & ~IBV_ACCESS_ON_DEMAND) | (o->access & IBV_ACCESS_ON_DEMAND);
	want = access_errno(access) ?: o->users ? EBUSY : 0;
	ret = ibv_rereg_mr(o->p, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
	judge(w, ret ? errno : 0, want, "rereg mr%d 0x%x to 0x%x, %d windows",
	      number(w, MR, o), o->access, access, o->users);
	if (!ret)
		o->access = access;
}

/* -- the connection: binds, and the peer's use of keys */

static void recover(struct world *w)
{
	if (vt_pair_recover(&w->pair))
		w->broken = true;
}

/* The status of a bind of this window, by semantics.rst */
static int bind_status(struct world *w, const struct object *window, const struct object *mr,
		       int rights)
{
	if (window->parts[0] != &w->o[PD][0] || mr->parts[0] != &w->o[PD][0])
		return IBV_WC_MW_BIND_ERR;
	if (!(mr->access & IBV_ACCESS_MW_BIND))
		return IBV_WC_MW_BIND_ERR;
	if (rights & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IBV_ACCESS_LOCAL_WRITE))
		return IBV_WC_MW_BIND_ERR;
	if (window->type == IBV_MW_TYPE_2 && window->bound)
		return IBV_WC_MW_BIND_ERR;
	return IBV_WC_SUCCESS;
}

static void bind_window(struct world *w)
{
	struct object *window = some(w, MW), *mr = some(w, MR);
	int ret, want, rights;
	struct vt_bind to;
	uint32_t rkey;

	if (!window || !mr)
		return;
	rkey = ((struct ibv_mw *)window->p)->rkey;
	/* the library refuses objects of two PDs; this is not tested here */
	if (window->type == IBV_MW_TYPE_1 &&
	    (window->parts[0] != mr->parts[0] || window->parts[0] != &w->o[PD][0]))
		return;
	rights = random_access(w) & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC);
	to = (struct vt_bind){
		.mr = mr->p, .addr = (uintptr_t)w->memory, .len = 4096, .access = rights,
	};
	want = bind_status(w, window, mr, rights);
	ret = vt_bind_any(&w->pair.b, window->p, &to);
	judge(w, ret, want, "bind mw%d of type %d to mr%d 0x%x, rights 0x%x", number(w, MW, window),
	      window->type, number(w, MR, mr), mr->access, rights);
	if (ret) {
		/* posting has stored a key that the window did not get */
		((struct ibv_mw *)window->p)->rkey = rkey;
		recover(w);
		return;
	}
	unbind(window);
	window->bound = mr;
	window->rights = rights;
	mr->users++;
}

static void invalidate(struct world *w)
{
	struct object *window = some(w, MW);
	int ret, want;

	if (!window)
		return;
	want = window->type == IBV_MW_TYPE_2 && window->bound ? IBV_WC_SUCCESS :
							       IBV_WC_MW_BIND_ERR;
	ret = vt_invalidate(&w->pair.b, ((struct ibv_mw *)window->p)->rkey);
	judge(w, ret, want, "invalidate mw%d of type %d, bound %d", number(w, MW, window),
	      window->type, !!window->bound);
	if (ret)
		recover(w);
	else
		unbind(window);
}

/* The peer writes or reads with the key of a region or a window. */
static void use_key(struct world *w)
{
	struct object *o = below(w, 2) ? some(w, MR) : some(w, MW);
	bool window = o && o >= w->o[MW] && o < w->o[MW] + SLOTS, write = below(w, 2);
	struct ibv_sge sge = vt_sge(&w->pair.a.buf, VT_GUARD, 8);
	struct ibv_send_wr wr = vt_wr(write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, 7, &sge);
	int rights, want = IBV_WC_REM_ACCESS_ERR, ret;

	if (!o)
		return;
	rights = !window ? o->access : o->bound ? o->rights : 0;
	if (o->parts[0] == &w->o[PD][0] &&
	    rights & (write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ))
		want = IBV_WC_SUCCESS;
	wr.wr.rdma.remote_addr = (uintptr_t)w->memory + below(w, 500) * 8;
	wr.wr.rdma.rkey = window ? ((struct ibv_mw *)o->p)->rkey : ((struct ibv_mr *)o->p)->rkey;
	ret = vt_outcome(&w->pair.a, &wr);
	judge(w, ret, want, "%s by %s%d, rights 0x%x", write ? "WRITE" : "READ",
	      window ? "mw" : "mr", number(w, window ? MW : MR, o), rights);
	if (ret)
		recover(w);
}

static void page_out(struct world *w)
{
	madvise(w->memory, MEMORY, MADV_DONTNEED);
}

/* -- the run */

static int world_open(struct world *w, uint64_t seed, uint64_t n, int seconds)
{
	int ret = vt_pair_open(&w->pair, &vt_defaults);

	if (ret)
		return ret;
	/* a guard page after it, so that nothing else is mapped there */
	w->memory = mmap(NULL, MEMORY + 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->memory == MAP_FAILED || mprotect(w->memory + MEMORY, 4096, PROT_NONE))
		return -errno;
	w->dev = &w->pair.b.dev;
	w->o[PD][0].p = w->pair.b.pd;
	w->o[PD][0].users = 1;
	w->random = vt_random_begin(seed, n);
	w->end = vt_now_ms() + 1000ull * seconds;
	return 0;
}

/* Destroy everything, in an order that the model allows. */
static void world_close(struct world *w)
{
	static const enum kind order[] = {
		QP, XTGT, XSRQ, SRQ, MW, MR, DM_MR, DM, AH, XRCD, CQ, CHANNEL, PD,
	};
	int i, k;

	for (k = 0; k < (int)ARRAY_SIZE(order); k++)
		for (i = 0; i < SLOTS; i++)
			if (w->o[order[k]][i].p && (order[k] != PD || i))
				destroy(w, order[k], &w->o[order[k]][i]);
	vt_pair_close(&w->pair);
	if (w->memory)
		munmap(w->memory, MEMORY + 4096);
}

static void *play(void *arg)
{
	static void (* const calls[])(struct world *) = {
		create, create, create, create, destroy_some, destroy_some, modify_qp, modify_qp,
		resize_cq, modify_srq, post_recv, rereg_mr, bind_window, bind_window, invalidate, use_key,
		use_key, page_out,
	};
	struct world *w = arg;

	while (vt_now_ms() < w->end && w->found < 3 && !w->broken)
		calls[below(w, ARRAY_SIZE(calls))](w);
	return NULL;
}

/* A fuzzer that has made no object of some kind has not tested that kind. */
static bool all_kinds(const struct world *w)
{
	bool all = true;
	int kind;

	for (kind = 0; kind < NR_KINDS; kind++) {
		if (w->per_kind[kind])
			continue;
		printf("# no %s was made\n", kinds[kind]);
		all = false;
	}
	return all;
}

FIXTURE(fuzz)
{
	struct world w[THREADS];
	struct vt_cover cover;
	unsigned long taint;
};

FIXTURE_SETUP(fuzz)
{
	int seconds = vt_fuzz_seconds(SECONDS, BRIEFLY);
	uint64_t seed = vt_seed();
	int i;

	memset(self, 0, sizeof(*self));
	for (i = 0; i < THREADS; i++)
		VT_SETUP(world_open(&self->w[i], seed, i, seconds));
	self->taint = vt_tainted();
	vt_cover_open(&self->cover);
}

FIXTURE_TEARDOWN(fuzz)
{
	vt_cover_close(&self->cover);
}

TEST_F_TIMEOUT(fuzz, verbs, 100000)
{
	uint64_t ops = 0, refused = 0, found = 0;
	int i;

	for (i = 1; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&self->w[i].thread, NULL, play, &self->w[i]));
	play(&self->w[0]);
	for (i = 1; i < THREADS; i++)
		pthread_join(self->w[i].thread, NULL);
	for (i = 0; i < THREADS; i++) {
		EXPECT_FALSE(self->w[i].broken);
		EXPECT_TRUE(all_kinds(&self->w[i]));
		world_close(&self->w[i]);
		ops += self->w[i].ops;
		refused += self->w[i].refused;
		found += self->w[i].found;
	}
	vt_cover_grows(&self->cover);
	printf("# fuzz_verbs: %llu calls, %llu of them refused, %d blocks and %d edges covered, %llu found\n",
	       (unsigned long long)ops, (unsigned long long)refused, self->cover.blocks,
	       self->cover.edges, (unsigned long long)found);
	EXPECT_EQ(0, found);
	EXPECT_EQ(self->taint, vt_tainted());
}

VT_HARNESS_MAIN
