// SPDX-License-Identifier: GPL-2.0
/* softmr why: recent refusals, their reasons, and what to do about them. */
#include "cmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nldev.h"
#include "out.h"
#include "util.h"
#include "whys.h"
#include "why_text.h"

static const char help[] =
	"Shows what links have refused lately, the newest last: two lines each, of which the second says what to do. Root "
	"sees all of this network namespace, others see their own. With a CODE, as completions have it in vendor_err: what "
	"that means.";

static const struct argp_option options[] = {
	{ "follow", 'f', NULL, 0, "go on, and show what is refused from now on, too", 0 },
	{ "last", 'l', NULL, 0, "only the last one", 0 },
	{ "pid", 'p', "PID", 0, "only of this process", 0 },
	{ "qp", 'q', "NUMBER", 0, "only of this queue pair", 0 },
	{ "json", 'j', NULL, 0,
	  "print JSON: an array; with --follow an object in each line, with --last one object, or null", 0 },
	{},
};

/* The interval of --follow */
#define FOLLOW_MS	200

/* The reasons from here on are not those of verbs. */
#define NO_VERB		0x1000

/* The refusals to show */
struct options {
	bool follow;
	bool last;	/* only the last one of them */
	int json;
	uint32_t pid;	/* 0: of all */
	uint32_t qp;	/* 0: of all */
	const char *code;
};

/* The text with its numbers; caller frees it. */
static char *text_of(const struct refusal *r)
{
	size_t len = smr_why_say(&r->rec, NULL, 0);
	char *text = zalloc(len + 1);

	smr_why_say(&r->rec, text, len + 1);
	return text;
}

/* -- devices: numbers, and names for people */

static const char *device_name(const struct rdma_dev *devs, size_t n, uint32_t index)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (devs[i].index == index)
			return devs[i].name;
	return NULL;
}

/* The devices; none, if the RDMA core does not answer. */
static struct rdma_dev *devices(size_t *n)
{
	struct rdma_dev *devs = NULL;
	struct nl_sock *sk;

	*n = 0;
	if (nldev_open(&sk))
		return NULL;
	if (nldev_list(sk, &devs, n))
		*n = 0;
	nldev_close(sk);
	return devs;
}

/* -- one refusal */

/* The peer's address in text form; caller frees it. NULL: there is none. */
static char *peer_of(const struct refusal *r)
{
	static const uint8_t none[16];
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *gid = r->rec.peer;
	char text[INET6_ADDRSTRLEN];

	if (!memcmp(gid, none, sizeof(none)))
		return NULL;
	if (!memcmp(gid, mapped, sizeof(mapped)))
		inet_ntop(AF_INET, gid + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, gid, text, sizeof(text));
	return copy(text);
}

static void print_text(const struct refusal *r, const char *dev)
{
	time_t seconds = (time_t)(r->rec.time / 1000000000);
	char *text = text_of(r), *peer = peer_of(r);
	char when[16], error[32], request[96];
	struct tm tm = {};

	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	printf("%s.%04u ", when, (unsigned int)(r->rec.time / 100000 % 10000));
	if (dev)
		printf("%s ", dev);
	else if (r->dev != SMR_WHY_NO_DEV)
		printf("device %u ", r->dev);
	printf("%s[%u]%s", r->comm, r->pid, r->ended ? " (ended)" : "");
	if (r->rec.qpn)
		printf(" QP %#x", r->rec.qpn);
	if (peer)
		printf(" (peer: QP %#x of %s)", r->rec.peer_qpn, peer);
	smr_why_request(&r->rec, request, sizeof(request));
	smr_why_error(&r->rec, error, sizeof(error));
	printf("%s: %s: %s\n", request, error, text);
	printf("   try: %s (%#06x)\n", smr_why_todo(&r->rec), r->rec.id);
	free(text);
	free(peer);
}

static void add_numbers(struct json_object *to, const struct refusal *r)
{
	const struct smr_why_info *info = smr_why_info(r->rec.id);
	struct json_object *numbers = out_object();
	unsigned int i;
	size_t len;
	const char *name;

	for (i = 0; info && (name = smr_why_number(info, i, &len)); i++) {
		char *key = strf("%.*s", (int)len, name);

		out_number(numbers, key, r->rec.num[i]);
		free(key);
	}
	/* those of a newer reason have no names here */
	for (i = 0; !info && i < r->rec.nr && i < SMR_WHY_NUMBERS; i++) {
		char *key = strf("%u", i);

		out_number(numbers, key, r->rec.num[i]);
		free(key);
	}
	out_add(to, "numbers", numbers);
}

static struct json_object *to_json(const struct refusal *r, const char *dev)
{
	struct json_object *o = out_object();
	char *text = text_of(r), *peer = peer_of(r);
	char error[32];

	smr_why_error(&r->rec, error, sizeof(error));
	out_number(o, "time_ns", r->rec.time);
	out_string(o, "device", dev);
	out_number(o, "pid", r->pid);
	out_string(o, "command", r->comm);
	out_bool(o, "ended", r->ended);
	out_number(o, "code", r->rec.id);
	out_string(o, "reason", smr_why_name(&r->rec));
	out_string(o, "error", error);
	out_number(o, "qp", r->rec.qpn);
	out_string(o, "peer", peer);
	out_number(o, "peer_qp", r->rec.peer_qpn);
	out_number(o, "wr_id", r->rec.wr_id);
	out_number(o, "psn", r->rec.psn);
	out_number(o, "opcode", r->rec.opcode);
	out_number(o, "thread", r->rec.tid);
	add_numbers(o, r);
	out_string(o, "text", text);
	out_string(o, "todo", smr_why_todo(&r->rec));
	free(text);
	free(peer);
	return o;
}

