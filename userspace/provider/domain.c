// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, parent domains with the application's allocators, and
 * thread domains.
 */
#include "domain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "why_core.h"
#include "why_note.h"

enum {
	/*
	 * ALLOW_CC_UNPROTECTED is about DMA by a device, and no device does DMA
	 * here.
	 */
	SMR_PARENT_DOMAIN_MASK = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
				 IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
	/* the guarantee of calloc() */
	SMR_OBJECT_ALIGNMENT = 16,
};

struct ibv_pd *smr_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct smr_pd *pd;
	int ret;

	pd = smr_zalloc(context, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->pd;
}

int smr_dealloc_pd(struct ibv_pd *ibpd)
{
	struct smr_pd *pd = to_smr_pd(ibpd);
	int ret;

	if (atomic_load(&pd->users))
		return smr_refuse(ibpd->context, 0, PD_IN_USE, (uint32_t)atomic_load(&pd->users));
	if (pd->base) {
		atomic_fetch_sub(&pd->base->users, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->users, 1);
	} else {
		ret = smr_ended(ibpd->context, 0, SMR_KIND_PD, ibv_cmd_dealloc_pd(ibpd));
		if (ret)
			return ret;
	}
	free(pd);
	return 0;
}

struct ibv_pd *smr_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct smr_pd *pd = smr_zalloc(context, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->pd.context = context;
	pd->pd.handle = handle;
	return &pd->pd;
}

void smr_unimport_pd(struct ibv_pd *pd)
{
	free(to_smr_pd(pd));
}

/* A thread domain could avoid locks. A single thread never contends for them, so they are taken anyway. */
struct ibv_td *smr_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct smr_td *td;

	if (attr->comp_mask) {
		errno = smr_refuse(context, 0, FIELDS_INVALID, attr->comp_mask, attr->comp_mask);
		return NULL;
	}
	td = smr_zalloc(context, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = context;
	return &td->td;
}

int smr_dealloc_td(struct ibv_td *ibtd)
{
	struct smr_td *td = container_of(ibtd, struct smr_td, td);

	if (atomic_load(&td->users))
		return smr_refuse(ibtd->context, 0, TD_IN_USE, (uint32_t)atomic_load(&td->users));
	free(td);
	return 0;
}

static int check_parent_domain(struct ibv_context *context,
			       const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = SMR_PARENT_DOMAIN_MASK;

	if (attr->comp_mask & ~known)
		return smr_refuse(context, 0, FIELDS_INVALID, attr->comp_mask,
				  attr->comp_mask & ~known);
	if (to_smr_pd(attr->pd)->base)
		return smr_refuse(context, 0, PARENT_PD, 0);
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    (!attr->alloc || !attr->free))
		return smr_refuse(context, 0, PARENT_ALLOCATORS, 0);
	return 0;
}

static void use_base(struct smr_pd *parent, struct ibv_pd *pd)
{
	parent->base = to_smr_pd(pd);
	atomic_fetch_add(&parent->base->users, 1);
	ibv_initialize_parent_domain(&parent->pd, pd);
}

static void use_td(struct smr_pd *parent, struct ibv_td *td)
{
	if (!td)
		return;
	parent->td = container_of(td, struct smr_td, td);
	atomic_fetch_add(&parent->td->users, 1);
}

struct ibv_pd *
smr_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	struct smr_pd *parent;
	int ret;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	ret = check_parent_domain(context, attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	parent = smr_zalloc(context, sizeof(*parent));
	if (!parent)
		return NULL;
	use_base(parent, attr->pd);
	use_td(parent, attr->td);
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		parent->alloc = attr->alloc;
		parent->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		parent->context = attr->pd_context;
	return &parent->pd;
}

/*
 * The rings are the kernel's memory, so the application's allocators are not used for them. The object keeps @home for
 * smr_object_free().
 */
void *smr_object_alloc(struct ibv_context *context, struct ibv_pd *pd,
		       size_t size, uint64_t type, struct smr_home *home)
{
	struct smr_pd *domain = pd ? to_smr_pd(pd) : NULL;
	void *object = IBV_ALLOCATOR_USE_DEFAULT;

	*home = (struct smr_home){};
	if (domain && domain->alloc)
		object = domain->alloc(pd, domain->context, size, SMR_OBJECT_ALIGNMENT, type);
	home->allocated = object != IBV_ALLOCATOR_USE_DEFAULT;
	if (!home->allocated)
		object = calloc(1, size);
	if (!object) {
		errno = smr_refuse(context, 0, NO_MEMORY, 0);
		return NULL;
	}
	if (home->allocated)
		memset(object, 0, size);
	if (domain && domain->base) {
		home->parent = domain;
		atomic_fetch_add(&domain->users, 1);
	}
	return object;
}

void smr_object_free(void *object, uint64_t type, struct smr_home home)
{
	struct smr_pd *parent = home.parent;

	if (home.allocated)
		parent->free(&parent->pd, parent->context, object, type);
	else
		free(object);
	if (parent)
		atomic_fetch_sub(&parent->users, 1);
}
