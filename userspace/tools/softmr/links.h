/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links of softmr in detail: the port, its GIDs, and the counters that indicate
 * trouble.
 */
#ifndef SOFTMR_LINKS_H
#define SOFTMR_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "nldev.h"

/**
 * struct gid - an entry of a link's GID table
 * @index: the index for programs (-g or -x)
 * @type: as sysfs has it, "RoCE v2" or "IB/RoCE v1"
 * @address: IPv6, or IPv4 if the GID stands for such an address
 * @netdev: that has the address
 * @rank: how good a choice it is for a program; 0: unusable
 */
struct gid {
	unsigned int index;
	char *type;
	char *address;
	char *netdev;
	int rank;
};

/**
 * struct counter - a counter that is not 0 and indicates trouble
 * @name: as "rdma statistic show" has it
 * @value: its value
 * @meaning: what has happened
 * @serious: data was lost, or a program went wrong
 */
struct counter {
	const char *name;
	unsigned long long value;
	const char *meaning;
	bool serious;
};

/**
 * struct link - a link of softmr
 * @dev: as netlink shows it
 * @uverbs: its device node in /dev/infiniband; NULL: not known
 * @netdev_mtu: 0: not known
 * @mtu: the largest path MTU that fits into it; 0: not known
 * @gids: @nr_gids of them, by index
 * @best: the one for programs to use, or NULL
 * @counters: @nr_counters of them
 */
struct link {
	struct rdma_dev dev;
	char *uverbs;
	unsigned int netdev_mtu;
	unsigned int mtu;
	struct gid *gids;
	size_t nr_gids;
	const struct gid *best;
	struct counter *counters;
	size_t nr_counters;
};

/* The MTU of an Ethernet whose packets carry 4096 bytes of RDMA each */
#define NETDEV_MTU_4096	(4096 + LINK_OVERHEAD)
/* What the kernel reserves for headers when it derives the path MTU */
#define LINK_OVERHEAD	96

void link_read(struct link *link, const struct rdma_dev *dev);
void link_free(struct link *link);
/*
 * The meaning of a counter that indicates trouble; NULL: it is not such a
 * counter
 */
const char *link_counter_meaning(const char *name);
const char *link_state(const struct rdma_dev *dev);

#endif /* SOFTMR_LINKS_H */
