/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why something was refused: the reason with its numbers, and the last refusals of each
 * context. The reasons are in uapi/softmr-why.h.
 */
#ifndef SMR_WHY_H
#define SMR_WHY_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "uapi/softmr-why.h"

struct ib_device;
struct pid;
struct smr_why_past;

/**
 * struct smr_why - the reason of a refusal
 * @id: enum smr_why_id; 0: not refused, or no reason given
 * @nr: number of @num
 * @num: the numbers, in the order of the table
 *
 * It is on the caller's stack, or scratch of a task. The owner sets only @id to 0; a refusal
 * fills in the rest.
 */
struct smr_why {
	u32 id;
	u32 nr;
	u64 num[SMR_WHY_NUMBERS];
};

/* The errno that a reason goes with, as a constant; see SMR_WHYS() */
enum smr_why_errno {
#define SMR_WHY_ERRNO(name, id, error, ...) SMR_WHY_ERRNO_##name = error,
	SMR_WHYS(SMR_WHY_ERRNO)
#undef SMR_WHY_ERRNO
};

int __cold smr_why_set(struct smr_why *why, u32 id, int err, const u64 *num,
		       unsigned int nr);

/**
 * smr_why() - refuse, and give the reason
 * @why: struct smr_why, filled in
 * @name: name of the reason in SMR_WHYS()
 * @...: its numbers
 *
 * Return: the negative errno of the reason; 0 if it is not a reason of a verb.
 */
#define smr_why(why, name, ...)						\
({									\
	const u64 smr_why_num[] = { 0, ##__VA_ARGS__ };			\
									\
	static_assert(ARRAY_SIZE(smr_why_num) - 1 <= SMR_WHY_NUMBERS);	\
	smr_why_set(why, SMR_WHY_##name, -(int)SMR_WHY_ERRNO_##name,	\
		    smr_why_num + 1, ARRAY_SIZE(smr_why_num) - 1);	\
})

/* The same for functions that return an ERR_PTR */
#define smr_why_ptr(why, name, ...) \
	ERR_PTR(smr_why(why, name, ##__VA_ARGS__))

/**
 * struct smr_why_book - the refusals of a namespace
 * @lock: guards all below
 * @logs: struct smr_why_log of the open contexts, the oldest first
 * @past: the last refusals of closed contexts; NULL without a link
 * @ids: number of logs created so far
 */
struct smr_why_book {
	struct mutex lock;	/* see above */
	struct list_head logs;
	struct smr_why_past *past;
	u64 ids;
};

/**
 * struct smr_why_entry - a refusal, and its context
 * @rec: the refusal
 * @uid: the user that may read it without privileges; INVALID_UID: none
 * @pid: the process that opened the context, a reference; NULL: the kernel
 * @comm: command name of that process
 * @dev: the index of the RDMA device, or SMR_WHY_NO_DEV
 */
struct smr_why_entry {
	struct smr_abi_why rec;
	kuid_t uid;
	struct pid *pid;
	char comm[16];
	u32 dev;
};

/**
 * struct smr_why_visitor - a reader of all refusals
 * @may: may the caller read this one? For an open context, its @rec is not filled in
 * @take: use it. @ended is true if its context is closed. Not 0: stop, and pass this refusal
 *	again the next time
 * @arg: argument of both
 */
struct smr_why_visitor {
	bool (*may)(const struct smr_why_entry *entry, void *arg);
	int (*take)(const struct smr_why_entry *entry, bool ended, void *arg);
	void *arg;
};

struct smr_why_log;

kuid_t smr_why_log_uid(const struct smr_why_log *log);

void smr_why_book_init(struct smr_why_book *book);
void smr_why_book_fini(struct smr_why_book *book);
int __must_check smr_why_book_open(struct smr_why_book *book);
void smr_why_book_close(struct smr_why_book *book);

struct smr_why_log *smr_why_log_create(struct smr_why_book *book,
				       const struct ib_device *ibdev);
struct smr_why_log *smr_why_log_create_kernel(struct smr_why_book *book,
					      const struct ib_device *ibdev);
struct smr_why_log *smr_why_log_get(struct smr_why_log *log);
void smr_why_log_put(struct smr_why_log *log);
void smr_why_log_end(struct smr_why_log *log);

bool __cold smr_why_may_add(struct smr_why_log *log, u32 id);
void __cold smr_why_add(struct smr_why_log *log, const struct smr_why *why,
			struct smr_abi_why *rec);
int __cold smr_why_add_verb(struct smr_why_log *log, const struct smr_why *why,
			    u32 qpn, int err);
unsigned int smr_why_read(struct smr_why_log *log, u64 *from,
			  struct smr_abi_why *to, unsigned int max);
int smr_why_walk(struct smr_why_book *book, u64 *log, u64 *seq,
		 const struct smr_why_visitor *v);

/**
 * smr_why_verb() - log the refusal if a verb fails
 * @log: of the context that has called it; NULL: nothing is logged
 * @why: the reason; if it is NULL or its id is 0, the general reason for the errno
 * @qpn: the QP concerned, or 0
 * @ret: result of the verb
 *
 * Context: any.
 * Return: @ret.
 */
static inline int smr_why_verb(struct smr_why_log *log,
			       const struct smr_why *why, u32 qpn, int ret)
{
	if (likely(ret >= 0) || !log)
		return ret;
	return smr_why_add_verb(log, why, qpn, ret);
}

#endif /* SMR_WHY_H */
