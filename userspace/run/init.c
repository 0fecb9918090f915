// SPDX-License-Identifier: GPL-2.0
/* Process 1 of a guest of softmr-run: prepare the guest for the job, and run it. */
#define _GNU_SOURCE
#include "guest.h"

#include <poll.h>
#include <signal.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>

static struct job receive_job(void)
{
	struct wire_buf b = { 0 };
	struct frame f;

	wire_put(&host_line, FRAME_HELLO, 0, 0, NULL, 0);
	for (;;) {
		if (!wire_send(&host_line) || !wire_receive(&host_line))
			fail("the line to the host is broken");
		while (wire_next(&host_line, &f)) {
			if (f.type == FRAME_START)
				return (struct job){ (char *)b.data + b.start,
						     wire_buf_len(&b) };
			if (f.type == FRAME_JOB)
				wire_buf_add(&b, f.data, f.len);
		}
		line_wait(POLLIN | (wire_buf_len(&host_line.out) ? POLLOUT : 0));
	}
}

static void send_log(void)
{
	static char log[1 << 20];
	int n = klogctl(3, log, sizeof(log));

	if (n > 0)
		wire_put_all(&host_line, FRAME_LOG, 0, 0, log, n);
}

int main(int argc, char **argv)
{
	struct job job;

	if (getpid() != 1)
		return node_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	root_early();
	line_open();
	job = receive_job();
	root_enter(&job);
	nodes_make(&job);
	trace_begin(&job);
	agent_run(&job, &host_line);
	trace_end();
	root_leave(&job);
	send_log();
	wire_put(&host_line, FRAME_DOWN, 0, 0, NULL, 0);
	line_end();
}
