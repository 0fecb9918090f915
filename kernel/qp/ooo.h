/* SPDX-License-Identifier: GPL-2.0 */
/* A scoreboard of READ responses that arrived out of order, and of what to request again. */
#ifndef SMR_OOO_H
#define SMR_OOO_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Maximum distance from the oldest PSN at which responses are kept; a power of two */
#define SMR_OOO_PSNS	4096

/**
 * struct smr_ooo - responses that arrived ahead of the oldest unacknowledged PSN
 * @got: a bit for each PSN, modulo SMR_OOO_PSNS, whose response was copied; none is set before
 *	the oldest, nor from @end on. NULL until the first is kept
 * @kept: number of bits set
 * @end: the responder has executed all PSNs before this one
 * @ask: the next PSN to request again
 * @ask_end: end of that part; nothing to request if it equals @ask
 * @last: the last PSN of the part that was requested again most recently
 * @waits: the response of @last has not arrived
 * @mark: the first PSN that had not been requested yet when the oldest missing response was
 *	requested again
 * @any: the responder has executed a request after a missing response; otherwise the other
 *	fields are not valid, and no bit of @got is set
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

/* What an answer proves about the responses before it */
enum smr_ooo_news {
	SMR_OOO_KNOWN,	/* nothing new */
	SMR_OOO_MISSING,	/* some are missing */
	SMR_OOO_AGAIN,	/* the oldest was requested again, and is still missing */
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
