// SPDX-License-Identifier: GPL-2.0
/* Run the command on its nodes, and carry its input and output to the host. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The agent reads no more output while this many bytes wait for the line */
#define LINE_QUEUE_MAX	(256 << 10)
/*
 * A pipe or terminal holds less. More output than that is from processes that outlive the command.
 */
#define REST_MAX	(2 * WIRE_WINDOW)
#define POLL_MAX	1024

/* The command of one node */
struct proc {
	int pid;		/* 0: none runs here */
	bool exited, told;
	int status;

	int in;			/* our end of its input; -1: closed */
	bool in_end;		/* close it when @queue is empty */
	struct wire_buf queue;

	int out[3];		/* our ends of 1 and 2; -1: closed */
	int credit[3];		/* bytes of each that the host accepts */
	int rest[3];		/* bytes that may still be read after the command has ended */

	int slave;		/* of its terminal; kept open, so that the other end remains */
};

static struct proc procs[NODES_MAX + 1];
static struct wire *line;

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int dup_or_fail(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		fail("cannot copy a file: %s", strerror(errno));
	return copy;
}

static bool job_says(const struct job *job, const char *name, const char *value)
{
	const char *is = job_get(job, name);

	return is && !strcmp(is, value);
}

static void set_winsize(int fd, const struct winsize *w)
{
	ioctl(fd, TIOCSWINSZ, w);
}

/* Make a terminal like the host's. Returns our end; *slave is the end for the command */
static int make_terminal(const struct job *job, int *slave)
{
	const char *hex = job_get(job, "termios"), *size = job_get(job, "winsize");
	struct termios t;
	struct winsize w = { 0 };
	unsigned int i, byte;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (master < 0 || grantpt(master) || unlockpt(master))
		fail("cannot make a terminal: %s", strerror(errno));
	*slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0)
		fail("cannot open a terminal: %s", strerror(errno));
	if (fchown(*slave, job_int(job, "uid"), -1))
		fail("cannot hand a terminal over: %s", strerror(errno));
	if (hex && strlen(hex) == 2 * sizeof(t)) {
		for (i = 0; i < sizeof(t) && sscanf(hex + 2 * i, "%2x", &byte) == 1; i++)
			((uint8_t *)&t)[i] = byte;
		tcsetattr(*slave, TCSANOW, &t);
	}
	if (size && sscanf(size, "%hu %hu", &w.ws_row, &w.ws_col) == 2)
		set_winsize(*slave, &w);
	return master;
}

/* Make a pipe. Process 1 keeps the end @mine (0 or 1), which does not block */
static void make_pipe(int *our_end, int *its_end, int mine)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) || fcntl(p[mine], F_SETFL, O_NONBLOCK))
		fail("pipe: %s", strerror(errno));
	*our_end = p[mine];
	*its_end = p[!mine];
}

static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail("cannot open /dev/null: %s", strerror(errno));
	return fd;
}

/* Fill s->fd and our ends. Only the first node has input and a terminal */
static void make_files(const struct job *job, struct proc *p, struct spawn *s)
{
	static const char * const names[] = { "stdin", "stdout", "stderr" };
	int master = -1, i;
	bool reading = false;

	for (i = 0; i < 3; i++) {
		if (s->node == 1 && job_says(job, names[i], "tty")) {
			if (master < 0)
				master = make_terminal(job, &p->slave);
			s->fd[i] = dup_or_fail(p->slave);
			s->terminal = true;
			if (i == 0)
				p->in = dup_or_fail(master);
			else if (!reading)
				p->out[i] = dup_or_fail(master);
			reading = reading || i;
		} else if (i == 0 && (s->node != 1 || !job_says(job, "stdin", "pipe"))) {
			s->fd[0] = open_null();
		} else if (i == 0) {
			make_pipe(&p->in, &s->fd[0], 1);
		} else {
			make_pipe(&p->out[i], &s->fd[i], 0);
		}
	}
	close_fd(&master);
}

static void start(const struct job *job, int node)
{
	struct proc *p = &procs[node];
	struct spawn s = { .node = node };
	char **groups = job_list(job, "group");
	int i;

	for (i = 1; i < 3; i++) {
		p->out[i] = -1;
		p->credit[i] = WIRE_WINDOW;
		p->rest[i] = REST_MAX;
	}
	p->in = p->slave = -1;
	make_files(job, p, &s);
	if (!job_get(job, "root")) {
		s.uid = strtoul(job_get(job, "uid"), NULL, 10);
		s.gid = strtoul(job_get(job, "gid"), NULL, 10);
		while (groups[s.group_count])
			s.group_count++;
		s.groups = calloc(s.group_count + 1, sizeof(*s.groups));
		for (i = 0; s.groups && i < s.group_count; i++)
			s.groups[i] = strtoul(groups[i], NULL, 10);
	}
	s.cwd = job_get(job, "cwd");
	s.mask = job_int(job, "umask");
	s.argv = job_list(job, "arg");
	s.envp = job_list(job, "env");
	p->pid = spawn(job, &s);
	if (p->pid < 0)
		fail("cannot start the command: %s", strerror(errno));
	for (i = 0; i < 3; i++)
		close(s.fd[i]);
	free(s.groups);
	free(s.argv);
	free(s.envp);
	free(groups);
}

/* -- input */

static void feed(struct proc *p, int node)
{
	while (p->in >= 0 && wire_buf_len(&p->queue)) {
		ssize_t n = write(p->in, p->queue.data + p->queue.start, wire_buf_len(&p->queue));

		if (n > 0) {
			wire_buf_drop(&p->queue, n);
			wire_put_int(line, FRAME_ACK, node, 0, n);
		} else if (errno == EAGAIN) {
			return;
		} else {
			/* it has no reader any more */
			wire_buf_drop(&p->queue, wire_buf_len(&p->queue));
			wire_put(line, FRAME_CLOSE, node, 0, NULL, 0);
			close_fd(&p->in);
		}
	}
	if (p->in_end && !wire_buf_len(&p->queue))
		close_fd(&p->in);
}

