// SPDX-License-Identifier: GPL-2.0
/* softmr trace: the events of all links while a program runs, as a timeline. */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "out.h"
#include "util.h"
#include "why_text.h"

static const char help[] =
	"Runs COMMAND, and records what happens on all links meanwhile, at both ends of a connection: as a timeline for "
	"https://ui.perfetto.dev or chrome://tracing. Only root may.\v"
	"Exits with COMMAND's status.";

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "where to (softmr-trace.json; with --text: stderr)", 0 },
	{ "text", 't', NULL, 0, "a line for each event instead", 0 },
	{},
};

/* -- the timeline */

/*
 * The timeline is the JSON that Perfetto and Chrome read. A process is a process, and its threads are the QPs, and the
 * regions that peers access. Links are the threads of a process "wire". A message is an asynchronous slice from its
 * beginning to its completion; arrows (flow events) lead from its beginning over its packets on the wire to the
 * responder's verdict, and on to its completion.
 */

/* No process has this number. */
#define WIRE_PID	0x7fffffff
/* Thread numbers of regions: above all numbers of QPs */
#define REGION_TID	(1ULL << 32)
#define PSN_MASK	0xffffffu
/* Slices need a length to be visible; events of one track are at least this far apart, us */
#define SLICE_US	0.9

/* A message that has begun and is not complete */
struct message {
	uint64_t id;	/* of its slice and its arrows */
	uint64_t wr_id;
	uint32_t pid;	/* its process */
	uint32_t qpn;
	uint32_t psn;
	uint32_t npsn;
	char name[24];
};

/* State of the conversion */
struct timeline {
	FILE *out;
	bool text;
	uint64_t events;
	uint64_t lost;
	uint64_t ids;
	double begin;
	/* tracks that already have a name: pid, or pid and tid */
	struct track { uint64_t pid, tid; } *tracks;
	size_t nr_tracks;
	struct message *open;	/* messages, the oldest first */
	size_t nr_open;
};

/* An event, as ftrace prints it */
struct event {
	const char *name;	/* without smr_ */
	char *fields;		/* after the name */
	double us;		/* when */
	uint32_t pid;
	uint32_t qpn;
	char dev[24];
};

/* The text of a field, up to the next blank; false: there is none */
static bool field(const struct event *e, const char *name, char *to, size_t size)
{
	size_t len = strlen(name), n;
	const char *at = e->fields;

	while ((at = strstr(at, name))) {
		if ((at == e->fields || at[-1] == ' ') && at[len] == '=')
			break;
		at += len;
	}
	if (!at)
		return false;
	at += len + 1;
	n = strcspn(at, " \n");
	n = n < size ? n : size - 1;
	memcpy(to, at, n);
	to[n] = 0;
	return true;
}

static uint64_t number(const struct event *e, const char *name)
{
	char text[32];

	return field(e, name, text, sizeof(text)) ? strtoull(text, NULL, 0) : 0;
}

/* "  task-12  [001] d.h1. 12.345678: smr_x: a=1 b=2". False: not one of ours */
static bool parse(struct event *e, char *line)
{
	char *name = strstr(line, ": smr_"), *colon, *time;

	if (!name)
		return false;
	*name = 0;
	time = strrchr(line, ' ');
	colon = strchr(name + 2, ':');
	if (!time || !colon || colon[1] != ' ')
		return false;
	*colon = 0;
	*e = (struct event){ .name = name + 6, .fields = colon + 2, .us = strtod(time, NULL) * 1e6 };
	e->pid = (uint32_t)number(e, "pid");
	e->qpn = (uint32_t)number(e, "qpn");
	field(e, "dev", e->dev, sizeof(e->dev));
	return true;
}

/* -- JSON */

