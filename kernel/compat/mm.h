/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in memory management. */
#ifndef SMR_COMPAT_MM_H
#define SMR_COMPAT_MM_H

#include <linux/mm.h>

#include "generated.h"

/*
 * Older kernels have no accessors for the flags of an area. Only softmr's mmap() sets flags,
 * before the area is visible to others.
 */
#ifndef HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* Without shadow stacks in the kernel, no area is one. */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

/*
 * A long-term pin for reading unshares the pages of a copy-on-write mapping: the process keeps
 * the page that is pinned. Older kernels pin the present page, such as the zero page, and the
 * first write gives the process another page. So on these, such a mapping is pinned for
 * writing, even if it is read-only; that is not possible for hugetlbfs.
 */
static inline unsigned int
smr_compat_pin_unshare(const struct vm_area_struct *vma)
{
#ifdef HAVE_PIN_SHARES
	if (!is_cow_mapping(vma->vm_flags) || !(vma->vm_flags & VM_READ))
		return 0;
	if (vma->vm_flags & VM_WRITE)
		return FOLL_WRITE;
	if (!(vma->vm_flags & VM_HUGETLB))
		return FOLL_WRITE | FOLL_FORCE;
#endif
	return 0;
}

/*
 * pin_user_pages(), and pin_user_pages_remote() that drops the mmap_lock. In older kernels both
 * have a parameter for the areas. There, a long-term pin cannot drop the lock while it waits
 * for a page.
 */
#ifdef HAVE_PIN_WITHOUT_AREAS
static inline long smr_compat_pin(unsigned long start, unsigned long nr,
				  unsigned int flags, struct page **pages)
{
	return pin_user_pages(start, nr, flags, pages);
}

static inline long smr_compat_pin_unlock(struct mm_struct *mm,
					 unsigned long start, unsigned long nr,
					 unsigned int flags,
					 struct page **pages)
{
	int locked = 1;
	long n = pin_user_pages_remote(mm, start, nr, flags, pages, &locked);

	if (locked)
		mmap_read_unlock(mm);
	return n;
}
#else
static inline long smr_compat_pin(unsigned long start, unsigned long nr,
				  unsigned int flags, struct page **pages)
{
	return pin_user_pages(start, nr, flags, pages, NULL);
}

static inline long smr_compat_pin_unlock(struct mm_struct *mm,
					 unsigned long start, unsigned long nr,
					 unsigned int flags,
					 struct page **pages)
{
	long n = pin_user_pages_remote(mm, start, nr, flags, pages, NULL, NULL);

	mmap_read_unlock(mm);
	return n;
}
#endif

#endif /* SMR_COMPAT_MM_H */
