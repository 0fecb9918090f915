// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: domains with allocators, device memory, room for rings.
 */
#include <errno.h>
#include <stdlib.h>

#include "rig.h"

/* The number in verbs.h of rdma-core 64, and the next one */
enum {
	MASK_ALLOW_CC_UNPROTECTED = 1 << 2,
	MASK_NEXT = 1 << 3,
};

static void *give(struct ibv_pd *pd, void *context, size_t size,
		  size_t alignment, uint64_t type)
{
	(void)pd;
	(void)alignment;
	(void)type;
	++*(int *)context;
	return malloc(size);
}

static void *give_nothing(struct ibv_pd *pd, void *context, size_t size,
			  size_t alignment, uint64_t type)
{
	(void)pd;
	(void)context;
	(void)size;
	(void)alignment;
	(void)type;
	return NULL;
}

static void take(struct ibv_pd *pd, void *context, void *ptr, uint64_t type)
{
	(void)pd;
	(void)type;
	--*(int *)context;
	free(ptr);
}

/* Creates and destroys a parent domain. Return: 0 or the errno. */
static int try_domain(struct ibv_pd *pd, uint32_t mask, void *alloc, void *free)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = mask,
		.alloc = alloc,
		.free = free,
	};
	struct ibv_pd *parent;

	errno = 0;
	parent = smr_alloc_parent_domain(fake_context(), &attr);
	if (!parent)
		return errno;
	return smr_dealloc_pd(parent);
}

static void domain_flags(void)
{
	struct ibv_pd *pd = smr_alloc_pd(fake_context());

	want(!try_domain(pd, 0, NULL, NULL));
	want(!try_domain(pd, MASK_ALLOW_CC_UNPROTECTED, NULL, NULL));
	want(try_domain(pd, MASK_NEXT, NULL, NULL) == EINVAL);
	want(!smr_dealloc_pd(pd));
}

static void domain_allocators(void)
{
	const uint32_t mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	struct ibv_pd *pd = smr_alloc_pd(fake_context()), *parent;
	int count = 0;
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = mask | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = give,
		.free = take,
		.pd_context = &count,
	};
	struct smr_home home;
	void *object;

	want(try_domain(pd, mask, give, NULL) == EINVAL);
	want(try_domain(pd, mask, NULL, take) == EINVAL);
	want(try_domain(pd, mask, NULL, NULL) == EINVAL);
	/* without the flag they are ignored */
	want(!try_domain(pd, 0, give, NULL));

	parent = smr_alloc_parent_domain(fake_context(), &attr);
	object = smr_object_alloc(fake_context(), parent, 100, 1, &home);
	want(object && count == 1);
	want(smr_dealloc_pd(parent) == EBUSY);
	smr_object_free(object, 1, home);
	want(!count && !smr_dealloc_pd(parent));

	attr.alloc = give_nothing;
	parent = smr_alloc_parent_domain(fake_context(), &attr);
	errno = 0;
	want(!smr_object_alloc(fake_context(), parent, 100, 1, &home));
	want(errno == ENOMEM && rig_noted(SMR_WHY_NO_MEMORY, ENOMEM, 0));
	want(!smr_dealloc_pd(parent) && !smr_dealloc_pd(pd));
}

/* A parent domain that refers to a thread domain keeps it. */
static void thread_domains(void)
{
	struct ibv_td_init_attr attr = { .comp_mask = 1 };
	struct ibv_parent_domain_init_attr parent_attr = {};
	struct ibv_pd *pd = smr_alloc_pd(fake_context()), *parent;
	struct ibv_td *td;

	errno = 0;
	want(!smr_alloc_td(fake_context(), &attr) && errno == EINVAL);
	want(fake.note.id == SMR_WHY_FIELDS_INVALID);
	attr.comp_mask = 0;
	td = smr_alloc_td(fake_context(), &attr);
	want(td && td->context == fake_context());
	parent_attr.pd = pd;
	parent_attr.td = td;
	parent = smr_alloc_parent_domain(fake_context(), &parent_attr);
	want(parent && smr_dealloc_td(td) == EBUSY);
	want(fake.note.id == SMR_WHY_TD_IN_USE && fake.note.num[0] == 1);
	want(smr_dealloc_pd(pd) == EBUSY);
	/* a parent domain is no base for another one */
	want(try_domain(parent, 0, NULL, NULL) == EINVAL);
	want(!smr_dealloc_pd(parent) && !smr_dealloc_td(td));
	want(!smr_dealloc_pd(pd));
}