/* Write an object of the array, and free it */
static void emit(struct timeline *t, struct json_object *o)
{
	fprintf(t->out, "%s\n%s", t->events++ ? "," : "",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

static struct json_object *entry(const char *phase, const char *name, double us, uint64_t pid,
				 uint64_t tid)
{
	struct json_object *o = out_object();
	char when[32];

	snprintf(when, sizeof(when), "%.3f", us);
	out_string(o, "ph", phase);
	out_string(o, "name", name);
	out_string(o, "cat", "softmr");
	out_add(o, "ts", json_object_new_double_s(us, when));
	out_number(o, "pid", pid);
	out_number(o, "tid", tid);
	return o;
}

static void emit_name(struct timeline *t, const char *what, uint64_t pid, uint64_t tid, char *name)
{
	struct json_object *o = out_object(), *args = out_object();

	out_string(o, "ph", "M");
	out_string(o, "name", what);
	out_number(o, "pid", pid);
	out_number(o, "tid", tid);
	out_string(args, "name", name);
	out_add(o, "args", args);
	emit(t, o);
	free(name);
}

/* Is it new? Then it needs a name. */
static bool new_track(struct timeline *t, uint64_t pid, uint64_t tid)
{
	size_t i;

	for (i = 0; i < t->nr_tracks; i++)
		if (t->tracks[i].pid == pid && t->tracks[i].tid == tid)
			return false;
	t->tracks = one_more(t->tracks, t->nr_tracks, sizeof(*t->tracks));
	t->tracks[t->nr_tracks++] = (struct track){ pid, tid };
	return true;
}

/* The name that ip-netns(8) has for the process's network namespace; caller frees it. NULL: none */
static char *netns_name(uint32_t pid)
{
	char *path = strf("/proc/%u/ns/net", pid), *name = NULL;
	DIR *dir = opendir("/run/netns");
	struct stat its, st;
	struct dirent *entry;

	while (dir && !stat(path, &its) && !name && (entry = readdir(dir)))
		if (!fstatat(dirfd(dir), entry->d_name, &st, 0) && st.st_ino == its.st_ino &&
		    st.st_dev == its.st_dev)
			name = copy(entry->d_name);
	if (dir)
		closedir(dir);
	free(path);
	return name;
}

/*
 * The name that ftrace remembers of a process that may have ended: lines "PID COMM". Caller frees
 * it. NULL: it does not remember it
 */
static char *past_name(uint32_t pid)
{
	char *all = read_text("/sys/kernel/tracing/saved_cmdlines"), *rest = all;
	char *line, *end, *name = NULL;

	while (!name && (line = strsep(&rest, "\n")))
		if (strtoul(line, &end, 10) == pid && *end == ' ')
			name = copy(end + 1);
	free(all);
	return name;
}

/* Caller frees it */
static char *process_name(uint32_t pid)
{
	char *name = pid ? read_text("/proc/%u/comm", pid) : copy("kernel");

	if (!name)
		name = past_name(pid);
	return name ? name : copy("process");
}

static void name_process(struct timeline *t, uint32_t pid)
{
	char *name = process_name(pid), *netns = pid ? netns_name(pid) : NULL;

	emit_name(t, "process_name", pid, 0, netns ? strf("%s@%s", name, netns) : copy(name));
	free(netns);
	free(name);
}

static void name_tracks(struct timeline *t, const struct event *e)
{
	if (new_track(t, e->pid, UINT64_MAX))
		name_process(t, e->pid);
	if (e->qpn && new_track(t, e->pid, e->qpn))
		emit_name(t, "thread_name", e->pid, e->qpn,
			  strf("QP %#x of %s", e->qpn, *e->dev ? e->dev : "?"));
}

/* Everything that ftrace printed, so that nothing is lost */
static struct json_object *arguments(const struct event *e)
{
	struct json_object *args = out_object();
	char *all = copy(e->fields), *rest = all, *word;

	while ((word = strsep(&rest, " \n"))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = 0;
		out_string(args, word, value);
	}
	free(all);
	return args;
}

static void emit_slice(struct timeline *t, const struct event *e, const char *name, uint64_t pid,
		       uint64_t tid)
{
	struct json_object *o = entry("X", name, e->us, pid, tid);

	out_add(o, "dur", json_object_new_double_s(SLICE_US, "0.9"));
	out_add(o, "args", arguments(e));
	emit(t, o);
}

static void emit_instant(struct timeline *t, const struct event *e, const char *name)
{
	struct json_object *o = entry("i", name, e->us, e->pid, e->qpn);

	out_string(o, "s", "t");
	out_add(o, "args", arguments(e));
	emit(t, o);
}

/* An arrow begins (s), continues (t) or ends (f) in the slice of this track that begins now. */
static void emit_arrow(struct timeline *t, const char *phase, const struct event *e, uint64_t pid,
		       uint64_t id)
{
	struct json_object *o = entry(phase, "message", e->us, pid, e->qpn);

	out_number(o, "id", id);
	if (*phase == 'f')
		out_string(o, "bp", "e");
	emit(t, o);
}

static void emit_message(struct timeline *t, const char *phase, const struct event *e,
			 const struct message *m)
{
	struct json_object *o = entry(phase, m->name, e->us, m->pid, m->qpn);

	out_number(o, "id", m->id);
	out_add(o, "args", arguments(e));
	emit(t, o);
}

/* -- messages */

static void on_send_start(struct timeline *t, const struct event *e)
{
	struct message *m;

	t->open = one_more(t->open, t->nr_open, sizeof(*m));
	m = &t->open[t->nr_open++];
	*m = (struct message){
		.id = ++t->ids,
		.wr_id = number(e, "wr_id"),
		.pid = e->pid,
		.qpn = e->qpn,
		.psn = (uint32_t)number(e, "psn"),
		.npsn = (uint32_t)number(e, "npsn"),
	};
	if (!field(e, "op", m->name, sizeof(m->name)))
		strcpy(m->name, "?");
	emit_message(t, "b", e, m);
	emit_slice(t, e, m->name, e->pid, e->qpn);
	emit_arrow(t, "s", e, e->pid, m->id);
}

/* A request belongs to the last message that began with its PSN; first PSNs are random. */
static struct message *message_of(struct timeline *t, uint32_t psn, uint32_t responder)
{
	struct message *m;

	for (m = t->open + t->nr_open; m-- > t->open;)
		if (m->qpn != responder && ((psn - m->psn) & PSN_MASK) < m->npsn)
			return m;
	return NULL;
}

/* The packets of a request on the wire, on the way to the responder */
static void on_wire(struct timeline *t, const struct event *e, const char *op,
		    const struct message *m)
{
	if (new_track(t, WIRE_PID, UINT64_MAX))
		emit_name(t, "process_name", WIRE_PID, 0, copy("wire"));
	if (new_track(t, WIRE_PID, e->qpn))
		emit_name(t, "thread_name", WIRE_PID, e->qpn,
			  strf("to QP %#x of %s", e->qpn, e->dev));
	emit_slice(t, e, op, WIRE_PID, e->qpn);
	if (m)
		emit_arrow(t, "t", e, WIRE_PID, m->id);
}

static void on_request(struct timeline *t, const struct event *e)
{
	const struct message *m = message_of(t, (uint32_t)number(e, "psn"), e->qpn);
	uint64_t rkey = number(e, "rkey");
	char op[24] = "?", says[24] = "?", *name;

	field(e, "op", op, sizeof(op));
	field(e, "says", says, sizeof(says));
	name = strf("%s: %s", op, says);
	if (!number(e, "local"))
		on_wire(t, e, op, m);
	emit_slice(t, e, name, e->pid, e->qpn);
	if (m)
		emit_arrow(t, "t", e, e->pid, m->id);
	if (rkey) {
		if (new_track(t, e->pid, REGION_TID + rkey))
			emit_name(t, "thread_name", e->pid, REGION_TID + rkey,
				  strf("region, rkey %#" PRIx64, rkey));
		emit_slice(t, e, name, e->pid, REGION_TID + rkey);
	}
	free(name);
}

static void message_end(struct timeline *t, size_t i)
{
	memmove(&t->open[i], &t->open[i + 1], (--t->nr_open - i) * sizeof(*t->open));
}

/* Earlier messages that were not signaled are complete, too. */
static void on_send_done(struct timeline *t, const struct event *e)
{
	uint64_t wr_id = number(e, "wr_id");
	char result[24] = "?", *name;
	size_t i, n = 0;

	field(e, "result", result, sizeof(result));
	name = strf("done: %s", result);
	emit_slice(t, e, name, e->pid, e->qpn);
	free(name);
	for (i = 0; i < t->nr_open && !n; i++)
		if (t->open[i].qpn == e->qpn && t->open[i].wr_id == wr_id)
			n = i + 1;
	for (i = 0; i < n;) {
		if (t->open[i].qpn != e->qpn) {
			i++;
			continue;
		}
		emit_message(t, "e", e, &t->open[i]);
		emit_arrow(t, "f", e, e->pid, t->open[i].id);
		message_end(t, i);
		n--;
	}
}

/* The reason in words; caller frees it. NULL: it is newer than this tool, or no refusal */
static char *reason_text(const struct event *e)
{
	const struct smr_why_info *info = smr_why_info((uint32_t)number(e, "why"));
	uint64_t num[SMR_WHY_NUMBERS] = {};
	char numbers[200], *at, *text;
	size_t i, len;

	if (!info || !field(e, "numbers", numbers, sizeof(numbers)))
		return NULL;
	for (i = 0, at = numbers; *at && i < ARRAY_SIZE(num); i++) {
		num[i] = strtoull(at, &at, 0);
		at += *at == ',';
	}
	len = smr_why_format(info, num, NULL, 0) + 1;
	text = zalloc(len);
	smr_why_format(info, num, text, len);
	return text;
}

static void on_refused(struct timeline *t, const struct event *e)
{
	const struct smr_why_info *info = smr_why_info((uint32_t)number(e, "why"));
	char *name = strf("refused: %s", info ? info->name : "?"), *text = reason_text(e);
	struct json_object *o = entry("i", name, e->us, e->pid, e->qpn), *args = arguments(e);

	out_string(o, "s", "t");
	out_string(args, "text", text);
	out_add(o, "args", args);
	emit(t, o);
	free(text);
	free(name);
}

static void on_aeth(struct timeline *t, const struct event *e)
{
	char says[24] = "?";

	field(e, "says", says, sizeof(says));
	emit_slice(t, e, says, e->pid, e->qpn);
}

static void on_recv_done(struct timeline *t, const struct event *e)
{
	emit_slice(t, e, "received", e->pid, e->qpn);
}

static void to_json(struct timeline *t, const struct event *e)
{
	static const struct {
		const char *name;
		void (*take)(struct timeline *t, const struct event *e);
	} table[] = {
		{ "send_start", on_send_start }, { "send_done", on_send_done },
		{ "recv_done", on_recv_done }, { "request", on_request },
		{ "aeth", on_aeth }, { "refused", on_refused },
	};
	size_t i;

	name_tracks(t, e);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (!strcmp(table[i].name, e->name)) {
			table[i].take(t, e);
			return;
		}
	}
	emit_instant(t, e, e->name);
}

/* -- text */

static void to_text(struct timeline *t, const struct event *e)
{
	char *who = process_name(e->pid), *reason = reason_text(e);
	const char *numbers = strstr(e->fields, " numbers=");
	size_t len = reason && numbers ? (size_t)(numbers - e->fields) : strcspn(e->fields, "\n");

	if (!t->begin)
		t->begin = e->us;
	fprintf(t->out, "%12.3f ms  %s[%u]  %-12s %.*s%s%s\n", (e->us - t->begin) / 1000, who,
		e->pid, e->name, (int)len, e->fields, reason ? ": " : "", reason ? reason : "");
	t->events++;
	free(reason);
	free(who);
}

static struct timeline *timeline_begin(FILE *out, bool text)
{
	struct timeline *t = zalloc(sizeof(*t));

	t->out = out;
	t->text = text;
	if (!text)
		fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	return t;
}

static void timeline_line(struct timeline *t, char *line)
{
	unsigned long long lost;
	const char *at = strstr(line, "[LOST ");
	struct event e;

	if (at && sscanf(at, "[LOST %llu EVENTS]", &lost) == 1) {
		t->lost += lost;
		return;
	}
	if (!parse(&e, line))
		return;
	if (t->text)
		to_text(t, &e);
	else
		to_json(t, &e);
}

static uint64_t timeline_end(struct timeline *t, uint64_t *lost)
{
	uint64_t events = t->events;

	if (!t->text)
		fputs("\n]}\n", t->out);
	*lost = t->lost;
	free(t->tracks);
	free(t->open);
	free(t);
	return events;
}

#define TRACEFS		"/sys/kernel/tracing"
/* For each processor. Events that are not read in time are lost, and counted. */
#define BUFFER_KB	"16384"

/* Events that are being recorded */
struct recording {
	/* our own instance of ftrace, separate from other users of ftrace */
	char *dir;
	int pipe;		/* to read its events from */
	struct timeline *timeline;
	char rest[4096];	/* of a line that was not read to its end, @len bytes */
	size_t len;
};

static int put(const struct recording *r, const char *file, const char *text)
{
	char *path = strf("%s/%s", r->dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	free(path);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static void recording_close(struct recording *r)
{
	put(r, "events/softmr/enable", "0");
	if (r->pipe >= 0)
		close(r->pipe);
	rmdir(r->dir);
	free(r->dir);
}

/* 0 or a negative errno */
static int recording_open(struct recording *r)
{
	char *path;
	int ret;

	r->pipe = -1;
	r->dir = root_path(TRACEFS "/instances/softmr-%d", (int)getpid());
	if (mkdir(r->dir, 0700)) {
		ret = -errno;
		free(r->dir);
		return ret;
	}
	path = strf("%s/trace_pipe", r->dir);
	ret = put(r, "buffer_size_kb", BUFFER_KB);
	if (!ret)
		ret = put(r, "trace_clock", "mono");
	if (!ret) {
		r->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		ret = r->pipe < 0 ? -errno : put(r, "events/softmr/enable", "1");
	}
	free(path);
	if (ret)
		recording_close(r);
	return ret;
}

/* Read all available events. Only complete lines are passed on. */
static void recording_read(struct recording *r)
{
	ssize_t n;

	while ((n = read(r->pipe, r->rest + r->len, sizeof(r->rest) - r->len - 1)) > 0) {
		char *line = r->rest, *end;

		r->len += (size_t)n;
		r->rest[r->len] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			timeline_line(r->timeline, line);
			line = end + 1;
		}
		r->len = strlen(line);
		/* longer than any of ours */
		if (r->len == sizeof(r->rest) - 1)
			r->len = 0;
		memmove(r->rest, line, r->len);
	}
}

static int explain(int err)
{
	if (err == -ENOENT)
		complain("there is no %s/events/softmr: is the module loaded, and does the kernel trace?",
			 TRACEFS);
	else
		complain("cannot trace: %s", strerror(-err));
	return EXIT_PROBLEM;
}

static volatile sig_atomic_t ended_by;

static void on_signal(int signal)
{
	ended_by = signal;
}

/* Does not return. */
static void child(char **command)
{
	signal(SIGPIPE, SIG_DFL);
	execvp(command[0], command);
	complain("cannot run '%s': %s", command[0], strerror(errno));
	_exit(127);
}

/* Run the command, and read events until it has ended. Return: its exit status. */
static int record(struct recording *r, char **command)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct pollfd in = { .fd = r->pipe, .events = POLLIN };
	pid_t pid, ended = 0;
	int status = 0;

	fflush(NULL);
	/* the reader of the text may close the pipe */
	signal(SIGPIPE, SIG_IGN);
	pid = fork();
	if (!pid)
		child(command);
	if (pid < 0) {
		complain("cannot fork: %s", strerror(errno));
		return EXIT_PROBLEM;
	}
	/* the terminal's Ctrl-C is for the command; its events are still shown */
	signal(SIGINT, SIG_IGN);
	sigaction(SIGTERM, &action, NULL);
	while (!ended) {
		poll(&in, 1, 100);
		if (ended_by)
			kill(pid, ended_by);
		ended_by = 0;
		recording_read(r);
		ended = waitpid(pid, &status, WNOHANG);
	}
	put(r, "events/softmr/enable", "0");
	recording_read(r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int trace(const char *path, bool text, char **command)
{
	FILE *out = stderr;
	struct recording r = {};
	uint64_t events, lost;
	int ret, status;

	if (!path && !text)
		path = "softmr-trace.json";
	if (path)
		out = fopen(path, "we");
	if (!out) {
		complain("cannot write %s: %s", path, strerror(errno));
		return EXIT_PROBLEM;
	}
	ret = recording_open(&r);
	if (ret) {
		if (path)
			fclose(out);
		return explain(ret);
	}
	r.timeline = timeline_begin(out, text);
	status = record(&r, command);
	events = timeline_end(r.timeline, &lost);
	recording_close(&r);
	if (fflush(out) || ferror(out)) {
		complain("cannot write %s: %s", path ? path : "to stderr", strerror(errno));
		status = EXIT_PROBLEM;
	}
	if (path)
		fclose(out);
	if (lost)
		complain("%llu events were lost: there were more than could be written at once",
			 (unsigned long long)lost);
	if (!events)
		complain("nothing has happened on a link");
	else if (path && !text)
		complain("%s: open it in https://ui.perfetto.dev", path);
	return status;
}

struct options {
	const char *path;
	bool text;
	char **command;
};

static error_t take(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'o':
		opt->path = arg;
		return 0;
	case 't':
		opt->text = true;
		return 0;
	case ARGP_KEY_ARGS:
		opt->command = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "it needs a command");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_trace(int argc, char **argv)
{
	struct options opt = {};

	cmd_parse("COMMAND [ARGUMENT...]", help, options, take, argc, argv, &opt);
	return trace(opt.path, opt.text, opt.command);
}
