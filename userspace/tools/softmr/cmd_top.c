// SPDX-License-Identifier: GPL-2.0
/* softmr top: the current activity of queue pairs and regions, as top(1) shows processes. */
#include "cmd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "objects.h"
#include "out.h"
#include "util.h"
#include "whys.h"

static const char help[] =
	"Shows what queue pairs do, those first that move most bytes. Keys: r regions, q queue pairs, c completion queues, "
	"space at once, x or Ctrl-C ends it.";

static const struct argp_option options[] = {
	{ "seconds", 's', "N", 0, "from one look to the next (1)", 0 },
	{ "once", 'o', NULL, 0, "look twice, print what has happened meanwhile, and end", 0 },
	{ "link", 'l', "LINK", 0, "only of this link", 0 },
	{ "pid", 'p', "PID", 0, "only of this process", 0 },
	{ "json", 'j', NULL, 0, "print JSON: an object for each look, in one line; softmr(8) describes the keys", 0 },
	{},
};

/* The command line, as changed by keys */
struct options {
	enum object_kind kind;	/* the objects on the screen */
	uint32_t seconds;
	bool once;
	bool json;
	const char *link;
	uint32_t pid;
};

/* -- an object as a line of a table, and in JSON */

/* Which objects are shown, and compared with what */
struct view {
	const struct objects *now;	/* all of them */
	const struct objects *before;	/* an earlier reading: what grows is shown per second since then */
	uint32_t pid;			/* only those of this process; 0: of all */
};

/* The values that grow while an object works. The names are those of the module. */
static const struct { enum object_kind kind; const char *name; } growing[] = {
	{ OBJECT_QP, "sent" },
	{ OBJECT_QP, "sent_bytes" },
	{ OBJECT_QP, "served" },
	{ OBJECT_QP, "served_bytes" },
	{ OBJECT_MR, "bytes" },
	{ OBJECT_MR, "faults" },
};

static bool view_has(const struct view *view, enum object_kind kind, const struct object *object)
{
	return object->kind == kind && (!view->pid || view->pid == object->pid);
}

static double seconds(const struct view *view)
{
	return (double)(view->now->time - view->before->time) / 1e9;
}

/* How much a value has grown, per second */
static double amount(const struct view *view, const struct object *object, const char *name)
{
	uint64_t now = object_number(object, name), then;
	const struct object *old = objects_find(view->before, object);

	then = old ? object_number(old, name) : 0;
	/* another object has got the number meanwhile */
	if (then > now)
		then = 0;
	return (double)(now - then) / seconds(view);
}

static double view_bytes(const struct view *view, const struct object *object)
{
	return amount(view, object, "sent_bytes") + amount(view, object, "served_bytes") +
	       amount(view, object, "bytes");
}

/* 999, 9.9k, 99M: at most 5 characters */
static const char *human(double n, char *to, size_t size)
{
	static const char units[] = " kMGTPE";
	size_t i = 0;

	while (n >= 999.5 && i < sizeof(units) - 2) {
		n /= 1000;
		i++;
	}
	if (!i || n >= 9.95)
		snprintf(to, size, i ? "%.0f%c" : "%.0f", n, units[i]);
	else
		snprintf(to, size, "%.1f%c", n, units[i]);
	return to;
}

#define HUMAN(n)	human(n, (char[16]){}, 16)

/* The form in which ibv programs and logs print the numbers of QPs */
static const char *hex(uint32_t n, char *to, size_t size)
{
	if (n)
		snprintf(to, size, "%#x", n);
	else
		strncpy(to, "-", size);
	return to;
}

#define HEX(n)		hex(n, (char[16]){}, 16)

