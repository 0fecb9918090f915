// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "why_core.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "why_note.h"

enum {
	/* The only port */
	SMR_PORT = 1,
	/* Attributes that the command has room for */
	SMR_QP_ATTRS = ((IBV_QP_DEST_QPN << 1) - 1) | IBV_QP_RATE_LIMIT,
};

uint64_t smr_why_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Has the module itself refused a call of this thread since then? Then it has logged the reason. */
static bool module_refused(struct ibv_context *context, uint64_t since)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid), n, i;
	struct smr_abi_why recs[SMR_WHY_ROOM];
	uint64_t from = 0;

	while (!smr_why_read(context, from, recs, &n) && n) {
		for (i = 0; i < n; i++)
			if (recs[i].tid == tid && recs[i].time >= since)
				return true;
		from = recs[n - 1].seq;
	}
	return false;
}

static bool is_zero(const union ibv_gid *gid)
{
	return !gid->global.subnet_prefix && !gid->global.interface_id;
}

/* An IPv4 address in a GID: ::ffff:a.b.c.d */
static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static bool is_unreachable(int err)
{
	return err == ENETUNREACH || err == EHOSTUNREACH || err == ETIMEDOUT ||
	       err == EADDRNOTAVAIL;
}

/* The bytes of a GID from @at on as a number */
static uint64_t half(const union ibv_gid *gid, unsigned int at)
{
	uint64_t value = 0;
	unsigned int i;

	for (i = at; i < at + 8; i++)
		value = value << 8 | gid->raw[i];
	return value;
}

static void address(struct ibv_context *context, uint32_t qpn,
		    const struct ibv_ah_attr *attr, int err)
{
	const union ibv_gid *dgid = &attr->grh.dgid;
	uint32_t index = attr->grh.sgid_index;
	struct ibv_gid_entry own = {};

	if (!attr->is_global)
		smr_refused(context, qpn, AH_NO_GRH, err, 0);
	else if (attr->port_num != SMR_PORT)
		smr_refused(context, qpn, AH_PORT, err, attr->port_num);
	else if (ibv_query_gid_ex(context, SMR_PORT, index, &own, 0) ||
		 is_zero(&own.gid))
		smr_refused(context, qpn, AH_SGID_INDEX, err, index);
	else if (is_zero(dgid))
		smr_refused(context, qpn, AH_NO_DGID, err, index);
	else if (is_ipv4(&own.gid) != is_ipv4(dgid))
		smr_refused(context, qpn, AH_FAMILY, err, index,
			    is_ipv4(&own.gid), is_ipv4(dgid));
	else if (is_unreachable(err))
		smr_refused(context, qpn, AH_UNREACHABLE, err, index,
			    half(dgid, 0), half(dgid, 8));
}

void smr_why_address(struct ibv_context *context, uint32_t qpn,
		     const struct ibv_ah_attr *attr, uint64_t since, int err)
{
	if (!module_refused(context, since))
		address(context, qpn, attr, err);
}

/* Only for what the core checks itself: ports and addresses, and the range of the states */
void smr_why_modify(struct ibv_qp *qp, const struct ibv_qp_attr *attr,
		    int attr_mask, uint64_t since, int err)
{
	struct ibv_context *context = qp->context;
	uint32_t qpn = qp->qp_num;

	if (module_refused(context, since))
		return;
	if (attr_mask & ~SMR_QP_ATTRS)
		smr_refused(context, qpn, QP_ATTR, err, (uint32_t)attr_mask,
			    (uint32_t)(attr_mask & ~SMR_QP_ATTRS));
	else if ((attr_mask & IBV_QP_PORT) && attr->port_num != SMR_PORT)
		smr_refused(context, qpn, QP_VALUE, err, IBV_QP_PORT,
			    attr->port_num, SMR_PORT, SMR_PORT);
	else if ((attr_mask & IBV_QP_STATE) && attr->qp_state > IBV_QPS_ERR)
		smr_refused(context, qpn, QP_VALUE, err, IBV_QP_STATE,
			    attr->qp_state, IBV_QPS_RESET, IBV_QPS_ERR);
	else if ((attr_mask & IBV_QP_AV) && (attr_mask & IBV_QP_STATE) &&
		 qp->state == IBV_QPS_RESET && attr->qp_state == IBV_QPS_RTR)
		smr_refused(context, qpn, QP_TRANSITION, err, qp->state,
			    attr->qp_state);
	else if (attr_mask & IBV_QP_AV)
		address(context, qpn, &attr->ah_attr, err);
}

int smr_why_in_use(struct ibv_context *context, uint32_t qpn,
		   enum smr_kind kind, int err)
{
	return err == EBUSY ? smr_refuse(context, qpn, IN_USE, kind) : err;
}

int smr_why_ring(struct ibv_context *context, int err)
{
	if (err == ENOMEM)
		return smr_refuse(context, 0, NO_MEMORY, 0);
	return err ? smr_refused(context, 0, RING_UNKNOWN, err, 0) : 0;
}
