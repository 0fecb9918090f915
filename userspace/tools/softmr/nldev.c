// SPDX-License-Identifier: GPL-2.0
#include "nldev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include <softmr-abi.h>

#include "netlink.h"
#include "util.h"

int nldev_open(struct nl_sock **sk)
{
	int err;

	*sk = nl_socket_alloc();
	if (!*sk)
		return -ENOMEM;
	errno = 0;
	if (nl_connect(*sk, NETLINK_RDMA) < 0) {
		err = errno ? errno : EPROTONOSUPPORT;
		nl_socket_free(*sk);
		*sk = NULL;
		return -err;
	}
	return 0;
}

void nldev_close(struct nl_sock *sk)
{
	if (sk)
		nl_socket_free(sk);
}

/* -- one request, and its answers */

struct reader {
	answer_fn answer;
	void *arg;
};

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX] = {};
	struct reader *reader = arg;

	/* newer kernels may have attributes beyond those that are parsed */
	if (nlmsg_parse(nlmsg_hdr(msg), 0, tb, RDMA_NLDEV_ATTR_MAX - 1, NULL) < 0)
		return NL_SKIP;
	if (reader->answer)
		reader->answer(tb, reader->arg);
	return NL_OK;
}

static int talk(struct nl_sock *sk, struct nl_msg *msg, answer_fn answer, void *arg)
{
	return netlink_ask(sk, msg, on_valid, &(struct reader){ answer, arg });
}

static struct nl_msg *question(int command, int flags)
{
	return netlink_request(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags);
}

/* About a device */
static struct nl_msg *question_of(int command, int flags, uint32_t index)
{
	struct nl_msg *msg = question(command, flags);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return msg;
}

/* -- devices */

struct list {
	struct rdma_dev *devs;
	size_t n;
};

static void take_string(struct nlattr *attr, char *to, size_t size)
{
	if (attr)
		nla_strlcpy(to, attr, size);
}

static void take_device(struct nlattr **tb, void *arg)
{
	struct list *list = arg;
	struct rdma_dev *dev;

	if (!tb[RDMA_NLDEV_ATTR_DEV_INDEX] || !tb[RDMA_NLDEV_ATTR_DEV_NAME])
		return;
	list->devs = one_more(list->devs, list->n, sizeof(*dev));
	dev = &list->devs[list->n++];
	dev->index = nla_get_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX]);
	take_string(tb[RDMA_NLDEV_ATTR_DEV_NAME], dev->name, sizeof(dev->name));
}

static void take_port(struct nlattr **tb, void *arg)
{
	struct rdma_dev *dev = arg;

	if (tb[RDMA_NLDEV_ATTR_PORT_STATE])
		dev->state = nla_get_u8(tb[RDMA_NLDEV_ATTR_PORT_STATE]);
	if (tb[RDMA_NLDEV_ATTR_NDEV_INDEX])
		dev->netdev_index = nla_get_u32(tb[RDMA_NLDEV_ATTR_NDEV_INDEX]);
	take_string(tb[RDMA_NLDEV_ATTR_NDEV_NAME], dev->netdev, sizeof(dev->netdev));
}

static void take_driver(struct nlattr **tb, void *arg)
{
	struct rdma_dev *dev = arg;

	if (!tb[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID])
		return;
	dev->driver = nla_get_u32(tb[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID]);
	dev->driver_known = true;
}

static int ask_port(struct nl_sock *sk, struct rdma_dev *dev)
{
	struct nl_msg *msg = question_of(RDMA_NLDEV_CMD_PORT_GET, 0, dev->index);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	return talk(sk, msg, take_port, dev);
}

static int ask_driver(struct nl_sock *sk, struct rdma_dev *dev)
{
	struct nl_msg *msg = question_of(RDMA_NLDEV_CMD_GET_CHARDEV, 0, dev->index);

	nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
	return talk(sk, msg, take_driver, dev);
}

int nldev_list(struct nl_sock *sk, struct rdma_dev **devs, size_t *n)
{
	struct list list = {};
	size_t i;
	int ret;

	ret = talk(sk, question(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), take_device, &list);
	if (ret) {
		free(list.devs);
		return ret;
	}
	/* a device that was removed meanwhile is shown as far as it is known */
	for (i = 0; i < list.n; i++) {
		ask_port(sk, &list.devs[i]);
		ask_driver(sk, &list.devs[i]);
	}
	*devs = list.devs;
	*n = list.n;
	return 0;
}

/*
 * The driver's number is only available with ib_uverbs. Without it, check for a
 * counter name that no other driver has.
 */
bool nldev_is_softmr(const struct rdma_dev *dev)
{
	if (dev->driver_known)
		return dev->driver == SMR_DRIVER_ID;
	return exists("/sys/class/infiniband/%s/ports/1/hw_counters/mr_dereg_refused", dev->name);
}

int nldev_list_softmr(struct nl_sock *sk, struct rdma_dev **devs, size_t *n)
{
	size_t all, i;
	int ret = nldev_list(sk, devs, &all);

	if (ret)
		return ret;
	for (i = *n = 0; i < all; i++)
		if (nldev_is_softmr(&(*devs)[i]))
			(*devs)[(*n)++] = (*devs)[i];
	return 0;
}

int nldev_find(struct nl_sock *sk, const char *name, struct rdma_dev *dev)
{
	struct rdma_dev *devs;
	size_t n, i;
	int ret = nldev_list(sk, &devs, &n);

	if (ret)
		return ret;
	ret = -ENODEV;
	for (i = 0; i < n; i++) {
		if (strcmp(devs[i].name, name))
			continue;
		*dev = devs[i];
		ret = 0;
	}
	free(devs);
	return ret;
}

/* -- changes */

int nldev_newlink(struct nl_sock *sk, const char *name, const char *netdev)
{
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_NEWLINK, 0);

	nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	nla_put_string(msg, RDMA_NLDEV_ATTR_LINK_TYPE, LINK_TYPE);
	nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return talk(sk, msg, NULL, NULL);
}

int nldev_dellink(struct nl_sock *sk, uint32_t index)
{
	return talk(sk, question_of(RDMA_NLDEV_CMD_DELLINK, 0, index), NULL, NULL);
}

int nldev_rename(struct nl_sock *sk, uint32_t index, const char *name)
{
	struct nl_msg *msg = question_of(RDMA_NLDEV_CMD_SET, 0, index);

	nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	return talk(sk, msg, NULL, NULL);
}

int nldev_resources(struct nl_sock *sk, uint32_t dev, int command, answer_fn answer, void *arg)
{
	return talk(sk, question_of(command, NLM_F_DUMP, dev), answer, arg);
}

static void take_netns_mode(struct nlattr **tb, void *arg)
{
	int *mode = arg;

	if (tb[RDMA_NLDEV_SYS_ATTR_NETNS_MODE])
		*mode = nla_get_u8(tb[RDMA_NLDEV_SYS_ATTR_NETNS_MODE]);
}

int nldev_netns_shared(struct nl_sock *sk, bool *shared)
{
	int mode = -1, ret = talk(sk, question(RDMA_NLDEV_CMD_SYS_GET, 0), take_netns_mode, &mode);

	if (ret)
		return ret;
	*shared = mode == 1;
	return mode < 0 ? -EOPNOTSUPP : 0;
}
