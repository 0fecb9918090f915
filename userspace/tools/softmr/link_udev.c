// SPDX-License-Identifier: GPL-2.0
/* Commands for the udev rules. */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "nldev.h"
#include "util.h"

int link_udev_id(const char *name)
{
	struct rdma_dev dev;
	struct nl_sock *sk;
	int ret;

	ret = nldev_open(&sk);
	if (ret)
		return EXIT_PROBLEM;
	ret = nldev_find(sk, name, &dev);
	nldev_close(sk);
	if (ret || !nldev_is_softmr(&dev))
		return EXIT_PROBLEM;
	printf("SOFTMR_DEV_INDEX=%u\n", dev.index);
	return EXIT_OK;
}

static int restore(struct nl_sock *sk, unsigned int index, const char *name)
{
	struct rdma_dev *devs;
	size_t n, i;
	int ret = nldev_list_softmr(sk, &devs, &n);

	if (ret)
		return ret;
	/* it may have been removed meanwhile */
	for (i = 0; i < n; i++)
		if (devs[i].index == index && strcmp(devs[i].name, name))
			ret = nldev_rename(sk, index, name);
	free(devs);
	return ret;
}

int link_udev_name(const char *index, const char *name)
{
	struct nl_sock *sk;
	char *end;
	unsigned long number = strtoul(index, &end, 10);
	int ret;

	if (end == index || *end) {
		complain("link: '%s' is not a device's index", index);
		return EXIT_USAGE;
	}
	ret = nldev_open(&sk);
	if (!ret)
		ret = restore(sk, (unsigned int)number, name);
	nldev_close(sk);
	if (!ret)
		return EXIT_OK;
	complain("cannot give link %s its name again: %s", name, strerror(-ret));
	return EXIT_PROBLEM;
}
