// SPDX-License-Identifier: GPL-2.0
/* Generic netlink: dump the last refusals of a network namespace. */
#include "why_nl.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "netns.h"
#include "watch.h"
#include "why.h"

static struct genl_family family;

/**
 * struct why_dump - the message of a dump that is being filled
 * @skb: the message
 * @cb: the core's part
 */
struct why_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
};

static int put_entry(struct sk_buff *skb, const struct smr_why_entry *entry)
{
	if (nla_put(skb, SMR_GENL_WHY_RECORD, sizeof(entry->rec), &entry->rec) ||
	    nla_put_u32(skb, SMR_GENL_WHY_DEV, entry->dev) ||
	    nla_put_u32(skb, SMR_GENL_WHY_PID, entry->pid) ||
	    nla_put_string(skb, SMR_GENL_WHY_COMM, entry->comm) ||
	    nla_put_u8(skb, SMR_GENL_WHY_ENDED, entry->ended))
		return -EMSGSIZE;
	return 0;
}

static int take_entry(const struct smr_why_entry *entry, void *arg)
{
	struct why_dump *dump = arg;
	struct netlink_callback *cb = dump->cb;
	void *hdr = genlmsg_put(dump->skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, &family, NLM_F_MULTI,
				SMR_GENL_WHY);

	if (!hdr)
		return -EMSGSIZE;
	if (put_entry(dump->skb, entry)) {
		genlmsg_cancel(dump->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(dump->skb, hdr);
	return 0;
}

/**
 * struct why_pos - position of a dump; in struct netlink_callback
 * @ring: see smr_why_walk()
 * @at: see smr_why_walk()
 */
struct why_pos {
	u64 ring;
	u64 at;
};

static_assert(sizeof(struct why_pos) <=
	      sizeof_field(struct netlink_callback, ctx));

/*
 * Both the sender of the request and the reader of the dump must be allowed to read it: the
 * socket may have been passed to a program of another user.
 */
static int dump_whys(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(cb->skb->sk);
	struct why_pos *pos = (struct why_pos *)cb->ctx;
	struct why_dump dump = { skb, cb };
	const struct smr_why_reader reader = {
		.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN),
		.uid = current_uid(),
		.take = take_entry,
		.arg = &dump,
	};
	int ret;

	if (!reader.all && !uid_eq(NETLINK_CB(cb->skb).creds.uid, reader.uid))
		return skb->len;
	ret = smr_why_walk(&smr_netns(net)->whys, &pos->ring, &pos->at, &reader);
	return ret && !skb->len ? ret : skb->len;
}

static int watch(struct sk_buff *skb, struct genl_info *info)
{
	smr_watch();
	return 0;
}

static const struct genl_small_ops why_ops[] = {
	{
		.cmd = SMR_GENL_WHY,
		.dumpit = dump_whys,
	},
	{
		.cmd = SMR_GENL_WATCH,
		.flags = GENL_ADMIN_PERM,
		.doit = watch,
	},
};

static struct genl_family family = {
	.name = SMR_GENL_NAME,
	.version = SMR_GENL_VERSION,
	.netnsok = true,
	.module = THIS_MODULE,
	.small_ops = why_ops,
	.n_small_ops = ARRAY_SIZE(why_ops),
	.resv_start_op = SMR_GENL_WATCH + 1,
};

int smr_why_nl_register(void)
{
	return genl_register_family(&family);
}

/* Unregister the netlink family; waits for running dumps. */
void smr_why_nl_unregister(void)
{
	genl_unregister_family(&family);
}
