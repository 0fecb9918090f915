// SPDX-License-Identifier: GPL-2.0
#include "whys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "util.h"

#define ATTRS	(SMR_GENL_WHY_ENDED + 1)

/**
 * struct answer - the answer to a request
 * @family: the number of the requested family
 * @list: refusals
 * @n: how many
 * @err: of the kernel; a negative errno
 * @done: the last message has arrived
 */
struct answer {
	int family;
	struct refusal *list;
	size_t n;
	int err;
	bool done;
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

static int on_end(struct nl_msg *msg, void *arg)
{
	struct answer *answer = arg;

	(void)msg;
	answer->done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *addr, struct nlmsgerr *error, void *arg)
{
	struct answer *answer = arg;

	(void)addr;
	answer->err = error->error;
	answer->done = true;
	return NL_STOP;
}

/* The head of a command of a family; never NULL */
static struct nl_msg *question(int family, int command, int flags)
{
	struct nl_msg *msg = nlmsg_alloc_simple(family, NLM_F_REQUEST | flags);
	struct genlmsghdr hdr = { .cmd = command, .version = 1 };

	if (!msg || nlmsg_append(msg, &hdr, sizeof(hdr), NLMSG_ALIGNTO)) {
		complain("there is no memory");
		exit(1);
	}
	return msg;
}

static int ask(struct nl_sock *sk, struct nl_msg *msg,
	       int (*valid)(struct nl_msg *msg, void *arg), struct answer *answer)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int ret;

	if (!cb) {
		complain("there is no memory");
		exit(1);
	}
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, valid, answer);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, answer);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, answer);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, answer);
	ret = nl_send_auto(sk, msg);
	while (ret >= 0 && !answer->done)
		ret = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	nlmsg_free(msg);
	if (answer->err)
		return answer->err;
	return ret < 0 && !answer->done ? -EIO : 0;
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
	ret = ask(*sk, msg, on_family, &answer);
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

	return ask(sk, question(family, SMR_GENL_WATCH, NLM_F_ACK), on_refusal, &answer);
}

static int by_time(const void *a, const void *b)
{
	const struct refusal *x = a, *y = b;

	return x->rec.time < y->rec.time ? -1 : x->rec.time > y->rec.time;
}

int whys_list(struct nl_sock *sk, int family, struct refusal **list, size_t *n)
{
	struct answer answer = {};
	int ret = ask(sk, question(family, SMR_GENL_WHY, NLM_F_DUMP), on_refusal,
		      &answer);

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
