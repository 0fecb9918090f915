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

/* An entry of a link's GID table */
struct gid {
	unsigned int index;	/* the index for programs (-g or -x) */
	char *type;		/* as sysfs has it, "RoCE v2" or "IB/RoCE v1" */
	char *address;		/* IPv6, or IPv4 if the GID stands for such an address */
	char *netdev;		/* that has the address */
	int rank;		/* how good a choice it is for a program; 0: unusable */
};

/* A counter that is not 0 and indicates trouble */
struct counter {
	const char *name;		/* as "rdma statistic show" has it */
	unsigned long long value;	/* its value */
	const char *meaning;		/* what has happened */
	bool serious;			/* data was lost, or a program went wrong */
};

/* A link of softmr */
struct link {
	struct rdma_dev dev;		/* as netlink shows it */
	char *uverbs;			/* its device node in /dev/infiniband; NULL: not known */
	unsigned int netdev_mtu;	/* 0: not known */
	unsigned int mtu;		/* the largest path MTU that fits into it; 0: not known */
	struct gid *gids;		/* @nr_gids of them, by index */
	size_t nr_gids;
	const struct gid *best;		/* the one for programs to use, or NULL */
	struct counter *counters;	/* @nr_counters of them */
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
