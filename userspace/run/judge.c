// SPDX-License-Identifier: GPL-2.0
/* Report what went wrong in a guest, and what the user can do. */
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The maximum number of printed lines of a splat, and of a console */
#define SPLAT_LINES	60
#define CONSOLE_LINES	30

/* -- splats: what a healthy kernel never prints */

/* The runtime's list as one expression; NULL if there is no list */
static char *splat_expression(const char *runtime)
{
	char *path = text("%s/splats", runtime), line[512], *all = NULL, *longer;
	FILE *f = fopen(path, "re");

	free(path);
	if (!f)
		return NULL;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		longer = all ? text("%s|%s", all, line) : text("%s", line);
		free(all);
		all = longer;
	}
	fclose(f);
	return all;
}

/* The first line of @log that matches a splat; NULL if there is none */
static const char *find_splat(const char *log, const regex_t *re)
{
	const char *line, *end;
	char copy[1024];

	for (line = log; line && *line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		snprintf(copy, sizeof(copy), "%.*s",
			 (int)(end ? end - line : (long)strlen(line)), line);
		if (!regexec(re, copy, 0, NULL, 0))
			return line;
	}
	return NULL;
}

/*
 * Drop carriage returns of console output, which would hide the text before
 * them.
 */
static void print(const char *s, int lines)
{
	for (; *s && lines; s++) {
		if (*s != '\r')
			fputc(*s, stderr);
		lines -= *s == '\n';
	}
	if (s[-1] != '\n')
		fputc('\n', stderr);
}

static bool show_splat(const char *runtime, const char *log, const char *console)
{
	char *expression = splat_expression(runtime);
	const char *at;
	regex_t re;

	if (!expression || regcomp(&re, expression, REG_EXTENDED | REG_NOSUB)) {
		say("%s/splats is missing or damaged, so nobody can tell whether the guest's kernel\n"
		    "complained: install softmr run again.", runtime);
		free(expression);
		return true;
	}
	at = find_splat(log, &re);
	at = at ? at : find_splat(console, &re);
	regfree(&re);
	free(expression);
	if (!at)
		return false;
	say("the guest's kernel printed this:");
	print(at, SPLAT_LINES);
	return true;
}

static void show_console_end(const char *console)
{
	const char *p = console + strlen(console);
	int lines = 0;

	if (!*console)
		return;
	while (p > console && (p[-1] != '\n' || lines++ < CONSOLE_LINES))
		p--;
	fputs("--- the console's last lines\n", stderr);
	print(p, -1);
	fputs("---\n", stderr);
}

/* -- advice: texts on a console, and their meaning */

static const struct {
	const char *has, *advice;
} advices[] = {
	{ "signal 7",
	  "The file system that holds the guest's memory is full: see SOFTMR_RUN_TMPDIR in\n"
	  "softmr-run(1)." },
	{ "Out of memory", "The guest ran out of memory: give it more by --mem." },
	{ "error while loading shared libraries",
	  "The guest's kernel needs a library that this machine lacks." },
	{ "check_ptrace",
	  "Neither seccomp filters nor ptrace may be used here, and the guest needs one of them. In Docker,\n"
	  "--security-opt seccomp=unconfined allows both." },
};

static void advise(const struct guest *g, const char *console)
{
	size_t i;

	if (WIFSIGNALED(g->wait_status) && WTERMSIG(g->wait_status) == SIGKILL)
		say("its process was killed (signal 9), perhaps for lack of memory: see --mem, and\n"
		    "the limit of this container or session.");
	for (i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (!strstr(console, advices[i].has))
			continue;
		say("%s", advices[i].advice);
		return;
	}
}

/* Report how its process ended, unless softmr-run has killed it */
static void say_end(const struct guest *g)
{
	if (WIFSIGNALED(g->wait_status) && WTERMSIG(g->wait_status) != SIGKILL)
		say("its process was ended by signal %d (%s)", WTERMSIG(g->wait_status),
		    strsignal(WTERMSIG(g->wait_status)));
	else if (WIFEXITED(g->wait_status))
		say("its process ended with status %d", WEXITSTATUS(g->wait_status));
}

static void keep(const char *dir, const char *name, const char *what)
{
	char *path = text("%s/%s", dir, name);
	FILE *f = fopen(path, "we");

	if (!f || fputs(what, f) == EOF || fflush(f))
		say("%s: %s", path, strerror(errno));
	if (f)
		fclose(f);
	free(path);
}

/* Returns the status; 0: the guest itself is all right */
static int judge_guest(const struct guest *g, const struct options *o, const struct result *r,
		       const char *console)
{
	switch (r->outcome) {
	case RUN_DOWN:
		return 0;
	case RUN_SIGNAL:
		return 128 + r->signal;
	case RUN_REFUSED:
		say("the guest cannot run the command: %s", r->why);
		return STATUS_NO_BOOT;
	case RUN_TIMEOUT:
		if (r->status[1] >= 0) {
			say("nobody has read the command's output after %d s", o->timeout);
			return STATUS_TIMEOUT;
		}
		say("still running after %d s, so it was ended (it %s)", o->timeout,
		    r->up ? "booted" : "never booted");
		show_console_end(console);
		return STATUS_TIMEOUT;
	case RUN_NO_BOOT:
		say("the guest never booted: no sign of life from its init");
		show_console_end(console);
		say_end(g);
		advise(g, console);
		return STATUS_NO_BOOT;
	case RUN_DIED:
		say("%s", *r->why ? r->why :
		    strstr(console, "Kernel panic") ? "the guest's kernel panicked" :
		    r->status[1] >= 0 ? "the guest did not end after its command had" :
		    "the guest died without a verdict");
		show_console_end(console);
		say_end(g);
		advise(g, console);
		return STATUS_DIED;
	}
	return STATUS_DIED;
}

int judge(const struct guest *g, const struct options *o, const char *runtime, struct result *r)
{
	char *console = guest_console(g);
	const char *log;
	bool splat;
	int status, k;

	wire_buf_add(&r->log, "", 1);
	log = (char *)r->log.data + r->log.start;
	if (o->log) {
		keep(o->log, "console.0", console);
		keep(o->log, "dmesg.0", log);
	}
	splat = !o->no_judge && show_splat(runtime, log, console);
	status = judge_guest(g, o, r, console);
	if (!status && splat)
		status = STATUS_DIED;
	for (k = 1; k <= o->nodes && !status; k++)
		if (r->status[k] > 0)
			status = r->status[k];
	free(console);
	return status;
}
