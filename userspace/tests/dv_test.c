// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions of softmrdv.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/softmrdv.h>

#include "../provider/why_text.h"
#include "../provider/why_watch.h"
#include "rig.h"

/* PROVIDER_DRIVER() defines it */
extern const struct verbs_device_ops verbs_provider_softmr;

static const struct verbs_device_ops other_ops = { .name = "other" };
static struct verbs_device ours;
static struct verbs_device other = { .ops = &other_ops };

/* The region of our device */
static struct ibv_mr *rig_region(void)
{
	static struct ibv_mr mr;

	ours.ops = &verbs_provider_softmr;
	fake_context()->device = &ours.device;
	mr = (struct ibv_mr){
		.context = fake_context(),
		.handle = FAKE_MR_HANDLE,
	};
	return &mr;
}

/* A region of our device, with @windows windows bound to it */
static struct ibv_mr *rig_mr(uint32_t windows)
{
	fake.windows = windows;
	fake.query_err = 0;
	fake.queries = 0;
	return rig_region();
}

static void query_errors(void)
{
	struct softmrdv_mr_window w;
	struct ibv_mr *mr = rig_mr(1);
	uint32_t total = 77;

	want(softmrdv_query_mr_windows(NULL, &w, 1, &total) == EINVAL);
	want(softmrdv_query_mr_windows(mr, NULL, 1, &total) == EINVAL);
	want(softmrdv_query_mr_windows(mr, &w, 1, NULL) == EINVAL);
	mr->context->device = &other.device;
	want(softmrdv_query_mr_windows(mr, &w, 1, &total) == EOPNOTSUPP);
	want(!fake.queries);

	mr = rig_mr(1);
	fake.query_err = ENOMEM;
	want(softmrdv_query_mr_windows(mr, &w, 1, &total) == ENOMEM);
	want(total == 77 && fake.queries == 1);
}

/* -- why something was refused */

#define WHYS	40

static struct smr_abi_why whys[WHYS];

/* Odd refusals are of this thread, even ones are completions of QP 5 */
static void rig_whys(void)
{
	uint32_t i;

	rig_region();
	for (i = 0; i < WHYS; i++)
		whys[i] = (struct smr_abi_why){
			.seq = i + 1, .time = 1000 + i, .id = SMR_WHY_KEY_RANGE,
			.error = IBV_WC_REM_ACCESS_ERR, .qpn = 5, .wr_id = i,
			.num = { 0x1203, 0x2000, 100, 0x1000, 4096 },
		};
	for (i = 1; i < WHYS; i += 2) {
		whys[i].id = SMR_WHY_QP_VALUE;
		whys[i].error = EINVAL;
		whys[i].tid = gettid();
		whys[i].qpn = 6;
	}
	fake.query_err = 0;
	fake.whys = whys;
	fake.nr_whys = WHYS;
}

static void why_text(void)
{
	static const char want_text[] =
		"100 bytes at 0x2000 are not inside what the key 0x1203 opens, "
		"4096 bytes at 0x1000: 100 bytes too far; try: correct the address or the length; with "
		"IBV_ACCESS_ZERO_BASED addresses are offsets (0x1006)";
	struct softmrdv_why why = {
		.id = SMR_WHY_KEY_RANGE, .numbers = 6,
		.number = { 0x1203, 0x2000, 100, 0x1000, 4096, 100 },
	};
	char text[320], less[20];

	want(softmrdv_why_text(&why, text, sizeof(text)) ==
	     (int)strlen(want_text));
	want(!strcmp(text, want_text));
	want(softmrdv_why_text(&why, less, sizeof(less)) ==
	     (int)strlen(want_text));
	want(!strncmp(less, want_text, sizeof(less) - 1) && !less[19]);
	/* what is known besides */
	why.numbers = 8;
	why.number[6] = 7;
	softmrdv_why_text(&why, text, sizeof(text));
	want(strstr(text, ", 4096 bytes at 0x1000, registered 7 ms before: 100 bytes too far; try: "));
	why.number[7] = 0x1305;
	softmrdv_why_text(&why, text, sizeof(text));
	want(strstr(text, " ms before: 100 bytes too far; they are inside region 0x1305; try: "));
}

/* A module with a reason that the library does not know says its name, its errno and its numbers. */
static void why_newer_module(void)
{
	struct smr_abi_why rec = {
		.seq = 1, .id = 0xffe, .error = EMFILE, .tid = gettid(), .nr = 2,
		.num = { 7, 0x1203 }, .name = "NEW_REASON",
	};
	struct softmrdv_why why;
	char text[160];

	rig_whys();
	fake.whys = &rec;
	fake.nr_whys = 1;
	want(!softmrdv_why(fake_context(), &why));
	want(why.id == 0xffe && why.error == EMFILE && why.numbers == 2);
	want(why.number[0] == 7 && why.number[1] == 0x1203);
	want(!strcmp(why.name, "NEW_REASON"));
	softmrdv_why_text(&why, text, sizeof(text));
	want(!strcmp(text, "NEW_REASON 0x7 0x1203, a reason of a newer softmr; "
		     "try: update libsoftmr1 and softmr-tools (0x0ffe)"));
}

