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
#include "view.h"
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
