// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

struct wire host_line = { .fd = -1 };
/* A child writes the reason of its failure here; process 1 reads it */
static int reasons[2] = { -1, -1 };

void line_wait(short events)
{
	struct pollfd p = { host_line.fd, events, 0 };

	poll(&p, 1, -1);
}

void line_flush(void)
{
	while (wire_buf_len(&host_line.out) && wire_send(&host_line))
		line_wait(POLLOUT);
}

void line_end(void)
{
	line_flush();
	/* the host kills the guest */
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
	/* without the line the host only gets the console */
	if (host_line.fd < 0)
		reboot(RB_POWER_OFF);
	wire_put(&host_line, FRAME_WHY, 0, 0, text, strlen(text));
	line_end();
}

void line_open(void)
{
	struct termios t;
	int fd;

	if (pipe2(reasons, O_CLOEXEC | O_NONBLOCK))
		fail("pipe: %s", strerror(errno));
	/* if there is no initial console, files 1 and 2 are closed */
	fd = open("/dev/console", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, 1);
		dup2(fd, 2);
	}
	host_line.fd = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (host_line.fd < 0 || tcgetattr(host_line.fd, &t))
		fail("cannot open the line to the host: %s", strerror(errno));
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	tcsetattr(host_line.fd, TCSANOW, &t);
}