static char *view_head(enum object_kind kind)
{
	switch (kind) {
	case OBJECT_QP:
		return strf("%-10s %-8s %-7s %-5s %-8s %6s %6s %6s %6s %5s %5s %5s %5s %5s %-12s %s",
			    "LINK", "QP", "TYPE", "STATE", "PEER", "SENT/s", "OUT/s", "SERV/s", "IN/s",
			    "WIND", "UNACK", "RETRY", "RNR", "FAULT", "WAITS FOR", "PROCESS");
	case OBJECT_MR:
		return strf("%-10s %-8s %-10s %6s %7s %7s %7s %7s %s", "LINK", "MR", "MEMORY", "LENGTH",
			    "USED/s", "FAULT/s", "PRESENT", "WINDOWS", "PROCESS");
	default:
		return strf("%-10s %-8s %6s %7s %5s %7s %s", "LINK", "CQ", "SIZE",
			    "WAITING", "ARMED", "OVERRUN", "PROCESS");
	}
}

static char *process(const struct object *o)
{
	return o->pid ? strf("%s[%u]", *o->comm ? o->comm : "?", o->pid) :
			strf("[%s]", *o->comm ? o->comm : "?");
}

/*
 * What a QP waits for: its send side, and after a comma the side that answers. For a QP in error:
 * the reason
 */
static char *waits(const struct object *qp)
{
	const char *send = object_text(qp, "sq_waits_for");
	const char *answer = object_text(qp, "rq_waits_for");
	const char *reason = object_text(qp, "reason");

	if (!strcmp(object_state(qp), "ERR") && reason)
		return copy(reason);
	if (answer)
		return strf("%s,%s", send ? send : "-", answer);
	return copy(send ? send : "-");
}

static char *qp_line(const struct view *view, const struct object *o, const char *who)
{
	double faults = (double)(object_number(o, "sq_faults") + object_number(o, "rq_faults"));
	double rnr = (double)(object_number(o, "rnr_rx") + object_number(o, "rnr_tx"));
	char *waiting = waits(o), *line;

	line = strf("%-10s %-8s %-7s %-5s %-8s %6s %6s %6s %6s %5s %5s %5s %5s %5s %-12s %s",
		    o->dev->name, HEX(o->id), object_type(o), object_state(o), HEX(o->peer),
		    HUMAN(amount(view, o, "sent")), HUMAN(amount(view, o, "sent_bytes")),
		    HUMAN(amount(view, o, "served")), HUMAN(amount(view, o, "served_bytes")),
		    HUMAN((double)object_number(o, "window")),
		    HUMAN((double)object_number(o, "unacked")),
		    HUMAN((double)object_number(o, "retransmits")), HUMAN(rnr), HUMAN(faults),
		    waiting, who);
	free(waiting);
	return line;
}

static char *mr_line(const struct view *view, const struct object *o, const char *who)
{
	const char *memory = object_text(o, "memory");

	return strf("%-10s %-8u %-10s %6s %7s %7s %7s %7s %s", o->dev->name, o->id,
		    memory ? memory : "-", HUMAN((double)o->size),
		    HUMAN(amount(view, o, "bytes")), HUMAN(amount(view, o, "faults")),
		    HUMAN((double)object_number(o, "present_bytes")),
		    HUMAN((double)object_number(o, "windows")), who);
}

static char *cq_line(const struct object *o, const char *who)
{
	return strf("%-10s %-8u %6s %7s %5s %7s %s", o->dev->name, o->id,
		    HUMAN((double)o->size), HUMAN((double)object_number(o, "pending")),
		    object_number(o, "armed") ? "yes" : "no",
		    object_number(o, "overrun") ? "yes" : "no", who);
}

static char *view_line(const struct view *view, const struct object *object)
{
	char *who = process(object), *line;

	switch (object->kind) {
	case OBJECT_QP:
		line = qp_line(view, object, who);
		break;
	case OBJECT_MR:
		line = mr_line(view, object, who);
		break;
	default:
		line = cq_line(object, who);
	}
	free(who);
	return line;
}

