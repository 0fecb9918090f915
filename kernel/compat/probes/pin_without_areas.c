// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
long probe(struct mm_struct *mm, struct page **pages, int *locked);
long probe(struct mm_struct *mm, struct page **pages, int *locked)
{ return pin_user_pages(0, 1, 0, pages) + pin_user_pages_remote(mm, 0, 1, 0, pages, locked); }
