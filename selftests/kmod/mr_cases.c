// SPDX-License-Identifier: GPL-2.0
/* Memory of consumers in the kernel: DMA keys, fast registration. */
#include "cases.h"

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "pair.h"
#include "tap.h"

#define NR_PAGES	5

/* Pages that are not consecutive, and a region for them. */
struct region {
	struct scatterlist sg[NR_PAGES];
	void *pages[NR_PAGES];
	struct ib_mr *mr;
};

static void region_fini(struct region *r)
{
	int i;

	if (!IS_ERR_OR_NULL(r->mr))
		ib_dereg_mr(r->mr);
	for (i = 0; i < NR_PAGES; i++)
		free_page((unsigned long)r->pages[i]);
}

/* The first page from @skip on, the others in reverse order of allocation. */
static int region_init(struct region *r, struct ib_pd *pd, u32 skip)
{
	int i;

	memset(r, 0, sizeof(*r));
	sg_init_table(r->sg, NR_PAGES);
	for (i = NR_PAGES - 1; i >= 0; i--) {
		r->pages[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!r->pages[i])
			return -ENOMEM;
		sg_set_buf(&r->sg[i], r->pages[i] + (i ? 0 : skip),
			   PAGE_SIZE - (i ? 0 : skip));
	}
	r->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, NR_PAGES);
	if (IS_ERR(r->mr))
		return PTR_ERR(r->mr);
	if (ib_dma_map_sg(pd->device, r->sg, NR_PAGES, DMA_BIDIRECTIONAL) !=
	    NR_PAGES)
		return -EIO;
	return ib_map_mr_sg(r->mr, r->sg, NR_PAGES, NULL, PAGE_SIZE) ==
	       NR_PAGES ? 0 : -EINVAL;
}

/* The byte at @off of the region. */
static u8 *region_byte(struct region *r, u32 skip, u32 off)
{
	off += skip;
	return r->pages[off / PAGE_SIZE] + off % PAGE_SIZE;
}

static int reg_mr(struct side *s, struct ib_mr *mr, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.access = access,
	};
	static struct request r;
	int err;

	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	wr.key = mr->rkey;
	err = post_send(s, &wr.wr, &r) ?: request_wait(s, &r);
	return err ?: r.wc.opcode == IB_WC_REG_MR ? 0 : -EINVAL;
}

static int local_inv(struct side *s, u32 rkey)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = rkey,
	};
	static struct request r;
	int err;

	err = post_send(s, &wr, &r) ?: request_wait(s, &r);
	return err ?: r.wc.opcode == IB_WC_LOCAL_INV ? 0 : -EINVAL;
}

#define RW (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
	    IB_ACCESS_REMOTE_WRITE)
#define SKIP	100

/* WRITE and READ go through the list; the consumer chooses the address. */
static int case_register(struct pair *p, struct region *r)
{
	u32 len = r->mr->length, i;
	static struct request req;
	u64 iova;

	EXPECT(len == NR_PAGES * PAGE_SIZE - SKIP);
	r->mr->iova = 0xabc0000000000000ULL | (r->mr->iova & ~PAGE_MASK);
	iova = r->mr->iova;
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	get_random_bytes(p->a.buf, len);
	EXPECT(!rdma(p, &p->a, IB_WR_RDMA_WRITE, len, iova, r->mr->rkey, &req));
	for (i = 0; i < len; i++)
		EXPECT(*region_byte(r, SKIP, i) == p->a.buf[i]);
	for (i = 0; i < SKIP; i++)
		EXPECT(!((u8 *)r->pages[0])[i]);
	memset(p->a.buf, 0, len);
	EXPECT(!rdma(p, &p->a, IB_WR_RDMA_READ, len - 3, iova + 3, r->mr->rkey,
		     &req));
	for (i = 3; i < len; i++)
		EXPECT(*region_byte(r, SKIP, i) == p->a.buf[i - 3]);
	EXPECT(!local_inv(&p->b, r->mr->rkey));
	return 0;
}

