// SPDX-License-Identifier: GPL-2.0
/*
 * Each context has a log of its last refusals, of a fixed size. A writer takes an entry, in any
 * context, without waiting: if the entry is in use, the refusal is lost. So neither a storm of
 * refusals nor a reader delays a QP.
 */
#include "why.h"

#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "compat/cleanup.h"
#include "trace.h"

/* Number of refusals kept per context, and for all closed contexts of a namespace */
#define LOG_ENTRIES	64
#define PAST_ENTRIES	256

/**
 * struct why_slot - an entry of a log
 * @lock: guards @rec; writers only try it
 * @rec: the refusal; its seq is 0 if there is none
 */
struct why_slot {
	spinlock_t lock;	/* see above */
	struct smr_abi_why rec;
};

/**
 * struct smr_why_log - the last refusals of a context
 * @ref: one for the context, one for each QP
 * @node: in the book's logs, until the context ends
 * @book: of the namespace
 * @id: unique in the book
 * @head: number of refusals so far
 * @who: the context's process and user; @who.rec is unused
 * @slots: refusal n is in slot n % LOG_ENTRIES
 *
 * @book->lock guards @node; constant but for @head and @slots.
 */
struct smr_why_log {
	refcount_t ref;
	struct list_head node;
	struct smr_why_book *book;
	u64 id;
	atomic64_t head;
	struct smr_why_entry who;
	struct why_slot slots[LOG_ENTRIES];
};

/**
 * struct smr_why_past - refusals of closed contexts
 * @head: number of refusals so far
 * @entries: refusal n is in entry n % PAST_ENTRIES
 */
struct smr_why_past {
	u64 head;
	struct smr_why_entry entries[PAST_ENTRIES];
};

/**
 * smr_why_set() - fill in a reason; see smr_why()
 * @why: filled in
 * @id: enum smr_why_id
 * @err: its negative errno
 * @num: its numbers
 * @nr: number of @num
 *
 * Return: @err.
 */
int smr_why_set(struct smr_why *why, u32 id, int err, const u64 *num,
		unsigned int nr)
{
	why->id = id;
	why->nr = nr;
	memcpy(why->num, num, nr * sizeof(*num));
	return err;
}

/**
 * smr_why_book_init() - initialize a namespace's book
 * @book: the book
 */
void smr_why_book_init(struct smr_why_book *book)
{
	mutex_init(&book->lock);
	INIT_LIST_HEAD(&book->logs);
}

/**
 * smr_why_book_fini() - free a namespace's book
 * @book: the book, closed
 */
void smr_why_book_fini(struct smr_why_book *book)
{
	mutex_destroy(&book->lock);
}

/**
 * smr_why_book_open() - open a book for the first link of a namespace
 * @book: the book
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_why_book_open(struct smr_why_book *book)
{
	book->past = kvzalloc(sizeof(*book->past), GFP_KERNEL);
	return book->past ? 0 : -ENOMEM;
}

/**
 * smr_why_book_close() - close the book of a namespace without links and contexts
 * @book: the book
 *
 * Context: process, may sleep.
 */
void smr_why_book_close(struct smr_why_book *book)
{
	struct smr_why_past *past = book->past;
	unsigned int i;

	WARN_ON_ONCE(!list_empty(&book->logs));
	/* Netlink readers hold the lock. */
	scoped_guard(mutex, &book->lock)
		book->past = NULL;
	for (i = 0; i < PAST_ENTRIES; i++)
		put_pid(past->entries[i].pid);
	kvfree(past);
}

/*
 * The user that may read the log by netlink without privileges. Its numbers are addresses of
 * the process and of its connections. So there is none if the process has privileges that its
 * user lacks: a set-user-id program, or one with file capabilities.
 */
static kuid_t reader(void)
{
	const struct cred *cred = current_cred();

	if (!uid_eq(cred->uid, cred->euid) || !uid_eq(cred->uid, cred->suid) ||
	    !gid_eq(cred->gid, cred->egid) || !gid_eq(cred->gid, cred->sgid))
		return INVALID_UID;
	if (!uid_eq(cred->uid, GLOBAL_ROOT_UID) &&
	    !cap_isclear(cred->cap_permitted))
		return INVALID_UID;
	return cred->uid;
}

