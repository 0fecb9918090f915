/* SPDX-License-Identifier: GPL-2.0 */
/* Refusals of links, which the module reports by generic netlink. */
#ifndef SOFTMR_WHYS_H
#define SOFTMR_WHYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <softmr-why.h>

struct nl_sock;

/* A refusal, and its process */
struct refusal {
	struct smr_abi_why rec;	/* the module's record */
	uint32_t dev;		/* the kernel's number of the RDMA device */
	/* the process that opened the device; 0: a process outside of this PID namespace */
	uint32_t pid;
	char comm[16];		/* its command */
	bool ended;		/* it has closed the device */
};

/* Functions that return int return 0 or a negative errno. */

/* -ENOENT: the module is not loaded, or is older than this */
int whys_open(struct nl_sock **sk, int *family);
void whys_close(struct nl_sock *sk);
/*
 * All refusals that the caller may see in this network namespace, by time. The caller frees *list.
 */
int whys_list(struct nl_sock *sk, int family, struct refusal **list, size_t *n);

/* Let the module count the use of regions for some seconds; -EPERM: only root may do so */
int whys_watch(struct nl_sock *sk, int family);

#endif /* SOFTMR_WHYS_H */
