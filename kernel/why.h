/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why something was refused: the reason with its numbers, and the last refusals of each user of
 * a namespace. The reasons are in uapi/softmr-why.h.
 */
#ifndef SMR_WHY_H
#define SMR_WHY_H

#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "uapi/softmr-why.h"

struct ib_device;
struct smr_why_log;

/**
 * struct smr_reason - the reason of a refusal
 * @id: enum smr_why_id; SMR_WHY_NONE: there is none
 * @nr: number of @num
 * @num: the numbers, in the order of the provider's table
 */
struct smr_reason {
	u32 id;
	u32 nr;
	u64 num[SMR_WHY_NUMBERS];
};

/* The errno that a reason goes with, as a constant; see SMR_WHYS() */
enum smr_why_errno {
#define SMR_WHY_ERRNO(name, id, error) SMR_WHY_ERRNO_##name = error,
	SMR_WHYS(SMR_WHY_ERRNO)
#undef SMR_WHY_ERRNO
};

/* A struct smr_reason: the name of the reason in SMR_WHYS(), and its numbers */
#define SMR_REASON(name, ...)						\
	((struct smr_reason){						\
		.id = SMR_WHY_##name,					\
		.nr = sizeof((const u64[]){ 0, ##__VA_ARGS__ }) / sizeof(u64) - 1, \
		.num = { __VA_ARGS__ },					\
	})

/**
 * smr_why_qp() - refuse a verb that concerns a QP, and log the reason
 * @log: of the context that has called it; NULL: nothing is logged
 * @qpn: the number of the QP, or 0
 * @name: name of the reason in SMR_WHYS()
 * @...: its numbers
 *
 * Context: any.
 * Return: the negative errno of the reason.
 */
#define smr_why_qp(log, qpn, name, ...)					\
({									\
	smr_why_verb(log, qpn, -(int)SMR_WHY_ERRNO_##name,		\
		     SMR_REASON(name, ##__VA_ARGS__));			\
	-(int)SMR_WHY_ERRNO_##name;					\
})

/* The same without a QP: smr_why(log, NAME, numbers) */
#define smr_why(log, name, ...) smr_why_qp(log, 0, name, ##__VA_ARGS__)

/* The same for functions that return an ERR_PTR */
#define smr_why_ptr(log, name, ...)					\
({									\
	smr_why(log, name, ##__VA_ARGS__);				\
	ERR_PTR(-(int)SMR_WHY_ERRNO_##name);				\
})

int __cold smr_why_verb(struct smr_why_log *log, u32 qpn, int err,
			struct smr_reason why);
int __cold smr_why_general(struct smr_why_log *log, u32 qpn, int err);
bool __cold smr_why_may_add(struct smr_why_log *log, u32 id);
void __cold smr_why_add(struct smr_why_log *log, struct smr_reason why,
			struct smr_abi_why *rec);

/* Log the general reason if a function that logs none has failed. Returns its result. */
static inline int smr_why_errno(struct smr_why_log *log, u32 qpn, int ret)
{
	return likely(!ret) ? 0 : smr_why_general(log, qpn, ret);
}

/**
 * struct smr_whys - the last refusals in a namespace
 * @lock: guards all below
 * @rings: struct why_ring, one for each user
 * @ids: number of rings created so far
 * @idles: number of times that the last context of a user was closed
 */
struct smr_whys {
	struct mutex lock;	/* see above */
	struct list_head rings;
	u64 ids;
	u64 idles;
};

void smr_whys_init(struct smr_whys *whys);
void smr_whys_fini(struct smr_whys *whys);
void smr_whys_clear(struct smr_whys *whys);

struct smr_why_log *smr_why_log_create(struct smr_whys *whys,
				       const struct ib_device *ibdev);
struct smr_why_log *smr_why_log_create_kernel(struct smr_whys *whys,
					      const struct ib_device *ibdev);
struct smr_why_log *smr_why_log_get(struct smr_why_log *log);
void smr_why_log_put(struct smr_why_log *log);
void smr_why_log_end(struct smr_why_log *log, struct smr_whys *whys);
kuid_t smr_why_log_uid(const struct smr_why_log *log);

/**
 * struct smr_why_entry - a refusal, and its context
 * @rec: the refusal
 * @at: counts the refusals of the user
 * @pid: the process that opened the context, in the reader's namespace; 0: the kernel, or not there
 * @comm: command name of that process
 * @dev: the index of the RDMA device, or SMR_WHY_NO_DEV
 * @ended: the context is closed
 */
struct smr_why_entry {
	struct smr_abi_why rec;
	u64 at;
	pid_t pid;
	char comm[16];
	u32 dev;
	bool ended;
};

bool smr_why_read(struct smr_why_log *log, u64 seq, struct smr_abi_why *rec);

/**
 * struct smr_why_reader - who reads the refusals of a namespace
 * @all: those of all users; otherwise those of @uid
 * @uid: see above
 * @take: use one. Not 0: stop, and pass it again the next time
 * @arg: argument of @take
 */
struct smr_why_reader {
	bool all;
	kuid_t uid;
	int (*take)(const struct smr_why_entry *entry, void *arg);
	void *arg;
};

int smr_why_walk(struct smr_whys *whys, u64 *ring, u64 *at,
		 const struct smr_why_reader *reader);

#endif /* SMR_WHY_H */
