// SPDX-License-Identifier: GPL-2.0
/*
 * An address handle may be destroyed while work requests that name it are
 * being sent, or are still to be. So these name it by a number, and what they
 * find by it is counted.
 */
#include "qp/av.h"

#include <linux/err.h>
#include <linux/slab.h>

/* Numbers fit a work request's field and are not taken for a pointer. */
#define AV_NUMBERS	XA_LIMIT(1, 0xffffff)

/**
 * smr_ahtab_init() - prepare a device's table of address vectors
 * @tab: the table
 */
void smr_ahtab_init(struct smr_ahtab *tab)
{
	xa_init_flags(&tab->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
}

/**
 * smr_ahtab_fini() - the end of a table, which must be empty by now
 * @tab: the table
 */
void smr_ahtab_fini(struct smr_ahtab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->xa));
	xa_destroy(&tab->xa);
}

/**
 * smr_av_alloc() - make an address vector, whose path is still to be filled in
 * @pd: the protection domain of its address handle
 * @eg: the sockets to send from
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: it, with one reference, or NULL.
 */
struct smr_av *smr_av_alloc(const struct ib_pd *pd, struct smr_egress *eg,
			    gfp_t gfp)
{
	struct smr_av *av = kzalloc(sizeof(*av), gfp);

	if (!av)
		return NULL;
	refcount_set(&av->ref, 1);
	av->pd = pd;
	smr_path_init(&av->path, eg);
	return av;
}

/**
 * smr_av_publish() - give an address vector its number and make it findable
 * @tab: the device's table
 * @av: complete
 * @gfp: how to allocate
 *
 * Context: as @gfp says; interrupts may be off when it does not sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_av_publish(struct smr_ahtab *tab, struct smr_av *av, gfp_t gfp)
{
	unsigned long flags;
	int ret;

	if (gfpflags_allow_blocking(gfp)) {
		ret = xa_alloc_cyclic_irq(&tab->xa, &av->number, av, AV_NUMBERS,
					  &tab->next, gfp);
	} else {
		xa_lock_irqsave(&tab->xa, flags);
		ret = __xa_alloc_cyclic(&tab->xa, &av->number, av, AV_NUMBERS,
					&tab->next, gfp);
		xa_unlock_irqrestore(&tab->xa, flags);
	}
	/* 1: the numbers have begun from the first one again. */
	return ret < 0 ? -ENOMEM : 0;
}

/**
 * smr_av_withdraw() - nobody finds an address vector any more
 * @tab: the device's table
 * @av: published
 *
 * Context: any.
 */
void smr_av_withdraw(struct smr_ahtab *tab, struct smr_av *av)
{
	unsigned long flags;

	xa_lock_irqsave(&tab->xa, flags);
	__xa_erase(&tab->xa, av->number);
	xa_unlock_irqrestore(&tab->xa, flags);
}

/**
 * smr_av_find() - find an address vector by its number
 * @tab: the device's table
 * @number: any value
 * @pd: the protection domain of who asks
 *
 * Context: any.
 * Return: it, with a reference, which smr_av_put() drops; NULL when there is
 * none of that number in that protection domain.
 */
struct smr_av *smr_av_find(struct smr_ahtab *tab, u32 number,
			   const struct ib_pd *pd)
{
	struct smr_av *av;

	rcu_read_lock();
	av = xa_load(&tab->xa, number);
	if (av && (av->pd != pd || !refcount_inc_not_zero(&av->ref)))
		av = NULL;
	rcu_read_unlock();
	return av;
}

/**
 * smr_av_put() - drop a reference
 * @av: the address vector
 *
 * Context: any.
 */
void smr_av_put(struct smr_av *av)
{
	if (!refcount_dec_and_test(&av->ref))
		return;
	smr_path_fini(&av->path);
	kfree_rcu(av, rcu);
}
