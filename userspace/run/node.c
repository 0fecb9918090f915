// SPDX-License-Identifier: GPL-2.0
/*
 * softmr-node, which runs a command on another node of the guest; and
 * softmr-rsh, the same with the command line of rsh(1) and ssh(1).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "serve.h"

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

static void __attribute__((noreturn)) usage(const char *me, int status)
{
	bool rsh = !strcmp(me, "softmr-rsh");

	fprintf(status ? stderr : stdout,
		"Usage: %s %s COMMAND [ARG...]\n"
		"Run COMMAND on a node of the guest that softmr run has made, with this\n"
		"process's input, output, environment and directory; its status is COMMAND's.\n%s",
		me, rsh ? "[-l USER] HOST" : "NODE",
		rsh ? "HOST is node1, node2... or a node's address. COMMAND's words make a line for the\n"
		      "shell.\n" : "NODE is a number, node1, node2... or a node's address.\n");
	exit(status);
}

/* The number of a node, given by number, name or address; 0 if there is none */
static int node_number(const char *name)
{
	static const char * const formats[] = { "%d%n", "node%d%n", "10.0.0.%d%n", "fd00::%x%n" };
	const char *at = strchr(name, '@');
	int node, end;
	size_t i;

	name = at ? at + 1 : name;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		end = 0;
		if (sscanf(name, formats[i], &node, &end) == 1 && end && !name[end])
			return node;
	}
	return 0;
}

static void add(struct wire_buf *b, const char *name, const char *value)
{
	wire_buf_add(b, name, strlen(name));
	wire_buf_add(b, "=", 1);
	wire_buf_add(b, value, strlen(value) + 1);
}

static void send_request(int sock, const struct wire_buf *b)
{
	uint32_t len = wire_buf_len(b);
	int files[3] = { 0, 1, 2 };
	char control[CMSG_SPACE(sizeof(files))] = "";
	struct iovec iov = { &len, sizeof(len) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);
	size_t done = 0;
	ssize_t n;

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(files));
	memcpy(CMSG_DATA(cm), files, sizeof(files));
	n = sendmsg(sock, &msg, 0);
	while (n > 0 && done < len) {
		n = write(sock, b->data + b->start + done, len - done);
		done += n > 0 ? n : 0;
	}
	if (n <= 0) {
		perror("softmr-node: cannot hand the command over");
		exit(126);
	}
}

/* Forward signals until the command's status arrives */
static int wait_status(int sock, int signals)
{
	struct pollfd p[2] = { { sock, POLLIN, 0 }, { signals, POLLIN, 0 } };
	struct signalfd_siginfo info;
	int32_t status;

	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents && read(signals, &info, sizeof(info)) == sizeof(info))
			(void)!send(sock, &info.ssi_signo, sizeof(uint32_t), MSG_NOSIGNAL);
		if (!p[0].revents)
			continue;
		if (read(sock, &status, sizeof(status)) == sizeof(status))
			return status;
		fputs("softmr-node: the guest ends\n", stderr);
		return 126;
	}
}

static int run_on(int node, char **words, bool shell)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = GUEST_SOCKET };
	struct wire_buf b = { 0 };
	char number[16], *cwd = getcwd(NULL, 0), **p;
	mode_t mask;
	sigset_t set;
	size_t i;
	int sock, signals;

	/* block them first, so that none is lost before it can be forwarded */
	sigemptyset(&set);
	for (i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);

	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&addr, sizeof(addr))) {
		fprintf(stderr, "softmr-node: this is not a guest of softmr run (%s: %s)\n",
			GUEST_SOCKET, strerror(errno));
		return 126;
	}
	snprintf(number, sizeof(number), "%d", node);
	add(&b, "node", number);
	mask = umask(0);
	umask(mask);
	snprintf(number, sizeof(number), "%d", mask);
	add(&b, "umask", number);
	add(&b, "cwd", cwd ? cwd : "/");
	for (p = environ; *p; p++)
		add(&b, "env", *p);
	if (shell) {
		add(&b, "arg", "/bin/sh");
		add(&b, "arg", "-c");
	}
	for (p = words; *p; p++)
		add(&b, "arg", *p);
	send_request(sock, &b);
	return wait_status(sock, signals);
}

/* Join the words into one line, as rsh and ssh do */
static char *join(char **words)
{
	size_t len = 1;
	char **p, *line;

	for (p = words; *p; p++)
		len += strlen(*p) + 1;
	line = calloc(1, len);
	for (p = words; line && *p; p++) {
		strcat(line, *p);
		if (p[1])
			strcat(line, " ");
	}
	return line;
}

/* Options of rsh and ssh that mpirun and others pass: all are ignored */
static char **skip_rsh_options(char **argv)
{
	while (*argv && **argv == '-') {
		bool value = strlen(*argv) == 2 && strchr("lopiFEcbeJLmQRSwW", (*argv)[1]);

		argv += value && argv[1] ? 2 : 1;
	}
	return argv;
}

int node_main(int argc, char **argv)
{
	const char *me = strrchr(argv[0], '/');
	int node;
	char *line[2] = { NULL, NULL };
	bool rsh;

	(void)argc;
	me = me ? me + 1 : argv[0];
	rsh = !strcmp(me, "softmr-rsh");
	argv++;
	if (*argv && (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")))
		usage(me, 0);
	if (rsh)
		argv = skip_rsh_options(argv);
	if (!argv[0] || !argv[1])
		usage(me, 2);
	node = node_number(argv[0]);
	if (node < 1 || node > NODES_MAX ||
	    (getenv("NODES") && node > atoi(getenv("NODES")))) {
		fprintf(stderr, "%s: there is no node '%s'; there are node1 to node%s\n", me,
			argv[0], getenv("NODES") ? getenv("NODES") : "...");
		return 126;
	}
	argv++;
	if (!strcmp(*argv, "--") && argv[1])
		argv++;
	if (rsh) {
		line[0] = join(argv);
		argv = line;
	}
	return run_on(node, argv, rsh);
}
