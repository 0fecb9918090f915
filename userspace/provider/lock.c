// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lock.h"

/**
 * smr_lock_init - make a lock that is not held
 * @lock: the lock
 */
void smr_lock_init(struct smr_lock *lock)
{
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&lock->mutex, NULL);
	lock->busy = false;
}

/**
 * smr_lock_destroy - undo smr_lock_init()
 * @lock: a lock that is not held
 */
void smr_lock_destroy(struct smr_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
	pthread_spin_destroy(&lock->spin);
}

/**
 * smr_lock_wait - the part of smr_lock() that sleeps
 * @lock: the lock; its @spin is held, now and at return
 */
void smr_lock_wait(struct smr_lock *lock)
{
	do {
		pthread_spin_unlock(&lock->spin);
		pthread_mutex_lock(&lock->mutex);
		pthread_mutex_unlock(&lock->mutex);
		pthread_spin_lock(&lock->spin);
	} while (lock->busy);
}

/**
 * smr_lock_for_long - take a lock for the time of a system call
 * @lock: the lock; release it by smr_unlock_after_long()
 */
void smr_lock_for_long(struct smr_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	pthread_spin_lock(&lock->spin);
	lock->busy = true;
	pthread_spin_unlock(&lock->spin);
}

/**
 * smr_unlock_after_long - undo smr_lock_for_long()
 * @lock: the lock
 */
void smr_unlock_after_long(struct smr_lock *lock)
{
	pthread_spin_lock(&lock->spin);
	lock->busy = false;
	pthread_spin_unlock(&lock->spin);
	pthread_mutex_unlock(&lock->mutex);
}
