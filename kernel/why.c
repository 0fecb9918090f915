// SPDX-License-Identifier: GPL-2.0
/*
 * Each user of a namespace has a ring of its last refusals, of a fixed size. It stays when the
 * user's contexts are closed. A context that has its share overwrites its own oldest refusal. If
 * the ring is full, a new refusal takes the place of the oldest one of a closed context, or else of
 * the oldest one of the context that has the most. So a context that is refused all the time does
 * not push out the refusals of others.
 *
 * Whoever sends packets can cause any number of drops and refusals that do not end the QP. So a
 * context logs each reason for these at most once per second.
 */
#include "why.h"

#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "trace.h"

/* Refusals of each user, and of each of its contexts at most */
#define RING_ENTRIES	256
#define LOG_SHARE	64

/* Users without an open context whose refusals are kept */
#define RINGS_IDLE	8

/* The ids of reasons of packets are in this range */
#define PACKET_FIRST	0x1000
#define PACKET_IDS	0x500

/**
 * struct ring_entry - a refusal
 * @node: in struct why_ring.order
 * @of_log: in struct smr_why_log.entries, unless it is free
 * @log: of its context, a reference; NULL: the entry is free
 * @rec: the refusal
 * @at: value of struct why_ring.head
 */
struct ring_entry {
	struct list_head node;
	struct list_head of_log;
	struct smr_why_log *log;
	struct smr_abi_why rec;
	u64 at;
};

/**
 * struct why_ring - the last refusals of a user
 * @ref: one of the namespace, one for each log
 * @node: in struct smr_whys.rings, by @id
 * @uid: the user; INVALID_UID: the kernel, and processes whose refusals their user may not read
 * @id: unique in the namespace
 * @open: number of logs that have not ended
 * @idle: value of struct smr_whys.idles since @open is 0
 * @lock: guards @head, @order, @entries, and in logs what they say
 * @head: number of refusals so far
 * @order: @entries, the free ones first, then the oldest
 * @entries: the refusals
 *
 * struct smr_whys.lock guards @node, @open and @idle; @uid and @id are constant.
 */
struct why_ring {
	refcount_t ref;
	struct list_head node;
	kuid_t uid;
	u64 id;
	unsigned int open;
	u64 idle;
	spinlock_t lock;	/* see above */
	u64 head;
	struct list_head order;
	struct ring_entry entries[RING_ENTRIES];
};

/**
 * struct smr_why_log - the refusals of a context
 * @ref: one for the context, one for each QP, one for each entry of the ring
 * @ring: of its user, a reference
 * @ibdev: the device, until the log ends; or NULL
 * @pid: the process that opened the context, a reference; NULL: the kernel
 * @comm: command name of that process
 * @seq: number of refusals so far
 * @nr: number of @entries
 * @entries: its entries in the ring, the oldest first
 * @dev: the index of the device, if @ended
 * @ended: the context is closed; nothing more is added
 * @second: jiffies / HZ to which @packets belongs
 * @packets: the reasons of packets that were logged in that second. Both are written in any context
 *	without a lock: a race loses or adds a refusal
 *
 * @ring->lock guards @seq, @nr, @entries, @dev and @ended; the others are constant.
 */
struct smr_why_log {
	refcount_t ref;
	struct why_ring *ring;
	const struct ib_device *ibdev;
	struct pid *pid;
	char comm[16];
	u64 seq;
	unsigned int nr;
	struct list_head entries;
	u32 dev;
	bool ended;
	u32 second;
	DECLARE_BITMAP(packets, PACKET_IDS);
};

/* -- rings */

static void ring_put(struct why_ring *ring)
{
	if (refcount_dec_and_test(&ring->ref))
		kvfree(ring);
}

static struct why_ring *ring_create(struct smr_whys *whys, kuid_t uid)
{
	struct why_ring *ring = kvzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	unsigned int i;

