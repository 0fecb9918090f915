// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "why_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAMES(a)	(sizeof(a) / sizeof(*(a)))

static const struct smr_why_info infos[] = {
#define REASON(_name, _numbers, _text, _todo)	\
	{ SMR_WHY_##_name, #_name, _numbers, _text, _todo },
#include "why_table.h"
#undef REASON
};

/* Each reason of the ABI has one row. */
enum {
#define REASON(_name, ...)	ROW_##_name,
#include "why_table.h"
#undef REASON
};

#define HAS_ROW(name, ...) \
	static_assert(ROW_##name >= 0, "why_table.h has all reasons");
SMR_WHYS(HAS_ROW)

const struct smr_why_info *smr_why_info(uint32_t id)
{
	size_t i;

	for (i = 0; i < NAMES(infos); i++)
		if (infos[i].id == id)
			return &infos[i];
	return NULL;
}

const struct smr_why_info *smr_why_info_nth(size_t i)
{
	return i < NAMES(infos) ? &infos[i] : NULL;
}

/* -- a string that grows as far as its buffer allows */

struct out {
	char *buf;
	size_t size;
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static void put(struct out *out, const char *format, ...)
{
	size_t room = out->len < out->size ? out->size - out->len : 0;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(room ? out->buf + out->len : NULL, room, format, ap);
	va_end(ap);
	if (n > 0)
		out->len += (size_t)n;
}

/* -- the meaning of numbers */

struct bit {
	uint64_t bit;
	const char *name;
};

static const struct bit access_bits[] = {
	{ 1 << 0, "LOCAL_WRITE" },	{ 1 << 1, "REMOTE_WRITE" },
	{ 1 << 2, "REMOTE_READ" },	{ 1 << 3, "REMOTE_ATOMIC" },
	{ 1 << 4, "MW_BIND" },		{ 1 << 5, "ZERO_BASED" },
	{ 1 << 6, "ON_DEMAND" },	{ 1 << 7, "HUGETLB" },
	{ 1 << 8, "FLUSH_GLOBAL" },	{ 1 << 9, "FLUSH_PERSISTENT" },
	{ 1 << 20, "RELAXED_ORDERING" },
};

static const struct bit attr_bits[] = {
	{ 1 << 0, "STATE" },		{ 1 << 1, "CUR_STATE" },
	{ 1 << 2, "EN_SQD_ASYNC_NOTIFY" }, { 1 << 3, "ACCESS_FLAGS" },
	{ 1 << 4, "PKEY_INDEX" },	{ 1 << 5, "PORT" },
	{ 1 << 6, "QKEY" },		{ 1 << 7, "AV" },
	{ 1 << 8, "PATH_MTU" },		{ 1 << 9, "TIMEOUT" },
	{ 1 << 10, "RETRY_CNT" },	{ 1 << 11, "RNR_RETRY" },
	{ 1 << 12, "RQ_PSN" },		{ 1 << 13, "MAX_QP_RD_ATOMIC" },
	{ 1 << 14, "ALT_PATH" },	{ 1 << 15, "MIN_RNR_TIMER" },
	{ 1 << 16, "SQ_PSN" },		{ 1 << 17, "MAX_DEST_RD_ATOMIC" },
	{ 1 << 18, "PATH_MIG_STATE" },	{ 1 << 19, "CAP" },
	{ 1 << 20, "DEST_QPN" },	{ 1 << 25, "RATE_LIMIT" },
};

static const char *const states[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
};

static const char *const opcodes[] = {
	"RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "SEND", "SEND_WITH_IMM",
	"RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD",
	"LOCAL_INV", "BIND_MW", "SEND_WITH_INV", "TSO",
	[14] = "FLUSH", "ATOMIC_WRITE",
};

static const struct { int error; const char *name; } errnos[] = {
#define ERRNO(name)	{ name, #name }
	ERRNO(EPERM), ERRNO(ENOENT), ERRNO(EINTR), ERRNO(EIO), ERRNO(EBADF),
	ERRNO(EAGAIN), ERRNO(ENOMEM), ERRNO(EACCES), ERRNO(EFAULT),
	ERRNO(EBUSY), ERRNO(ENODEV), ERRNO(EINVAL), ERRNO(EMFILE), ERRNO(ENOSPC),
	ERRNO(EOVERFLOW),
	ERRNO(ENODATA), ERRNO(EPROTO), ERRNO(EOPNOTSUPP),
	ERRNO(EAFNOSUPPORT), ERRNO(EADDRNOTAVAIL), ERRNO(ENETUNREACH),
	ERRNO(ETIMEDOUT), ERRNO(EHOSTUNREACH),
#undef ERRNO
};

static const char *const kinds[] = {
	"PD", "AH", "CQ", "SRQ", "QP", "MR", "MW", "XRC domain", "steering rule",
	"multicast membership", "device memory",
};

static void put_bits(struct out *out, const struct bit *bits, size_t n,
		     const char *prefix, uint64_t value)
{
	const char *between = "";
	size_t i;

	for (i = 0; i < n; i++) {
		if (!(value & bits[i].bit))
			continue;
		put(out, "%s%s%s", between, prefix, bits[i].name);
		value &= ~bits[i].bit;
		between = " | ";
	}
	if (value)
		put(out, "%s%#" PRIx64, between, value);
	else if (!*between)
		put(out, "0");
}

static void put_name(struct out *out, const char *const *names, size_t n,
		     const char *prefix, uint64_t value)
{
	if (value < n && names[value])
		put(out, "%s%s", prefix, names[value]);
	else
		put(out, "%" PRIu64, value);
}

static bool is(const char *type, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(type, name, len);
}

static void put_number(struct out *out, const char *type, size_t len,
		       uint64_t value)
{
	if (is(type, len, "x"))
		put(out, "%#" PRIx64, value);
	else if (is(type, len, "access"))
		put_bits(out, access_bits, NAMES(access_bits), "IBV_ACCESS_",
			 value);
	else if (is(type, len, "attr"))
		put_bits(out, attr_bits, NAMES(attr_bits), "IBV_QP_", value);
	else if (is(type, len, "state"))
		put_name(out, states, NAMES(states), "", value);
	else if (is(type, len, "opcode"))
		put_name(out, opcodes, NAMES(opcodes), "", value);
	else if (is(type, len, "kind"))
		put_name(out, kinds, NAMES(kinds), "", value);
	else if (is(type, len, "mtu"))
		put(out, "%u", value && value < 8 ? 128u << value : 0);
	else
		put(out, "%" PRIu64, value);
}

/* -- the text */

const char *smr_why_number(const struct smr_why_info *info, unsigned int i,
			   size_t *len)
{
	const char *at = info->numbers;

	for (; *at; i--) {
		*len = strcspn(at, ": ");
		if (!i)
			return at;
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return NULL;
}

/*
 * Find the number whose name is between @at and the closing brace. @type: set to its type, which
 * follows a colon in the table. Return: its index, or -1
 */
static int find_number(const struct smr_why_info *info, const char *at,
		       const char **type)
{
	size_t len = strcspn(at, "}"), n;
	const char *name;
	int i;

	for (i = 0; (name = smr_why_number(info, (unsigned int)i, &n)); i++) {
		if (n != len || memcmp(name, at, len))
			continue;
		*type = name[n] == ':' ? name + n + 1 : "";
		return i;
	}
	return -1;
}

/* Text in brackets is left out if the first number in it is 0. @at: after the opening bracket */
static bool is_left_out(const struct smr_why_info *info, const uint64_t *num,
			const char *at)
{
	const char *type;
	int i = find_number(info, at + strcspn(at, "{") + 1, &type);

	return i >= 0 && !num[i];
}

/* Put the number that is named between braces. Return: the text after them */
static const char *put_braces(struct out *out, const struct smr_why_info *info,
			      const uint64_t *num, const char *at)
{
	const char *type;
	int i = find_number(info, at, &type);

	if (i >= 0)
		put_number(out, type, strcspn(type, " "), num[i]);
	at += strcspn(at, "}");
	return at + !!*at;
}

size_t smr_why_format(const struct smr_why_info *info, const uint64_t *num,
		      char *buf, size_t size)
{
	struct out out = { buf, size, 0 };
	const char *at = info->text;
	size_t n;

	if (size)
		*buf = '\0';
	for (;;) {
		n = strcspn(at, "{[]");
		put(&out, "%.*s", (int)n, at);
		at += n;
		if (!*at)
			return out.len;
		if (*at == '[' && is_left_out(info, num, at + 1))
			at += strcspn(at, "]");
		else if (*at++ == '{')
			at = put_braces(&out, info, num, at);
	}
}

const char *smr_why_name(const struct smr_abi_why *rec)
{
	const struct smr_why_info *info = smr_why_info(rec->id);

	if (info)
		return info->name;
	return rec->name[0] ? (const char *)rec->name : "?";
}

size_t smr_why_say(const struct smr_abi_why *rec, char *buf, size_t size)
{
	const struct smr_why_info *info = smr_why_info(rec->id);
	struct out out = { buf, size, 0 };
	uint32_t i;

	if (info)
		return smr_why_format(info, (const uint64_t *)rec->num, buf, size);
	put(&out, "%.*s", SMR_WHY_NAME, smr_why_name(rec));
	for (i = 0; i < rec->nr && i < SMR_WHY_NUMBERS; i++)
		put(&out, " %#" PRIx64, (uint64_t)rec->num[i]);
	put(&out, ", a reason of a newer softmr");
	return out.len;
}

const char *smr_why_todo(const struct smr_abi_why *rec)
{
	const struct smr_why_info *info = smr_why_info(rec->id);

	return info ? info->todo : "update libsoftmr1 and softmr-tools";
}

/* -- what else a record has */

void smr_why_error(const struct smr_abi_why *rec, char *buf, size_t size)
{
	struct out out = { buf, size, 0 };
	size_t i;

	/* only verbs have a thread, and only dropped packets no status */
	if (!rec->tid && !rec->error) {
		put(&out, "dropped");
		return;
	}
	if (!rec->tid) {
		put(&out, "status %" PRIu32, rec->error);
		return;
	}
	for (i = 0; i < NAMES(errnos); i++)
		if ((uint32_t)errnos[i].error == rec->error)
			break;
	if (i < NAMES(errnos))
		put(&out, "%s", errnos[i].name);
	else
		put(&out, "errno %" PRIu32, rec->error);
}

/*
 * Is it a work request of this side? Otherwise the opcode may be that of a
 * packet.
 */
static bool is_own(const struct smr_abi_why *rec)
{
	return rec->id >> 8 == SMR_WHY_WR_OPCODE >> 8 ||
	       rec->id >> 8 == SMR_WHY_PEER_INVALID >> 8;
}

void smr_why_request(const struct smr_abi_why *rec, char *buf, size_t size)
{
	struct out out = { buf, size, 0 };

	if (size)
		*buf = '\0';
	if (rec->tid || !rec->error)
		return;
	if (is_own(rec)) {
		put(&out, " ");
		put_name(&out, opcodes, NAMES(opcodes), "", rec->opcode);
	} else {
		put(&out, " opcode %#" PRIx32, rec->opcode);
	}
	if (is_own(rec) || rec->wr_id)
		put(&out, " wr_id %#" PRIx64, (uint64_t)rec->wr_id);
	put(&out, " PSN %#" PRIx32, rec->psn);
}
