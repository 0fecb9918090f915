/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection, parent and thread domains, and the memory of objects in them.
 */
#ifndef SMR_PROVIDER_DOMAIN_H
#define SMR_PROVIDER_DOMAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/driver.h>

/* A thread domain: a promise of the application that this provider does not use */
struct smr_td {
	struct ibv_td td;	/* libibverbs' part */
	atomic_uint users;	/* parent domains that refer to it */
};

/* A protection domain, or a parent domain */
struct smr_pd {
	struct ibv_pd pd;	/* libibverbs' part */
	atomic_uint users;	/* parent domains of this one; parent domain: objects in it */
	struct smr_pd *base;	/* parent domain: its protection domain; NULL: this is one itself */
	struct smr_td *td;	/* parent domain: its thread domain, or NULL */
	/* parent domain: allocates memory of objects, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *context, size_t size,
		       size_t alignment, uint64_t type);
	/* parent domain: frees it */
	void (*free)(struct ibv_pd *pd, void *context, void *ptr, uint64_t type);
	void *context;		/* for both */
};

static inline struct smr_pd *to_smr_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct smr_pd, pd);
}

/* Origin of an object's memory; part of the object */
struct smr_home {
	/* the object's parent domain, which exists as long as the object; or NULL */
	struct smr_pd *parent;
	bool allocated;		/* its memory is from @parent's allocator */
};

struct ibv_pd *smr_alloc_pd(struct ibv_context *context);
int smr_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *smr_import_pd(struct ibv_context *context, uint32_t handle);
void smr_unimport_pd(struct ibv_pd *pd);
struct ibv_td *smr_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int smr_dealloc_td(struct ibv_td *td);
struct ibv_pd *
smr_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);

void *smr_object_alloc(struct ibv_context *context, struct ibv_pd *pd,
		       size_t size, uint64_t type, struct smr_home *home);
void smr_object_free(void *object, uint64_t type, struct smr_home home);

#endif /* SMR_PROVIDER_DOMAIN_H */
