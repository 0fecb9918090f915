// SPDX-License-Identifier: GPL-2.0
#include "pma.h"

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "stats.h"
#include "verbs.h"

/* Where an attribute begins in struct ib_mad's @data (IBTA 16.1.2). */
#define PMA_DATA_OFFSET	40

/* PortSelect is at the same place in all that have one. */
#define PMA_SELECT_OFFSET \
	(PMA_DATA_OFFSET + offsetof(struct ib_pma_portcounters, port_select))

/* PortSelect: the only port, or all of them together */
#define PMA_PORT	1
#define PMA_ALL_PORTS	0xff

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

/* IBTA 16.1.3.5: these do not wrap, but stay at their greatest value. */
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

/**
 * smr_pma_process() - answer a Get() of the port's counters
 * @ibdev: the device
 * @flags: which keys are not asked for; this class has none
 * @port: the port
 * @wc: how the MAD has come; NULL from the core, which shows them in sysfs
 * @grh: likewise
 * @in: the MAD
 * @out: the answer, if there is one
 * @out_size: its size, which is right already
 * @out_pkey_index: of OPA only
 *
 * What has gone to a peer on the same host without a packet has not passed
 * the port: the device's own counters have that.
 *
 * Context: process.
 * Return: IB_MAD_RESULT_SUCCESS, and IB_MAD_RESULT_REPLY with an answer. What
 * is not for us the core gives to its agents, or answers (IBTA 13.4.7).
 */
int smr_pma_process(struct ib_device *ibdev, int flags, u32 port,
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