/* A module that says neither the name nor how many numbers there are: the table does. */
static void why_older_module(void)
{
	struct softmrdv_why why;

	rig_whys();
	want(!whys[WHYS - 1].nr && !whys[WHYS - 1].name[0]);
	want(!softmrdv_why(fake_context(), &why));
	want(!strcmp(why.name, "QP_VALUE") && why.numbers == 4);
	/* nor is it in the table, as that of another provider's note may be */
	whys[WHYS - 1].id = 0xffe;
	want(!softmrdv_why(fake_context(), &why));
	want(!strcmp(why.name, "?") && !why.numbers);
}

static bool is_told(struct smr_abi_why rec, const char *error, const char *request)
{
	char text[96];

	smr_why_error(&rec, text, sizeof(text));
	if (strcmp(text, error))
		return false;
	smr_why_request(&rec, text, sizeof(text));
	return !strcmp(text, request);
}

static void why_requests(void)
{
	struct smr_abi_why rec = {
		.id = SMR_WHY_PEER_ACCESS, .error = IBV_WC_REM_ACCESS_ERR,
		.wr_id = 7, .psn = 0x9a12, .opcode = IBV_WR_RDMA_READ,
	};

	want(is_told(rec, "status 10", " RDMA_READ wr_id 0x7 PSN 0x9a12"));
	rec.opcode = IBV_WR_DRIVER1;
	want(is_told(rec, "status 10", " 11 wr_id 0x7 PSN 0x9a12"));
	rec.opcode = 14;
	want(is_told(rec, "status 10", " FLUSH wr_id 0x7 PSN 0x9a12"));
	/* of the peer, by a packet */
	rec.id = SMR_WHY_KEY_RANGE;
	rec.opcode = 0xa;
	rec.wr_id = 0;
	want(is_told(rec, "status 10", " opcode 0xa PSN 0x9a12"));
	rec.error = 0;
	want(is_told(rec, "dropped", ""));
	rec.tid = 5;
	rec.error = EHOSTUNREACH;
	want(is_told(rec, "EHOSTUNREACH", ""));
	rec.error = 4095;
	want(is_told(rec, "errno 4095", ""));
}

/* In each text all names are replaced, and it is not too long, with and without what is in brackets. */
static void why_texts(void)
{
	struct softmrdv_why why = {};
	const struct smr_why_info *info;
	char text[512];
	size_t i, k;
	int known;

	for (i = 0; (info = smr_why_info_nth(i)); i++) {
		why.id = info->id;
		for (known = 0; known < 2; known++) {
			for (k = 0; k < SMR_WHY_NUMBERS; k++)
				why.number[k] = known;
			softmrdv_why_text(&why, text, sizeof(text));
			want(!strpbrk(text, "{}[]"));
			want(strlen(text) + 1 < sizeof(text));
		}
	}
	want(i > 100);
}

/* -- SOFTMR_WHY, VERBS_LOG_LEVEL */

/*
 * Watch the context of WHYS refusals. Return: how many lines are printed to
 * the file @name. @left: how many refusals were not, as a line says.
 */
static int watched(const char *name, unsigned int *left)
{
	struct smr_why_watch *watch;
	char line[600];
	int lines = 0;
	FILE *file;

	rig_whys();
	watch = smr_why_watch_begin(fake_context());
	smr_why_watch_end(watch);
	*left = 0;
	file = fopen(name, "r");
	if (!file)
		return watch ? -1 : 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "softmr: %u more refusals were not printed", left) != 1)
			lines++;
	fclose(file);
	unlink(name);
	return lines;
}

static void why_log(void)
{
	char name[] = "/tmp/softmr-why-XXXXXX";
	unsigned int left;
	int fd = mkstemp(name), lines;

	want(fd >= 0 && !close(fd));
	unsetenv("SOFTMR_WHY");
	setenv("VERBS_LOG_FILE", name, 1);
	setenv("VERBS_LOG_LEVEL", "1", 1);
	want(!watched(name, &left));
	/* as many as fit into a second, in which the test may begin or end */
	setenv("VERBS_LOG_LEVEL", "2", 1);
	lines = watched(name, &left);
	want(lines >= 20 && lines < WHYS && lines + left == WHYS);
	setenv("SOFTMR_WHY", "0", 1);
	want(!watched(name, &left));
	unsetenv("SOFTMR_WHY");
	unsetenv("VERBS_LOG_FILE");
	unsetenv("VERBS_LOG_LEVEL");
}

const struct tap_test dv_tests[] = {
	{ "questions that are refused", query_errors },
	{ "a refusal in words", why_text },
	{ "a reason that the library does not know", why_newer_module },
	{ "a module that does not name reasons", why_older_module },
	{ "its error and its request in words", why_requests },
	{ "all reasons in words", why_texts },
	{ "refusals in libibverbs' log", why_log },
	{},
};