/* The next list may be built while the region is in use. */
static int case_reuse(struct pair *p, struct region *r)
{
	static struct request req;
	u32 old;

	EXPECT(!reg_mr(&p->b, r->mr, RW));
	old = r->mr->rkey;
	EXPECT(ib_map_mr_sg(r->mr, r->sg + 1, 1, NULL, PAGE_SIZE) == 1);
	EXPECT(!rdma(p, &p->a, IB_WR_RDMA_WRITE, PAGE_SIZE,
		     (unsigned long)r->pages[0] + SKIP, old, &req));
	EXPECT(!local_inv(&p->b, old));
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	EXPECT(!rdma(p, &p->a, IB_WR_RDMA_WRITE, PAGE_SIZE,
		     (unsigned long)r->pages[1], r->mr->rkey, &req));
	EXPECT(rdma(p, &p->a, IB_WR_RDMA_WRITE, 1, (unsigned long)r->pages[1],
		    old, &req) == IB_WC_REM_ACCESS_ERR);
	return 0;
}

/* The peer's access to the region. Return: its status */
static int access(struct pair *p, struct region *r, enum ib_wr_opcode op, s64 off, u32 len)
{
	static struct request req;

	return rdma(p, &p->a, op, len, r->mr->iova + off, r->mr->rkey, &req);
}

static int case_bounds(struct pair *p, struct region *r, enum ib_wr_opcode op, s64 off, u32 len)
{
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	EXPECT(access(p, r, op, off, len) == IB_WC_REM_ACCESS_ERR);
	return 0;
}

static int case_past_end(struct pair *p, struct region *r)
{
	return case_bounds(p, r, IB_WR_RDMA_WRITE, r->mr->length - 1, 2);
}

static int case_before_start(struct pair *p, struct region *r)
{
	return case_bounds(p, r, IB_WR_RDMA_READ, -1, 1);
}

static int case_read_only(struct pair *p, struct region *r)
{
	EXPECT(!reg_mr(&p->b, r->mr, IB_ACCESS_REMOTE_READ));
	EXPECT(!access(p, r, IB_WR_RDMA_READ, 0, 8));
	EXPECT(access(p, r, IB_WR_RDMA_WRITE, 0, 8) == IB_WC_REM_ACCESS_ERR);
	return 0;
}

static int case_unregistered(struct pair *p, struct region *r)
{
	EXPECT(access(p, r, IB_WR_RDMA_READ, 0, 8) == IB_WC_REM_ACCESS_ERR);
	return 0;
}

static int case_invalidated(struct pair *p, struct region *r)
{
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	EXPECT(!local_inv(&p->b, r->mr->rkey));
	return case_unregistered(p, r);
}

static int case_twice(struct pair *p, struct region *r)
{
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	EXPECT(reg_mr(&p->b, r->mr, RW) == IB_WC_MW_BIND_ERR);
	return 0;
}

static int case_wrong_key(struct pair *p, struct region *r)
{
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	EXPECT(local_inv(&p->b, ib_inc_rkey(r->mr->rkey)) == IB_WC_MW_BIND_ERR);
	return 0;
}

static int case_longer(struct pair *p, struct region *r)
{
	r->mr->length++;
	EXPECT(reg_mr(&p->b, r->mr, RW) == IB_WC_MW_BIND_ERR);
	return 0;
}

/* The peer invalidates, and the receive reports the key. */
static int case_send_inv(struct pair *p, struct region *r)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV };
	static struct request send, recv;

	EXPECT(!reg_mr(&p->b, r->mr, RW));
	wr.ex.invalidate_rkey = r->mr->rkey;
	EXPECT(!post_recv(p, &p->b, 0, 64, &recv));
	EXPECT(!post_send(&p->a, &wr, &send));
	EXPECT(request_wait(&p->a, &send) == IB_WC_SUCCESS);
	EXPECT(request_wait(&p->b, &recv) == IB_WC_SUCCESS);
	EXPECT(recv.wc.wc_flags == IB_WC_WITH_INVALIDATE);
	EXPECT(recv.wc.ex.invalidate_rkey == r->mr->rkey);
	EXPECT(rdma(p, &p->a, IB_WR_RDMA_READ, 8, r->mr->iova, r->mr->rkey,
		    &send) == IB_WC_REM_ACCESS_ERR);
	return 0;
}

