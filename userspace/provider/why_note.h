/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the provider refuses by itself: the kernel keeps the reason with those of its own. */
#ifndef SMR_PROVIDER_WHY_NOTE_H
#define SMR_PROVIDER_WHY_NOTE_H

#include <assert.h>
#include <errno.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <softmr-why.h>

/* The errno that a reason goes with, as a constant; see SMR_WHYS() */
enum {
#define SMR_WHY_ERRNO(name, id, error, ...) SMR_WHY_ERRNO_##name = error,
	SMR_WHYS(SMR_WHY_ERRNO)
#undef SMR_WHY_ERRNO
};

/*
 * smr_why_note - tell the kernel; a module that does not know the method does not mind
 * @qpn: the QP that it is about, or 0
 * @id: enum smr_why_id
 * @error: the errno, which is also the value; errno stays as it is
 */
int smr_why_note(struct ibv_context *context, uint32_t qpn, uint32_t id,
		 int error, const uint64_t num[SMR_WHY_NUMBERS])
	__attribute__((cold));

/* Refuse a call: @name of the reason, and its numbers. The value is the errno. */
#define smr_refuse(context, qpn, name, ...)                                    \
	smr_why_note(context, qpn, SMR_WHY_##name, SMR_WHY_ERRNO_##name,       \
		     (const uint64_t[SMR_WHY_NUMBERS]){ __VA_ARGS__ })

#endif /* SMR_PROVIDER_WHY_NOTE_H */