/* -- output */

static bool wants_output(const struct proc *p, int i)
{
	return p->out[i] >= 0 && p->credit[i] > 0 && wire_buf_len(&line->out) < LINE_QUEUE_MAX;
}

/* Send the output that can be read now; false: there is no more for now */
static bool carry(struct proc *p, int node, int i)
{
	char buf[WIRE_MAX];
	size_t most = sizeof(buf);
	ssize_t n;

	if (!wants_output(p, i))
		return false;
	if (p->credit[i] < (int)most)
		most = p->credit[i];
	n = read(p->out[i], buf, most);
	if (n > 0) {
		wire_put(line, FRAME_DATA, node, i, buf, n);
		p->credit[i] -= n;
		p->rest[i] -= p->exited ? n : 0;
		if (p->rest[i] <= 0)
			close_fd(&p->out[i]);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_fd(&p->out[i]);
	/* Processes that outlive the command write the rest. */
	else if (p->exited)
		close_fd(&p->out[i]);
	return false;
}

/* -- signals and ends */

static void reap(void)
{
	int status, pid, k;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (k = 1; k <= NODES_MAX; k++) {
			if (procs[k].pid != pid || procs[k].exited)
				continue;
			procs[k].exited = true;
			procs[k].status = shell_status(status);
			close_fd(&procs[k].slave);
		}
	}
}

/*
 * Send the status of each command that has ended and whose output is sent.
 * Return: how many commands are left.
 */
static int send_statuses(void)
{
	int k, i, left = 0;

	for (k = 1; k <= NODES_MAX; k++) {
		struct proc *p = &procs[k];

		if (!p->pid || p->told)
			continue;
		left++;
		if (!p->exited)
			continue;
		for (i = 1; i < 3; i++)
			while (carry(p, k, i))
				;
		if (p->out[1] >= 0 || p->out[2] >= 0)
			continue;
		wire_put_int(line, FRAME_EXIT, k, 0, p->status);
		p->told = true;
		left--;
	}
	return left;
}

static void signal_all(int sig)
{
	int k;

	for (k = 1; k <= NODES_MAX; k++)
		if (procs[k].pid && !procs[k].exited)
			kill(-procs[k].pid, sig);
}

static void take(const struct frame *f)
{
	struct proc *p = &procs[f->node];

	switch (f->type) {
	case FRAME_DATA:
		if (p->in >= 0)
			wire_buf_add(&p->queue, f->data, f->len);
		feed(p, f->node);
		break;
	case FRAME_CLOSE:
		if (f->stream == 0) {
			p->in_end = true;
			feed(p, f->node);
		} else if (f->stream < 3) {
			close_fd(&p->out[f->stream]);
		}
		break;
	case FRAME_ACK:
		if (f->stream < 3)
			p->credit[f->stream] += wire_int(f);
		break;
	case FRAME_SIGNAL:
		signal_all(wire_int(f));
		break;
	case FRAME_WINCH:
		if (p->slave >= 0 && f->len == sizeof(struct winsize))
			set_winsize(p->slave, (const struct winsize *)f->data);
		break;
	}
}

/* -- the loop */

struct polled {
	struct pollfd fds[POLL_MAX];
	int n;
};

static int add_poll(struct polled *set, int fd, short events)
{
	if (set->n == POLL_MAX)
		return -1;
	set->fds[set->n] = (struct pollfd){ fd, events, 0 };
	return set->n++;
}

static void poll_set(struct polled *set, int signals)
{
	int i, k;

	set->n = 0;
	add_poll(set, line->fd, POLLIN | (wire_buf_len(&line->out) ? POLLOUT : 0));
	add_poll(set, signals, POLLIN);
	for (k = 1; k <= NODES_MAX; k++) {
		if (!procs[k].pid || procs[k].told)
			continue;
		if (procs[k].in >= 0 && wire_buf_len(&procs[k].queue))
			add_poll(set, procs[k].in, POLLOUT);
		for (i = 1; i < 3; i++)
			if (wants_output(&procs[k], i))
				add_poll(set, procs[k].out[i], POLLIN);
	}
}

static void round_of_work(const struct polled *set, int signals)
{
	struct signalfd_siginfo info;
	struct frame f;
	int k;

	if (set->fds[0].revents & (POLLIN | POLLHUP))
		wire_receive(line);
	while (wire_next(line, &f))
		if (f.node <= NODES_MAX)
			take(&f);
	if (set->fds[1].revents)
		while (read(signals, &info, sizeof(info)) > 0)
			;
	reap();
	for (k = 1; k <= NODES_MAX; k++) {
		if (!procs[k].pid || procs[k].told || procs[k].exited)
			continue;
		feed(&procs[k], k);
		carry(&procs[k], k, 1);
		carry(&procs[k], k, 2);
	}
}

void agent_run(const struct job *job, struct wire *wire)
{
	static struct polled set;
	sigset_t child;
	int signals, k;

	line = wire;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		fail("signalfd: %s", strerror(errno));
	wire_put(line, FRAME_UP, 0, 0, NULL, 0);
	/* the host must have this before a command can end the kernel */
	line_flush();
	for (k = 1; k <= (job_get(job, "each") ? job_int(job, "nodes") : 1); k++)
		start(job, k);
	while (send_statuses()) {
		wire_send(line);
		poll_set(&set, signals);
		if (poll(set.fds, set.n, -1) < 0)
			continue;
		round_of_work(&set, signals);
	}
}