/* -- regions that are freed while the peer invalidates them */

#define RACES		48
#define RACERS		16

/* The peer begins with the last region, so that the two meet in the middle. */
struct race {
	struct work_struct work;
	struct side *peer;
	struct ib_mr *mrs[RACERS];
	struct request sends[RACERS];
	struct request recvs[RACERS];
	bool ready;
	bool go;
	int err;
};

static void race_main(struct work_struct *work)
{
	struct race *race = container_of(work, struct race, work);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV };
	u32 rkeys[RACERS];
	int i;

	for (i = 0; i < RACERS; i++)
		rkeys[i] = race->mrs[i]->rkey;
	WRITE_ONCE(race->ready, true);
	while (!READ_ONCE(race->go))
		cond_resched();
	for (i = RACERS - 1; i >= 0 && !race->err; i--) {
		wr.ex.invalidate_rkey = rkeys[i];
		race->err = post_send(race->peer, &wr, &race->sends[i]);
	}
}

static int race_init(struct race *race, struct pair *p, struct region *r)
{
	struct ib_mr *mr;
	int i;

	memset(race, 0, sizeof(*race));
	INIT_WORK(&race->work, race_main);
	race->peer = &p->a;
	for (i = 0; i < RACERS; i++) {
		mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, 1);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		race->mrs[i] = mr;
		EXPECT(ib_map_mr_sg(mr, r->sg, 1, NULL, PAGE_SIZE) == 1);
		EXPECT(!reg_mr(&p->b, mr, RW));
		EXPECT(!post_recv(p, &p->b, 0, 64, &race->recvs[i]));
	}
	return 0;
}

static void race_dereg(struct race *race)
{
	int i;

	for (i = 0; i < RACERS; i++) {
		if (race->mrs[i])
			ib_dereg_mr(race->mrs[i]);
		race->mrs[i] = NULL;
	}
}

static int other_cpu(void)
{
	unsigned int here = raw_smp_processor_id();
	unsigned int cpu = cpumask_any_but(cpu_online_mask, here);

	return cpu < nr_cpu_ids ? cpu : here;
}

/* The first region that is gone already breaks the connection. */
static int race_run(struct race *race, struct pair *p)
{
	int i, status, before = IB_WC_SUCCESS;

	schedule_work_on(other_cpu(), &race->work);
	while (!READ_ONCE(race->ready))
		cond_resched();
	WRITE_ONCE(race->go, true);
	race_dereg(race);
	flush_work(&race->work);
	EXPECT(!race->err);
	for (i = RACERS - 1; i >= 0; i--) {
		status = request_wait(&p->a, &race->sends[i]);
		if (before != IB_WC_SUCCESS)
			EXPECT(status == IB_WC_WR_FLUSH_ERR);
		else
			EXPECT(status == IB_WC_SUCCESS ||
			       status == IB_WC_REM_ACCESS_ERR);
		before = status;
	}
	return 0;
}

static int case_dereg_race(struct pair *p, struct region *r)
{
	struct pair_options opt = { .ctx = IB_POLL_SOFTIRQ };
	static struct race race;
	struct pair pair;
	int i, err = 0;

	for (i = 0; i < RACES && !err; i++) {
		err = pair_init(&pair, p->t, &opt);
		if (err)
			break;
		err = race_init(&race, &pair, r) ?: race_run(&race, &pair);
		race_dereg(&race);
		pair_fini(&pair);
	}
	return err;
}

/* -- a region that the peer invalidates while this side sends from it */

#define SENDS		32

struct inval_race {
	struct work_struct work;
	struct side *peer;
	u32 rkey;
	struct request send;
	struct request sends[SENDS];
	struct request recvs[SENDS];
	struct request inval;
	bool ready;
	bool go;
	int err;
};

static void inval_main(struct work_struct *work)
{
	struct inval_race *race = container_of(work, struct inval_race, work);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV,
		.ex.invalidate_rkey = race->rkey,
	};

	WRITE_ONCE(race->ready, true);
	while (!READ_ONCE(race->go))
		cond_resched();
	race->err = post_send(race->peer, &wr, &race->send);
}

