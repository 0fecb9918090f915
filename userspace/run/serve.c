// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve.h"

#define CLIENTS_MAX 256

/* A connection of a softmr-node; @pid is 0 until its request is complete. */
static struct client {
	int fd;			/* -1: a free slot */
	int pid;
	int files[3];
	struct wire_buf in;
} clients[CLIENTS_MAX];

static int listener = -1;

void serve_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = GUEST_SOCKET };
	int i;

	for (i = 0; i < CLIENTS_MAX; i++)
		clients[i].fd = -1;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(GUEST_SOCKET, 0666) || listen(listener, 64))
		fail("cannot listen at %s: %s", GUEST_SOCKET, strerror(errno));
}

int serve_fd(void)
{
	return listener;
}

static void close_files(struct client *c)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (c->files[i] >= 0)
			close(c->files[i]);
		c->files[i] = -1;
	}
}

static void drop(struct client *c)
{
	close_files(c);
	close(c->fd);
	free(c->in.data);
	*c = (struct client){ .fd = -1 };
}

void serve_accept(const struct job *job)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), i;

	(void)job;
	if (fd < 0)
		return;
	for (i = 0; i < CLIENTS_MAX; i++) {
		if (clients[i].fd >= 0)
			continue;
		clients[i] = (struct client){ .fd = fd, .files = { -1, -1, -1 } };
		return;
	}
	close(fd);
}

int serve_poll_fds(int *fds, int max)
{
	int i, n = 0;

	for (i = 0; i < CLIENTS_MAX && n < max; i++)
		if (clients[i].fd >= 0)
			fds[n++] = clients[i].fd;
	return n;
}

/*
 * Take the three files of a message. If it has another number of files, close
 * them all
 */
static void take_files(struct client *c, const struct cmsghdr *cm)
{
	int n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int), i, fd;

	if (n == 3) {
		close_files(c);
		memcpy(c->files, CMSG_DATA(cm), sizeof(c->files));
		return;
	}
	for (i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(cm) + i * sizeof(fd), sizeof(fd));
		close(fd);
	}
}

/* Receive available data and files; false: the other side is gone */
static bool receive(struct client *c)
{
	char buf[65536], control[CMSG_SPACE(3 * sizeof(int))];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *cm;
	ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	wire_buf_add(&c->in, buf, n);
	cm = CMSG_FIRSTHDR(&msg);
	if (cm && cm->cmsg_level == SOL_SOCKET && cm->cmsg_type == SCM_RIGHTS)
		take_files(c, cm);
	return true;
}

static void answer(struct client *c, int32_t status)
{
	/* the client may be gone */
	(void)!send(c->fd, &status, sizeof(status), MSG_NOSIGNAL);
	drop(c);
}

/* The client's groups; allocated */
static unsigned int *peer_groups(int fd, int *count)
{
	unsigned int *groups;
	socklen_t len = 0;

	/* this returns the length of the list */
	getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len);
	groups = malloc(len + sizeof(*groups));
	if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		fail("cannot read the groups of a process: %s", strerror(errno));
	*count = len / sizeof(*groups);
	return groups;
}

/* Start a client's command, as the client's user */
static void start(const struct job *job, struct client *c, const struct job *request)
{
	socklen_t cred_len = sizeof(struct ucred);
	struct ucred cred;
	struct spawn s = { .node = job_int(request, "node") };

	if (s.node < 1 || s.node > job_int(job, "nodes") || c->files[0] < 0 ||
	    getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len)) {
		answer(c, 126);
		return;
	}
	memcpy(s.fd, c->files, sizeof(s.fd));
	s.uid = cred.uid;
	s.gid = cred.gid;
	s.groups = peer_groups(c->fd, &s.group_count);
	s.cwd = job_get(request, "cwd");
	s.mask = job_int(request, "umask");
	s.argv = job_list(request, "arg");
	s.envp = job_list(request, "env");
	if (s.cwd && s.argv[0])
		c->pid = spawn(job, &s);
	free(s.groups);
	free(s.argv);
	free(s.envp);
	if (c->pid <= 0)
		answer(c, 126);
	else
		close_files(c);
}

static void take_request(const struct job *job, struct client *c)
{
	struct job request;
	uint32_t len;

	if (wire_buf_len(&c->in) < sizeof(len))
		return;
	memcpy(&len, c->in.data + c->in.start, sizeof(len));
	if (!len || len > REQUEST_MAX) {
		drop(c);
		return;
	}
	if (wire_buf_len(&c->in) - sizeof(len) < len)
		return;
	request.text = (char *)c->in.data + c->in.start + sizeof(len);
	request.len = len;
	/* make sure that the last string ends within the job */
	request.text[len - 1] = '\0';
	wire_buf_drop(&c->in, sizeof(len) + len);
	start(job, c, &request);
}

static void take_signals(struct client *c)
{
	uint32_t sig;

	while (wire_buf_len(&c->in) >= sizeof(sig)) {
		memcpy(&sig, c->in.data + c->in.start, sizeof(sig));
		wire_buf_drop(&c->in, sizeof(sig));
		if (sig > 0 && sig < NSIG)
			kill(-c->pid, sig);
	}
}

void serve_readable(const struct job *job, int fd)
{
	struct client *c = clients;

	while (c < clients + CLIENTS_MAX && c->fd != fd)
		c++;
	if (c == clients + CLIENTS_MAX)
		return;
	if (!receive(c)) {
		/* the client that waited for the command is gone */
		if (c->pid > 0)
			kill(-c->pid, SIGHUP);
		drop(c);
		return;
	}
	if (!c->pid)
		take_request(job, c);
	if (c->fd >= 0 && c->pid > 0)
		take_signals(c);
}

bool serve_exited(int pid, int status)
{
	int i;

	for (i = 0; i < CLIENTS_MAX; i++) {
		if (clients[i].fd < 0 || clients[i].pid != pid)
			continue;
		answer(&clients[i], status);
		return true;
	}
	return false;
}
