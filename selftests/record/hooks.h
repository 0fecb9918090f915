/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For uml-checked, scripts/lib/build.sh has the compiler include this first in each file of
 * softmr: what is allocated and freed there is noted (live.c), and a fault of a page on demand can
 * be made slow (cover.c).
 */
#ifndef SMR_RECORD_HOOKS_H
#define SMR_RECORD_HOOKS_H

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
/* Functions in headers free what others have made, and the other way round. */
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

void *smr_live_add(void *p, const char *who);
void smr_live_del(const void *p);
void smr_pause_fault(void);

/* Functions, and not macros only: a macro cannot use the one that it replaces. */
static inline void *smr_live_kzalloc(const char *who, size_t size, gfp_t gfp)
{
	return smr_live_add(kzalloc(size, gfp), who);
}

static inline void *smr_live_kcalloc(const char *who, size_t n, size_t size, gfp_t gfp)
{
	return smr_live_add(kcalloc(n, size, gfp), who);
}

static inline void *smr_live_kvzalloc(const char *who, size_t size, gfp_t gfp)
{
	return smr_live_add(kvzalloc(size, gfp), who);
}

static inline void *smr_live_kvcalloc(const char *who, size_t n, size_t size, gfp_t gfp)
{
	return smr_live_add(kvcalloc(n, size, gfp), who);
}

static inline void *smr_live_kvmalloc_array(const char *who, size_t n, size_t size, gfp_t gfp)
{
	return smr_live_add(kvmalloc_array(n, size, gfp), who);
}

static inline void *smr_live_vzalloc(const char *who, unsigned long size)
{
	return smr_live_add(vzalloc(size), who);
}

static inline void *smr_live___vmalloc(const char *who, unsigned long size, gfp_t gfp)
{
	return smr_live_add(__vmalloc(size, gfp), who);
}

static inline void smr_live_kfree(const void *p)
{
	smr_live_del(p);
	kfree(p);
}

static inline void smr_live_kvfree(const void *p)
{
	smr_live_del(p);
	kvfree(p);
}

static inline void smr_live_vfree(const void *p)
{
	smr_live_del(p);
	vfree(p);
}

/* The pages have been found. They may go from now on. */
static inline void smr_pause_mmap_read_unlock(struct mm_struct *mm)
{
	mmap_read_unlock(mm);
	smr_pause_fault();
}

#undef kzalloc
#undef kcalloc
#undef kvzalloc
#undef kvcalloc
#undef kvmalloc_array
#undef vzalloc
#undef __vmalloc
#undef kfree_rcu

#define kzalloc(...)		smr_live_kzalloc(__func__, __VA_ARGS__)
#define kcalloc(...)		smr_live_kcalloc(__func__, __VA_ARGS__)
#define kvzalloc(...)		smr_live_kvzalloc(__func__, __VA_ARGS__)
#define kvcalloc(...)		smr_live_kvcalloc(__func__, __VA_ARGS__)
#define kvmalloc_array(...)	smr_live_kvmalloc_array(__func__, __VA_ARGS__)
#define vzalloc(...)		smr_live_vzalloc(__func__, __VA_ARGS__)
#define __vmalloc(...)		smr_live___vmalloc(__func__, __VA_ARGS__)
#define kfree(p)		smr_live_kfree(p)
#define kvfree(p)		smr_live_kvfree(p)
#define vfree(p)		smr_live_vfree(p)
/* It is freed after a grace period, and nobody can lose it any more. */
#define kfree_rcu(p, head) do {		\
	typeof(p) live_p = (p);		\
					\
	smr_live_del(live_p);		\
	kvfree_rcu(live_p, head);	\
} while (0)

#define mmap_read_unlock(mm)	smr_pause_mmap_read_unlock(mm)

#endif /* SMR_RECORD_HOOKS_H */
