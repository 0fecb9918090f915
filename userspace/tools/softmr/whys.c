// SPDX-License-Identifier: GPL-2.0
#include "whys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "netlink.h"
#include "util.h"

#define ATTRS	(SMR_GENL_WHY_ENDED + 1)

/* The number of the requested family, or refusals */
struct answer {
	int family;
	struct refusal *list;
	size_t n;
};

static int on_family(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[CTRL_ATTR_MAX + 1] = {};
	struct answer *answer = arg;

	if (!nlmsg_parse(nlmsg_hdr(msg), GENL_HDRLEN, tb, CTRL_ATTR_MAX, NULL) &&
	    tb[CTRL_ATTR_FAMILY_ID])
		answer->family = nla_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	return NL_OK;
}

static int on_refusal(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[ATTRS] = {};
	struct answer *answer = arg;
	struct refusal *to;
	size_t len;

	if (nlmsg_parse(nlmsg_hdr(msg), GENL_HDRLEN, tb, ATTRS - 1, NULL) < 0 ||
	    !tb[SMR_GENL_WHY_RECORD])
		return NL_SKIP;
	answer->list = one_more(answer->list, answer->n, sizeof(*to));
	to = &answer->list[answer->n++];
	memset(to, 0, sizeof(*to));
	/* the record of a newer module is longer */
	len = (size_t)nla_len(tb[SMR_GENL_WHY_RECORD]);
	memcpy(&to->rec, nla_data(tb[SMR_GENL_WHY_RECORD]),
	       len < sizeof(to->rec) ? len : sizeof(to->rec));
	if (tb[SMR_GENL_WHY_DEV])
		to->dev = nla_get_u32(tb[SMR_GENL_WHY_DEV]);
	if (tb[SMR_GENL_WHY_PID])
		to->pid = nla_get_u32(tb[SMR_GENL_WHY_PID]);
	if (tb[SMR_GENL_WHY_COMM])
		nla_strlcpy(to->comm, tb[SMR_GENL_WHY_COMM], sizeof(to->comm));
	if (tb[SMR_GENL_WHY_ENDED])
		to->ended = nla_get_u8(tb[SMR_GENL_WHY_ENDED]);
	return NL_OK;
}

static struct nl_msg *question(int family, int command, int flags)
{
	struct nl_msg *msg = netlink_request(family, flags);
	struct genlmsghdr hdr = { .cmd = command, .version = 1 };

	nlmsg_append(msg, &hdr, sizeof(hdr), NLMSG_ALIGNTO);
	return msg;
}

int whys_open(struct nl_sock **sk, int *family)
{
	struct answer answer = {};
	struct nl_msg *msg;
	int ret;

	*sk = nl_socket_alloc();
	if (!*sk)
		return -ENOMEM;
	ret = -EPROTONOSUPPORT;
	if (nl_connect(*sk, NETLINK_GENERIC) < 0)
		goto fail;
	msg = question(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, SMR_GENL_NAME);
	ret = netlink_ask(*sk, msg, on_family, &answer);
	if (!ret && !answer.family)
		ret = -ENOENT;
	if (ret)
		goto fail;
	*family = answer.family;
	return 0;

fail:
	whys_close(*sk);
	*sk = NULL;
	return ret;
}

void whys_close(struct nl_sock *sk)
{
	if (sk)
		nl_socket_free(sk);
}

int whys_watch(struct nl_sock *sk, int family)
{
	struct answer answer = {};

	return netlink_ask(sk, question(family, SMR_GENL_WATCH, NLM_F_ACK), on_refusal, &answer);
}

static int by_time(const void *a, const void *b)
{
	const struct refusal *x = a, *y = b;

	return x->rec.time < y->rec.time ? -1 : x->rec.time > y->rec.time;
}

int whys_list(struct nl_sock *sk, int family, struct refusal **list, size_t *n)
{
	struct answer answer = {};
	int ret = netlink_ask(sk, question(family, SMR_GENL_WHY, NLM_F_DUMP), on_refusal, &answer);

	if (ret) {
		free(answer.list);
		return ret;
	}
	if (answer.n)
		qsort(answer.list, answer.n, sizeof(*answer.list), by_time);
	*list = answer.list;
	*n = answer.n;
	return 0;
}