/* What is imported belongs to another process: to forget it is no command. */
static void imports(void)
{
	unsigned int before = fake.ended;
	struct ibv_pd *pd = smr_import_pd(fake_context(), 33);
	struct ibv_mr *mr = smr_import_mr(pd, FAKE_MR_HANDLE);

	want(pd->context == fake_context() && pd->handle == 33);
	want(mr && mr->pd == pd && mr->handle == FAKE_MR_HANDLE);
	errno = 0;
	want(!smr_import_mr(pd, FAKE_MR_HANDLE + 1) && errno == EINVAL);
	smr_unimport_mr(mr);
	smr_unimport_pd(pd);
	want(fake.ended == before);
}

/* libibverbs later uses the access to undo what it did at the registration. */
static void rereg_keeps_access(void)
{
	struct ibv_pd *pd = smr_alloc_pd(fake_context());
	struct verbs_mr vmr = { .access = IBV_ACCESS_LOCAL_WRITE };
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;

	want(!smr_rereg_mr(&vmr, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0,
			   access));
	want(fake.reg.access == access);
	want(vmr.access == IBV_ACCESS_LOCAL_WRITE);
	fake.reg_err = EBUSY;
	want(smr_rereg_mr(&vmr, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0,
			  access) == EBUSY);
	fake.reg_err = 0;
	want(!smr_dealloc_pd(pd));
}

/* A child of the process must not copy the pages on write. */
static void dm_not_for_child(void)
{
	struct ibv_alloc_dm_attr attr = { .length = FAKE_DM_LENGTH };
	size_t before = fake.not_for_child;
	struct ibv_dm *dm = smr_alloc_dm(fake_context(), &attr);

	want(dm && fake.not_for_child == before + FAKE_DM_LENGTH);
	want(!smr_free_dm(dm) && fake.not_for_child == before);
	dm = smr_import_dm(fake_context(), FAKE_DM_HANDLE);
	want(dm && fake.not_for_child == before + FAKE_DM_LENGTH);
	smr_unimport_dm(dm);
	want(fake.not_for_child == before);

	fake.dontfork_err = ENOMEM;
	errno = 0;
	want(!smr_alloc_dm(fake_context(), &attr) && errno == ENOMEM);
	fake.dontfork_err = 0;
	want(fake.not_for_child == before);
}