/**
 * smr_why_log_create() - create the log of a context that the calling process opens
 * @book: of its namespace
 * @dev: the index of the device
 *
 * Context: process, may sleep.
 * Return: the log, with the context's reference, which smr_why_log_end() drops; or NULL.
 */
struct smr_why_log *smr_why_log_create(struct smr_why_book *book, u32 dev)
{
	struct smr_why_log *log;
	unsigned int i;

	log = kvzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);
	if (!log)
		return NULL;
	refcount_set(&log->ref, 1);
	log->book = book;
	log->who.uid = reader();
	log->who.pid = get_pid(task_tgid(current));
	get_task_comm(log->who.comm, current->group_leader);
	log->who.dev = dev;
	for (i = 0; i < LOG_ENTRIES; i++)
		spin_lock_init(&log->slots[i].lock);
	guard(mutex)(&book->lock);
	log->id = ++book->ids;
	list_add_tail(&log->node, &book->logs);
	return log;
}

/**
 * smr_why_log_uid() - the user that may read a log without privileges
 * @log: the log
 *
 * Return: the user, or INVALID_UID: none.
 */
kuid_t smr_why_log_uid(const struct smr_why_log *log)
{
	return log->who.uid;
}

/**
 * smr_why_log_get() - take a reference
 * @log: the caller has a reference, or NULL
 *
 * Return: @log.
 */
struct smr_why_log *smr_why_log_get(struct smr_why_log *log)
{
	if (log)
		refcount_inc(&log->ref);
	return log;
}

/**
 * smr_why_log_put() - drop a reference
 * @log: the log, or NULL
 *
 * Context: process, may sleep.
 */
void smr_why_log_put(struct smr_why_log *log)
{
	if (!log || !refcount_dec_and_test(&log->ref))
		return;
	put_pid(log->who.pid);
	kvfree(log);
}

static void past_add(struct smr_why_past *past, const struct smr_why_log *log,
		     const struct smr_abi_why *rec)
{
	struct smr_why_entry *to = &past->entries[past->head++ % PAST_ENTRIES];

	lockdep_assert_held(&log->book->lock);
	put_pid(to->pid);
	*to = log->who;
	get_pid(to->pid);
	to->rec = *rec;
	to->rec.seq = past->head;
}

/**
 * smr_why_log_end() - move the refusals of a context that is closed
 * @log: of the context
 *
 * Its refusals can be read by netlink until newer ones overwrite them. XRC QPs that outlive the
 * context continue to write to the log, but that is not read.
 *
 * Context: process, may sleep.
 */
void smr_why_log_end(struct smr_why_log *log)
{
	struct smr_why_book *book = log->book;
	struct smr_abi_why rec;
	u64 seq = 0;

	scoped_guard(mutex, &book->lock) {
		list_del(&log->node);
		while (smr_why_read(log, &seq, &rec, 1))
			past_add(book->past, log, &rec);
	}
	smr_why_log_put(log);
}

/**
 * smr_why_add() - log a refusal
 * @log: of the context that was refused; NULL: a kernel consumer, which has none
 * @why: the reason
 * @rec: the other fields of the record. Id, numbers, time and seq are filled in
 *
 * Context: any; does not wait for a lock.
 */
void smr_why_add(struct smr_why_log *log, const struct smr_why *why,
		 struct smr_abi_why *rec)
{
	struct why_slot *slot;

	rec->id = why->id;
	memcpy(rec->num, why->num, why->nr * sizeof(rec->num[0]));
	trace_smr_refused(log ? pid_nr(log->who.pid) : 0, rec->qpn, rec->id,
			  rec->error, rec->psn, rec->num);
	if (!log)
		return;
	rec->time = ktime_get_real_ns();
	rec->seq = atomic64_inc_return(&log->head);
	slot = &log->slots[rec->seq % LOG_ENTRIES];
	if (!spin_trylock(&slot->lock))
		return;
	slot->rec = *rec;
	spin_unlock(&slot->lock);
}

