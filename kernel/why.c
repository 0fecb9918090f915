// SPDX-License-Identifier: GPL-2.0
/*
 * Each context has a log of its last refusals, of a fixed size. A writer takes an entry, in any
 * context, without waiting: if the entry is in use, the refusal is lost. So neither a storm of
 * refusals nor a reader delays a QP.
 *
 * Whoever sends packets can cause any number of drops and refusals that do not end the QP. So a
 * context logs each reason for these at most once per second. Otherwise they would overwrite all
 * other refusals.
 */
#include "why.h"

#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "trace.h"

/* Number of refusals kept per context, and for all closed contexts of a namespace */
#define LOG_ENTRIES	64
#define PAST_ENTRIES	256

/* When all PAST_ENTRIES are in use, a user that has this many overwrites its own oldest one */
#define PAST_SHARE	64

/* Reasons that a peer's packets can cause; rate-limited by smr_why_may_add() */
static const u16 packet_ids[] = {
#define PACKET_ID(name, id, ...) id,
	SMR_WHYS_REQUESTS(PACKET_ID) SMR_WHYS_DROPS(PACKET_ID)
#undef PACKET_ID
};

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
 * @ibdev: the device, which outlives all users of the log; or NULL
 * @who: the context's process and user; @who.rec and @who.dev are unused
 * @second: jiffies / HZ of the last refusal that smr_why_may_add() has allowed, for each of
 *	packet_ids. Written in any context without a lock: a race loses or adds one refusal
 * @slots: refusal n is in slot n % LOG_ENTRIES
 *
 * @book->lock guards @node; constant but for @head, @second and @slots.
 */
struct smr_why_log {
	refcount_t ref;
	struct list_head node;
	struct smr_why_book *book;
	u64 id;
	atomic64_t head;
	const struct ib_device *ibdev;
	struct smr_why_entry who;
	u32 second[ARRAY_SIZE(packet_ids)];
	struct why_slot slots[LOG_ENTRIES];
};

/**
 * struct past_entry - a refusal of a closed context
 * @node: in struct smr_why_past.order
 * @entry: the refusal; its seq is 0 if there is none
 */
struct past_entry {
	struct list_head node;
	struct smr_why_entry entry;
};

/**
 * struct smr_why_past - refusals of closed contexts
 * @head: number of refusals so far, the seq of the last one
 * @order: @entries, the oldest first
 * @entries: the refusals
 */
struct smr_why_past {
	u64 head;
	struct list_head order;
	struct past_entry entries[PAST_ENTRIES];
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
	struct smr_why_past *past = kvzalloc(sizeof(*past), GFP_KERNEL);
	unsigned int i;

	if (!past)
		return -ENOMEM;
	INIT_LIST_HEAD(&past->order);
	for (i = 0; i < PAST_ENTRIES; i++)
		list_add_tail(&past->entries[i].node, &past->order);
	book->past = past;
	return 0;
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
		put_pid(past->entries[i].entry.pid);
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

static struct smr_why_log *log_alloc(struct smr_why_book *book,
				     const struct ib_device *ibdev)
{
	struct smr_why_log *log;
	unsigned int i;

	log = kvzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);
	if (!log)
		return NULL;
	refcount_set(&log->ref, 1);
	log->book = book;
	log->ibdev = ibdev;
	for (i = 0; i < LOG_ENTRIES; i++)
		spin_lock_init(&log->slots[i].lock);
	return log;
}

/* From now on, readers of the book see the log. */
static void log_show(struct smr_why_log *log)
{
	struct smr_why_book *book = log->book;

	guard(mutex)(&book->lock);
	log->id = ++book->ids;
	list_add_tail(&log->node, &book->logs);
}

/**
 * smr_why_log_create() - create the log of a context that the calling process opens
 * @book: of its namespace
 * @ibdev: the device
 *
 * Context: process, may sleep.
 * Return: the log, with the context's reference, which smr_why_log_end() drops; or NULL.
 */