	lockdep_assert_held(&whys->lock);
	if (!ring)
		return NULL;
	refcount_set(&ring->ref, 1);
	spin_lock_init(&ring->lock);
	ring->uid = uid;
	ring->id = ++whys->ids;
	INIT_LIST_HEAD(&ring->order);
	for (i = 0; i < RING_ENTRIES; i++)
		list_add_tail(&ring->entries[i].node, &ring->order);
	list_add_tail(&ring->node, &whys->rings);
	return ring;
}

static void entry_free(struct ring_entry *e)
{
	if (!e->log)
		return;
	e->log->nr--;
	list_del(&e->of_log);
	smr_why_log_put(e->log);
	e->log = NULL;
}

/* Forget a user without an open context. An XRC QP may still have a log of it, which has ended. */
static void ring_forget(struct why_ring *ring)
{
	unsigned int i;

	list_del(&ring->node);
	/* The logs refer to the ring. */
	scoped_guard(spinlock_irqsave, &ring->lock)
		for (i = 0; i < RING_ENTRIES; i++)
			entry_free(&ring->entries[i]);
	ring_put(ring);
}

/* If too many users have no open context, forget the one for which this is the longest true. */
static void rings_limit(struct smr_whys *whys)
{
	struct why_ring *ring, *oldest = NULL;
	unsigned int nr = 0;

	lockdep_assert_held(&whys->lock);
	list_for_each_entry(ring, &whys->rings, node) {
		if (ring->open)
			continue;
		nr++;
		if (!oldest || ring->idle < oldest->idle)
			oldest = ring;
	}
	if (nr > RINGS_IDLE)
		ring_forget(oldest);
}

/*
 * The entry for the next refusal of a log. Only a full ring, of several contexts that are all open,
 * is searched as a whole.
 */
static struct ring_entry *ring_next(struct why_ring *ring,
				    const struct smr_why_log *log)
{
	struct ring_entry *e, *found = NULL;

	lockdep_assert_held(&ring->lock);
	if (log->nr == LOG_SHARE)
		return list_first_entry(&log->entries, struct ring_entry, of_log);
	list_for_each_entry(e, &ring->order, node) {
		if (!e->log || e->log->ended)
			return e;
		if (!found || e->log->nr > found->log->nr)
			found = e;
	}
	return found;
}

static void ring_add(struct smr_why_log *log, struct smr_abi_why *rec)
{
	struct why_ring *ring = log->ring;
	struct ring_entry *to;

	guard(spinlock_irqsave)(&ring->lock);
	if (log->ended)
		return;
	to = ring_next(ring, log);
	entry_free(to);
	rec->seq = ++log->seq;
	to->rec = *rec;
	to->log = smr_why_log_get(log);
	to->at = ++ring->head;
	log->nr++;
	list_add_tail(&to->of_log, &log->entries);
	list_move_tail(&to->node, &ring->order);
}

/**
 * smr_whys_init() - initialize the refusals of a namespace
 * @whys: the refusals
 */
void smr_whys_init(struct smr_whys *whys)
{
	mutex_init(&whys->lock);
	INIT_LIST_HEAD(&whys->rings);
}

/**
 * smr_whys_fini() - end the refusals of a namespace
 * @whys: cleared
 */
void smr_whys_fini(struct smr_whys *whys)
{
	WARN_ON_ONCE(!list_empty(&whys->rings));
	mutex_destroy(&whys->lock);
}

/**
 * smr_whys_clear() - forget the refusals of a namespace whose last link goes
 * @whys: the refusals; all logs have ended
 *
 * Context: process, may sleep.
 */
void smr_whys_clear(struct smr_whys *whys)
{
	struct why_ring *ring, *next;

	guard(mutex)(&whys->lock);
	list_for_each_entry_safe(ring, next, &whys->rings, node) {
		WARN_ON_ONCE(ring->open);
		ring_forget(ring);
	}
}

/* -- logs */

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

