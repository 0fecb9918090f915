// SPDX-License-Identifier: GPL-2.0
#include "links.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define MAX_GIDS	1024
#define ROCE_V2		"RoCE v2"

/* The names are those of kernel/stats.h. */
static const struct counter troubles[] = {
	{ "naks_tx", 0, "requests of peers were refused", false },
	{ "naks_rx", 0, "peers refused requests", false },
	{ "rnr_tx", 0, "peers sent before a receive was posted", false },
	{ "rnr_rx", 0, "a peer had no receive posted", false },
	{ "duplicate_requests", 0, "requests came twice", false },
	{ "out_of_sequence", 0, "packets were lost on the way here", false },
	{ "retransmits", 0, "packets were sent again", false },
	{ "early_retransmits", 0, "acknowledges were later than usual", false },
	{ "ack_timeouts", 0, "no acknowledge came in time", false },
	{ "retry_exceeded", 0, "connections ended since the peer did not answer", true },
	{ "rnr_retry_exceeded", 0, "connections ended since the peer posted no receive", true },
	{ "np_ecn_marked_roce_packets", 0, "packets came with the network's mark: it is congested",
	  false },
	{ "rp_cnp_handled", 0, "peers said that the network is congested on the way to them",
	  false },
	{ "rx_bad_icrc", 0, "packets came with a wrong checksum", true },
	{ "rx_bad_header", 0, "packets came with a header that makes no sense", true },
	{ "rx_wrong_source", 0, "packets came from an address that is not the peer's", true },
	{ "rx_wrong_psn", 0, "packets came with a PSN that their sender cannot have reached", true },
	{ "rx_bad_pkey", 0, "packets came with a foreign P_Key", true },
	{ "rx_bad_qkey", 0, "datagrams came with a wrong Q_Key", true },
	{ "rx_no_receive", 0, "datagrams came while no receive was posted", true },
	{ "rx_dropped", 0, "packets were dropped", true },
	{ "rx_unknown_qpn", 0, "packets came for QPs that do not exist", true },
	{ "local_udp_refused", 0, "a program was kept from sending RoCE packets by itself", true },
	{ "qp_peer_refused", 0, "a QP was kept from the peer of another user's", true },
	{ "bad_wqe", 0, "a program posted a work request that makes no sense", true },
	{ "key_unknown", 0, "a memory key was used that does not exist", true },
	{ "key_stale", 0, "a memory key was used that has been replaced", true },
	{ "key_dead", 0, "a memory key was used after its region's end", true },
	{ "key_wrong_pd", 0, "a memory key of another protection domain was used", true },
	{ "key_no_right", 0, "a memory key was used for what it does not permit", true },
	{ "key_out_of_range", 0, "a memory key was used beyond its region", true },
	{ "mr_dereg_refused", 0, "a region was to be deregistered while windows were bound to it",
	  false },
	{ "cq_overrun", 0, "a completion queue was too small", true },
	{ "link_downed", 0, "the port went down", false },
};

const char *link_counter_meaning(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(troubles); i++)
		if (!strcmp(troubles[i].name, name))
			return troubles[i].meaning;
	return NULL;
}

static void read_counters(struct link *link)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		char *text = read_text("/sys/class/infiniband/%s/ports/1/hw_counters/%s",
				       link->dev.name, troubles[i].name);
		unsigned long long value = text ? strtoull(text, NULL, 10) : 0;

		free(text);
		if (!value)
			continue;
		link->counters = one_more(link->counters, link->nr_counters,
					  sizeof(*link->counters));
		link->counters[link->nr_counters] = troubles[i];
		link->counters[link->nr_counters++].value = value;
	}
}

/* -- GIDs */

static char *show_address(const struct in6_addr *addr)
{
	char text[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(addr))
		inet_ntop(AF_INET, &addr->s6_addr[12], text, sizeof(text));
	else
		inet_ntop(AF_INET6, addr, text, sizeof(text));
	return copy(text);
}

/*
 * Routable before link-local, IPv4 before IPv6 since every peer has it, and
 * the netdev's own addresses before those of VLANs on it.
 */
static int rank(const struct link *link, const struct gid *gid, const struct in6_addr *addr)
{
	int rank = 1;

	if (strcmp(gid->type, ROCE_V2))
		return 0;
	if (IN6_IS_ADDR_V4MAPPED(addr))
		rank += 4;
	else if (!IN6_IS_ADDR_LINKLOCAL(addr))
		rank += 2;
	if (!strcmp(gid->netdev, link->dev.netdev))
		rank += 1;
	return rank;
}

static void read_gid(struct link *link, unsigned int index, const char *text)
{
	struct gid gid = { .index = index };
	struct in6_addr addr;

	if (inet_pton(AF_INET6, text, &addr) != 1 || IN6_IS_ADDR_UNSPECIFIED(&addr))
		return;
	/* if these cannot be read, the entry was removed meanwhile */
	gid.type = read_text("/sys/class/infiniband/%s/ports/1/gid_attrs/types/%u",
			     link->dev.name, index);
	gid.netdev = read_text("/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%u",
			       link->dev.name, index);
	if (!gid.type || !gid.netdev) {
		free(gid.type);
		free(gid.netdev);
		return;
	}
	gid.address = show_address(&addr);
	gid.rank = rank(link, &gid, &addr);
	link->gids = one_more(link->gids, link->nr_gids, sizeof(gid));
	link->gids[link->nr_gids++] = gid;
}

static void read_gids(struct link *link)
{
	const struct gid *gid;
	unsigned int i;

	for (i = 0; i < MAX_GIDS; i++) {
		char *text = read_text("/sys/class/infiniband/%s/ports/1/gids/%u",
				       link->dev.name, i);

		if (!text)
			break;
		read_gid(link, i, text);
		free(text);
	}
	for (gid = link->gids; gid < link->gids + link->nr_gids; gid++)
		if (gid->rank > (link->best ? link->best->rank : 0))
			link->best = gid;
}

/* -- the port */

static void read_mtu(struct link *link)
{
	char *text = NULL;
	unsigned int mtu;

	if (*link->dev.netdev)
		text = read_text("/sys/class/net/%s/mtu", link->dev.netdev);
	if (!text)
		return;
	link->netdev_mtu = (unsigned int)strtoul(text, NULL, 10);
	free(text);
	for (mtu = 4096; mtu > 256; mtu /= 2)
		if (mtu + LINK_OVERHEAD <= link->netdev_mtu)
			break;
	link->mtu = mtu;
}

static void read_uverbs(struct link *link)
{
	char *path = root_path("/sys/class/infiniband_verbs");
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && !link->uverbs && (entry = readdir(dir))) {
		char *name = read_text("/sys/class/infiniband_verbs/%s/ibdev", entry->d_name);

		if (name && !strcmp(name, link->dev.name))
			link->uverbs = copy(entry->d_name);
		free(name);
	}
	if (dir)
		closedir(dir);
	free(path);
}

void link_read(struct link *link, const struct rdma_dev *dev)
{
	*link = (struct link){ .dev = *dev };
	read_uverbs(link);
	read_mtu(link);
	read_gids(link);
	read_counters(link);
}

void link_free(struct link *link)
{
	size_t i;

	for (i = 0; i < link->nr_gids; i++) {
		free(link->gids[i].type);
		free(link->gids[i].address);
		free(link->gids[i].netdev);
	}
	free(link->gids);
	free(link->counters);
	free(link->uverbs);
}

const char *link_state(const struct rdma_dev *dev)
{
	static const char *const names[] = {
		"unknown", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};

	return dev->state < ARRAY_SIZE(names) ? names[dev->state] : names[0];
}