/* The kernel refuses an impossible size. */
static void too_large_a_ring(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = FAKE_DEPTH };
	struct ibv_cq_ex *cq = smr_create_cq_ex(fake_context(), &attr);
	struct smr_room room;

	want(!smr_room_reserve(&room, INT32_MAX, sizeof(struct smr_cqe)));
	want(!room.addr && !room.size);
	smr_room_release(&room);
	want(smr_resize_cq(ibv_cq_ex_to_cq(cq), INT32_MAX) == EINVAL);
	want(smr_resize_cq(ibv_cq_ex_to_cq(cq), FAKE_MAX_CQE + 1) == EINVAL);
	want(!smr_resize_cq(ibv_cq_ex_to_cq(cq), FAKE_MAX_CQE));
	want(!smr_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* Return: 0, or the errno; the kernel's arguments are in fake.reg. */
static int try_reg(struct ibv_pd *pd, uint64_t mask, struct ibv_dmah *dmah)
{
	struct ibv_mr_init_attr attr = {
		.comp_mask = mask,
		.addr = fake_context(),
		.length = 100,
		.iova = 0x5000,
		.fd = 3,
		.fd_offset = 0x2000,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.dmah = dmah,
	};
	struct ibv_mr *mr;

	fake.reg = (struct fake_reg){};
	errno = 0;
	mr = smr_reg_mr_ex(pd, &attr);
	if (!mr)
		return errno;
	want(fake.reg.length == 100 && fake.reg.access == attr.access);
	return smr_dereg_mr(container_of(mr, struct verbs_mr, ibv_mr));
}

/* Without a handle the provider uses commands that each kernel has. */
static void reg_mr_ex(void)
{
	const uint64_t addr = IBV_REG_MR_MASK_ADDR, iova = IBV_REG_MR_MASK_IOVA,
		       off = IBV_REG_MR_MASK_FD_OFFSET, fd = IBV_REG_MR_MASK_FD;
	struct ibv_pd *pd = smr_alloc_pd(fake_context());
	uint64_t start = (uintptr_t)fake_context();

	want(!try_reg(pd, addr, NULL));
	want(fake.reg.start == start && fake.reg.iova == start);
	want(!try_reg(pd, addr | iova, NULL));
	want(fake.reg.start == start && fake.reg.iova == 0x5000);
	want(!try_reg(pd, fd | off | iova, NULL));
	want(fake.reg.start == 0x2000 && fake.reg.iova == 0x5000 &&
	     fake.reg.fd == 3);
	want(try_reg(pd, 0, NULL) == EINVAL);
	want(try_reg(pd, iova, NULL) == EINVAL);
	want(try_reg(pd, addr | off, NULL) == EINVAL);
	want(fake.note.id == SMR_WHY_MR_ATTRS &&
	     fake.note.num[0] == (addr | off));
	want(try_reg(pd, fd | off, NULL) == EINVAL);
	want(try_reg(pd, fd | iova, NULL) == EINVAL);
	want(try_reg(pd, fd | off | iova | addr, NULL) == EINVAL);
	want(try_reg(pd, addr | 1ULL << 40, NULL) == EOPNOTSUPP);
	want(fake.note.id == SMR_WHY_FIELDS_UNKNOWN &&
	     fake.note.num[1] == 1ULL << 40);
	fake.reg_err = EFAULT;
	want(try_reg(pd, addr, NULL) == EFAULT);
	fake.reg_err = 0;
	want(!smr_dealloc_pd(pd));
}

static void dma_handles(void)
{
	struct ibv_dmah_init_attr attr = {
		.comp_mask = IBV_DMAH_INIT_ATTR_MASK_PH, .ph = 1,
	};
	struct ibv_pd *pd = smr_alloc_pd(fake_context());
	struct ibv_dmah *dmah = smr_alloc_dmah(fake_context(), &attr);

	want(dmah != NULL);
	want(!try_reg(pd, IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH, dmah));
	want(fake.reg.dmah == FAKE_DMAH_HANDLE);
	fake.reg_err = EOPNOTSUPP;
	want(try_reg(pd, IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH, dmah) ==
	     EOPNOTSUPP);
	fake.reg_err = EBUSY;
	want(smr_dealloc_dmah(dmah) == EBUSY);
	want(rig_noted(SMR_WHY_IN_USE, EBUSY, SMR_KIND_DMAH));
	errno = 0;
	want(!smr_alloc_dmah(fake_context(), &attr) && errno == EBUSY);
	fake.reg_err = 0;
	want(!smr_dealloc_dmah(dmah));
	attr.comp_mask = 1U << 30;
	want(!smr_alloc_dmah(fake_context(), &attr) && errno == EOPNOTSUPP);
	want(!smr_dealloc_pd(pd));
}

/* The distance between two rings */
static size_t distance(const struct smr_ring *a, const struct smr_ring *b)
{
	const uint8_t *from = (const void *)a->hdr, *to = (const void *)b->hdr;

	return to > from ? to - from : from - to;
}

/* Rings share a mapping, and the last of them unmaps it. */
static void rings_that_share(void)
{
	size_t before = fake.not_for_child;
	struct smr_qp *qp[2];
	int i;

	fake.shared = true;
	for (i = 0; i < 2; i++) {
		qp[i] = rig_qp(IBV_QPT_RC, 0);
		want(qp[i] && qp[i]->sq.ring.map == qp[0]->sq.ring.map);
		want(qp[i] && qp[i]->rq.ring.map == qp[0]->sq.ring.map);
	}
	want(distance(&qp[0]->sq.ring, &qp[1]->rq.ring) < FAKE_MAP_SIZE);
	want(fake.not_for_child == before + FAKE_MAP_SIZE);
	/* each has memory of its own */
	memset(qp[0]->sq.ring.entries, 0xff, FAKE_DEPTH * qp[0]->sq.ring.stride);
	want(!qp[0]->rq.ring.hdr->prod && !qp[0]->rq.ring.hdr->cons);
	want(!qp[1]->sq.ring.hdr->prod && !qp[1]->rq.ring.hdr->cons);

	want(!smr_destroy_qp(&qp[0]->vqp.qp));
	want(fake_maps() && fake.not_for_child == before + FAKE_MAP_SIZE);
	want(!qp[1]->sq.ring.hdr->prod);
	want(!smr_destroy_qp(&qp[1]->vqp.qp));
	want(!fake_maps() && fake.not_for_child == before);
	fake.shared = false;
}

/* A resize moves a ring from a shared mapping to another one, or to its own. */
static void resize_among_shared(void)
{
	static const int sizes[] = { 16, 512, 256, 4096, 8, 512, 1024, 64 };
	struct ibv_cq_init_attr_ex attr = { .cqe = FAKE_DEPTH };
	size_t before = fake.not_for_child;
	struct smr_qp *qp;
	struct ibv_cq *cq;
	unsigned int i;

	fake.shared = true;
	qp = rig_qp(IBV_QPT_RC, 0);
	cq = ibv_cq_ex_to_cq(smr_create_cq_ex(fake_context(), &attr));
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		want(!smr_resize_cq(cq, sizes[i]));
		want(to_smr_cq(cq)->ring.depth == (uint32_t)sizes[i]);
	}
	want(!smr_destroy_qp(&qp->vqp.qp));
	want(!smr_destroy_cq(cq));
	want(!fake_maps() && fake.not_for_child == before);
	fake.shared = false;
}

