// SPDX-License-Identifier: GPL-2.0
/*
 * What process 1 of a guest of softmr-run does for softmr-node, in an ordinary
 * process: run_parts.sh links this with the files of userspace/run, and gives it
 * a directory of its own as /run/softmr. For each line of standard input it
 * prints how many descriptors it has.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define CLIENTS		16
#define DESCRIPTORS	256

static int descriptors(void)
{
	int fd, n = 0;

	for (fd = 0; fd < DESCRIPTORS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void reap(void)
{
	int status, pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		serve_exited(pid, shell_status(status));
}

int main(void)
{
	static char text[] = "nodes=1";
	const struct job job = { text, sizeof(text) };
	int fds[CLIENTS], n, i;
	char line[16];

	signal(SIGPIPE, SIG_IGN);
	nodes[1].net = -1;
	serve_open();
	for (;;) {
		struct pollfd p[CLIENTS + 2] = { { 0, POLLIN, 0 }, { serve_fd(), POLLIN, 0 } };

		n = serve_poll_fds(fds, CLIENTS);
		for (i = 0; i < n; i++)
			p[i + 2] = (struct pollfd){ fds[i], POLLIN, 0 };
		poll(p, n + 2, 100);
		reap();
		if (p[0].revents) {
			if (read(0, line, sizeof(line)) <= 0)
				return 1;
			printf("%d\n", descriptors());
			fflush(stdout);
		}
		if (p[1].revents)
			serve_accept(&job);
		for (i = 0; i < n; i++)
			if (p[i + 2].revents)
				serve_readable(&job, fds[i]);
	}
}