/*
 * The invalidate waits for a SEND that is being copied. The next SEND finds the key invalid, and
 * brings this QP into error. If none does, the region is free, and can be registered again.
 */
static int inval_run(struct inval_race *race, struct pair *p, struct region *r)
{
	struct ib_sge sge = { .addr = r->mr->iova, .length = r->mr->length };
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	int i, status;

	memset(race, 0, sizeof(*race));
	INIT_WORK(&race->work, inval_main);
	race->peer = &p->a;
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	race->rkey = r->mr->rkey;
	sge.lkey = r->mr->lkey;
	for (i = 0; i < SENDS; i++)
		EXPECT(!post_recv(p, &p->a, 0, sge.length, &race->recvs[i]));
	EXPECT(!post_recv(p, &p->b, 0, 64, &race->inval));
	schedule_work_on(other_cpu(), &race->work);
	while (!READ_ONCE(race->ready))
		cond_resched();
	WRITE_ONCE(race->go, true);
	for (i = 0; i < SENDS; i++)
		EXPECT(!post_send(&p->b, &wr, &race->sends[i]));
	flush_work(&race->work);
	EXPECT(!race->err);
	for (i = 0; i < SENDS; i++) {
		status = request_wait(&p->b, &race->sends[i]);
		if (status != IB_WC_SUCCESS)
			break;
	}
	EXPECT(i == SENDS || status == IB_WC_LOC_PROT_ERR);
	status = request_wait(&p->b, &race->inval);
	EXPECT(status == IB_WC_SUCCESS ||
	       (i < SENDS && status == IB_WC_WR_FLUSH_ERR));
	if (i < SENDS)
		return 0;
	EXPECT(ib_map_mr_sg(r->mr, r->sg, NR_PAGES, NULL, PAGE_SIZE) == NR_PAGES);
	EXPECT(!reg_mr(&p->b, r->mr, RW));
	return 0;
}

static int case_inval_race(struct pair *p, struct region *r)
{
	struct pair_options opt = { .ctx = IB_POLL_SOFTIRQ };
	static struct inval_race race;
	struct region own;
	struct pair pair;
	int i, err = 0;

	for (i = 0; i < RACES && !err; i++) {
		err = pair_init(&pair, p->t, &opt);
		if (err)
			break;
		err = region_init(&own, pair.pd, 0) ?:
		      inval_run(&race, &pair, &own);
		region_fini(&own);
		pair_fini(&pair);
	}
	return err;
}

/* This QP cannot register a region of another protection domain. */
static int case_foreign(struct pair *p, struct region *r)
{
	struct ib_pd *pd = ib_alloc_pd(p->t->dev, 0);
	struct region other;
	int err;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	err = region_init(&other, pd, 0);
	if (!err && reg_mr(&p->b, other.mr, RW) != IB_WC_MW_BIND_ERR)
		err = -EINVAL;
	region_fini(&other);
	ib_dealloc_pd(pd);
	return err;
}

