// SPDX-License-Identifier: GPL-2.0
/* Commands for softmr-link@.service and the udev rules. */
#include "link.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conf.h"
#include "nldev.h"
#include "util.h"

/* The softmr link of a netdev; -ENODEV: it has none */
static int link_of(const char *netdev, struct rdma_dev *dev)
{
	struct rdma_dev *devs = NULL;
	struct nl_sock *sk;
	size_t n = 0, i;
	int ret;

	ret = nldev_open(&sk);
	if (ret)
		return ret;
	ret = nldev_list_softmr(sk, &devs, &n);
	nldev_close(sk);
	for (i = 0; !ret && i < n; i++)
		if (!strcmp(devs[i].netdev, netdev))
			break;
	if (!ret && i < n)
		*dev = devs[i];
	else if (!ret)
		ret = -ENODEV;
	free(devs);
	return ret;
}

/*
 * An existing link is a success: the unit is started again after an update, and
 * people add links by hand.
 */
static int up(const char *netdev, const char *name)
{
	struct rdma_dev dev;

	if (!name) {
		complain(CONF_DIR "/%s has no line \"name = LINK\"; to write it anew: softmr link add LINK netdev %s --persistent",
			 netdev, netdev);
		return EXIT_PROBLEM;
	}
	if (!link_of(netdev, &dev) && !strcmp(dev.name, name))
		return EXIT_OK;
	return link_make(name, netdev);
}

/* The link may have been renamed: remove the link of the netdev. */
static int down(const char *netdev, const char *name)
{
	struct rdma_dev dev;

	(void)name;
	return link_of(netdev, &dev) ? EXIT_OK : link_remove(dev.name, true);
}

static int up_if_present(const char *netdev, const char *name)
{
	if (if_nametoindex(netdev))
		return up(netdev, name);
	printf("softmr: there is no netdev %s now\n", netdev);
	return EXIT_OK;
}

static int for_each(int (*function)(const char *netdev, const char *name))
{
	int ret, status = EXIT_OK;
	struct conf *confs;
	size_t n, i;

	ret = conf_list(&confs, &n);
	if (ret) {
		complain("cannot read " CONF_DIR ": %s", strerror(-ret));
		return EXIT_PROBLEM;
	}
	for (i = 0; i < n; i++)
		if (function(confs[i].netdev, confs[i].name))
			status = EXIT_PROBLEM;
	conf_free(confs, n);
	return status;
}

/* systemd identifies the netdev by /sys/devices/.../net/NETDEV */
static const char *netdev_of(const char *netdev)
{
	const char *slash = strrchr(netdev, '/');

	return slash ? slash + 1 : netdev;
}

int link_up_configured(const char *netdev)
{
	char *name;
	int ret;

	if (!netdev)
		return for_each(up_if_present);
	netdev = netdev_of(netdev);
	ret = conf_read(netdev, &name);
	if (ret == -ENOENT) {
		printf("softmr: %s is to have no link: there is no " CONF_DIR "/%s\n",
		       netdev, netdev);
		return EXIT_OK;
	}
	if (ret && ret != -EINVAL) {
		complain("cannot read " CONF_DIR "/%s: %s", netdev, strerror(-ret));
		return EXIT_PROBLEM;
	}
	ret = up(netdev, name);
	free(name);
	return ret;
}

/*
 * Works even if the file has been removed since: the unit removes the link that
 * it made.
 */
int link_down_configured(const char *netdev)
{
	return netdev ? down(netdev_of(netdev), NULL) : for_each(down);
}

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