/* A description that no real module gives */
static void map_that_cannot_be(void)
{
	const struct smr_ring_info info = {
		.mmap_size = 4096, .depth = 8, .stride = 64, .max_wr = 8,
	};
	struct smr_ring_map map = { .id = 1, .mmap_size = FAKE_MAP_SIZE };
	struct smr_context *ctx = to_smr_context(fake_context());
	const struct smr_new_ring made = { &ctx->maps, &info, &map };
	struct smr_ring ring;

	map.offset = FAKE_MAP_SIZE;
	want(smr_ring_map(&ring, &made, 64, NULL) == EPROTO);
	map.offset = 12;
	want(smr_ring_map(&ring, &made, 64, NULL) == EPROTO);
	map.offset = UINT32_MAX - 7;
	want(smr_ring_map(&ring, &made, 64, NULL) == EPROTO);
	want(!ring.hdr && !fake_maps());
}

static void dm_export(void)
{
	struct ibv_alloc_dm_attr attr = { .length = FAKE_DM_LENGTH };
	struct ibv_dm *dm = smr_alloc_dm(fake_context(), &attr);

	want(smr_dm_export_dmabuf_fd(dm) == FAKE_DM_FD);
	errno = 0;
	fake.reg_err = EMFILE;
	want(smr_dm_export_dmabuf_fd(dm) == -1 && errno == EMFILE);
	/* a module without it */
	fake.reg_err = EPROTONOSUPPORT;
	want(smr_dm_export_dmabuf_fd(dm) == -1 && errno == EOPNOTSUPP);
	want(rig_noted(SMR_WHY_OLD_MODULE, EOPNOTSUPP, 0));
	fake.reg_err = 0;
	want(!smr_free_dm(dm));
}