static void add_rates(struct json_object *to, const struct view *view, const struct object *object)
{
	struct json_object *rates = out_object();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(growing); i++)
		if (growing[i].kind == object->kind)
			out_number(rates, growing[i].name,
				   (unsigned long long)amount(view, object, growing[i].name));
	out_add(to, "per_second", rates);
}

static struct json_object *view_json(const struct view *view, const struct object *object)
{
	struct json_object *o = out_object();
	size_t i;

	out_string(o, "link", object->dev->name);
	out_number(o, object_kind_name(object->kind), object->id);
	if (object->kind == OBJECT_QP) {
		out_string(o, "type", object_type(object));
		out_string(o, "state", object_state(object));
		out_number(o, "peer_qp", object->peer);
	} else {
		out_number(o, object->kind == OBJECT_MR ? "length" : "cqe", object->size);
	}
	out_number(o, "pid", object->pid);
	out_string(o, "command", object->comm);
	for (i = 0; i < object->nr; i++) {
		const struct detail *d = &object->details[i];

		if (*d->text)
			out_string(o, d->name, d->text);
		else
			out_number(o, d->name, d->number);
	}
	add_rates(o, view, object);
	return o;
}

static volatile sig_atomic_t ended, resized;

static void on_signal(int signal)
{
	if (signal == SIGWINCH)
		resized = 1;
	else
		ended = 1;
}

/* -- lines */

/* For qsort(), which passes no argument to its callback */
static const struct view *sorting;

static int by_bytes(const void *a, const void *b)
{
	const struct object *const *x = a, *const *y = b;
	double m = view_bytes(sorting, *x), n = view_bytes(sorting, *y);

	if (m != n)
		return m < n ? 1 : -1;
	return object_compare(*x, *y);
}

/* The objects to show, in the order of the screen; caller frees it */
static const struct object **sorted(const struct view *view, enum object_kind kind, size_t *n)
{
	const struct object **list = zalloc((view->now->nr + 1) * sizeof(*list));
	size_t i;

	*n = 0;
	for (i = 0; i < view->now->nr; i++)
		if (view_has(view, kind, &view->now->list[i]))
			list[(*n)++] = &view->now->list[i];
	sorting = view;
	qsort(list, *n, sizeof(*list), by_bytes);
	return list;
}

/* The first line: the time, and totals of all links */
static char *summary(const struct view *view)
{
	size_t count[OBJECT_KINDS] = {}, i;
	time_t now = time(NULL);
	double bytes = 0;
	struct tm tm = {};
	char when[16];

	for (i = 0; i < view->now->nr; i++) {
		count[view->now->list[i].kind]++;
		if (view->now->list[i].kind == OBJECT_QP)
			bytes += view_bytes(view, &view->now->list[i]);
	}
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	return strf("softmr top %s: links %zu, queue pairs %zu, regions %zu, completion queues %zu, %.1f MB/s",
		    when, view->now->nr_devs, count[OBJECT_QP], count[OBJECT_MR],
		    count[OBJECT_CQ], bytes / 1e6);
}

/* @rows: of the screen; 0: as many as there are. @columns likewise. @end: of each line */
static void print_lines(const struct view *view, enum object_kind kind, size_t rows, int columns,
			const char *end)
{
	const struct object **list;
	char *line = summary(view);
	size_t n, i;

	if (!columns)
		columns = 1000;
	printf("%.*s%s", columns, line, end);
	free(line);
	line = view_head(kind);
	printf("%.*s%s", columns, line, end);
	free(line);
	list = sorted(view, kind, &n);
	for (i = 0; i < n && (!rows || i + 3 < rows); i++) {
		line = view_line(view, list[i]);
		printf("%.*s%s", columns, line, end);
		free(line);
	}
	free(list);
}

static void print_json(const struct view *view)
{
	struct json_object *all = out_object();
	enum object_kind kind;
	size_t i;

	for (kind = 0; kind < OBJECT_KINDS; kind++) {
		struct json_object *list = out_array();

		for (i = 0; i < view->now->nr; i++)
			if (view_has(view, kind, &view->now->list[i]))
				json_object_array_add(list, view_json(view, &view->now->list[i]));
		out_add(all, object_kind_name(kind), list);
	}
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
}

