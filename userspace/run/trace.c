// SPDX-License-Identifier: GPL-2.0
/*
 * --trace: softmr trace of this machine runs as root of the guest, beside the command. The nodes
 * share a kernel, so it sees all of them. What it traces is cat, which ends with its input.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int tracer;
/* Our end of its input; -1: it does not run */
static int input = -1;

void trace_begin(const struct job *job)
{
	const char *file = job_get(job, "trace");
	char *argv[] = {
		(char *)"softmr", (char *)"trace", (char *)"--output", (char *)file,
		(char *)"--", (char *)"cat", NULL,
	};
	struct spawn s = { .node = 1, .cwd = "/", .mask = 022, .argv = argv };
	int in[2], out[2];
	char c;

	if (!file)
		return;
	s.fd[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s.fd[2] < 0 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		fail("cannot start a trace: %s", strerror(errno));
	s.fd[0] = in[0];
	s.fd[1] = out[1];
	s.envp = job_list(job, "env");
	tracer = spawn(job, &s);
	close(in[0]);
	close(out[1]);
	close(s.fd[2]);
	/* it records before it runs cat */
	if (tracer < 0 || write(in[1], "\n", 1) != 1 || read(out[0], &c, 1) != 1)
		fail("--trace: softmr trace does not run in the guest (package softmr-tools)");
	close(out[0]);
	input = in[1];
}

void trace_end(void)
{
	if (input < 0)
		return;
	close(input);
	while (waitpid(tracer, NULL, 0) < 0 && errno == EINTR)
		;
}