static void completion_counters(void)
{
	struct ibv_comp_cntr_init_attr attr = {};
	struct ibv_qp_attach_comp_cntr_attr ops = { .op_mask = 1 };
	struct ibv_qp qp = { .context = fake_context(), .qp_num = 5 };
	struct ibv_comp_cntr *cntr;

	cntr = smr_create_comp_cntr(fake_context(), &attr);
	want(cntr && cntr->handle == FAKE_CNTR_HANDLE);
	want(fake.cntr_type == SMR_COMP_CNTR_WRS);
	fake.reg_err = EBUSY;
	want(smr_destroy_comp_cntr(cntr) == EBUSY);
	want(rig_noted(SMR_WHY_IN_USE, EBUSY, SMR_KIND_COMP_CNTR));
	fake.reg_err = 0;
	/* unknown kinds are not dropped */
	ops.op_mask = 1 << 6 | 1;
	want(smr_attach_comp_cntr(&qp, cntr, &ops) == EOPNOTSUPP);
	want(rig_noted(SMR_WHY_CNTR_MASK, EOPNOTSUPP, 1 << 6 | 1));
	want(fake.note.num[1] == 1 << 6 && fake.note.qpn == 5);
	ops.op_mask = 1;
	ops.comp_mask = 1;
	want(smr_attach_comp_cntr(&qp, cntr, &ops) == EOPNOTSUPP);
	want(rig_noted(SMR_WHY_FIELDS_UNKNOWN, EOPNOTSUPP, 1));
	want(!smr_destroy_comp_cntr(cntr));

	attr.type = IBV_COMP_CNTR_TYPE_BYTES;
	cntr = smr_create_comp_cntr(fake_context(), &attr);
	want(cntr && fake.cntr_type == SMR_COMP_CNTR_BYTES);
	want(!smr_destroy_comp_cntr(cntr));
	attr.type = IBV_COMP_CNTR_TYPE_BYTES + 1;
	errno = 0;
	want(!smr_create_comp_cntr(fake_context(), &attr) &&
	     errno == EOPNOTSUPP);
	want(rig_noted(SMR_WHY_CNTR_ATTRS, EOPNOTSUPP, attr.type));
	attr.type = IBV_COMP_CNTR_TYPE_WRS;
	attr.flags = 1;
	errno = 0;
	want(!smr_create_comp_cntr(fake_context(), &attr) &&
	     errno == EOPNOTSUPP);
	attr.flags = 0;
	fake.reg_err = ENOMEM;
	want(!smr_create_comp_cntr(fake_context(), &attr) && errno == ENOMEM);
	fake.reg_err = 0;
}

const struct tap_test memory_tests[] = {
	{ "flags of parent domains", domain_flags },
	{ "allocators of parent domains", domain_allocators },
	{ "thread domains", thread_domains },
	{ "domains and regions of another process", imports },
	{ "a changed registration keeps its first access", rereg_keeps_access },
	{ "device memory is not for children", dm_not_for_child },
	{ "rings that are too large", too_large_a_ring },
	{ "regions by ibv_reg_mr_ex()", reg_mr_ex },
	{ "DMA handles", dma_handles },
	{ "rings that share a mapping", rings_that_share },
	{ "resize among shared mappings", resize_among_shared },
	{ "shared mappings that cannot be", map_that_cannot_be },
	{ "device memory as a dma-buf", dm_export },
	{ "completion counters", completion_counters },
	{},
};
