// SPDX-License-Identifier: GPL-2.0
#include "port.h"

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "compat/ib.h"
#include "dm.h"
#include "kmr.h"
#include "net/wire.h"
#include "persist.h"
#include "pma.h"
#include "qp/core.h"
#include "qp/mcast.h"
#include "stats.h"
#include "steer/frame.h"
#include "verbs.h"

/*
 * Sizes of the port's tables. Each GID has three files in sysfs, which a link has
 * to make and to remove. The one P_Key is the default one.
 */
#define PORT_GIDS	256
#define PORT_PKEYS	1

/* IBTA 9.7.7: messages have up to 2 GiB. */
#define PORT_MAX_MSG	SZ_2G

/* Not an OUI: no vendor is behind this. */
#define DEVICE_VENDOR_ID	0xffffff

/* How late an acknowledge may be: 4.096 us * 2^15, IBTA 11.2.1.2. */
#define DEVICE_ACK_DELAY	15

static void query_limits(struct ib_device_attr *attr, u32 max_objects)
{
	attr->max_mr_size = ~0ULL;
	attr->page_size_cap = PAGE_MASK & U32_MAX;
	attr->max_qp = max_objects;
	attr->max_qp_wr = SZ_16K;
	attr->max_send_sge = SMR_MAX_SGE;
	attr->max_recv_sge = SMR_MAX_SGE;
	attr->max_sge_rd = SMR_MAX_SGE;
	attr->max_cq = max_objects;
	attr->max_cqe = SZ_1M;
	attr->max_mr = max_objects;
	attr->max_pd = max_objects;
	attr->max_ah = max_objects;
	attr->max_qp_rd_atom = SMR_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = SMR_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = SMR_MAX_RD_ATOMIC * max_objects;
	attr->max_pkeys = PORT_PKEYS;
	attr->max_mcast_grp = SMR_MAX_MCAST_GROUPS;
	attr->max_mcast_qp_attach = SMR_MAX_MCAST_QPS;
	attr->max_total_mcast_qp_attach = SMR_MAX_MCAST_GROUPS *
					  SMR_MAX_MCAST_QPS;
	attr->max_mw = max_objects;
	attr->max_srq = max_objects;
	attr->max_srq_wr = SZ_16K;
	attr->max_srq_sge = SMR_MAX_SGE;
	attr->max_fast_reg_page_list_len = SMR_MAX_FAST_REG_BLOCKS;
	attr->max_dm_size = SMR_DM_SIZE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
}

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	query_limits(attr, to_smr_verbs(ibdev)->limits.max);
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = DEVICE_VENDOR_ID;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_XRC |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_FLUSH_GLOBAL |
				 IB_DEVICE_ATOMIC_WRITE;
	if (smr_frame_on(to_smr_verbs(ibdev)->env.ndev))
		attr->device_cap_flags |= IB_DEVICE_MANAGED_FLOW_STEERING;
	if (smr_persist_supported())
		attr->device_cap_flags |= IB_DEVICE_FLUSH_PERSISTENT;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY |
				 IBK_ON_DEMAND_PAGING |
				 IBK_BLOCK_MULTICAST_LOOPBACK;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV |
		SMR_ODP_SUPPORT_A19;
	attr->odp_caps.per_transport_caps.uc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_SRQ_RECV;
	attr->odp_caps.per_transport_caps.ud_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_SRQ_RECV;
	attr->odp_caps.per_transport_caps.xrc_odp_caps =
		attr->odp_caps.per_transport_caps.rc_odp_caps;
	/* They are the CPU's own, so they are atomic against it, too. */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->local_ca_ack_delay = DEVICE_ACK_DELAY;
	/* Completions are stamped in nanoseconds; the clock is in kHz. */
	attr->timestamp_mask = ~0ULL;
	attr->hca_core_clock = 1000 * 1000;
	return 0;
}

static u8 port_phys_state(const struct net_device *ndev)
{
	if (smr_compat_port_state(ndev) == IB_PORT_ACTIVE)
		return IB_PORT_PHYS_STATE_LINK_UP;
	return ndev->flags & IFF_UP ? IB_PORT_PHYS_STATE_POLLING :
				      IB_PORT_PHYS_STATE_DISABLED;
}

/*
 * What ethtool says, or the slowest there is: of netdevs that have no speed,
 * about which the core would complain in the log each time; and of one that is
 * about to go, and the device with it, which is no reason to fail.
 */
static int port_speed(struct ib_device *ibdev, u32 port,
		      struct ib_port_attr *attr)
{
	const struct net_device *ndev = to_smr_verbs(ibdev)->env.ndev;
	int ret = -ENODEV;

	if (ndev->ethtool_ops->get_link_ksettings)
		ret = ib_get_eth_speed(ibdev, port, &attr->active_speed,
				       &attr->active_width);
	if (ret != -ENODEV)
		return ret;
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	return 0;
}

static int query_port(struct ib_device *ibdev, u32 port,
		      struct ib_port_attr *attr)
{
	const struct net_device *ndev = to_smr_verbs(ibdev)->env.ndev;

	/* The core has zeroed it. */
	attr->state = smr_compat_port_state(ndev);
	attr->phys_state = port_phys_state(ndev);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = smr_env_mtu(&to_smr_verbs(ibdev)->env);
	attr->gid_tbl_len = PORT_GIDS;
	attr->pkey_tbl_len = PORT_PKEYS;
	attr->ip_gids = true;
	attr->max_msg_sz = PORT_MAX_MSG;
	attr->max_vl_num = 1;
	return port_speed(ibdev, port, attr);
}

static int get_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	if (smr_frame_on(to_smr_verbs(ibdev)->env.ndev))
		immutable->core_cap_flags |= RDMA_CORE_PORT_RAW_PACKET;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->gid_tbl_len = PORT_GIDS;
	immutable->pkey_tbl_len = PORT_PKEYS;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/*
 * The name by which people know the host, which rdma-ndd writes. The core
 * reads it without a lock, so a reader may see a part of each of two names.
 */
static int modify_device(struct ib_device *ibdev, int mask,
			 struct ib_device_modify *attr)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, attr->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= PORT_PKEYS)
		return -EINVAL;
	*pkey = SMR_DEFAULT_PKEY;
	return 0;
}

static const struct rdma_stat_desc stat_descs[] = {
#define STAT_DESC(id, _name)	\
	[SMR_CNT_##id] = { .name = _name },
	SMR_COUNTERS(STAT_DESC)
#undef STAT_DESC
};

static struct rdma_hw_stats *alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port)
{
	return rdma_alloc_hw_stats_struct(stat_descs, ARRAY_SIZE(stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port, int index)
{
	const struct smr_stats *counters = to_smr_verbs(ibdev)->env.stats;
	int i;

	if (!port)
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(stat_descs); i++)
		stats->value[i] = smr_stats_read(counters, i);
	return ARRAY_SIZE(stat_descs);
}

const struct ib_device_ops smr_port_ops = {
	.query_device = query_device,
	.modify_device = modify_device,
	.query_port = query_port,
	.get_port_immutable = get_port_immutable,
	.get_link_layer = get_link_layer,
	.query_pkey = query_pkey,
	.process_mad = smr_pma_process,
	.alloc_hw_port_stats = alloc_hw_port_stats,
	.get_hw_stats = get_hw_stats,
};
