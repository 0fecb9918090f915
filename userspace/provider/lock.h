/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The lock of a queue. It is held for a few instructions, so other threads
 * spin. While the kernel resizes a queue, they sleep instead: a spinning thread
 * of high priority might keep the holder from running.
 */
#ifndef SMR_PROVIDER_LOCK_H
#define SMR_PROVIDER_LOCK_H

#include <pthread.h>
#include <stdbool.h>

#include <util/compiler.h>

/* A lock */
struct smr_lock {
	pthread_spinlock_t spin;	/* guards what the lock is for, and @busy */
	/* a thread holds the lock for a system call, and has released @spin */
	bool busy;
	pthread_mutex_t mutex;		/* that thread holds it; the others wait for it */
};

void smr_lock_init(struct smr_lock *lock);
void smr_lock_destroy(struct smr_lock *lock);
void smr_lock_wait(struct smr_lock *lock);
void smr_lock_for_long(struct smr_lock *lock);
void smr_unlock_after_long(struct smr_lock *lock);

static inline void smr_lock(struct smr_lock *lock)
{
	pthread_spin_lock(&lock->spin);
	if (unlikely(lock->busy))
		smr_lock_wait(lock);
}

static inline void smr_unlock(struct smr_lock *lock)
{
	pthread_spin_unlock(&lock->spin);
}

#endif /* SMR_PROVIDER_LOCK_H */