/* -- the screen: escape sequences that all current terminals support (ECMA-48) */

#define SCREEN_OPEN	"\033[?1049h\033[?25l"
#define SCREEN_CLOSE	"\033[?25h\033[?1049l"
#define HOME		"\033[H"
#define LINE_END	"\033[K\r\n"
#define CLEAR_BELOW	"\033[J"

static struct termios cooked;

static void screen_open(void)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &cooked);
	raw = cooked;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs(SCREEN_OPEN, stdout);
}

static void screen_close(void)
{
	fputs(SCREEN_CLOSE, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
}

static void screen_draw(const struct view *view, enum object_kind kind)
{
	struct winsize size = {};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4 || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	fputs(HOME, stdout);
	print_lines(view, kind, size.ws_row, size.ws_col, LINE_END);
	fputs(CLEAR_BELOW, stdout);
}

/* Handle a key. False: quit */
static bool take_key(struct options *opt)
{
	char key = 0;

	if (read(STDIN_FILENO, &key, 1) != 1)
		return false;
	switch (key) {
	case 'r':
		opt->kind = OBJECT_MR;
		break;
	case 'q':
		opt->kind = OBJECT_QP;
		break;
	case 'c':
		opt->kind = OBJECT_CQ;
		break;
	case 'x':
		return false;
	}
	return true;
}

/* Wait until the next refresh. False: quit */
static bool wait_for_next(struct options *opt, bool keys)
{
	struct pollfd in = { .fd = keys ? STDIN_FILENO : -1, .events = POLLIN };
	int ret;

	fflush(stdout);
	resized = 0;
	ret = poll(&in, 1, (int)opt->seconds * 1000);
	if (ended || (ret < 0 && !resized))
		return false;
	return ret <= 0 || take_key(opt);
}

/* -- refreshes */

static int look(struct objects *all, const struct options *opt)
{
	int ret;

	objects_watch();
	ret = objects_read(all, opt->link);
	if (!ret)
		objects_add_reasons(all);
	return ret;
}

/* Return: 0 or a negative errno. */
static int go(struct options *opt, bool screen)
{
	struct objects before, now;
	bool more = true;
	int ret;

	ret = look(&before, opt);
	while (!ret && more && wait_for_next(opt, screen)) {
		struct view view = { .now = &now, .before = &before, .pid = opt->pid };

		ret = look(&now, opt);
		if (ret)
			break;
		if (opt->json)
			print_json(&view);
		else if (screen)
			screen_draw(&view, opt->kind);
		else
			print_lines(&view, opt->kind, 0, 0, "\n");
		objects_free(&before);
		before = now;
		more = !opt->once && !ferror(stdout);
	}
	objects_free(&before);
	return ret;
}

static int top(struct options *opt)
{
	struct sigaction action = { .sa_handler = on_signal };
	bool screen = !opt->once && !opt->json;
	int ret;

	if (screen && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		complain("top needs a terminal; or use --once or --json");
		return EXIT_USAGE;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
	if (screen)
		screen_open();
	ret = go(opt, screen);
	if (screen)
		screen_close();
	if (ret)
		objects_complain(ret, opt->link);
	return ret || fflush(stdout) ? EXIT_PROBLEM : EXIT_OK;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 's':
		opt->seconds = cmd_number(arg, 3600, state);
		return 0;
	case 'o':
		opt->once = true;
		return 0;
	case 'l':
		opt->link = arg;
		return 0;
	case 'p':
		opt->pid = cmd_number(arg, UINT32_MAX, state);
		return 0;
	case 'j':
		opt->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_top(int argc, char **argv)
{
	struct options opt = { .seconds = 1 };

	cmd_parse("", help, options, take, argc, argv, &opt);
	return top(&opt);
}
