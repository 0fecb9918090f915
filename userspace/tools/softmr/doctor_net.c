// SPDX-License-Identifier: GPL-2.0
/* The network: port, firewall, namespaces, links. */
#include "doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firewall.h"
#include "udp_port.h"

/* A link whose netdev is in this network namespace, or NULL */
static const struct link *own_link(const struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->nr_links; i++)
		if (*d->links[i].dev.netdev)
			return &d->links[i];
	return NULL;
}

/* -- port 4791 */

static void found_port_of_kernel(struct doctor *d)
{
	if (own_link(d))
		found(d, LEVEL_OK, copy("softmr has UDP port 4791"), NULL);
	else if (exists("/sys/module/rdma_rxe"))
		found(d, LEVEL_PROBLEM,
		      copy("rdma_rxe has UDP port 4791 here, so softmr cannot make a link; of one network namespace only one of the two can have links"),
		      copy("rdma link del NAME (each of type rxe), then: modprobe -r rdma_rxe"));
	else
		found(d, LEVEL_PROBLEM,
		      copy("a driver has UDP port 4791 here, so softmr cannot make a link"),
		      copy("rdma link (and remove the one that is not of softmr)"));
}

void check_port(struct doctor *d)
{
	struct udp_port port;

	d->check = "port";
	udp_port_read(&port);
	switch (port.holder) {
	case HOLDER_NONE:
		found(d, LEVEL_OK, copy("UDP port 4791 is free"), NULL);
		break;
	case HOLDER_PROCESS:
		found(d, LEVEL_PROBLEM,
		      strf("process %d (%s) has UDP port 4791, so softmr cannot make a link",
			   port.pid, port.command ? port.command : "?"),
		      strf("systemctl status %d; then stop the service or the program that it shows",
			   port.pid));
		break;
	case HOLDER_HIDDEN:
		/* a process cannot hold the port while a link exists; rdma_rxe may be loaded without holding it */
		if (own_link(d))
			found_port_of_kernel(d);
		else
			found(d, LEVEL_PROBLEM,
			      strf("something has UDP port 4791, so softmr cannot make a link; only root may see what%s",
				   exists("/sys/module/rdma_rxe") ? " (it may be rdma_rxe, which is loaded)" : ""),
			      copy("sudo ss -ulpn 'sport = 4791'"));
		break;
	case HOLDER_KERNEL:
		found_port_of_kernel(d);
		break;
	}
	udp_port_free(&port);
}

/* -- firewall */

void check_firewall(struct doctor *d)
{
	static const enum level levels[] = {
		[DOOR_OPEN] = LEVEL_OK,
		[DOOR_MAYBE] = LEVEL_WARNING,
		[DOOR_SHUT] = LEVEL_PROBLEM,
		[DOOR_UNSEEN] = LEVEL_WARNING,
	};
	const struct link *link = own_link(d);
	struct firewall fw;

	d->check = "firewall";
	firewall_read(&fw, link ? link->dev.netdev : NULL);
	found(d, levels[fw.door], copy(fw.what), fw.todo ? copy(fw.todo) : NULL);
	firewall_free(&fw);
}

/* -- namespaces */

void check_netns(struct doctor *d)
{
	bool shared;
	int ret;

	d->check = "netns";
	/* check_kernel() has reported it */
	if (!d->sk)
		return;
	ret = nldev_netns_shared(d->sk, &shared);
	if (ret)
		found(d, LEVEL_WARNING,
		      strf("the kernel does not say whether network namespaces share RDMA devices: %s",
			   strerror(-ret)), NULL);
	else if (shared)
		found(d, LEVEL_OK,
		      copy("links are visible in all network namespaces (mode shared)"), NULL);
	else if (d->nr_links)
		found(d, LEVEL_OK,
		      copy("links are visible only in their own network namespace (mode exclusive)"),
		      NULL);
	else
		found(d, LEVEL_WARNING,
		      copy("no link is visible here: each network namespace sees its own only (mode exclusive)"),
		      copy("rdma dev set LINK netns NAMESPACE (where the link is), or, while only the first namespace exists: rdma system set netns shared"));
}

/* -- links */

static void found_gid(struct doctor *d, const struct link *link)
{
	const struct gid *gid = link->best;

	if (!gid)
		found(d, LEVEL_PROBLEM,
		      strf("%s has no RoCE v2 GID, for %s has no address", link->dev.name,
			   link->dev.netdev),
		      strf("ip addr add ADDRESS/PREFIX dev %s", link->dev.netdev));
	else
		found(d, LEVEL_OK,
		      strf("%s: use GID index %u (%s): ibv_rc_pingpong -d %s -g %u, ib_write_bw -d %s -x %u",
			   link->dev.name, gid->index, gid->address, link->dev.name,
			   gid->index, link->dev.name, gid->index), NULL);
}

static void found_mtu(struct doctor *d, const struct link *link)
{
	if (link->mtu == 4096 || !link->mtu)
		return;
	found(d, LEVEL_OK,
	      strf("%s: packets carry %u bytes each, since %s has an MTU of %u; after ip link set %s mtu %u, if the network takes that, they carry 4096, which is faster",
		   link->dev.name, link->mtu, link->dev.netdev, link->netdev_mtu,
		   link->dev.netdev, NETDEV_MTU_4096), NULL);
}

static void found_counters(struct doctor *d, const struct link *link)
{
	size_t i;

	for (i = 0; i < link->nr_counters; i++)
		if (link->counters[i].serious)
			found(d, LEVEL_WARNING,
			      strf("%s: %s is %llu: %s", link->dev.name,
				   link->counters[i].name, link->counters[i].value,
				   link->counters[i].meaning), NULL);
}

void check_links(struct doctor *d)
{
	size_t i;

	d->check = "link";
	if (!d->nr_links)
		found(d, LEVEL_OK, copy("there is no link yet; softmr link add softmr0 netdev NETDEV makes one"),
		      NULL);
	for (i = 0; i < d->nr_links; i++) {
		const struct link *link = &d->links[i];

		if (!*link->dev.netdev) {
			found(d, LEVEL_OK,
			      strf("the netdev of %s is in another network namespace",
				   link->dev.name), NULL);
			continue;
		}
		if (link->dev.state != 4)
			found(d, LEVEL_PROBLEM,
			      strf("%s is %s, for %s is down or has no carrier",
				   link->dev.name, link_state(&link->dev),
				   link->dev.netdev),
			      strf("ip link set %s up", link->dev.netdev));
		found_gid(d, link);
		found_mtu(d, link);
		found_counters(d, link);
	}
}
