// SPDX-License-Identifier: GPL-2.0
/* Process 1 of a guest of softmr-run: prepare what the job asks for, and run it. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wire wire = { .fd = -1 };
/* Why a child has failed; process 1 reads it when the child has ended */
static int reasons[2] = { -1, -1 };

static void wait_for(short events)
{
	struct pollfd p = { wire.fd, events, 0 };

	poll(&p, 1, -1);
}

static void __attribute__((noreturn)) rest(void)
{
	while (wire_buf_len(&wire.out) && wire_send(&wire))
		wait_for(POLLOUT);
	/* the host switches us off */
	for (;;)
		pause();
}

void fail(const char *format, ...)
{
	char text[512] = "", older[512];
	va_list args;
	ssize_t n;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (getpid() != 1) {
		(void)!write(reasons[1], text, strlen(text));
		_exit(1);
	}
	n = read(reasons[0], older, sizeof(older) - 1);
	if (n > 0) {
		older[n] = '\0';
		memcpy(text, older, sizeof(text));
	}
	dprintf(2, "softmr-run init: %s\n", text);
	/* without the line the console is all that the host gets */
	if (wire.fd < 0)
		reboot(RB_POWER_OFF);
	wire_put(&wire, FRAME_WHY, 0, 0, text, strlen(text));
	rest();
}

static void open_line(void)
{
	struct termios t;
	int fd = open("/dev/console", O_WRONLY | O_CLOEXEC);

	/* where there is no initial console, these are closed */
	if (fd >= 0) {
		dup2(fd, 1);
		dup2(fd, 2);
	}
	wire.fd = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (wire.fd < 0 || tcgetattr(wire.fd, &t))
		fail("cannot open the line to the host: %s", strerror(errno));
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	tcsetattr(wire.fd, TCSANOW, &t);
}

static struct job receive_job(void)
{
	struct wire_buf b = { 0 };
	struct frame f;

	wire_put(&wire, FRAME_HELLO, 0, 0, NULL, 0);
	for (;;) {
		if (!wire_send(&wire) || !wire_receive(&wire))
			fail("the line to the host is broken");
		while (wire_next(&wire, &f)) {
			if (f.type == FRAME_START)
				return (struct job){ (char *)b.data + b.start,
						     wire_buf_len(&b) };
			if (f.type == FRAME_JOB)
				wire_buf_add(&b, f.data, f.len);
		}
		wait_for(POLLIN | (wire_buf_len(&wire.out) ? POLLOUT : 0));
	}
}

static void send_log(void)
{
	static char log[1 << 20];
	int n = klogctl(3, log, sizeof(log));

	if (n > 0)
		wire_put_all(&wire, FRAME_LOG, 0, 0, log, n);
}

int main(int argc, char **argv)
{
	struct job job;

	if (getpid() != 1)
		return node_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	root_early();
	if (pipe2(reasons, O_CLOEXEC | O_NONBLOCK))
		fail("pipe: %s", strerror(errno));
	open_line();
	job = receive_job();
	root_enter(&job);
	nodes_make(&job);
	serve_open();
	agent_run(&job, &wire);
	root_leave(&job);
	send_log();
	wire_put(&wire, FRAME_DOWN, 0, 0, NULL, 0);
	rest();
}
