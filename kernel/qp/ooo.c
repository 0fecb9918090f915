// SPDX-License-Identifier: GPL-2.0
/*
 * When a READ response is lost, the responses after it are still valid, and so are later READs.
 * Their data is copied as they arrive, and a bit is set for each PSN. Only the missing part is
 * requested again: a request for a part of a READ is a repeated request as defined by IBTA
 * 9.7.5.1. When the missing part has arrived, the oldest PSN advances, and work requests
 * complete in order.
 *
 * A repeated response may be lost, too. Nothing after it is requested again, so only a request
 * sent later proves the loss: the responder answers in the order of the requests. If the answer
 * to a later request arrives and the oldest PSN is still missing, it was lost again.
 */
#include "qp/ooo.h"

#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "net/wire.h"

static u32 psn_max(u32 a, u32 b)
{
	return smr_psn_diff(a, b) > 0 ? a : b;
}

/**
 * smr_ooo_free() - free a scoreboard
 * @a: the scoreboard; zeroed
 */
void smr_ooo_free(struct smr_ooo *a)
{
	bitmap_free(a->got);
	memset(a, 0, sizeof(*a));
}

/**
 * smr_ooo_from() - the first PSN that is not known to be executed
 * @a: the scoreboard
 * @una: the oldest unacknowledged PSN
 *
 * Return: the PSN; the responder has executed all before it.
 */
u32 smr_ooo_from(const struct smr_ooo *a, u32 una)
{
	return a->any ? psn_max(una, a->end) : una;
}

/* The number of missing responses before the first one that has arrived */
static u32 missing_first(const struct smr_ooo *a, u32 una)
{
	return smr_ooo_missing(a, una, smr_psn_off(a->end, una));
}

/**
 * smr_ooo_prove() - note that the responder has executed all PSNs before one
 * @a: the scoreboard
 * @una: the oldest unacknowledged PSN, whose response is missing
 * @psn: the PSN, after @una
 * @answer: PSN of the answer that proves it; of several, the first
 * @top: one past the highest PSN ever sent
 * @fetches: some request from smr_ooo_from() to @psn has responses
 *
 * The caller then requests the missing part again.
 *
 * Context: any; called by the send task.
 * Return: what the answer proves that was not known.
 */
enum smr_ooo_news smr_ooo_prove(struct smr_ooo *a, u32 una, u32 psn,
				u32 answer, u32 top, bool fetches)
{
	u32 from = smr_ooo_from(a, una);
	bool more = fetches && smr_psn_diff(psn, from) > 0;

	if (!a->any) {
		a->any = true;
		a->ask = una;
		a->ask_end = una;
		a->mark = top;
		a->waits = false;
	}
	a->end = psn_max(from, psn);
	if (more && a->ask == a->ask_end)
		a->ask = from;
	if (more)
		a->ask_end = psn;
	if (smr_psn_diff(answer, a->mark) < 0)
		return more ? SMR_OOO_MISSING : SMR_OOO_KNOWN;
	if (a->ask == a->ask_end)
		a->ask_end = smr_psn_add(una, missing_first(a, una));
	a->ask = una;
	a->mark = top;
	a->waits = false;
	return SMR_OOO_AGAIN;
}

/**
 * smr_ooo_keep() - note responses that were copied ahead of the oldest
 * @a: the scoreboard; smr_ooo_prove() was called for @psn
 * @una: the oldest unacknowledged PSN
 * @psn: PSN of the first
 * @n: number of responses
 *
 * Context: any; called by the send task.
 * Return: false if they cannot be kept: no memory, or too far ahead.
 */
bool smr_ooo_keep(struct smr_ooo *a, u32 una, u32 psn, u32 n)
{
	u32 i;

	if (smr_psn_off(psn, una) + n > SMR_OOO_PSNS)
		return false;
	if (!a->got)
		a->got = bitmap_zalloc(SMR_OOO_PSNS,
				       GFP_ATOMIC | __GFP_NOWARN);
	if (!a->got)
		return false;
	for (i = 0; i < n; i++)
		if (!__test_and_set_bit((psn + i) % SMR_OOO_PSNS, a->got))
			a->kept++;
	a->end = psn_max(a->end, smr_psn_add(psn, n));
	return true;
}

/**
 * smr_ooo_asked() - note that the next part was requested again
 * @a: the scoreboard
 * @n: its length in PSNs
 */
void smr_ooo_asked(struct smr_ooo *a, u32 n)
{
	a->ask = smr_psn_add(a->ask, n);
	a->last = smr_psn_add(a->ask, -1);
	a->waits = true;
}

/**
 * smr_ooo_next() - continue with the next missing PSN after the oldest has arrived
 * @a: the scoreboard
 * @top: one past the highest PSN ever sent
 */
void smr_ooo_next(struct smr_ooo *a, u32 top)
{
	a->mark = top;
}

/**
 * smr_ooo_pass() - advance the oldest PSN
 * @a: the scoreboard
 * @una: the oldest unacknowledged PSN before the call
 * @n: number of PSNs
 */
void smr_ooo_pass(struct smr_ooo *a, u32 una, u32 n)
{
	u32 next = smr_psn_add(una, n), i;

	for (i = 0; a->kept && i < n; i++)
		if (__test_and_clear_bit((una + i) % SMR_OOO_PSNS, a->got))
			a->kept--;
	a->ask_end = psn_max(a->ask_end, next);
	a->ask = psn_max(a->ask, next);
	if (smr_psn_diff(next, a->last) > 0)
		a->waits = false;
	if (smr_psn_diff(next, a->end) >= 0)
		a->any = false;
}

/**
 * smr_ooo_rewind() - restart: everything that has not arrived will be requested again
 * @a: the scoreboard
 * @top: one past the highest PSN ever sent
 */
void smr_ooo_rewind(struct smr_ooo *a, u32 top)
{
	a->ask = a->ask_end;
	a->mark = top;
	a->waits = false;
}

/* Is any kept response at or after @psn? */
static bool reaches(const struct smr_ooo *a, u32 psn)
{
	return a->kept && smr_psn_diff(psn, a->end) < 0;
}

/* The number of consecutive bits from @psn on that equal @set, at most @max */
static u32 bits_run(const struct smr_ooo *a, u32 psn, u32 max, bool set)
{
	u32 at = psn % SMR_OOO_PSNS, n = 0;

	max = min_t(u32, max, SMR_OOO_PSNS);
	while (n < max && test_bit((at + n) % SMR_OOO_PSNS, a->got) == set)
		n++;
	return n;
}

/**
 * smr_ooo_got() - count the responses that have arrived from a PSN on
 * @a: the scoreboard
 * @psn: not before the oldest unacknowledged PSN
 * @max: upper limit of the count
 *
 * Context: any; called by the send task.
 * Return: their number up to the first gap.
 */
u32 smr_ooo_got(const struct smr_ooo *a, u32 psn, u32 max)
{
	return reaches(a, psn) ? bits_run(a, psn, max, true) : 0;
}

/**
 * smr_ooo_missing() - count the responses that are missing from a PSN on
 * @a: the scoreboard
 * @psn: not before the oldest unacknowledged PSN
 * @max: upper limit of the count
 *
 * Context: any; called by the send task.
 * Return: their number up to the first one that has arrived.
 */
u32 smr_ooo_missing(const struct smr_ooo *a, u32 psn, u32 max)
{
	return reaches(a, psn) ? bits_run(a, psn, max, false) : max;
}
