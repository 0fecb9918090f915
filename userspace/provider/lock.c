// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lock.h"

void smr_lock_init(struct smr_lock *lock)
{
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&lock->mutex, NULL);
	lock->busy = false;
}

void smr_lock_destroy(struct smr_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
	pthread_spin_destroy(&lock->spin);
}

/* The part of smr_lock() that sleeps. @spin is held, now and at return. */
void smr_lock_wait(struct smr_lock *lock)
{
	do {
		pthread_spin_unlock(&lock->spin);
		pthread_mutex_lock(&lock->mutex);
		pthread_mutex_unlock(&lock->mutex);
		pthread_spin_lock(&lock->spin);
	} while (lock->busy);
}

/* For the time of a system call */
void smr_lock_for_long(struct smr_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	pthread_spin_lock(&lock->spin);
	lock->busy = true;
	pthread_spin_unlock(&lock->spin);
}

void smr_unlock_after_long(struct smr_lock *lock)
{
	pthread_spin_lock(&lock->spin);
	lock->busy = false;
	pthread_spin_unlock(&lock->spin);
	pthread_mutex_unlock(&lock->mutex);
}
