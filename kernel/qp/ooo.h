/* SPDX-License-Identifier: GPL-2.0 */
/* READ responses that have come while older ones are missing, and what to ask for again. */
#ifndef SMR_OOO_H
#define SMR_OOO_H

#include <linux/compiler.h>
#include <linux/types.h>

/* How far ahead of the oldest PSN responses are kept; a power of two */
#define SMR_OOO_PSNS	4096

/**
 * struct smr_ooo - what has come ahead of the oldest unacknowledged PSN
 * @got: a bit for each PSN, modulo SMR_OOO_PSNS, whose response is in place; none is set
 *	before the oldest, nor from @end on. NULL until the first is kept
 * @kept: how many bits are set
 * @end: the responder has executed what is before it
 * @ask: the next PSN to ask for again
 * @ask_end: where that ends; @ask: nothing is to be asked for
 * @last: the last PSN of the part that was asked for again last
 * @waits: its response has not come
 * @mark: the first PSN that had not been asked for at all when the oldest missing response
 *	was asked for again
 * @any: the responder has executed something behind a missing response; otherwise
 *	nothing of this counts, and no bit of @got is set
 *
 * Owned by the send task.
 */
struct smr_ooo {
	unsigned long *got;
	u32 kept;
	u32 end;
	u32 ask;
	u32 ask_end;
	u32 last;
	u32 mark;
	bool waits;
	bool any;
};

/* What an answer says of the responses before it */
enum smr_ooo_news {
	SMR_OOO_KNOWN,	/* nothing new */
	SMR_OOO_MISSING,	/* some are missing */
	SMR_OOO_AGAIN,	/* the oldest was asked for again, and is missing still */
};

void smr_ooo_free(struct smr_ooo *a);

enum smr_ooo_news smr_ooo_prove(struct smr_ooo *a, u32 una, u32 psn,
				u32 answer, u32 top, bool fetches);
bool smr_ooo_keep(struct smr_ooo *a, u32 una, u32 psn, u32 n);
void smr_ooo_asked(struct smr_ooo *a, u32 n);
void smr_ooo_next(struct smr_ooo *a, u32 top);
void smr_ooo_pass(struct smr_ooo *a, u32 una, u32 n);
void smr_ooo_rewind(struct smr_ooo *a, u32 top);

u32 smr_ooo_got(const struct smr_ooo *a, u32 psn, u32 max);
u32 smr_ooo_missing(const struct smr_ooo *a, u32 psn, u32 max);
u32 smr_ooo_from(const struct smr_ooo *a, u32 una);

static inline bool smr_ooo_asks(const struct smr_ooo *a)
{
	return unlikely(a->any) && a->ask != a->ask_end;
}

#endif /* SMR_OOO_H */