static int send_from(struct pair *p, u64 addr)
{
	struct ib_sge sge = {
		.addr = addr,
		.length = 8,
		.lkey = p->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	static struct request send, recv;

	return post_recv(p, &p->b, 0, 64, &recv) ?:
	       post_send(&p->a, &wr, &send) ?: request_wait(&p->a, &send);
}

/* The DMA key opens the kernel's memory, but no address without memory. */
static int case_dma_low(struct pair *p, struct region *r)
{
	EXPECT(send_from(p, 4096) == IB_WC_LOC_PROT_ERR);
	return 0;
}

static int case_dma_wrap(struct pair *p, struct region *r)
{
	EXPECT(send_from(p, U64_MAX - 3) == IB_WC_LOC_PROT_ERR);
	return 0;
}

static int case_dma_vmalloc(struct pair *p, struct region *r)
{
	void *mem = vzalloc(PAGE_SIZE);
	int status;

	if (!mem)
		return -ENOMEM;
	status = send_from(p, (unsigned long)mem);
	vfree(mem);
	EXPECT(status == IB_WC_LOC_PROT_ERR);
	return 0;
}

/* It is for local access only: a peer cannot use it. */
static int case_dma_remote(struct pair *p, struct region *r)
{
	static struct request req;

	EXPECT(rdma(p, &p->a, IB_WR_RDMA_READ, 8, p->b.dma,
		    p->pd->local_dma_lkey, &req) == IB_WC_REM_ACCESS_ERR);
	return 0;
}

/*
 * A key for all memory that peers may use: the kernel warns the consumer that
 * asks for it.
 */
static int case_global_rkey(struct pair *p, struct region *r)
{
	struct ib_mr *mr = p->t->dev->ops.get_dma_mr(p->pd, RW);
	static struct request req;
	int status;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	/* As the core does; there is no exported function for it */
	mr->device = p->t->dev;
	mr->pd = p->pd;
	memcpy(p->b.buf, "all of it", 9);
	status = rdma(p, &p->a, IB_WR_RDMA_READ, 9, p->b.dma, mr->rkey, &req);
	p->t->dev->ops.dereg_mr(mr, NULL);
	EXPECT(!status && !memcmp(p->a.buf, "all of it", 9));
	return 0;
}

static int atomic(struct pair *p, enum ib_wr_opcode op, struct ib_mr *mr,
		  u64 compare_add, u64 swap)
{
	struct ib_sge sge = {
		.addr = p->a.dma,
		.length = 8,
		.lkey = p->pd->local_dma_lkey,
	};
	struct ib_atomic_wr wr = {
		.wr = { .opcode = op, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = ALIGN(mr->iova, 8),
		.compare_add = compare_add,
		.swap = swap,
		.rkey = mr->rkey,
	};
	static struct request r;

	return post_send(&p->a, &wr.wr, &r) ?: request_wait(&p->a, &r);
}

/* What was there comes back */
static int case_atomics(struct pair *p, struct region *r)
{
	u64 *was = (u64 *)p->a.buf, *word;

	EXPECT(!reg_mr(&p->b, r->mr, RW | IB_ACCESS_REMOTE_ATOMIC));
	word = (u64 *)region_byte(r, SKIP, ALIGN(r->mr->iova, 8) - r->mr->iova);
	*word = 7;
	EXPECT(!atomic(p, IB_WR_ATOMIC_FETCH_AND_ADD, r->mr, 5, 0));
	EXPECT(*was == 7 && *word == 12);
	EXPECT(!atomic(p, IB_WR_ATOMIC_CMP_AND_SWP, r->mr, 11, 1));
	EXPECT(*was == 12 && *word == 12);
	EXPECT(!atomic(p, IB_WR_ATOMIC_CMP_AND_SWP, r->mr, 12, 1));
	EXPECT(*was == 12 && *word == 1);
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct pair *p, struct region *r);
} cases[] = {
	{ "register, use, invalidate", case_register },
	{ "a new list for the same region", case_reuse },
	{ "past the end", case_past_end },
	{ "before the start", case_before_start },
	{ "a right that was not given", case_read_only },
	{ "not registered", case_unregistered },
	{ "invalidated", case_invalidated },
	{ "invalidated by the peer", case_send_inv },
	{ "invalidated by the peer as they go", case_dereg_race },
	{ "invalidated by the peer while it is sent", case_inval_race },
	{ "registered twice", case_twice },
	{ "invalidated by a wrong key", case_wrong_key },
	{ "more than was mapped", case_longer },
	{ "of another protection domain", case_foreign },
	{ "atomics", case_atomics },
	{ "DMA key, no memory", case_dma_low },
	{ "DMA key, range that wraps", case_dma_wrap },
	{ "DMA key, not linear memory", case_dma_vmalloc },
	{ "DMA key, named by a peer", case_dma_remote },
	{ "DMA key for peers", case_global_rkey },
};

void run_mr_cases(const struct target *t)
{
	struct pair_options opt = { .ctx = IB_POLL_SOFTIRQ };
	struct region r;
	struct pair p;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		err = pair_init(&p, t, &opt);
		if (!err) {
			err = region_init(&r, p.pd, SKIP) ?:
			      cases[i].fn(&p, &r);
			region_fini(&r);
			pair_fini(&p);
		}
		report("memory", cases[i].name, err);
	}
}
