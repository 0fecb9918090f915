// SPDX-License-Identifier: GPL-2.0
#include "why.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/softmrdv.h>

#include "uverbs.h"

#define TEXT_MAX	600

/**
 * vt_whys() - the refusals of a context, the oldest first
 * @ctx: the context
 * @from: the seq of the last one that the caller has; 0: none
 * @recs: filled in
 * @max: how many at most
 *
 * Return: how many, or a negative errno
 */
int vt_whys(struct ibv_context *ctx, uint64_t from, struct smr_abi_why *recs,
	    unsigned int max)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE, SMR_METHOD_WHY_READ);
	uint32_t count = 0;
	int ret;

	vt_ucmd_value(&cmd, SMR_ATTR_WHY_FROM, from, sizeof(from));
	vt_ucmd_out(&cmd, SMR_ATTR_WHY_ARRAY, recs, max * sizeof(*recs));
	vt_ucmd_value(&cmd, SMR_ATTR_WHY_SIZE, sizeof(*recs), sizeof(uint32_t));
	vt_ucmd_out(&cmd, SMR_ATTR_WHY_COUNT, &count, sizeof(count));
	ret = vt_ucmd_run(&cmd, ctx);
	return ret ? ret : (int)count;
}

/* A dropped packet has no errno and no status. */
static int last(struct ibv_context *ctx, struct smr_abi_why *rec, bool drops)
{
	struct smr_abi_why recs[64];
	int n = vt_whys(ctx, 0, recs, 64);

	if (n < 0)
		return n;
	while (n-- > 0) {
		if (!drops && !recs[n].error)
			continue;
		*rec = recs[n];
		return 0;
	}
	return -ENOENT;
}

/**
 * vt_why_last() - the last refusal of a context
 * @ctx: the context
 * @rec: filled in
 *
 * Return: 0, -ENOENT if nothing was refused, or another negative errno
 */
int vt_why_last(struct ibv_context *ctx, struct smr_abi_why *rec)
{
	return last(ctx, rec, true);
}

/**
 * vt_why_last_failed() - the last refusal of a context but for dropped packets
 * @ctx: the context
 * @rec: filled in
 *
 * After a request has failed, packets of it may still arrive, and are dropped.
 *
 * Return: as vt_why_last()
 */
int vt_why_last_failed(struct ibv_context *ctx, struct smr_abi_why *rec)
{
	return last(ctx, rec, false);
}

/* -- the words */

static const struct row {
	uint32_t id;
	const char *numbers, *text, *todo;
} rows[] = {
#define REASON(_name, _numbers, _text, _todo) { SMR_WHY_##_name, _numbers, _text, _todo },
#include <why_table.h>
#undef REASON
};

/* What follows in the table behind the number's name: ":TYPE", or nothing. @i: which number it is */
static const char *type_of(const struct row *row, const char *name, size_t len, unsigned int *i)
{
	const char *at = row->numbers;

	for (*i = 0; *at; ++*i) {
		size_t n = strcspn(at, ": ");

		if (n == len && !memcmp(at, name, n))
			return at + n;
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return NULL;
}

/*
 * Skip the number that the text has at @at. Those with types of their own are words up to what
 * comes next in the table. NULL: it is another one.
 */
static const char *skip_number(const char *at, const char *type, uint64_t num, const char *next)
{
	bool is_hex = !strncmp(type, ":x", 2);
	char want[32], piece[TEXT_MAX];

	if (*type == ':' && !is_hex) {
		snprintf(piece, sizeof(piece), "%.*s", (int)strcspn(next, "{"), next);
		next = strstr(at, piece);
		return next == at ? NULL : next;
	}
	snprintf(want, sizeof(want), is_hex ? "%#" PRIx64 : "%" PRIu64, num);
	return strncmp(at, want, strlen(want)) ? NULL : at + strlen(want);
}

/* The row's text without brackets, and without those of them whose first number is 0 */
static void without_brackets(const struct row *row, const struct smr_abi_why *rec, char *to)
{
	const char *at, *name;
	unsigned int i;

	for (at = row->text; *at; at++) {
		if (*at == '[') {
			name = strchr(at, '{') + 1;
			if (type_of(row, name, strcspn(name, "}"), &i) && !rec->num[i])
				at = strchr(at, ']');
		} else if (*at != ']') {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static bool has_words(const struct row *row, const struct smr_abi_why *rec, const char *at)
{
	char end[TEXT_MAX], words[TEXT_MAX];
	const char *text = words, *type;
	unsigned int i;
	size_t n;

	without_brackets(row, rec, words);
	while (at && *text) {
		n = strcspn(text, "{");
		if (strncmp(at, text, n))
			return false;
		at += n;
		text += n;
		if (!*text)
			break;
		n = strcspn(text, "}");
		type = type_of(row, text + 1, n - 1, &i);
		text += n + 1;
		at = type ? skip_number(at, type, rec->num[i], *text ? text : "; try: ") : NULL;
	}
	snprintf(end, sizeof(end), "; try: %s (%#06x)", row->todo, row->id);
	return at && !strcmp(at, end);
}

/**
 * vt_why_reads() - does libsoftmr say a refusal in the words of the table, with its numbers?
 * @rec: the refusal
 */
bool vt_why_reads(const struct smr_abi_why *rec)
{
	int (*say)(const struct softmrdv_why *why, char *text, size_t size);
	void *lib = dlopen("libsoftmr.so.1", RTLD_NOW);
	struct softmrdv_why why = { .id = rec->id };
	char text[TEXT_MAX] = "";
	const struct row *row;

	if (!lib)
		return false;
	*(void **)&say = dlsym(lib, "softmrdv_why_text");
	memcpy(why.number, rec->num, sizeof(why.number));
	if (say)
		say(&why, text, sizeof(text));
	dlclose(lib);
	for (row = rows; row < rows + sizeof(rows) / sizeof(*rows); row++)
		if (row->id == rec->id && has_words(row, rec, text))
			return true;
	printf("# reason %#x says: %s\n", rec->id, text);
	return false;
}

/**
 * vt_why_given() - see vt_why_is()
 * @ctx: the context
 * @id: the reason
 * @num: its first numbers
 * @n: number of these
 */
bool vt_why_given(struct ibv_context *ctx, uint32_t id, const uint64_t *num, unsigned int n)
{
	struct smr_abi_why recs[64];
	int i = vt_whys(ctx, 0, recs, 64);

	while (i-- > 0)
		if (recs[i].id == id && !memcmp(recs[i].num, num, n * sizeof(*num)))
			return vt_why_reads(&recs[i]);
	return false;
}
