// SPDX-License-Identifier: GPL-2.0
#include "netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "util.h"

/* The end of an answer: libnl has fewer error codes than the kernel, so @err is the errno of the message */
struct end {
	int err;
	bool done;
};

static int on_end(struct nl_msg *msg, void *arg)
{
	struct end *end = arg;

	(void)msg;
	end->done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *addr, struct nlmsgerr *error, void *arg)
{
	struct end *end = arg;

	(void)addr;
	*end = (struct end){ error->error, true };
	return NL_STOP;
}

struct nl_msg *netlink_request(int type, int flags)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);

	if (msg)
		return msg;
	complain("there is no memory");
	exit(1);
}

int netlink_ask(struct nl_sock *sk, struct nl_msg *msg, int (*valid)(struct nl_msg *msg, void *arg), void *arg)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	struct end end = {};
	int ret;

	if (!cb)
		return -ENOMEM;
	if (valid)
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, valid, arg);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &end);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &end);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &end);
	ret = nl_send_auto(sk, msg);
	while (ret >= 0 && !end.done)
		ret = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	nlmsg_free(msg);
	if (end.err)
		return end.err;
	return ret < 0 && !end.done ? -EIO : 0;
}
