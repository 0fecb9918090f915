// SPDX-License-Identifier: GPL-2.0
#include "netns.h"

#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat/cleanup.h"
#include "qp/rx.h"

/* The core numbers us among those who keep something in each namespace. */
static unsigned int netns_id __read_mostly;

/*
 * Guards the users of all namespaces, and the opening and closing of their
 * sockets; a leaf. Not a namespace's own: whoever unlocks a mutex may still
 * look at it when another has locked it, and ended it.
 */
static DEFINE_MUTEX(netns_lock);

/**
 * smr_netns() - our part of a namespace
 * @net: the namespace
 *
 * Return: valid until the namespace's exit.
 */
struct smr_netns *smr_netns(const struct net *net)
{
	return net_generic(net, netns_id);
}

/**
 * smr_netns_get() - one link more lives here
 * @ns: our part of the namespace
 * @net: the namespace
 *
 * The first one opens the sockets.
 *
 * Context: process, may sleep.
 * Return: 0; -EADDRINUSE when another driver has RoCEv2's port; -ENOMEM.
 */
int smr_netns_get(struct smr_netns *ns, struct net *net)
{
	int ret;

	guard(mutex)(&netns_lock);
	if (!ns->users) {
		ret = smr_net_open(&ns->sn, net, &smr_qp_rx_ops, &ns->tab);
		if (ret)
			return ret;
	}
	ns->users++;
	return 0;
}

/**
 * smr_netns_put() - a link is gone, all its QPs before it
 * @ns: our part of the namespace
 *
 * The last one closes the sockets. The namespace may be gone on return.
 *
 * Context: process, may sleep.
 */
void smr_netns_put(struct smr_netns *ns)
{
	guard(mutex)(&netns_lock);
	if (ns->users == 1)
		smr_net_close(&ns->sn);
	/* Pairs with the exit's acquire; from here on @ns is an address only. */
	smp_store_release(&ns->users, ns->users - 1);
	smp_mb(); /* the count is seen, or else who waits for it is */
	wake_up_var(&ns->users);
}

static int __net_init netns_init(struct net *net)
{
	struct smr_netns *ns = smr_netns(net);

	mutex_init(&ns->link_mutex);
	smr_qptab_init(&ns->tab);
	return 0;
}

/*
 * The namespace's netdevs are gone from it by now, and with them its links:
 * all have been told to go. But a netdev that could be moved to the first
 * namespace did not wait for its link's end, so wait here.
 */
static void __net_exit netns_exit(struct net *net)
{
	struct smr_netns *ns = smr_netns(net);

	/* Pairs with smr_netns_put(): the sockets are closed. */
	wait_var_event(&ns->users, !smp_load_acquire(&ns->users));
	smr_qptab_fini(&ns->tab);
	mutex_destroy(&ns->link_mutex);
}

static struct pernet_operations netns_ops = {
	.init = netns_init,
	.exit = netns_exit,
	.id = &netns_id,
	.size = sizeof(struct smr_netns),
};

/**
 * smr_netns_register() - have a part in each namespace from now on
 *
 * Return: 0 or -ENOMEM.
 */
int smr_netns_register(void)
{
	return register_pernet_subsys(&netns_ops);
}

/**
 * smr_netns_unregister() - the end of that; no link lives any more
 */
void smr_netns_unregister(void)
{
	unregister_pernet_subsys(&netns_ops);
}
