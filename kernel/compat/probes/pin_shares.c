// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
bool probe(struct page *page);
bool probe(struct page *page)
{ return gup_must_unshare(FOLL_LONGTERM, page); }
