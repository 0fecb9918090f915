// SPDX-License-Identifier: GPL-2.0
/*
 * When a READ response is lost, the responses behind it are good, and so are the READs
 * behind it. They are put in place as they come, and a bit for each PSN says so. Only what
 * is missing is asked for again: a request for a part of a READ is a repeated request as
 * IBTA 9.7.5.1 knows them. The oldest PSN moves on, and work requests complete, in order,
 * when what was missing has come.
 *
 * A response may be missing twice. Nothing behind it is asked for again, so nothing tells,
 * but what was asked for afterwards: the responder answers in the order of the requests. When
 * an answer to that comes, and the oldest PSN is still missing, it was lost again.
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
 * smr_ooo_free() - forget everything
 * @a: what has come ahead; zeroed
 */
void smr_ooo_free(struct smr_ooo *a)
{
	bitmap_free(a->got);
	memset(a, 0, sizeof(*a));
}

/**
 * smr_ooo_from() - where does it begin that nothing is known of?
 * @a: what has come ahead
 * @una: the oldest unacknowledged PSN
 *
 * Return: the PSN: what is before it was executed by the responder.
 */
u32 smr_ooo_from(const struct smr_ooo *a, u32 una)
{
	return a->any ? psn_max(una, a->end) : una;
}

/* How many responses are missing up to the first one that is not */
static u32 missing_first(const struct smr_ooo *a, u32 una)
{
	return smr_ooo_missing(a, una, smr_psn_off(a->end, una));
}

/**
 * smr_ooo_prove() - the responder has executed what is before a PSN
 * @a: what has come ahead
 * @una: the oldest unacknowledged PSN, whose response is missing
 * @psn: the PSN, behind @una
 * @answer: that of the answer that says so; of several, the first one's
 * @top: one past the highest PSN ever sent
 * @fetches: something from smr_ooo_from() to @psn has responses
 *
 * What is missing is then to be asked for again.
 *
 * Context: any; called by the send task.
 * Return: what is new.
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
 * smr_ooo_keep() - responses are in place ahead of the oldest
 * @a: what has come ahead; it knows that what is before @psn was executed
 * @una: the oldest unacknowledged PSN
 * @psn: the first one's
 * @n: how many
 *
 * Context: any; called by the send task.
 * Return: false: they cannot be kept. There is no memory, or they are too far ahead.
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
 * smr_ooo_asked() - the next part was asked for again
 * @a: what has come ahead
 * @n: its length in PSNs
 */
void smr_ooo_asked(struct smr_ooo *a, u32 n)
{
	a->ask = smr_psn_add(a->ask, n);
	a->last = smr_psn_add(a->ask, -1);
	a->waits = true;
}

/**
 * smr_ooo_next() - the oldest PSN has come, and another one is missing
 * @a: what has come ahead
 * @top: one past the highest PSN ever sent
 */
void smr_ooo_next(struct smr_ooo *a, u32 top)
{
	a->mark = top;
}

/**
 * smr_ooo_pass() - the oldest PSN moves on
 * @a: what has come ahead
 * @una: the oldest unacknowledged PSN until now
 * @n: by how many
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
 * smr_ooo_rewind() - everything that has not come will be asked for again
 * @a: what has come ahead
 * @top: one past the highest PSN ever sent
 */
void smr_ooo_rewind(struct smr_ooo *a, u32 top)
{
	a->ask = a->ask_end;
	a->mark = top;
	a->waits = false;
}

/* Does anything kept lie at @psn, or behind it? */
static bool reaches(const struct smr_ooo *a, u32 psn)
{
	return a->kept && smr_psn_diff(psn, a->end) < 0;
}

/* How many bits from that of @psn on are @set, or not, up to @max */
static u32 bits_run(const struct smr_ooo *a, u32 psn, u32 max, bool set)
{
	u32 at = psn % SMR_OOO_PSNS, n = 0;

	max = min_t(u32, max, SMR_OOO_PSNS);
	while (n < max && test_bit((at + n) % SMR_OOO_PSNS, a->got) == set)
		n++;
	return n;
}

/**
 * smr_ooo_got() - how many responses have come, from a PSN on
 * @a: what has come ahead
 * @psn: not before the oldest unacknowledged PSN
 * @max: look at so many
 *
 * Context: any; called by the send task.
 * Return: how many, without a gap.
 */
u32 smr_ooo_got(const struct smr_ooo *a, u32 psn, u32 max)
{
	return reaches(a, psn) ? bits_run(a, psn, max, true) : 0;
}

/**
 * smr_ooo_missing() - how many responses have not come, from a PSN on
 * @a: what has come ahead
 * @psn: not before the oldest unacknowledged PSN
 * @max: look at so many
 *
 * Context: any; called by the send task.
 * Return: how many, up to the first one that has.
 */
u32 smr_ooo_missing(const struct smr_ooo *a, u32 psn, u32 max)
{
	return reaches(a, psn) ? bits_run(a, psn, max, false) : max;
}
