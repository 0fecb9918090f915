/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The checks of softmr doctor. Each inspects one thing and adds one or more findings; cmd_doctor.c
 * has the table of checks.
 */
#ifndef SOFTMR_DOCTOR_H
#define SOFTMR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "links.h"
#include "module.h"
#include "nldev.h"
#include "packages.h"
#include "util.h"
#include "verbs.h"

enum level {
	LEVEL_OK,
	LEVEL_WARNING,	/* it works, or may work, but not for all users or not well */
	LEVEL_PROBLEM,	/* it does not work */
};

/* A result of a check */
struct finding {
	const char *check;	/* the check's name */
	enum level level;	/* how bad it is */
	char *what;		/* what was found */
	char *todo;		/* the command to type; NULL: none */
};

/* The state of the machine, and the findings */
struct doctor {
	struct nl_sock *sk;		/* the RDMA netlink, or NULL */
	int sk_error;			/* why there is none; a positive errno */
	struct module module;
	struct verbs verbs;		/* provider and libibverbs */
	struct link *links;		/* @nr_links of them */
	size_t nr_links;
	struct finding *findings;	/* @nr_findings of them */
	size_t nr_findings;
	const char *check;		/* the check that is running */
};

/*
 * The texts are made with strf() or copy(), and freed later. A finding that is ok has no @todo: a
 * suggestion is a part of @what.
 */
void found(struct doctor *d, enum level level, char *what, char *todo);
/* Does this process have a capability (linux/capability.h)? */
bool has_capability(unsigned int capability);

/* doctor_kernel.c */
void check_kernel(struct doctor *d);
void check_module(struct doctor *d);
void check_headers(struct doctor *d);
void check_secure_boot(struct doctor *d);

/* doctor_net.c */
void check_port(struct doctor *d);
void check_firewall(struct doctor *d);
void check_netns(struct doctor *d);
void check_links(struct doctor *d);

/* doctor_user.c */
void check_provider(struct doctor *d);
void check_devices(struct doctor *d);
void check_memlock(struct doctor *d);

#endif /* SOFTMR_DOCTOR_H */
