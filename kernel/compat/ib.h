/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in the RDMA core. */
#ifndef SMR_COMPAT_IB_H
#define SMR_COMPAT_IB_H

#include <linux/netdevice.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "generated.h"

/* The operation was renamed when kernel consumers lost the right to resize a CQ. */
#ifdef HAVE_RESIZE_USER_CQ
#define SMR_OP_RESIZE_USER_CQ	resize_user_cq
#define SMR_RESIZE_CQE_TYPE	unsigned int
#else
#define SMR_OP_RESIZE_USER_CQ	resize_cq
#define SMR_RESIZE_CQE_TYPE	int
#endif

/* Newer cores pass a DMA handle to reg_user_mr and reg_user_mr_dmabuf: NULL, as softmr has none. */
#ifdef HAVE_REG_USER_MR_DMAH
#define SMR_PARAM_DMAH(dmah)	struct ib_dmah *dmah,
#else
#define SMR_PARAM_DMAH(dmah)
#endif

/* Older kernels show SRQs without a driver's part. */
#ifdef HAVE_FILL_RES_SRQ
#define SMR_OP_FILL_RES_SRQ(fill) \
	.fill_res_srq_entry = fill,
#else
#define SMR_OP_FILL_RES_SRQ(fill)
#endif

/* A port's speed in 100 Mb/s. */
#ifdef HAVE_QUERY_PORT_SPEED
#define SMR_OP_QUERY_PORT_SPEED(query) \
	.query_port_speed = query,
#else
#define SMR_OP_QUERY_PORT_SPEED(query)
#endif

/*
 * The part of the command that ib_device_ops.create_cq and reg_user_mr_dmabuf get: all of it,
 * or only the driver's part.
 */
#ifdef HAVE_CREATE_CQ_ATTRS
#define smr_create_cq_attrs	uverbs_attr_bundle

static inline struct ib_udata *
smr_compat_create_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define smr_create_cq_attrs	ib_udata

static inline struct ib_udata *smr_compat_create_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

#if defined(HAVE_REG_USER_MR_DMABUF_ATTRS) || defined(HAVE_REG_USER_MR_DMAH)
#define smr_reg_dmabuf_attrs	uverbs_attr_bundle

static inline struct ib_udata *
smr_compat_reg_dmabuf_udata(struct uverbs_attr_bundle *attrs)
{
	return &attrs->driver_udata;
}
#else
#define smr_reg_dmabuf_attrs	ib_udata

static inline struct ib_udata *
smr_compat_reg_dmabuf_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

/*
 * Newer cores tell udev which names were assigned by the user. Before that, udev's rules may
 * rename them.
 */
#ifndef HAVE_NAME_ASSIGNED_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/*
 * Annex A19: FLUSH and ATOMIC WRITE. A core without them refuses the rights that a FLUSH needs,
 * and cannot report the capabilities. So softmr does not offer them on such a kernel; the
 * numbers are those of the standard and of uverbs.
 */
#ifndef HAVE_ANNEX_A19
#define IB_ACCESS_FLUSH_GLOBAL		BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT	BIT(9)
#define IB_DEVICE_FLUSH_GLOBAL		0
#define IB_DEVICE_FLUSH_PERSISTENT	0
#define IB_DEVICE_ATOMIC_WRITE		0
#define IB_FLUSH_GLOBAL			BIT(0)
#define IB_FLUSH_PERSISTENT		BIT(1)
#define IB_FLUSH_RANGE			0
#define IB_FLUSH_MR			1
#define IB_OPCODE_FLUSH			0x1c
#define IB_OPCODE_ATOMIC_WRITE		0x1d
#define IB_OPCODE_RC_FLUSH		(IB_OPCODE_RC + IB_OPCODE_FLUSH)
#define IB_OPCODE_RC_ATOMIC_WRITE	(IB_OPCODE_RC + IB_OPCODE_ATOMIC_WRITE)
#define IB_WC_FLUSH			8
#define IB_WC_ATOMIC_WRITE		9
#define IB_WR_FLUSH			14
#define IB_WR_ATOMIC_WRITE		15
#endif

/*
 * In exclusive mode of the RDMA subsystem, a device belongs to the namespace in which it is
 * created. Older kernels create all devices in the initial namespace.
 */
#ifdef HAVE_IB_ALLOC_DEVICE_WITH_NET
#define smr_compat_alloc_device(type, member, net) \
	ib_alloc_device_with_net(type, member, net)
#else
#define smr_compat_alloc_device(type, member, net) \
	((void)(net), ib_alloc_device(type, member))
#endif

/* Older kernels lack the capability bits for ODP of annex A19's operations. */
#ifdef HAVE_ODP_SUPPORT_FLUSH
#define SMR_ODP_SUPPORT_A19	(IB_ODP_SUPPORT_FLUSH | \
				 IB_ODP_SUPPORT_ATOMIC_WRITE)
#else
#define SMR_ODP_SUPPORT_A19	0
#endif

/**
 * smr_compat_ndev_port_state() - get the state of a port on a netdev
 * @ndev: the netdev
 *
 * Return: IB_PORT_ACTIVE or IB_PORT_DOWN.
 */
static inline enum ib_port_state
smr_compat_ndev_port_state(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev) ?
		IB_PORT_ACTIVE : IB_PORT_DOWN;
}

/*
 * Newer cores watch netdevs themselves, but look only at one of several RDMA devices on a
 * netdev. softmr reports the events of its own devices, so the core's function is replaced by a
 * no-op.
 */
#ifdef HAVE_REPORT_PORT_EVENT
static inline void smr_compat_ignore_port_event(struct ib_device *ibdev,
						struct net_device *ndev,
						unsigned long event)
{
}

#define SMR_OP_REPORT_PORT_EVENT \
	.report_port_event = smr_compat_ignore_port_event,
#else
#define SMR_OP_REPORT_PORT_EVENT
#endif

#endif /* SMR_COMPAT_IB_H */