static void print_line(const struct refusal *r, const char *dev)
{
	struct json_object *o = to_json(r, dev);

	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

/* -- all of them */

static bool wanted(const struct options *opt, const struct refusal *r)
{
	return (!opt->pid || opt->pid == r->pid || opt->pid == r->rec.tid) &&
	       (!opt->qp || opt->qp == r->rec.qpn);
}

/* Are they the same refusal? Sequence numbers are those of a context. */
static bool same(const struct refusal *a, const struct refusal *b)
{
	return a->rec.time == b->rec.time && a->rec.id == b->rec.id &&
	       a->rec.qpn == b->rec.qpn && a->rec.tid == b->rec.tid &&
	       a->pid == b->pid;
}

static bool has(const struct refusal *list, size_t n, const struct refusal *r)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (same(&list[i], r))
			return true;
	return false;
}

/* Show the refusals that are not in @old. With --follow each line is a JSON object. */
static int show(const struct options *opt, const struct refusal *list, size_t n,
		const struct refusal *old, size_t nr_old)
{
	struct json_object *all = NULL;
	struct rdma_dev *devs;
	size_t nr_devs, i;

	devs = devices(&nr_devs);
	if (opt->json && !opt->follow)
		all = out_array();
	for (i = 0; i < n; i++) {
		const char *dev = device_name(devs, nr_devs, list[i].dev);

		if (!wanted(opt, &list[i]) || has(old, nr_old, &list[i]))
			continue;
		if (all)
			json_object_array_add(all, to_json(&list[i], dev));
		else if (opt->json)
			print_line(&list[i], dev);
		else
			print_text(&list[i], dev);
	}
	free(devs);
	if (all)
		return out_print(all) ? EXIT_PROBLEM : EXIT_OK;
	return fflush(stdout) ? EXIT_PROBLEM : EXIT_OK;
}

static int show_last(const struct options *opt, const struct refusal *list, size_t n)
{
	struct rdma_dev *devs;
	const char *dev;
	size_t nr_devs;
	bool failed;

	while (n && !wanted(opt, &list[n - 1]))
		n--;
	if (!n)
		return opt->json && out_print(NULL) ? EXIT_PROBLEM : EXIT_OK;
	devs = devices(&nr_devs);
	dev = device_name(devs, nr_devs, list[n - 1].dev);
	if (opt->json) {
		failed = out_print(to_json(&list[n - 1], dev));
	} else {
		print_text(&list[n - 1], dev);
		failed = fflush(stdout);
	}
	free(devs);
	return failed ? EXIT_PROBLEM : EXIT_OK;
}

static int explain(int err)
{
	if (err == -ENOENT)
		complain("the module is not loaded, or does not tell reasons yet; see: softmr doctor");
	else
		complain("cannot ask the module: %s", strerror(-err));
	return EXIT_PROBLEM;
}

static int show_refusals(const struct options *opt)
{
	struct refusal *list = NULL, *old = NULL;
	int family, status = EXIT_OK, ret;
	size_t n = 0, nr_old = 0;
	struct nl_sock *sk;

	ret = whys_open(&sk, &family);
	if (ret)
		return explain(ret);
	do {
		ret = whys_list(sk, family, &list, &n);
		if (ret) {
			status = explain(ret);
			break;
		}
		status = opt->last ? show_last(opt, list, n) : show(opt, list, n, old, nr_old);
		free(old);
		old = list;
		nr_old = n;
		if (opt->follow)
			usleep(FOLLOW_MS * 1000);
	} while (opt->follow && status == EXIT_OK);
	free(old);
	whys_close(sk);
	return status;
}

/* -- a code that was seen in a log */

static int show_code(const char *code)
{
	const struct smr_why_info *info;
	unsigned long id;
	char *end;

	errno = 0;
	id = strtoul(code, &end, 0);
	info = errno || *end || id > UINT32_MAX ? NULL : smr_why_info((uint32_t)id);
	if (!info) {
		complain("there is no reason '%s'", code);
		return EXIT_PROBLEM;
	}
	printf("%#06x %s: %s\n   try: %s\n", info->id, info->name, info->text, info->todo);
	return fflush(stdout) ? EXIT_PROBLEM : EXIT_OK;
}

/* -- the command line */

static error_t take(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'f':
		opt->follow = true;
		break;
	case 'l':
		opt->last = true;
		break;
	case 'p':
		opt->pid = cmd_number(arg, UINT32_MAX, state);
		break;
	case 'q':
		opt->qp = cmd_number(arg, UINT32_MAX, state);
		break;
	case 'j':
		opt->json = 1;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			return ARGP_ERR_UNKNOWN;
		opt->code = arg;
		break;
	case ARGP_KEY_END:
		if (opt->follow && opt->last)
			argp_error(state, "--follow and --last exclude each other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cmd_why(int argc, char **argv)
{
	struct options opt = {};

	cmd_parse("[CODE]", help, options, take, argc, argv, &opt);
	return opt.code ? show_code(opt.code) : show_refusals(&opt);
}
