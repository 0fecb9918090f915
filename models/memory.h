/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory between CPUs. A plain store stays in the store buffer of its process until
 * memory() takes it, at any later time, and others do not see it before. A barrier waits until
 * the buffer is empty, and so does an atomic operation that returns a value and succeeds. A
 * buffer holds one store; a second one waits for the first. So the models have loads that
 * overtake stores, as on all CPUs. They do not have the reorderings of only some CPUs, such as
 * arm64: loads that overtake loads, and stores that overtake stores.
 *
 * The including file defines VARS, the number of shared variables, and PROCS, the number of
 * processes that store. Each of these has its number in "me".
 */
#define EMPTY 255

byte m[VARS];
byte slot_var[PROCS] = EMPTY;
byte slot_val[PROCS];

#define drained (slot_var[me] == EMPTY)

/* WRITE_ONCE(), and smp_store_release(): stores leave the buffer in their order */
inline store(v, x)
{
	atomic { drained -> slot_val[me] = x; slot_var[me] = v }
}

/* READ_ONCE(), smp_load_acquire(): a process sees its own stores at once */
#define load(v) (slot_var[me] == (v) -> slot_val[me] : m[v])

/* smp_mb() */
#define mb() drained

/* ok = cmpxchg(&v, from, to) == from. If it fails it is no barrier */
inline cmpxchg(v, from, to, ok)
{
	if
	:: atomic { drained && m[v] == from -> m[v] = to; ok = true }
	:: atomic { load(v) != from -> ok = false }
	fi
}

#define TAKE(p)						\
	:: atomic {					\
		slot_var[p] != EMPTY ->			\
		m[slot_var[p]] = slot_val[p];		\
		slot_var[p] = EMPTY;			\
		slot_val[p] = 0				\
	   }

proctype memory()
{
end:	do
	TAKE(0)
#if PROCS > 1
	TAKE(1)
#endif
#if PROCS > 2
	TAKE(2)
#endif
#if PROCS > 3
	TAKE(3)
#endif
#if PROCS > 4
	TAKE(4)
#endif
#if PROCS > 5
	TAKE(5)
#endif
	od
}
