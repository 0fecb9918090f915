// SPDX-License-Identifier: GPL-2.0
/*
 * softmr-node, which runs a command on another node of the guest; and softmr-rsh, the same with the command line of rsh(1)
 * and ssh(1). It is set-user-id root to enter the node's namespaces, and then the caller again: the command is a child of
 * the caller, with its files, limits, groups and signals.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *me;

static void __attribute__((noreturn, format(printf, 2, 3))) end(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", me);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static void __attribute__((noreturn)) usage(bool rsh, int status)
{
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
	int node, last;
	size_t i;

	name = at ? at + 1 : name;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		last = 0;
		if (sscanf(name, formats[i], &node, &last) == 1 && last && !name[last])
			return node;
	}
	return 0;
}

/*
 * The whole environment: a set-user-id program's libc drops LD_LIBRARY_PATH, TMPDIR and others. Only root can read it while
 * the program is one.
 */
static void restore_environment(void)
{
	size_t size = 0, room = 1 << 16, n = 0;
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	char *text = malloc(room), *p, **env;
	ssize_t got;

	while (text && (got = read(fd, text + size, room - size)) > 0) {
		size += got;
		if (size == room)
			text = realloc(text, room *= 2);
	}
	close(fd);
	for (p = text; text && p < text + size; p += strlen(p) + 1)
		n++;
	env = calloc(n + 1, sizeof(*env));
	if (!env)
		end(126, "out of memory");
	for (p = text, n = 0; p < text + size; p += strlen(p) + 1)
		env[n++] = p;
	environ = env;
}

static void enter(int node)
{
	static const struct { const char *name; int type; } spaces[] = {
		{ "uts", CLONE_NEWUTS }, { "net", CLONE_NEWNET }, { "mnt", CLONE_NEWNS },
	};
	char path[64], *cwd = getcwd(NULL, 0);
	int fds[3], i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), GUEST_NODES "/%d/%s", node, spaces[i].name);
		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		/* a single node is the first namespace */
		if (fds[i] < 0 && (node > 1 || access(GUEST_DIR, F_OK)))
			end(126, "there is no node %d here: %s", node, strerror(errno));
	}
	for (i = 0; i < 3; i++)
		if (fds[i] >= 0 && setns(fds[i], spaces[i].type))
			end(126, "cannot enter node %d: %s", node, strerror(errno));
	if (setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid()))
		end(126, "cannot become user %u: %s", getuid(), strerror(errno));
	if (!cwd || chdir(cwd))
		fprintf(stderr, "%s: node %d has no %s; going on in /\n", me, node, cwd ? cwd : "such directory");
}

static void set_environment(int node)
{
	char value[32];

	restore_environment();
	snprintf(value, sizeof(value), "%d", node);
	setenv("NODE", value, 1);
	snprintf(value, sizeof(value), "softmr%d", node - 1);
	if (getenv("SOFTMR_DEVICE"))
		setenv("SOFTMR_DEVICE", value, 1);
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
	const char *slash = strrchr(argv[0], '/'), *nodes_there = getenv("NODES");
	char *line[] = { (char *)"/bin/sh", (char *)"-c", NULL, NULL };
	bool rsh;
	int node;

	(void)argc;
	me = slash ? slash + 1 : argv[0];
	rsh = !strcmp(me, "softmr-rsh");
	argv++;
	if (*argv && (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")))
		usage(rsh, 0);
	if (rsh)
		argv = skip_rsh_options(argv);
	if (!argv[0] || !argv[1])
		usage(rsh, 2);
	node = node_number(argv[0]);
	if (node < 1 || node > NODES_MAX || (nodes_there && node > atoi(nodes_there)))
		end(126, "there is no node '%s'; there are node1 to node%s", argv[0],
		    nodes_there ? nodes_there : "...");
	argv++;
	if (!strcmp(*argv, "--") && argv[1])
		argv++;
	if (rsh) {
		line[2] = join(argv);
		argv = line;
	}
	set_environment(node);
	enter(node);
	execvp(argv[0], argv);
	if (errno == ENOENT)
		end(127, "%s: command not found", argv[0]);
	end(126, "%s: %s", argv[0], strerror(errno));
}
