// SPDX-License-Identifier: GPL-2.0
/* softmr trace: the events of all links while a program runs, as a timeline. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timeline.h"
#include "util.h"

static const char help[] =
	"Runs COMMAND, and records what happens on all links meanwhile, at both ends of a connection: as a timeline for "
	"https://ui.perfetto.dev or chrome://tracing. Only root may.\v"
	"Exits with COMMAND's status.";

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "where to (softmr-trace.json; with --text: stderr)", 0 },
	{ "text", 't', NULL, 0, "a line for each event instead", 0 },
	{},
};

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