static struct smr_why_log *log_create(struct smr_whys *whys, kuid_t uid,
				      const struct ib_device *ibdev)
{
	struct smr_why_log *log = kzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);
	struct why_ring *ring, *found = NULL;

	if (!log)
		return NULL;
	refcount_set(&log->ref, 1);
	INIT_LIST_HEAD(&log->entries);
	log->ibdev = ibdev;
	guard(mutex)(&whys->lock);
	list_for_each_entry(ring, &whys->rings, node)
		if (uid_eq(ring->uid, uid))
			found = ring;
	log->ring = found ?: ring_create(whys, uid);
	if (!log->ring) {
		kfree(log);
		return NULL;
	}
	refcount_inc(&log->ring->ref);
	log->ring->open++;
	return log;
}

/**
 * smr_why_log_create() - create the log of a context that the calling process opens
 * @whys: of its namespace
 * @ibdev: the device
 *
 * Context: process, may sleep.
 * Return: the log, with the context's reference, which smr_why_log_end() drops; or NULL.
 */
struct smr_why_log *smr_why_log_create(struct smr_whys *whys,
				       const struct ib_device *ibdev)
{
	struct smr_why_log *log = log_create(whys, reader(), ibdev);

	if (!log)
		return NULL;
	log->pid = get_pid(task_tgid(current));
	get_task_comm(log->comm, current->group_leader);
	return log;
}

/**
 * smr_why_log_create_kernel() - create a log of the kernel, which only privileged readers see
 * @whys: of the namespace
 * @ibdev: the device; NULL: it is for the whole namespace
 *
 * Context: process, may sleep.
 * Return: as smr_why_log_create().
 */
struct smr_why_log *smr_why_log_create_kernel(struct smr_whys *whys,
					      const struct ib_device *ibdev)
{
	struct smr_why_log *log = log_create(whys, INVALID_UID, ibdev);

	if (log)
		strscpy(log->comm, "kernel", sizeof(log->comm));
	return log;
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
 * Context: any.
 */
void smr_why_log_put(struct smr_why_log *log)
{
	if (!refcount_dec_and_test(&log->ref))
		return;
	put_pid(log->pid);
	ring_put(log->ring);
	kfree(log);
}

/* The index of the device is read only now: the log of a link is created before it has one. */
static u32 log_dev(const struct smr_why_log *log)
{
	lockdep_assert_held(&log->ring->lock);
	if (log->ended)
		return log->dev;
	return log->ibdev ? log->ibdev->index : SMR_WHY_NO_DEV;
}

/**
 * smr_why_log_end() - end the log of a context that is closed, and drop its reference
 * @log: of the context
 * @whys: of its namespace
 *
 * Its refusals stay in the ring. XRC QPs that outlive the context log no more.
 *
 * Context: process, may sleep.
 */
void smr_why_log_end(struct smr_why_log *log, struct smr_whys *whys)
{
	struct why_ring *ring = log->ring;

	scoped_guard(mutex, &whys->lock) {
		scoped_guard(spinlock_irqsave, &ring->lock) {
			log->dev = log_dev(log);
			log->ended = true;
		}
		if (!--ring->open) {
			ring->idle = ++whys->idles;
			rings_limit(whys);
		}
	}
	smr_why_log_put(log);
}

/**
 * smr_why_log_uid() - the user that may read a log without privileges
 * @log: the log
 *
 * Return: the user, or INVALID_UID: none.
 */
kuid_t smr_why_log_uid(const struct smr_why_log *log)
{
	return log->ring->uid;
}

/* -- refusals */

static const struct { u32 id; char name[SMR_WHY_NAME]; } names[] = {
#define NAME(name, id, error) { id, #name },
	SMR_WHYS(NAME)
#undef NAME
};

/* Looked up for readers only: the table is long. */
static const char *name_of(u32 id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].id == id)
			return names[i].name;
	return "";
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

	if (READ_ONCE(log->second) != second) {
		bitmap_zero(log->packets, PACKET_IDS);
		WRITE_ONCE(log->second, second);
	}
	id -= PACKET_FIRST;
	return id < PACKET_IDS && !test_and_set_bit(id, log->packets);
}

/**
 * smr_why_add() - log a refusal
 * @log: of the context that was refused
 * @why: the reason
 * @rec: the other fields of the record. The reason without its name, time and seq are filled in
 *
 * Context: any.
 */
