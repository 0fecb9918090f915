// SPDX-License-Identifier: GPL-2.0
/* Generic netlink: dump the last refusals of a network namespace. */
#include "why_nl.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "netns.h"
#include "watch.h"
#include "why.h"

static struct genl_family family;

/**
 * struct why_dump - the caller of a dump, and the message being filled
 * @all: the caller has CAP_NET_ADMIN in the namespace, and gets the refusals of all users
 * @uid: otherwise it gets those of this user
 * @skb: the message
 * @cb: the core's part
 */
struct why_dump {
	bool all;
	kuid_t uid;
	struct sk_buff *skb;
	struct netlink_callback *cb;
};

static bool may_read(const struct smr_why_entry *entry, void *arg)
{
	const struct why_dump *dump = arg;

	return dump->all ||
	       (uid_valid(entry->uid) && uid_eq(entry->uid, dump->uid));
}

static int put_entry(struct sk_buff *skb, const struct smr_why_entry *entry,
		     bool ended)
{
	if (nla_put(skb, SMR_GENL_WHY_RECORD, sizeof(entry->rec), &entry->rec) ||
	    nla_put_u32(skb, SMR_GENL_WHY_DEV, entry->dev) ||
	    nla_put_u32(skb, SMR_GENL_WHY_PID, pid_vnr(entry->pid)) ||
	    nla_put_string(skb, SMR_GENL_WHY_COMM, entry->comm) ||
	    nla_put_u8(skb, SMR_GENL_WHY_ENDED, ended))
		return -EMSGSIZE;
	return 0;
}

static int take_entry(const struct smr_why_entry *entry, bool ended, void *arg)
{
	struct why_dump *dump = arg;
	struct netlink_callback *cb = dump->cb;
	void *hdr = genlmsg_put(dump->skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, &family, NLM_F_MULTI,
				SMR_GENL_WHY);

	if (!hdr)
		return -EMSGSIZE;
	if (put_entry(dump->skb, entry, ended)) {
		genlmsg_cancel(dump->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(dump->skb, hdr);
	return 0;
}

/**
 * struct why_pos - position of a dump; in struct netlink_callback
 * @log: see smr_why_walk()
 * @seq: see smr_why_walk()
 */
struct why_pos {
	u64 log;
	u64 seq;
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
	struct why_dump dump = {
		.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN),
		.uid = current_uid(),
		.skb = skb,
		.cb = cb,
	};
	const struct smr_why_visitor v = { may_read, take_entry, &dump };
	int ret;

	if (!dump.all && !uid_eq(NETLINK_CB(cb->skb).creds.uid, dump.uid))
		return skb->len;
	ret = smr_why_walk(&smr_netns(net)->whys, &pos->log, &pos->seq, &v);
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

/**
 * smr_why_nl_register() - register the netlink family
 *
 * Return: 0 or an errno.
 */
int smr_why_nl_register(void)
{
	return genl_register_family(&family);
}

/**
 * smr_why_nl_unregister() - unregister the netlink family; waits for running dumps
 */
void smr_why_nl_unregister(void)
{
	genl_unregister_family(&family);
}