struct smr_why_log *smr_why_log_create(struct smr_why_book *book,
				       const struct ib_device *ibdev)
{
	struct smr_why_log *log = log_alloc(book, ibdev);

	if (!log)
		return NULL;
	log->who.uid = reader();
	log->who.pid = get_pid(task_tgid(current));
	get_task_comm(log->who.comm, current->group_leader);
	log_show(log);
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
 * smr_why_log_create_kernel() - create a log of the kernel, which only privileged readers see
 * @book: of the namespace
 * @ibdev: the device; NULL: it is for the whole namespace
 *
 * Context: process, may sleep.
 * Return: as smr_why_log_create().
 */
struct smr_why_log *smr_why_log_create_kernel(struct smr_why_book *book,
					      const struct ib_device *ibdev)
{
	struct smr_why_log *log = log_alloc(book, ibdev);

	if (!log)
		return NULL;
	log->who.uid = INVALID_UID;
	strscpy(log->who.comm, "kernel", sizeof(log->who.comm));
	log_show(log);
	return log;
}

/*
 * The context of a log that has not ended, as readers see it. @who.dev is read only now: the
 * kernel's log of a link is created before the device has its index.
 */
static struct smr_why_entry log_who(const struct smr_why_log *log)
{
	struct smr_why_entry who = log->who;

	who.dev = log->ibdev ? log->ibdev->index : SMR_WHY_NO_DEV;
	return who;
}

/**
 * smr_why_log_get() - take a reference
 * @log: the caller has a reference
 *
 * Return: @log.
 */
struct smr_why_log *smr_why_log_get(struct smr_why_log *log)
{
	refcount_inc(&log->ref);
	return log;
}

/**
 * smr_why_log_put() - drop a reference
 * @log: the log
 *
 * Context: process, may sleep.
 */
void smr_why_log_put(struct smr_why_log *log)
{
	if (!refcount_dec_and_test(&log->ref))
		return;
	put_pid(log->who.pid);
	kvfree(log);
}

/*
 * The entry to use next: a free one, else the oldest of all. A user that already has PAST_SHARE
 * entries overwrites its own oldest one, and not those of others.
 */
static struct past_entry *past_next(struct smr_why_past *past, kuid_t uid)
{
	struct past_entry *first, *own = NULL, *e;
	unsigned int nr = 0;

	first = list_first_entry(&past->order, struct past_entry, node);
	if (!first->entry.rec.seq)
		return first;
	list_for_each_entry(e, &past->order, node) {
		if (!uid_eq(e->entry.uid, uid))
			continue;
		own = own ?: e;
		nr++;
	}
	return nr < PAST_SHARE ? first : own;
}

static void past_add(struct smr_why_past *past, const struct smr_why_log *log,
		     const struct smr_abi_why *rec)
{
	struct past_entry *to = past_next(past, log->who.uid);

	lockdep_assert_held(&log->book->lock);
	put_pid(to->entry.pid);
	to->entry = log_who(log);
	get_pid(to->entry.pid);
	to->entry.rec = *rec;
	to->entry.rec.seq = ++past->head;
	list_move_tail(&to->node, &past->order);
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

static const char *name_of(u32 id)
{
	switch (id) {
#define NAME(_name, _id, ...)						\
	case _id:							\
		static_assert(sizeof(#_name) <= SMR_WHY_NAME);		\
		return #_name;
	SMR_WHYS(NAME)
#undef NAME
	default:
		return "";
	}
}

/**
 * smr_why_may_add() - may a refusal be logged that a sender of packets can repeat?
 * @log: of the context
 * @id: the reason, enum smr_why_id of a request or of a dropped packet
 *
 * Context: any.
 * Return: true if this reason was not logged in this second; it counts as logged then.
 */
bool smr_why_may_add(struct smr_why_log *log, u32 id)
{
	u32 second = jiffies / HZ;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(packet_ids); i++) {
		if (packet_ids[i] != id)
			continue;
		if (READ_ONCE(log->second[i]) == second)
			return false;
		WRITE_ONCE(log->second[i], second);
	}
	return true;
}

/**
 * smr_why_add() - log a refusal
 * @log: of the context that was refused
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
	rec->nr = why->nr;
	strscpy_pad(rec->name, name_of(rec->id), sizeof(rec->name));
	memcpy(rec->num, why->num, why->nr * sizeof(rec->num[0]));
	trace_smr_refused(log->ibdev, pid_nr(log->who.pid), rec->qpn, rec->id,
			  rec->error, rec->psn, rec->num);
	rec->time = ktime_get_real_ns();
	rec->seq = atomic64_inc_return(&log->head);
	slot = &log->slots[rec->seq % LOG_ENTRIES];
	if (!spin_trylock(&slot->lock))
		return;
	slot->rec = *rec;
	spin_unlock(&slot->lock);
}

/* The general reason for an errno, for a verb that has given none */
static u32 id_of(int err)
{
	switch (err) {
	case -ENOMEM:
		return SMR_WHY_NO_MEMORY;
	case -EINTR:
	case -ERESTARTSYS:
		return SMR_WHY_SIGNAL;
	case -EIO:
		return SMR_WHY_DEVICE_GOES;
	case -EOPNOTSUPP:
		return SMR_WHY_INPUT_UNKNOWN;
	case -EFAULT:
		return SMR_WHY_COMMAND_MEMORY;
	case -ENOSPC:
		return SMR_WHY_NO_NUMBER;
	case -EMFILE:
		return SMR_WHY_FILES;
	default:
		return SMR_WHY_UNSAID;
	}
}

/**
 * smr_why_add_verb() - log that a verb is refused; see smr_why_verb()
 * @log: of the context that has called it
 * @why: the reason; if it is NULL or its id is 0, the general reason for the errno
 * @qpn: the QP concerned, or 0
 * @err: the negative errno
 *
 * Context: any.
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

	smr_why_add(log, why && why->id ? why : &plain, &rec);
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
	const struct past_entry *e;
	int ret;

	list_for_each_entry(e, &past->order, node) {
		if (e->entry.rec.seq <= *seq)
			continue;
		ret = v->may(&e->entry, v->arg) ?
		      v->take(&e->entry, true, v->arg) : 0;
		if (ret)
			return ret;
		*seq = e->entry.rec.seq;
	}
	return 0;
}

static int log_walk(struct smr_why_log *log, u64 *seq,
		    const struct smr_why_visitor *v)
{
	struct smr_why_entry entry = log_who(log);
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
