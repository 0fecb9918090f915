/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Refusals: the kernel keeps those of the provider itself together with its own. */
#ifndef SMR_PROVIDER_WHY_NOTE_H
#define SMR_PROVIDER_WHY_NOTE_H

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <softmr-why.h>

/* The errno of each reason, as a constant; see SMR_WHYS() */
enum {
#define SMR_WHY_ERRNO(name, id, error, ...) SMR_WHY_ERRNO_##name = error,
	SMR_WHYS(SMR_WHY_ERRNO)
#undef SMR_WHY_ERRNO
};

/*
 * smr_why_note - report a refusal to the kernel; a module that lacks the method is no error
 * @qpn: the QP that it concerns, or 0
 * @id: enum smr_why_id
 * @error: the errno, which is also returned; the variable errno does not change
 */
int smr_why_note(struct ibv_context *context, uint32_t qpn, uint32_t id,
		 int error, const uint64_t num[SMR_WHY_NUMBERS])
	__attribute__((cold));

/* Refuse a call: @name of the reason, and its numbers. The value is the errno. */
#define smr_refuse(context, qpn, name, ...)                                    \
	smr_why_note(context, qpn, SMR_WHY_##name, SMR_WHY_ERRNO_##name,       \
		     (const uint64_t[SMR_WHY_NUMBERS]){ __VA_ARGS__ })

/* The same after a call that was refused with this errno, which need not be the reason's */
#define smr_refused(context, qpn, name, error, ...)                            \
	smr_why_note(context, qpn, SMR_WHY_##name, error,                      \
		     (const uint64_t[SMR_WHY_NUMBERS]){ __VA_ARGS__ })

/* Zeroed memory for an object of the device. NULL: there is none, which is noted; errno is ENOMEM */
void *smr_zalloc(struct ibv_context *context, size_t size);

/* Refusals that are read at once */
#define SMR_WHY_ROOM	16

/* Read the refusals of a context after @from, the oldest first; 0 or a positive errno */
int smr_why_read(struct ibv_context *context, uint64_t from,
		 struct smr_abi_why recs[SMR_WHY_ROOM], uint32_t *n);

#endif /* SMR_PROVIDER_WHY_NOTE_H */
