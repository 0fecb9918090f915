// SPDX-License-Identifier: GPL-2.0
/* Queries of a device and its port, and the performance management agent (IBTA 16.1). */
#include "port.h"

#include <linux/build_bug.h>
#include <linux/ethtool.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>

#include "compat/ib.h"
#include "compat/udata.h"
#include "dm.h"
#include "kmr.h"
#include "net/wire.h"
#include "persist.h"
#include "qp/core.h"
#include "qp/mcast.h"
#include "stats.h"
#include "verbs.h"

/* In a kernel source tree, the module has the version of that kernel. */
#ifndef SMR_VERSION
#include <generated/utsrelease.h>
#define SMR_VERSION	UTS_RELEASE
#endif

/* Offset of an attribute in struct ib_mad's @data (IBTA 16.1.2). */
#define PMA_DATA_OFFSET	40

/* PortSelect has the same offset in all attributes that have one. */
#define PMA_SELECT_OFFSET \
	(PMA_DATA_OFFSET + offsetof(struct ib_pma_portcounters, port_select))

/* PortSelect: the only port, or all of them together */
#define PMA_PORT	1
#define PMA_ALL_PORTS	0xff

/*
 * Do packets received by a netdev reach softmr's sockets? Packets of a VRF reach only sockets of
 * this VRF, and softmr's sockets belong to none. The administrator can change that by
 * net.ipv4.udp_l3mdev_accept (also for IPv6). Returns false if it is in a VRF whose packets do not
 * reach them.
 */
bool smr_port_is_heard(const struct net_device *ndev)
{
#ifdef CONFIG_NET_L3_MASTER_DEV
	if (netif_is_l3_master(ndev) || netif_is_l3_slave(ndev))
		return READ_ONCE(dev_net(ndev)->ipv4.sysctl_udp_l3mdev_accept);
#endif
	return true;
}

/* The state of a port on a netdev. Returns IB_PORT_ACTIVE or IB_PORT_DOWN. */
enum ib_port_state smr_port_state(const struct net_device *ndev)
{
	return smr_port_is_heard(ndev) ? smr_compat_ndev_port_state(ndev) :
					 IB_PORT_DOWN;
}

/* IBTA 16.1.3.5: data is counted in words of four octets. */
static u64 pma_words(const struct smr_stats *stats, enum smr_counter id)
{
	return smr_stats_read(stats, id) / 4;
}

/* Unicast and multicast are not counted apart. */
static void pma_class_port_info(const struct smr_stats *stats, void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = 1;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
}

static __be32 pma_be32(u64 n)
{
	return cpu_to_be32(min_t(u64, n, U32_MAX));
}

/* IBTA 16.1.3.5: these do not wrap, but stay at their maximum. */
static void pma_counters(const struct smr_stats *stats, void *data)
{
	struct ib_pma_portcounters *c = data;
	u64 bad = smr_stats_read(stats, SMR_CNT_BAD_ICRC) +
		  smr_stats_read(stats, SMR_CNT_BAD_HEADER);

	c->link_downed_counter =
		min_t(u64, smr_stats_read(stats, SMR_CNT_LINK_DOWNED), U8_MAX);
	c->port_rcv_errors = cpu_to_be16(min_t(u64, bad, U16_MAX));
	c->port_xmit_data = pma_be32(pma_words(stats, SMR_CNT_TX_BYTES));
	c->port_rcv_data = pma_be32(pma_words(stats, SMR_CNT_RX_BYTES));
	c->port_xmit_packets =
		pma_be32(smr_stats_read(stats, SMR_CNT_TX_PACKETS));
	c->port_rcv_packets =
		pma_be32(smr_stats_read(stats, SMR_CNT_RX_PACKETS));
}

static void pma_counters_ext(const struct smr_stats *stats, void *data)
{
	struct ib_pma_portcounters_ext *c = data;

	c->port_xmit_data = cpu_to_be64(pma_words(stats, SMR_CNT_TX_BYTES));
	c->port_rcv_data = cpu_to_be64(pma_words(stats, SMR_CNT_RX_BYTES));
	c->port_xmit_packets =
		cpu_to_be64(smr_stats_read(stats, SMR_CNT_TX_PACKETS));
	c->port_rcv_packets =
		cpu_to_be64(smr_stats_read(stats, SMR_CNT_RX_PACKETS));
}

/* One attribute; @select: it has a PortSelect */
struct pma_attr {
	__be16 id;
	bool select;
	void (*fill)(const struct smr_stats *stats, void *data);
};

static const struct pma_attr pma_attrs[] = {
	{ IB_PMA_CLASS_PORT_INFO, false, pma_class_port_info },
	{ IB_PMA_PORT_COUNTERS, true, pma_counters },
	{ IB_PMA_PORT_COUNTERS_EXT, true, pma_counters_ext },
};

static const struct pma_attr *pma_find(const struct ib_mad_hdr *hdr)
{
	size_t i;

	if (hdr->mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    hdr->method != IB_MGMT_METHOD_GET)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(pma_attrs); i++)
		if (pma_attrs[i].id == hdr->attr_id)
			return &pma_attrs[i];
	return NULL;
}