/* Without a reason, derive a general one from the errno. */
static u32 id_of(int err)
{
	switch (err) {
	case -ENOMEM:
		return SMR_WHY_NO_MEMORY;
	case -EINTR:
	case -ERESTARTSYS:
		return SMR_WHY_SIGNAL;
	default:
		return SMR_WHY_UNSAID;
	}
}

/**
 * smr_why_add_verb() - log that a verb is refused; see smr_why_verb()
 * @log: not NULL
 * @why: the reason, or its id is 0
 * @qpn: the QP concerned, or 0
 * @err: the negative errno
 *
 * Context: process.
 * Return: @err.
 */
int smr_why_add_verb(struct smr_why_log *log, const struct smr_why *why,
		     u32 qpn, int err)
{
	struct smr_abi_why rec = {
		.error = -err,
		.qpn = qpn,
		.tid = task_pid_vnr(current),
	};
	const struct smr_why plain = { .id = id_of(err) };

	smr_why_add(log, why->id ? why : &plain, &rec);
	return err;
}

static bool slot_read(struct why_slot *slot, u64 from, struct smr_abi_why *to)
{
	guard(spinlock)(&slot->lock);
	*to = slot->rec;
	return to->seq > from;
}

/**
 * smr_why_read() - read refusals, the oldest first
 * @log: the log
 * @from: the seq of the last one that the caller has, 0: none. Updated
 * @to: the refusals
 * @max: size of @to
 *
 * Context: process.
 * Return: number of refusals read.
 */
unsigned int smr_why_read(struct smr_why_log *log, u64 *from,
			  struct smr_abi_why *to, unsigned int max)
{
	u64 head = atomic64_read(&log->head), seq;
	unsigned int n = 0;

	seq = max(*from, head - min_t(u64, head, LOG_ENTRIES));
	while (n < max && ++seq <= head) {
		/* A newer refusal may have overwritten it. */
		if (!slot_read(&log->slots[seq % LOG_ENTRIES], *from, &to[n]))
			continue;
		if (to[n].seq != seq)
			continue;
		n++;
		*from = seq;
	}
	return n;
}

static int past_walk(const struct smr_why_past *past, u64 *seq,
		     const struct smr_why_visitor *v)
{
	u64 n = max(*seq, past->head - min_t(u64, past->head, PAST_ENTRIES));
	int ret;

	for (; n < past->head; n++) {
		const struct smr_why_entry *entry =
			&past->entries[n % PAST_ENTRIES];

		ret = v->may(entry, v->arg) ? v->take(entry, true, v->arg) : 0;
		if (ret)
			return ret;
		*seq = n + 1;
	}
	return 0;
}

static int log_walk(struct smr_why_log *log, u64 *seq,
		    const struct smr_why_visitor *v)
{
	struct smr_why_entry entry = log->who;
	u64 next = *seq;
	int ret;

	if (!v->may(&entry, v->arg))
		return 0;
	while (smr_why_read(log, &next, &entry.rec, 1)) {
		ret = v->take(&entry, false, v->arg);
		if (ret)
			return ret;
		*seq = next;
	}
	return 0;
}

/**
 * smr_why_walk() - read all refusals of a namespace
 * @book: of the namespace
 * @log: position of the caller: 0 at the beginning. Updated
 * @seq: as @log
 * @v: the caller's functions
 *
 * First those of closed contexts, then those of each open context; the oldest first in each.
 *
 * Context: process, may sleep; @v is called with @book->lock held.
 * Return: 0: all were read; or the result of @v->take(), and the next call begins with that
 *	refusal.
 */
int smr_why_walk(struct smr_why_book *book, u64 *log, u64 *seq,
		 const struct smr_why_visitor *v)
{
	struct smr_why_log *at;
	int ret;

	guard(mutex)(&book->lock);
	if (!*log) {
		ret = book->past ? past_walk(book->past, seq, v) : 0;
		if (ret)
			return ret;
		*log = 1;
		*seq = 0;
	}
	list_for_each_entry(at, &book->logs, node) {
		if (at->id < *log)
			continue;
		if (at->id != *log)
			*seq = 0;
		*log = at->id;
		ret = log_walk(at, seq, v);
		if (ret)
			return ret;
	}
	*log = U64_MAX;
	return 0;
}
