// SPDX-License-Identifier: GPL-2.0
/*
 * A firewall, IPsec or a loopback netdev that is down may keep packets from QPs of the same host.
 * So before a capture makes such packets of their messages, a link sends one to each of its own
 * addresses, as a QP would. It is no valid RoCEv2 packet, and has a random content.
 */
#include "qp/probe.h"

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "compat/cleanup.h"
#include "net/egress.h"
#include "net/path.h"
#include "net/train.h"
#include "net/wire.h"
#include "qp/ah.h"
#include "qp/core.h"
#include "uapi/softmr-abi.h"

/* IBTA 9.2.1: an opcode that manufacturers may define */
#define OPCODE		0xff
#define LEN		(SMR_BTH_LEN + SMR_ICRC_LEN)
/* Usually a packet has arrived when it is sent. */
#define PATIENCE	HZ

/**
 * struct probe - the packets to all addresses of one family
 * @node: in the list of probes
 * @bth: what they begin with
 * @left: number of packets that have not arrived; guarded by the list's lock
 * @refused: a packet was not sent
 * @arrived: all have arrived
 */
struct probe {
	struct list_head node;
	u8 bth[SMR_BTH_LEN];
	unsigned int left;
	bool refused;
	struct completion arrived;
};

static LIST_HEAD(probes);
static DEFINE_SPINLOCK(probes_lock);

static void probe_begin(struct probe *p)
{
	get_random_bytes(p->bth, sizeof(p->bth));
	p->bth[0] = OPCODE;
	/* dropped by probe_end() */
	p->left = 1;
	init_completion(&p->arrived);
	guard(spinlock_bh)(&probes_lock);
	list_add(&p->node, &probes);
}

static void probe_put(struct probe *p)
{
	lockdep_assert_held(&probes_lock);
	if (!--p->left)
		complete(&p->arrived);
}

/* Wait until @deadline, in jiffies, for the packets that are left. Return: all have arrived. */
static bool probe_end(struct probe *p, unsigned long deadline)
{
	long left = deadline - jiffies;

	scoped_guard(spinlock_bh, &probes_lock)
		probe_put(p);
	if (!p->refused)
		wait_for_completion_killable_timeout(&p->arrived, max(left, 0L));
	guard(spinlock_bh)(&probes_lock);
	list_del(&p->node);
	return !p->left && !p->refused;
}

/* The route must be wide enough for a QP's longest packet. */
static int probe_send(struct probe *p, const struct smr_env *env, struct smr_path *path,
		      struct smr_egress *eg)
{
	unsigned int most = SMR_MAX_HDR_LEN + ib_mtu_enum_to_int(smr_env_mtu(env)) + SMR_ICRC_LEN;
	struct smr_refused refused = {};
	struct smr_train train;
	unsigned int n = 1;
	int err;
	u8 *seg;

	err = smr_train_begin(&train, path, eg, NULL, 1, most);
	if (err)
		return err;
	seg = smr_train_segs(&train, LEN, &n);
	memset(seg, 0, LEN);
	memcpy(seg, p->bth, sizeof(p->bth));
	scoped_guard(spinlock_bh, &probes_lock)
		p->left++;
	return smr_train_send(&train, &refused);
}

/* Send a packet to an address of the link. */
static void probe_addr(struct probe *v4, struct probe *v6, const struct smr_env *env,
		       const struct ib_gid_attr *sgid, struct smr_egress *eg)
{
	const struct rdma_ah_attr to = { .grh = { .sgid_attr = sgid, .dgid = sgid->gid } };
	struct smr_path path;
	struct probe *p;
	bool local;

	smr_path_init(&path, env->net);
	smr_ah_set_path(&path, &to, env, 0, 0);
	p = path.family == AF_INET ? v4 : v6;
	if (!smr_path_route(&path, &local) && local && probe_send(p, env, &path, eg))
		p->refused = true;
	smr_path_fini(&path);
}

/* No packet waits. */
static void probe_woken(void *owner)
{
}

/**
 * smr_probe_link() - find out whether packets to a link's own addresses get through
 * @env: of the link
 * @ibdev: its device
 *
 * Context: process, may sleep; waits a second for packets that do not arrive.
 * Return: enum smr_capture_unseen: the families of which a packet did not.
 */
u32 smr_probe_link(const struct smr_env *env, struct ib_device *ibdev)
{
	unsigned long deadline = jiffies + PATIENCE;
	const struct ib_gid_attr *sgid;
	struct probe v4 = {}, v6 = {};
	struct smr_egress *eg;
	u32 i, unseen = 0;

	eg = smr_egress_create(env->net, true, probe_woken, NULL);
	if (IS_ERR(eg))
		return SMR_CAPTURE_UNSEEN_V4 | SMR_CAPTURE_UNSEEN_V6;
	probe_begin(&v4);
	probe_begin(&v6);
	for (i = 0; i < ibdev->port_data[1].immutable.gid_tbl_len; i++) {
		sgid = rdma_get_gid_attr(ibdev, 1, i);
		if (IS_ERR(sgid))
			continue;
		if (sgid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP)
			probe_addr(&v4, &v6, env, sgid, eg);
		rdma_put_gid_attr(sgid);
	}
	if (!probe_end(&v4, deadline))
		unseen |= SMR_CAPTURE_UNSEEN_V4;
	if (!probe_end(&v6, deadline))
		unseen |= SMR_CAPTURE_UNSEEN_V6;
	smr_egress_destroy(eg);
	return unseen;
}

/**
 * smr_probe_arrived() - is a packet with an unknown opcode of a probe?
 * @bth: its BTH
 *
 * Context: BH off.
 * Return: true if it is.
 */
bool smr_probe_arrived(const u8 *bth)
{
	struct probe *p;

	if (bth[0] != OPCODE)
		return false;
	guard(spinlock_bh)(&probes_lock);
	list_for_each_entry(p, &probes, node) {
		if (memcmp(p->bth, bth, sizeof(p->bth)))
			continue;
		if (p->left)
			probe_put(p);
		return true;
	}
	return false;
}