/* A MAD for the performance management agent */
static int pma_process(struct ib_device *ibdev, int flags, u32 port,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	const struct pma_attr *attr = pma_find(&in->mad_hdr);
	u8 select = in->data[PMA_SELECT_OFFSET];

	BUILD_BUG_ON(offsetof(struct ib_pma_portcounters, port_select) !=
		     offsetof(struct ib_pma_portcounters_ext, port_select));

	if (!attr)
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = 0;
	if (attr->select) {
		out->data[PMA_SELECT_OFFSET] = select;
		if (select != PMA_PORT && select != PMA_ALL_PORTS) {
			out->mad_hdr.status =
				cpu_to_be16(IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
			return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
		}
	}
	attr->fill(to_smr_verbs(ibdev)->env.stats, out->data + PMA_DATA_OFFSET);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

/*
 * Sizes of the port's tables. Each GID has three files in sysfs, which take time to create and
 * remove with a link. The only P_Key is the default one.
 */
#define PORT_GIDS	256
#define PORT_PKEYS	1

/* Not an OUI: there is no vendor. */
#define DEVICE_VENDOR_ID	0xffffff

/* Maximum delay of an ACK: 4.096 us * 2^15, IBTA 11.2.1.2. */
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

/* Attributes that the core does not know. The core also calls this itself, without a process. */
static int query_driver(struct ib_udata *udata, bool frames)
{
	struct smr_query_device_resp resp = {};

	if (!udata || !udata->outlen)
		return 0;
	if (frames) {
		resp.rate_limit_min = 1;
		resp.rate_limit_max = U32_MAX;
		resp.rate_limit_qpts = BIT(IB_QPT_RAW_PACKET);
	}
	return ib_respond_udata(udata, resp);
}

static void get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, SMR_VERSION, IB_FW_VERSION_NAME_MAX);
}

/* In the format that programs print: three numbers, the lower two of 16 bits */
static u64 fw_version(void)
{
	unsigned int major, minor, patch;

	if (sscanf(SMR_VERSION, "%u.%u.%u", &major, &minor, &patch) != 3)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	const struct smr_env *env = &to_smr_verbs(ibdev)->env;

	memset(attr, 0, sizeof(*attr));
	query_limits(attr, env->limits.max[SMR_LIMIT_PD]);
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = DEVICE_VENDOR_ID;
	attr->fw_ver = fw_version();
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
	if (env->frames)
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
	/* CPU instructions execute atomics, so they are atomic with respect to CPUs. */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->local_ca_ack_delay = DEVICE_ACK_DELAY;
	/* Completions are stamped in nanoseconds; the clock is in kHz. */
	attr->timestamp_mask = ~0ULL;
	attr->hca_core_clock = 1000 * 1000;
	return query_driver(udata, env->frames);
}

static u8 port_phys_state(const struct net_device *ndev)
{
	if (smr_port_state(ndev) == IB_PORT_ACTIVE)
		return IB_PORT_PHYS_STATE_LINK_UP;
	return ndev->flags & IFF_UP ? IB_PORT_PHYS_STATE_POLLING :
				      IB_PORT_PHYS_STATE_DISABLED;
}

/*
 * The speed that ethtool reports, else the slowest one. The core's function would log each
 * query of a netdev without a speed. And a query must not fail because the netdev is being
 * removed.
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

/* 1X SDR, as port_speed() reports for the same netdevs */
#define SPEED_SLOWEST	25

/* What ethtool reports, in 100 Mb/s, rounded up */
static int __maybe_unused query_port_speed(struct ib_device *ibdev, u32 port,
					   u64 *speed)
{
	struct net_device *ndev = to_smr_verbs(ibdev)->env.ndev;
	struct ethtool_link_ksettings settings = {};

	*speed = SPEED_SLOWEST;
	rtnl_lock();
	if (ndev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(ndev, &settings) &&
	    settings.base.speed != (u32)SPEED_UNKNOWN && settings.base.speed)
		*speed = DIV_ROUND_UP(settings.base.speed, 100);
	rtnl_unlock();
	return 0;
}

static int query_port(struct ib_device *ibdev, u32 port,
		      struct ib_port_attr *attr)
{
	const struct net_device *ndev = to_smr_verbs(ibdev)->env.ndev;

	/* The core has zeroed it. */
	attr->state = smr_port_state(ndev);
	attr->phys_state = port_phys_state(ndev);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = smr_env_mtu(&to_smr_verbs(ibdev)->env);
	attr->gid_tbl_len = PORT_GIDS;
	attr->pkey_tbl_len = PORT_PKEYS;
	attr->ip_gids = true;
	attr->max_msg_sz = SMR_MESSAGE_MAX;
	attr->max_vl_num = 1;
	return port_speed(ibdev, port, attr);
}

static int get_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	if (to_smr_verbs(ibdev)->env.frames)
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
 * The node description, which rdma-ndd writes. The core reads it without a lock, so a
 * reader may see parts of two names.
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

const struct ib_device_ops smr_port_ops = {
	.get_dev_fw_str = get_dev_fw_str,
	.query_device = query_device,
	.modify_device = modify_device,
	.query_port = query_port,
	.get_port_immutable = get_port_immutable,
	.get_link_layer = get_link_layer,
	.query_pkey = query_pkey,
	.process_mad = pma_process,
	SMR_OP_QUERY_PORT_SPEED(query_port_speed)
};
