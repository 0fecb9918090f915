// SPDX-License-Identifier: GPL-2.0
/*
 * Requirements of programs: the provider, device nodes, the limit of locked
 * memory.
 */
#include "doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Less than this is not enough for perftest's or MPI's buffers. */
#define MEMLOCK_GOOD	(64ul << 20)
/* Less than this is not enough for one queue pair's rings and a buffer. */
#define MEMLOCK_LEAST	(256ul << 10)

/* -- provider */

static bool try_links(struct doctor *d)
{
	bool good = true;
	size_t i;

	for (i = 0; i < d->nr_links; i++) {
		const struct link *link = &d->links[i];
		char *path, *why;

		if (!link->uverbs)
			continue;
		path = root_path("/dev/infiniband/%s", link->uverbs);
		/* another check reports problems with the node */
		if (access(path, R_OK | W_OK)) {
			free(path);
			continue;
		}
		free(path);
		why = verbs_try_device(link->dev.name);
		if (!why)
			continue;
		good = false;
		found(d, LEVEL_PROBLEM, why, install_softmr("libsoftmr1", "libsoftmr", true));
	}
	return good;
}

void check_provider(struct doctor *d)
{
	const struct verbs *v = &d->verbs;

	d->check = "provider";
	if (!v->lib) {
		found(d, LEVEL_PROBLEM, copy(v->why),
		      install_softmr("libibverbs1 libsoftmr1", "libibverbs libsoftmr", false));
		return;
	}
	if (!v->fits) {
		found(d, LEVEL_PROBLEM,
		      strf("libibverbs (%s) cannot use the provider: %s",
			   v->lib_version ? v->lib_version : "?", v->why),
		      install_softmr("libsoftmr1", "libsoftmr", v->provider));
		return;
	}
	if (try_links(d))
		found(d, LEVEL_OK,
		      strf("libibverbs (%s, provider interface %u) can use the provider%s",
			   v->lib_version ? v->lib_version : "?", v->abi,
			   d->nr_links ? ", which opens the links" : ""), NULL);
}

/* -- device nodes */

void check_devices(struct doctor *d)
{
	bool good = true;
	size_t i;

	d->check = "devices";
	for (i = 0; i < d->nr_links; i++) {
		const struct link *link = &d->links[i];
		char *path;

		if (!link->uverbs)
			continue;
		path = root_path("/dev/infiniband/%s", link->uverbs);
		if (access(path, R_OK | W_OK)) {
			good = false;
			found(d, LEVEL_PROBLEM,
			      strf("this user cannot open %s, which is %s's: %s", path,
				   link->dev.name, strerror(errno)),
			      copy(errno == ENOENT ?
				   "in a container: run it with --device=/dev/infiniband; else: systemctl restart systemd-udevd && udevadm trigger" :
				   "grep -r infiniband /etc/udev/rules.d (the kernel lets everybody open these nodes; what has changed that is such a rule, or the container's configuration)"));
		}
		free(path);
	}
	if (d->nr_links && !exists("/dev/infiniband/rdma_cm")) {
		good = false;
		found(d, LEVEL_WARNING,
		      copy("there is no /dev/infiniband/rdma_cm, so programs that use librdmacm do not work"),
		      copy("modprobe rdma_ucm"));
	}
	if (good)
		found(d, LEVEL_OK, copy(d->nr_links ? "this user can open the device nodes" :
						      "there is no link yet, so no device node"),
		      NULL);
}

/* -- memory */

void check_memlock(struct doctor *d)
{
	struct rlimit limit;
	enum level level;

	d->check = "memlock";
	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		found(d, LEVEL_WARNING, strf("RLIMIT_MEMLOCK cannot be read: %s",
					     strerror(errno)), NULL);
		return;
	}
	if (has_capability(CAP_IPC_LOCK) || limit.rlim_cur == RLIM_INFINITY) {
		found(d, LEVEL_OK, copy("this user may register any amount of memory"), NULL);
		return;
	}
	level = limit.rlim_cur >= MEMLOCK_GOOD  ? LEVEL_OK :
		limit.rlim_cur >= MEMLOCK_LEAST ? LEVEL_WARNING : LEVEL_PROBLEM;
	found(d, level,
	      strf("this user may register %llu KiB of memory at most (RLIMIT_MEMLOCK)",
		   (unsigned long long)limit.rlim_cur >> 10),
	      level == LEVEL_OK ? NULL :
	      copy("echo '* - memlock unlimited' >/etc/security/limits.d/rdma.conf, then log in again; for a service: LimitMEMLOCK=infinity"));
}
