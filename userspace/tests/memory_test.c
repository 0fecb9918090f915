// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: without any, and calls that libibverbs has from 59 on.
 */
#include <errno.h>

#include "rig.h"

static void *give_nothing(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t type)
{
	(void)pd, (void)context, (void)size, (void)alignment, (void)type;
	return NULL;
}

static void take(struct ibv_pd *pd, void *context, void *ptr, uint64_t type)
{
	(void)pd, (void)context, (void)ptr, (void)type;
}

static void no_memory(void)
{
	struct ibv_pd *pd = smr_alloc_pd(fake_context()), *parent;
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS, .alloc = give_nothing, .free = take,
	};
	struct smr_home home;

	parent = smr_alloc_parent_domain(fake_context(), &attr);
	errno = 0;
	want(!smr_object_alloc(fake_context(), parent, 100, 1, &home));
	want(errno == ENOMEM && rig_noted(SMR_WHY_NO_MEMORY, ENOMEM, 0));
	want(!smr_dealloc_pd(parent) && !smr_dealloc_pd(pd));
}

static void no_memory_for_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = FAKE_DM_LENGTH };
	size_t before = fake.not_for_child;
	struct ibv_dm *dm = smr_alloc_dm(fake_context(), &attr);

	want(dm && fake.not_for_child == before + FAKE_DM_LENGTH);
	want(!smr_free_dm(dm) && fake.not_for_child == before);
	fake.dontfork_err = ENOMEM;
	errno = 0;
	want(!smr_alloc_dm(fake_context(), &attr) && errno == ENOMEM);
	fake.dontfork_err = 0;
	want(fake.not_for_child == before);
}

/* The kernel refuses an impossible size. */
static void too_large_a_ring(void)
{
	struct ibv_cq *cq = smr_create_cq(fake_context(), FAKE_DEPTH, NULL, 0);
	struct smr_room room;

	want(!smr_room_reserve(&room, INT32_MAX, sizeof(struct smr_cqe)) && !room.addr && !room.size);
	smr_room_release(&room);
	want(smr_resize_cq(cq, INT32_MAX) == EINVAL);
	want(!smr_resize_cq(cq, FAKE_MAX_CQE));
	want(!smr_destroy_cq(cq));
}

/* Return: 0, or the errno; the kernel's arguments are in fake.reg. */
static int try_reg(struct ibv_pd *pd, uint64_t mask)
{
	struct ibv_mr_init_attr attr = {
		.comp_mask = mask, .addr = fake_context(), .length = 100, .iova = 0x5000, .fd = 3, .fd_offset = 0x2000,
		.access = IBV_ACCESS_LOCAL_WRITE,
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

static void reg_mr_ex(void)
{
	const uint64_t addr = IBV_REG_MR_MASK_ADDR, iova = IBV_REG_MR_MASK_IOVA, off = IBV_REG_MR_MASK_FD_OFFSET,
		       fd = IBV_REG_MR_MASK_FD;
	const uint64_t wrong[] = { 0, iova, fd | off, fd | iova, fd | off | iova | addr, addr | off };
	struct ibv_pd *pd = smr_alloc_pd(fake_context());
	uint64_t start = (uintptr_t)fake_context();
	size_t i;

	want(!try_reg(pd, addr) && fake.reg.start == start && fake.reg.iova == start);
	want(!try_reg(pd, addr | iova) && fake.reg.start == start && fake.reg.iova == 0x5000);
	want(!try_reg(pd, fd | off | iova) && fake.reg.start == 0x2000 && fake.reg.iova == 0x5000 && fake.reg.fd == 3);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		want(try_reg(pd, wrong[i]) == EINVAL);
	want(fake.note.id == SMR_WHY_MR_ATTRS && fake.note.num[0] == (addr | off));
	want(try_reg(pd, addr | 1ULL << 40) == EOPNOTSUPP);
	want(fake.note.id == SMR_WHY_FIELDS_UNKNOWN && fake.note.num[1] == 1ULL << 40);
	fake.reg_err = EFAULT;
	want(try_reg(pd, addr) == EFAULT);
	fake.reg_err = 0;
	want(!smr_dealloc_pd(pd));
}

/* libibverbs later uses the access to undo what it did at the registration. */
static void rereg_keeps_access(void)
{
	struct ibv_pd *pd = smr_alloc_pd(fake_context());
	struct verbs_mr vmr = { .access = IBV_ACCESS_LOCAL_WRITE };
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;

	want(!smr_rereg_mr(&vmr, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0, access));
	want(fake.reg.access == access && vmr.access == IBV_ACCESS_LOCAL_WRITE);
	want(!smr_dealloc_pd(pd));
}

const struct tap_test memory_tests[] = {
	{ "an allocator that has no memory", no_memory },
	{ "device memory that children would copy", no_memory_for_dm },
	{ "rings that are too large", too_large_a_ring },
	{ "regions by ibv_reg_mr_ex()", reg_mr_ex },
	{ "a changed registration keeps its first access", rereg_keeps_access },
	{},
};
