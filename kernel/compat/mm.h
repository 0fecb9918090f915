/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels about a process's memory. */
#ifndef SMR_COMPAT_MM_H
#define SMR_COMPAT_MM_H

#include <linux/mm.h>

#include "generated.h"

/*
 * The flags of an area had no accessors at first. Only mmap() of ours sets
 * some, before anybody else can see the area.
 */
#ifndef HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* Without them no area is a shadow stack. */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

#endif /* SMR_COMPAT_MM_H */