void smr_why_add(struct smr_why_log *log, struct smr_reason why,
		 struct smr_abi_why *rec)
{
	rec->id = why.id;
	rec->nr = why.nr;
	memcpy(rec->num, why.num, sizeof(rec->num));
	rec->time = ktime_get_real_ns();
	trace_smr_refused(log->ibdev, pid_nr(log->pid), rec->qpn, rec->id,
			  rec->error, rec->psn, rec->num);
	ring_add(log, rec);
}

/**
 * smr_why_verb() - log that a verb is refused; see smr_why_qp()
 * @log: of the context that has called it; NULL: nothing is logged
 * @qpn: the QP concerned, or 0
 * @err: the negative errno
 * @why: the reason
 *
 * Context: any.
 * Return: @err.
 */
int smr_why_verb(struct smr_why_log *log, u32 qpn, int err, struct smr_reason why)
{
	struct smr_abi_why rec = {
		.error = -err,
		.qpn = qpn,
		.tid = task_pid_vnr(current),
	};

	if (log)
		smr_why_add(log, why, &rec);
	return err;
}

/* The general reason for an errno */
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
 * smr_why_general() - log a refusal with the general reason for its errno; see smr_why_errno()
 * @log: as smr_why_verb()
 * @qpn: as smr_why_verb()
 * @err: the negative errno
 *
 * Context: any.
 * Return: @err.
 */
int smr_why_general(struct smr_why_log *log, u32 qpn, int err)
{
	return smr_why_verb(log, qpn, err, (struct smr_reason){ .id = id_of(err) });
}

/* -- readers */

/* The first refusal after @after: of @log by its seq, or of all by the ring's count. */
static bool ring_read(struct why_ring *ring, const struct smr_why_log *log,
		      u64 after, struct smr_why_entry *to)
{
	const struct ring_entry *e;

	guard(spinlock_irqsave)(&ring->lock);
	list_for_each_entry(e, &ring->order, node) {
		if (!e->log || (log ? e->log != log || e->rec.seq <= after :
				      e->at <= after))
			continue;
		to->rec = e->rec;
		strscpy_pad(to->rec.name, name_of(e->rec.id), sizeof(to->rec.name));
		to->at = e->at;
		to->pid = pid_vnr(e->log->pid);
		memcpy(to->comm, e->log->comm, sizeof(to->comm));
		to->dev = log_dev(e->log);
		to->ended = e->log->ended;
		return true;
	}
	return false;
}

/**
 * smr_why_read() - read the next refusal of a context
 * @log: its log
 * @seq: the seq of the last one that the caller has, 0: none
 * @rec: the refusal
 *
 * Context: process.
 * Return: false if there is none.
 */
bool smr_why_read(struct smr_why_log *log, u64 seq, struct smr_abi_why *rec)
{
	struct smr_why_entry entry;

	if (!ring_read(log->ring, log, seq, &entry))
		return false;
	*rec = entry.rec;
	return true;
}

/**
 * smr_why_walk() - read the refusals of a namespace, the oldest of each user first
 * @whys: of the namespace
 * @ring: position of the caller: 0 at the beginning. Updated
 * @at: as @ring
 * @reader: the caller
 *
 * Context: process, may sleep; @reader->take is called with @whys->lock held.
 * Return: 0: all were read; or the result of @reader->take(), and the next call begins with that
 *	refusal.
 */
int smr_why_walk(struct smr_whys *whys, u64 *ring, u64 *at,
		 const struct smr_why_reader *reader)
{
	struct smr_why_entry entry;
	struct why_ring *r;
	int ret;

	guard(mutex)(&whys->lock);
	list_for_each_entry(r, &whys->rings, node) {
		if (r->id < *ring || !(reader->all || (uid_valid(r->uid) &&
						       uid_eq(r->uid, reader->uid))))
			continue;
		if (r->id != *ring)
			*at = 0;
		*ring = r->id;
		while (ring_read(r, NULL, *at, &entry)) {
			ret = reader->take(&entry, reader->arg);
			if (ret)
				return ret;
			*at = entry.at;
		}
	}
	*ring = U64_MAX;
	return 0;
}
