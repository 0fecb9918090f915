// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the device has refused to this process, and why; softmrdv.h documents the functions. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/softmrdv.h>

#include "why_note.h"
#include "why_text.h"

static_assert(SOFTMRDV_WHY_NUMBERS == SMR_WHY_NUMBERS,
	      "the numbers are not the kernel's");
static_assert(SOFTMRDV_WHY_NAME == SMR_WHY_NAME,
	      "the name is not the kernel's");

/* The refusal that is looked for; 0: any */
struct wanted {
	uint32_t tid;
	uint32_t qpn;
	uint32_t id;
	const uint64_t *wr_id;
};

static bool is_wanted(const struct wanted *w, const struct smr_abi_why *rec)
{
	return (!w->tid || w->tid == rec->tid) &&
	       (!w->qpn || w->qpn == rec->qpn) &&
	       (!w->id || w->id == rec->id) &&
	       (!w->wr_id || *w->wr_id == rec->wr_id);
}

static void tell(const struct smr_abi_why *rec, struct softmrdv_why *why)
{
	const struct smr_why_info *info = smr_why_info(rec->id);
	size_t len;

	/* that of a newer reason: as the module says */
	*why = (struct softmrdv_why){
		.id = rec->id,
		.error = rec->error,
		.time = rec->time,
		.wr_id = rec->wr_id,
		.qp_num = rec->qpn,
		.peer_qp_num = rec->peer_qpn,
		.psn = rec->psn,
		.opcode = rec->opcode,
		.numbers = info ? 0 : rec->nr,
	};
	memcpy(&why->peer, rec->peer, sizeof(why->peer));
	memcpy(why->number, rec->num, sizeof(why->number));
	snprintf(why->name, sizeof(why->name), "%.*s", SMR_WHY_NAME - 1, smr_why_name(rec));
	while (info && smr_why_number(info, why->numbers, &len))
		why->numbers++;
}

/* Find the last matching refusal; ENOENT: there is none. */
static int find(struct ibv_context *context, const struct wanted *w,
		struct softmrdv_why *why)
{
	struct smr_abi_why recs[SMR_WHY_ROOM], last = {};
	uint64_t from = 0;
	uint32_t n, i;
	int ret;

	if (!softmrdv_is_supported(context->device))
		return EOPNOTSUPP;
	do {
		ret = smr_why_read(context, from, recs, &n);
		if (ret)
			return ret;
		for (i = 0; i < n; i++) {
			from = recs[i].seq;
			if (is_wanted(w, &recs[i]))
				last = recs[i];
		}
	} while (n);
	if (!last.seq)
		return ENOENT;
	tell(&last, why);
	return 0;
}

int softmrdv_why(struct ibv_context *context, struct softmrdv_why *why)
{
	const struct wanted w = { .tid = (uint32_t)syscall(SYS_gettid) };

	return context && why ? find(context, &w, why) : EINVAL;
}

int softmrdv_why_qp(struct ibv_qp *qp, struct softmrdv_why *why)
{
	const struct wanted w = { .qpn = qp ? qp->qp_num : 0 };

	return qp && why ? find(qp->context, &w, why) : EINVAL;
}

int softmrdv_why_wc(struct ibv_context *context, const struct ibv_wc *wc,
		    struct softmrdv_why *why)
{
	if (!context || !wc || !why)
		return EINVAL;
	if (!wc->vendor_err)
		return ENOENT;

	const struct wanted w = {
		.qpn = wc->qp_num, .id = wc->vendor_err, .wr_id = &wc->wr_id,
	};

	return find(context, &w, why);
}

int softmrdv_why_text(const struct softmrdv_why *why, char *text, size_t size)
{
	struct smr_abi_why rec = {};
	size_t len;

	if (why) {
		rec.id = why->id;
		rec.nr = why->numbers;
		memcpy(rec.num, why->number, sizeof(rec.num));
		memcpy(rec.name, why->name, sizeof(why->name));
	}
	len = smr_why_say(&rec, text, size);
	return (int)len + snprintf(len < size ? text + len : NULL,
				   len < size ? size - len : 0, "; try: %s (%#06x)",
				   smr_why_todo(&rec), rec.id);
}
