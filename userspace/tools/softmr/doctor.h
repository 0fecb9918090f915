/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The checks of softmr doctor. Each looks at one thing and adds one finding or
 * more; cmd_doctor.c has the table of them.
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
	LEVEL_WARNING,	/* it works, or may work, but not for everybody or not well */
	LEVEL_PROBLEM,	/* it does not work */
};

/**
 * struct finding - what a check says
 * @check: of which check
 * @level: how bad it is
 * @what: what was found
 * @todo: the command to type; NULL: none
 */
struct finding {
	const char *check;
	enum level level;
	char *what;
	char *todo;
};

/**
 * struct doctor - what is known of the machine, and what was found
 * @sk: the RDMA netlink, or NULL
 * @sk_error: why there is none; a positive errno
 * @verbs: provider and libibverbs
 * @links: @nr_links of them
 * @findings: @nr_findings of them
 * @check: the check under way
 */
struct doctor {
	struct nl_sock *sk;
	int sk_error;
	struct module module;
	struct verbs verbs;
	struct link *links;
	size_t nr_links;
	struct finding *findings;
	size_t nr_findings;
	const char *check;
};

/*
 * The texts are made with strf() or copy(); they are freed later. What is ok has
 * nothing to do: a suggestion is a part of @what.
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
void check_persistent(struct doctor *d);

/* doctor_user.c */
void check_provider(struct doctor *d);
void check_devices(struct doctor *d);
void check_memlock(struct doctor *d);

#endif /* SOFTMR_DOCTOR_H */
