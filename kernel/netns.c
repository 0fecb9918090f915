// SPDX-License-Identifier: GPL-2.0
/* Per-namespace state: its sockets are open while the namespace has a link. */
#include "netns.h"

#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat/cleanup.h"
#include "qp/rx.h"
#include "why.h"

/* The id of softmr's per-namespace data, from register_pernet_subsys() */
static unsigned int netns_id __read_mostly;

/*
 * Guards the users of all namespaces, and the opening and closing of their sockets; a leaf. It
 * is global, because mutex_unlock() may still access the mutex after another context has locked
 * it; that context could already have freed a mutex in the namespace.
 */
static DEFINE_MUTEX(netns_lock);

/* Get softmr's part of a namespace. Returns valid until the namespace's exit. */
struct smr_netns *smr_netns(const struct net *net)
{
	return net_generic(net, netns_id);
}

/*
 * Count a new link of a namespace. @ns: softmr's part of the namespace. The first link opens the
 * hook and the sockets. Returns 0; -EADDRINUSE if another driver has RoCEv2's port; -ENOMEM.
 */
int smr_netns_get(struct smr_netns *ns, struct net *net)
{
	int ret;

	mutex_lock(&netns_lock);
	if (!ns->users) {
		ns->tab.whys = smr_why_log_create_kernel(&ns->whys, NULL);
		if (!ns->tab.whys) {
			ret = -ENOMEM;
			goto unlock;
		}
		ret = smr_antispoof_open(&ns->antispoof, net);
		if (ret)
			goto end_log;
		ret = smr_net_open(&ns->sn, net, &smr_qp_rx_ops, &ns->tab);
		if (ret)
			goto close_antispoof;
	}
	ns->users++;
	mutex_unlock(&netns_lock);
	return 0;

close_antispoof:
	smr_antispoof_close(&ns->antispoof, net);
end_log:
	smr_why_log_end(ns->tab.whys, &ns->whys);
	smr_whys_clear(&ns->whys);
unlock:
	mutex_unlock(&netns_lock);
	return ret;
}

/*
 * Uncount a link; all of its QPs are destroyed. @ns: softmr's part of the namespace. The last link
 * closes the hook and then the sockets, which waits for a grace period for both. The hook is no
 * longer needed, since no QP is left. The namespace may be gone on return.
 */
void smr_netns_put(struct smr_netns *ns)
{
	guard(mutex)(&netns_lock);
	if (ns->users == 1) {
		smr_antispoof_close(&ns->antispoof, ns->sn.net);
		smr_net_close(&ns->sn);
		smr_why_log_end(ns->tab.whys, &ns->whys);
		smr_whys_clear(&ns->whys);
	}
	/* Pairs with netns_exit()'s acquire. Do not touch *@ns from here on. */
	smp_store_release(&ns->users, ns->users - 1);
	smp_mb(); /* order the store before wake_up_var()'s check for waiters */
	wake_up_var(&ns->users);
}

static int __net_init netns_init(struct net *net)
{
	struct smr_netns *ns = smr_netns(net);

	mutex_init(&ns->link_mutex);
	smr_whys_init(&ns->whys);
	return smr_qptab_init(&ns->tab);
}

/*
 * The namespace's netdevs have left it, and the removal of their links has begun. But the move
 * of a netdev to the initial namespace does not wait for its link, so wait here.
 */
static void __net_exit netns_exit(struct net *net)
{
	struct smr_netns *ns = smr_netns(net);

	/* Pairs with smr_netns_put(): the sockets are closed. */
	wait_var_event(&ns->users, !smp_load_acquire(&ns->users));
	smr_qptab_fini(&ns->tab);
	smr_whys_fini(&ns->whys);
	mutex_destroy(&ns->link_mutex);
}

static struct pernet_operations netns_ops = {
	.init = netns_init,
	.exit = netns_exit,
	.id = &netns_id,
	.size = sizeof(struct smr_netns),
};

/* Add softmr's part to each namespace. */
int smr_netns_register(void)
{
	return register_pernet_subsys(&netns_ops);
}

/* Remove softmr's part from each namespace; no link exists. */
void smr_netns_unregister(void)
{
	unregister_pernet_subsys(&netns_ops);
}
