// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_limits(const struct job *job)
{
	const char *line = NULL;
	unsigned long long soft, hard;
	int resource;

	while ((line = job_next(job, "limit", line))) {
		struct rlimit r;

		if (sscanf(line, "%d %llu %llu", &resource, &soft, &hard) != 3)
			continue;
		r.rlim_cur = soft;
		r.rlim_max = hard;
		setrlimit(resource, &r);
	}
}

static void reset_signals(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Give the process its three files; they may have any numbers now */
static void place_files(const struct spawn *s)
{
	int fd[3], i;

	for (i = 0; i < 3; i++)
		fd[i] = fcntl(s->fd[i], F_DUPFD_CLOEXEC, 3);
	for (i = 0; i < 3; i++)
		dup2(fd[i], i);
	if (s->terminal)
		ioctl(isatty(0) ? 0 : 1, TIOCSCTTY, 0);
}

static void set_environment(const struct job *job, const struct spawn *s)
{
	char value[32];

	environ = s->envp;
	snprintf(value, sizeof(value), "%d", s->node);
	setenv("NODE", value, 1);
	setenv("NODES", job_get(job, "nodes"), 1);
	if (job_get(job, "link")) {
		snprintf(value, sizeof(value), "softmr%d", s->node - 1);
		setenv("SOFTMR_DEVICE", value, 1);
	}
}

static void __attribute__((noreturn)) child(const struct job *job, const struct spawn *s)
{
	int ret;

	reset_signals();
	setsid();
	place_files(s);
	ret = node_enter(s->node);
	if (ret) {
		dprintf(2, "softmr-run: cannot enter node %d: %s\n", s->node, strerror(-ret));
		_exit(126);
	}
	set_limits(job);
	if (setgroups(s->group_count, s->groups) || setresgid(s->gid, s->gid, s->gid) ||
	    setresuid(s->uid, s->uid, s->uid)) {
		dprintf(2, "softmr-run: cannot become user %u: %s\n", s->uid, strerror(errno));
		_exit(126);
	}
	if (chdir(s->cwd)) {
		dprintf(2, "softmr-run: the guest has no %s (%s); going on in /\n", s->cwd,
			strerror(errno));
		if (chdir("/"))
			_exit(126);
	}
	umask(s->mask);
	set_environment(job, s);
	execvp(s->argv[0], s->argv);
	ret = errno;
	dprintf(2, "softmr-run: %s: %s\n", s->argv[0],
		ret == ENOENT ? "command not found" : strerror(ret));
	_exit(ret == ENOENT ? 127 : 126);
}

int spawn(const struct job *job, const struct spawn *s)
{
	int pid = fork();

	if (!pid)
		child(job, s);
	return pid;
}
