// SPDX-License-Identifier: GPL-2.0
/*
 * QP1, the general services interface: each device has one, with the same number. But the
 * devices of a namespace share the sockets and the table of QPs. So QP1s have a separate table,
 * and are looked up by a datagram's destination address.
 */
#include "qp/gsi.h"

#include "compat/cleanup.h"
#include "qp/core.h"

/* IBTA 3.5.3 */
#define GSI_QPN	1

/*
 * Put a device's QP1 into the table. @qp: complete in all other respects. Returns 0; -EBUSY: the
 * device already has one; -ENOMEM.
 */
int smr_gsi_publish(struct smr_qp *qp)
{
	int ret;

	qp->ibqp.qp_num = GSI_QPN;
	smr_mw_owner_init(&qp->windows, GSI_QPN);
	qp->handle->qpn = qp->env->ndev->ifindex;
	ret = xa_insert(&qp->env->tab->gsi, qp->handle->qpn, qp->handle,
			GFP_KERNEL);
	qp->published = !ret;
	return ret;
}

/* Remove a device's QP1 from the table. */
void smr_gsi_unpublish(struct smr_qp *qp)
{
	xa_erase(&qp->env->tab->gsi, qp->handle->qpn);
}

static struct smr_qp *gsi_find(struct smr_qptab *tab,
			       const struct in6_addr *daddr, int iif)
{
	struct smr_qp_handle *handle;
	unsigned long index;
	struct smr_qp *qp;

	guard(rcu)();
	xa_for_each(&tab->gsi, index, handle) {
		qp = smr_qp_get(handle);
		if (!qp)
			continue;
		if (smr_qp_has_addr(qp, daddr, iif))
			return qp;
		smr_qp_put(qp);
	}
	return NULL;
}

/*
 * Find the QP that a packet is for. @daddr: the packet's destination, IPv4 in its mapped form.
 * @iif: the index of the netdev that received it. Context: any, inside an RCU read section. Returns
 * the QP with a reference, which smr_qp_put() drops; or NULL.
 */
struct smr_qp *smr_qp_find_at(struct smr_qptab *tab, u32 qpn,
			      const struct in6_addr *daddr, int iif)
{
	return qpn == GSI_QPN ? gsi_find(tab, daddr, iif) :
				    smr_qp_find(tab, qpn);
}
