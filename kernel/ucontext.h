/* SPDX-License-Identifier: GPL-2.0 */
/* A process that has a link open. */
#ifndef SMR_UCONTEXT_H
#define SMR_UCONTEXT_H

#include <linux/container_of.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "account.h"
#include "arena.h"
#include "why.h"

struct smr_bell;
struct smr_env;
struct smr_user;

/**
 * struct smr_ucontext - a process's context of the device
 * @ibuctx: the core's part
 * @env: the part of the device that its QPs use
 * @id: unique over all devices, never reused; not 0
 * @user: the user, a reference
 * @account: of the user; all objects of the context are destroyed before it
 * @arenas: the memory of its rings
 * @whys: the log of its refusals
 * @bell: its doorbell
 * @captures: struct smr_capture, open; see capture.c
 * @captured: it has had a capture; guarded as @captures
 */
struct smr_ucontext {
	struct ib_ucontext ibuctx;
	struct smr_env *env;
	u64 id;
	struct smr_user *user;
	struct smr_account *account;
	struct smr_arenas arenas;
	struct smr_why_log *whys;
	struct smr_bell *bell;
	struct list_head captures;
	bool captured;
};

static inline struct smr_ucontext *to_smr_ucontext(const struct ib_ucontext *uctx)
{
	return container_of(uctx, struct smr_ucontext, ibuctx);
}

/* The limits on the objects that a process creates */
static inline struct smr_limits *smr_uctx_limits(const struct ib_ucontext *uctx)
{
	return &to_smr_ucontext(uctx)->account->limits;
}

/* NULL for a kernel consumer */
static inline struct smr_why_log *smr_uctx_whys(const struct ib_ucontext *uctx)
{
	return uctx ? to_smr_ucontext(uctx)->whys : NULL;
}

/* The log of the context that calls a verb. Without attributes, the caller is a kernel consumer */
static inline struct smr_why_log *
smr_attrs_whys(const struct uverbs_attr_bundle *attrs)
{
	return attrs ? smr_uctx_whys(attrs->context) : NULL;
}

static inline struct smr_why_log *smr_udata_whys(struct ib_udata *udata)
{
	return udata ? smr_attrs_whys(rdma_udata_to_uverbs_attr_bundle(udata)) :
		       NULL;
}

/*
 * If @ret is an error, log that the command's input is invalid, or that its response cannot be
 * written. A kernel consumer has neither. Returns @ret.
 */
static inline int smr_udata_result(struct ib_udata *udata, int ret)
{
	return smr_why_errno(smr_udata_whys(udata), 0, ret);
}

#endif /* SMR_UCONTEXT_H */
