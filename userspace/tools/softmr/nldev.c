// SPDX-License-Identifier: GPL-2.0
#include "nldev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include <softmr-abi.h>

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

/**
 * struct talk - a request in progress
 * @answer: called for each message of the answer; may be NULL
 * @arg: passed to it
 * @err: of the kernel; a negative errno
 * @done: the last message has arrived
 */
struct talk {
	answer_fn answer;
	void *arg;
	int err;
	bool done;
};

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX] = {};
	struct talk *talk = arg;

	/* newer kernels may have attributes beyond those that are parsed */
	if (nlmsg_parse(nlmsg_hdr(msg), 0, tb, RDMA_NLDEV_ATTR_MAX - 1, NULL) < 0)
		return NL_SKIP;
	if (talk->answer)
		talk->answer(tb, talk->arg);
	return NL_OK;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct talk *talk = arg;

	(void)msg;
	talk->done = true;
	return NL_STOP;
}

/*
 * libnl has fewer error codes than the kernel, so use the errno of the message
 */
static int on_error(struct sockaddr_nl *addr, struct nlmsgerr *error, void *arg)
{
	struct talk *talk = arg;

	(void)addr;
	talk->err = error->error;
	talk->done = true;
	return NL_STOP;
}

static int talk(struct nl_sock *sk, struct nl_msg *msg, answer_fn answer,
		void *arg)
{
	struct talk state = { .answer = answer, .arg = arg };
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int ret;

	if (!cb)
		return -ENOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, &state);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &state);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &state);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &state);
	ret = nl_send_auto(sk, msg);
	while (ret >= 0 && !state.done)
		ret = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	if (state.err)
		return state.err;
	return ret < 0 && !state.done ? -EIO : 0;
}

/* A message for a command; never NULL. */
static struct nl_msg *question(int command, int flags)
{
	struct nl_msg *msg;

	msg = nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
				 NLM_F_REQUEST | flags);
	if (!msg) {
		complain("there is no memory");
		exit(1);
	}
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
	take_string(tb[RDMA_NLDEV_ATTR_NDEV_NAME], dev->netdev,
		    sizeof(dev->netdev));
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
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_PORT_GET, 0);
	int ret;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	ret = talk(sk, msg, take_port, dev);
	nlmsg_free(msg);
	return ret;
}

static int ask_driver(struct nl_sock *sk, struct rdma_dev *dev)
{
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	int ret;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
	ret = talk(sk, msg, take_driver, dev);
	nlmsg_free(msg);
	return ret;
}

int nldev_list(struct nl_sock *sk, struct rdma_dev **devs, size_t *n)
{
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	struct list list = {};
	size_t i;
	int ret;

	ret = talk(sk, msg, take_device, &list);
	nlmsg_free(msg);
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
	return exists("/sys/class/infiniband/%s/ports/1/hw_counters/mr_dereg_refused",
		      dev->name);
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
	int ret;

	nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	nla_put_string(msg, RDMA_NLDEV_ATTR_LINK_TYPE, LINK_TYPE);
	nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	ret = talk(sk, msg, NULL, NULL);
	nlmsg_free(msg);
	return ret;
}

int nldev_dellink(struct nl_sock *sk, uint32_t index)
{
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_DELLINK, 0);
	int ret;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	ret = talk(sk, msg, NULL, NULL);
	nlmsg_free(msg);
	return ret;
}

int nldev_rename(struct nl_sock *sk, uint32_t index, const char *name)
{
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_SET, 0);
	int ret;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	ret = talk(sk, msg, NULL, NULL);
	nlmsg_free(msg);
	return ret;
}

int nldev_resources(struct nl_sock *sk, uint32_t dev, int command,
		    answer_fn answer, void *arg)
{
	struct nl_msg *msg = question(command, NLM_F_DUMP);
	int ret;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev);
	ret = talk(sk, msg, answer, arg);
	nlmsg_free(msg);
	return ret;
}

static void take_netns_mode(struct nlattr **tb, void *arg)
{
	int *mode = arg;

	if (tb[RDMA_NLDEV_SYS_ATTR_NETNS_MODE])
		*mode = nla_get_u8(tb[RDMA_NLDEV_SYS_ATTR_NETNS_MODE]);
}

int nldev_netns_shared(struct nl_sock *sk, bool *shared)
{
	struct nl_msg *msg = question(RDMA_NLDEV_CMD_SYS_GET, 0);
	int mode = -1, ret;

	ret = talk(sk, msg, take_netns_mode, &mode);
	nlmsg_free(msg);
	if (ret)
		return ret;
	*shared = mode == 1;
	return mode < 0 ? -EOPNOTSUPP : 0;
}
