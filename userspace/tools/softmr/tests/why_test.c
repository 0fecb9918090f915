// SPDX-License-Identifier: GPL-2.0
/*
 * softmr why with refusals of modules of other versions: the first has a reason that the tool does
 * not know, the second is of a module that names no reasons.
 */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "nldev.h"
#include "util.h"
#include "whys.h"

static const struct refusal refusals[] = {
	{
		.rec = {
			.seq = 1, .time = 1, .id = 0xffe, .error = EMFILE, .tid = 9, .nr = 2,
			.num = { 7, 0x1203 }, .name = "NEW_REASON",
		},
		.dev = SMR_WHY_NO_DEV, .pid = 5, .comm = "program",
	},
	{
		.rec = {
			.seq = 2, .time = 2, .id = SMR_WHY_CQ_CQE, .error = EINVAL, .tid = 9,
			.num = { 0, 4096 },
		},
		.dev = SMR_WHY_NO_DEV, .pid = 5, .comm = "program",
	},
};

int whys_open(struct nl_sock **sk, int *family)
{
	*sk = NULL;
	*family = 1;
	return 0;
}

void whys_close(struct nl_sock *sk)
{
	(void)sk;
}

int whys_list(struct nl_sock *sk, int family, struct refusal **list, size_t *n)
{
	(void)sk;
	(void)family;
	*n = sizeof(refusals) / sizeof(*refusals);
	*list = zalloc(sizeof(refusals));
	memcpy(*list, refusals, sizeof(refusals));
	return 0;
}

int nldev_open(struct nl_sock **sk)
{
	*sk = NULL;
	return -EPROTONOSUPPORT;
}

void nldev_close(struct nl_sock *sk)
{
	(void)sk;
}

int nldev_list(struct nl_sock *sk, struct rdma_dev **devs, size_t *n)
{
	(void)sk;
	(void)devs;
	(void)n;
	return -ENODEV;
}

int main(int argc, char **argv)
{
	return cmd_why(argc, argv);
}
