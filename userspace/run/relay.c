// SPDX-License-Identifier: GPL-2.0
/* Carry input, output and signals between the caller and the guest. */
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* How long the guest may take to boot (SOFTMR_BOOT_LIMIT), in seconds */
#define BOOT_LIMIT	180
/* ... the command to end after SIGTERM or SIGHUP, or a second SIGINT */
#define GRACE		5
/* ... the guest to end after its commands have ended */
#define DOWN_LIMIT	60
/* A pipe that poll() reports as writable takes this much without blocking. */
#define PIECE		4096
#define SINK_FULL	65536
/* The guest's kernel keeps 1 MiB of its log; anything beyond this is not a log. */
#define LOG_MAX		(4 << 20)
/* The guest may print this much on its console. */
#define CONSOLE_MAX	(16 << 20)

/* Data that waits to be written to one of our files */
struct sink {
	struct wire_buf buf;
	bool closed;		/* it has no reader */
};

struct relay {
	struct guest *guest;
	const struct options *o;
	const struct terminal *t;
	const struct wire_buf *job;
	struct result *r;
	int signals;
	struct sink sinks[3];
	int owed[NODES_MAX + 1][3];	/* output that is not acknowledged */
	struct wire_buf lines[NODES_MAX + 1][3];	/* --each: incomplete lines */
	int credit;			/* bytes of input that the guest accepts */
	bool input_end, down;
	bool raw;			/* our terminal is raw; @before has its former settings */
	struct termios before;
	int running;			/* commands */
	int deaths;			/* the number of signals that request the end */
	double start, killed_at, done_at;
};

static sigset_t taken;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void relay_init(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
				       SIGWINCH, SIGTSTP, SIGCHLD };
	struct sigaction old;
	size_t i;

	sigemptyset(&taken);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/*
		 * signals that the caller made us ignore (nohup) are not forwarded to the command
		 * either
		 */
		if (signals[i] != SIGCHLD && !sigaction(signals[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(&taken, signals[i]);
	}
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_BLOCK, &taken, NULL);
}

void terminal_look(const struct options *o, struct terminal *t)
{
	bool ours = !isatty(0) || tcgetpgrp(0) == getpgrp();

	memset(t, 0, sizeof(*t));
	/* a job in the background would be stopped when it reads */
	t->input = !o->each && ours;
	if (o->each || !isatty(1))
		return;
	t->tty[1] = true;
	t->tty[0] = t->raw = isatty(0) && ours;
	t->tty[2] = isatty(2);
}

/* -- output */

static void add_line(struct relay *y, int node, int stream, const void *data, size_t len)
{
	struct wire_buf *out = &y->sinks[stream].buf;
	char label[24];

	wire_buf_add(out, label, snprintf(label, sizeof(label), "node%d: ", node));
	wire_buf_add(out, data, len);
}

/* With --each, lines are not split, and begin with their node's name */
static void take_lines(struct relay *y, const struct frame *f)
{
	struct wire_buf *l = &y->lines[f->node][f->stream];
	const uint8_t *begin, *end;
	size_t len;

	wire_buf_add(l, f->data, f->len);
	while ((len = wire_buf_len(l))) {
		begin = l->data + l->start;
		end = memchr(begin, '\n', len);
		if (!end && len < PIECE)
			break;
		len = end ? (size_t)(end - begin) + 1 : len;
		add_line(y, f->node, f->stream, begin, len);
		wire_buf_drop(l, len);
	}
}

static void take_output(struct relay *y, const struct frame *f)
{
	struct sink *s = &y->sinks[f->stream];

	y->owed[f->node][f->stream] += f->len;
	if (y->owed[f->node][f->stream] > WIRE_WINDOW)
		y->guest->wire.broken = true;
	if (s->closed || y->guest->wire.broken)
		return;
	if (y->o->each && y->o->nodes > 1)
		take_lines(y, f);
	else
		wire_buf_add(&s->buf, f->data, f->len);
}

static void close_sink(struct relay *y, int stream)
{
	struct sink *s = &y->sinks[stream];
	int k;

	s->closed = true;
	wire_buf_drop(&s->buf, wire_buf_len(&s->buf));
	for (k = 1; k <= y->o->nodes; k++)
		wire_put(&y->guest->wire, FRAME_CLOSE, k, stream, NULL, 0);
}

static void write_sink(struct relay *y, int stream)
{
	struct wire_buf *b = &y->sinks[stream].buf;
	size_t len = wire_buf_len(b);
	ssize_t n = write(stream, b->data + b->start, len < PIECE ? len : PIECE);

	if (n >= 0)
		wire_buf_drop(b, n);
	else if (errno != EAGAIN && errno != EINTR)
		close_sink(y, stream);
}

static void acknowledge(struct relay *y)
{
	int k, i;

	for (i = 1; i < 3; i++) {
		if (wire_buf_len(&y->sinks[i].buf) >= SINK_FULL)
			continue;
		for (k = 1; k <= y->o->nodes; k++) {
			if (!y->owed[k][i])
				continue;
			wire_put_int(&y->guest->wire, FRAME_ACK, k, i, y->owed[k][i]);
			y->owed[k][i] = 0;
		}
	}
}

/* Give up the rest of the output, which is an error if the run itself succeeded */
static bool give_up(struct relay *y, enum outcome outcome, int sig)
{
	if (y->r->outcome == RUN_DOWN) {
		y->r->outcome = outcome;
		y->r->signal = sig;
	}
	return false;
}

/*
 * Wait until the sink can be written to; false: a signal arrived, or the time is @until (0: no
 * limit)
 */
static bool wait_sink(struct relay *y, int stream, double until)
{
	struct pollfd p[2] = { { stream, POLLOUT, 0 }, { y->signals, POLLIN, 0 } };
	struct signalfd_siginfo info;
	double left;

	for (;;) {
		left = until ? until - now() : 1;
		if (left <= 0)
			return give_up(y, RUN_TIMEOUT, 0);
		if (poll(p, 2, left < 1 ? left * 1000 + 1 : 1000) > 0 && p[0].revents)
			return true;
		if (read(y->signals, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo != SIGCHLD && info.ssi_signo != SIGWINCH &&
		    info.ssi_signo != SIGTSTP)
			return give_up(y, RUN_SIGNAL, info.ssi_signo);
	}
}

/* The deadline for writing the output; 0: as long as its reader takes */
static double output_end(const struct relay *y)
{
	double grace = now() + GRACE, limit = y->start + y->o->timeout;

	if (y->r->outcome == RUN_TIMEOUT || y->r->outcome == RUN_SIGNAL)
		return grace;
	if (!y->o->timeout)
		return 0;
	return limit > grace ? limit : grace;
}

/* The guest is gone: write the rest of its output */
static void finish_output(struct relay *y)
{
	double until = output_end(y);
	int k, i;

	for (i = 1; i < 3; i++) {
		for (k = 1; k <= y->o->nodes; k++) {
			struct wire_buf *l = &y->lines[k][i];

			if (wire_buf_len(l) && !y->sinks[i].closed)
				add_line(y, k, i, l->data + l->start, wire_buf_len(l));
		}
		while (wire_buf_len(&y->sinks[i].buf)) {
			if (!wait_sink(y, i, until))
				return;
			write_sink(y, i);
		}
	}
}

/* -- input */

static bool wants_input(const struct relay *y)
{
	return y->r->up && y->t->input && !y->input_end && y->credit > 0 &&
	       wire_buf_len(&y->guest->wire.out) < WIRE_WINDOW;
}

static void read_input(struct relay *y)
{
	char buf[PIECE];
	ssize_t n = read(0, buf, y->credit < PIECE ? y->credit : PIECE);

	if (n > 0) {
		wire_put(&y->guest->wire, FRAME_DATA, 1, 0, buf, n);
		y->credit -= n;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		y->input_end = true;
		wire_put(&y->guest->wire, FRAME_CLOSE, 1, 0, NULL, 0);
	}
}

/* While the command runs, keys that raise signals do so in the guest */
static void set_raw(struct relay *y)
{
	struct termios raw;

	if (!y->t->raw || !y->r->up || tcgetattr(0, &y->before))
		return;
	raw = y->before;
	cfmakeraw(&raw);
	y->raw = !tcsetattr(0, TCSADRAIN, &raw);
}

/* -- frames */

static void take_exit(struct relay *y, const struct frame *f)
{
	y->r->status[f->node] = wire_int(f);
	if (!--y->running)
		y->done_at = now();
}

static void take(struct relay *y, const struct frame *f)
{
	struct wire *w = &y->guest->wire;

	if (f->node > y->o->nodes || f->stream > 2)
		return;
	switch (f->type) {
	case FRAME_HELLO:
		wire_put_all(w, FRAME_JOB, 0, 0, y->job->data + y->job->start,
			     wire_buf_len(y->job));
		wire_put(w, FRAME_START, 0, 0, NULL, 0);
		break;
	case FRAME_UP:
		y->r->up = true;
		guest_forget_dir(y->guest);
		set_raw(y);
		break;
	case FRAME_WHY:
		snprintf(y->r->why, sizeof(y->r->why), "%.*s", (int)f->len, (const char *)f->data);
		y->r->outcome = RUN_REFUSED;
		y->down = true;
		break;
	case FRAME_DATA:
		take_output(y, f);
		break;
	case FRAME_ACK:
		y->credit += wire_int(f);
		break;
	case FRAME_CLOSE:
		y->input_end = true;
		break;
	case FRAME_EXIT:
		take_exit(y, f);
		break;
	case FRAME_LOG:
		if (wire_buf_len(&y->r->log) < LOG_MAX)
			wire_buf_add(&y->r->log, f->data, f->len);
		break;
	case FRAME_DOWN:
		y->r->outcome = RUN_DOWN;
		y->down = true;
		break;
	}
}

/* -- signals */

static void end_by_signal(struct relay *y, int sig)
{
	y->r->outcome = RUN_SIGNAL;
	y->r->signal = sig;
	y->down = true;
}

/*
 * The terminal, or a shell, stops us: so stop the guest, too, and the clock until both continue. If
 * no process could continue us, the kernel does not stop us.
 */
static void stop(struct relay *y)
{
	double began = now(), away;
	sigset_t tstp;

	if (y->raw)
		tcsetattr(0, TCSADRAIN, &y->before);
	kill(-y->guest->pid, SIGSTOP);
	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &tstp, NULL);
	sigprocmask(SIG_BLOCK, &tstp, NULL);
	kill(-y->guest->pid, SIGCONT);
	set_raw(y);
	away = now() - began;
	y->start += away;
	y->killed_at += y->killed_at ? away : 0;
	y->done_at += y->done_at ? away : 0;
}

static void take_signal(struct relay *y, int sig)
{
	struct winsize size;

	switch (sig) {
	case SIGTSTP:
		stop(y);
		return;
	case SIGCHLD:
		/* the line will be closed next */
		return;
	case SIGWINCH:
		if (y->t->tty[1] && !ioctl(1, TIOCGWINSZ, &size))
			wire_put(&y->guest->wire, FRAME_WINCH, 1, 0, &size, sizeof(size));
		return;
	case SIGUSR1:
	case SIGUSR2:
		wire_put_int(&y->guest->wire, FRAME_SIGNAL, 0, 0, sig);
		return;
	}
	if (!y->r->up || y->deaths >= 3) {
		end_by_signal(y, sig);
		return;
	}
	wire_put_int(&y->guest->wire, FRAME_SIGNAL, 0, 0, sig);
	y->deaths++;
	y->r->signal = sig;
	/* a program may use one SIGINT for something other than to exit */
	if (!y->killed_at && (sig == SIGTERM || sig == SIGHUP || y->deaths > 1))
		y->killed_at = now();
}

/* -- ends */

/* End the guest if its time is over, or if its console is too long */
static void check_use(struct relay *y)
{
	const char *limit = getenv("SOFTMR_BOOT_LIMIT");
	struct stat console;
	double t = now(), boot = limit && atoi(limit) > 0 ? atoi(limit) : BOOT_LIMIT;

	if (y->killed_at && t > y->killed_at + GRACE)
		end_by_signal(y, y->r->signal);
	else if (y->o->timeout && t > y->start + y->o->timeout)
		y->r->outcome = RUN_TIMEOUT;
	else if (!y->r->up && t > y->start + boot)
		y->r->outcome = RUN_NO_BOOT;
	else if (y->done_at && t > y->done_at + DOWN_LIMIT)
		y->r->outcome = RUN_DIED;
	else if (!fstat(y->guest->console, &console) && console.st_size > CONSOLE_MAX) {
		snprintf(y->r->why, sizeof(y->r->why),
			 "the guest has printed more than %d MiB on its console", CONSOLE_MAX >> 20);
		y->r->outcome = RUN_DIED;
	} else {
		return;
	}
	y->down = true;
}

/*
 * The guest has closed its end of the line, sent something that is no frame, or more than the
 * window: its kernel has ended, or a program has written to its memory
 */
static void take_end(struct relay *y)
{
	y->r->outcome = y->r->up ? RUN_DIED : RUN_NO_BOOT;
	y->down = true;
}

static void round_of_work(struct relay *y)
{
	struct wire *w = &y->guest->wire;
	struct pollfd p[5] = {
		{ w->fd, POLLIN | (wire_can_send(w) ? POLLOUT : 0), 0 },
		{ y->signals, POLLIN, 0 },
		{ wants_input(y) ? 0 : -1, POLLIN, 0 },
		{ wire_buf_len(&y->sinks[1].buf) ? 1 : -1, POLLOUT, 0 },
		{ wire_buf_len(&y->sinks[2].buf) ? 2 : -1, POLLOUT, 0 },
	};
	struct signalfd_siginfo info;
	struct frame f;

	if (poll(p, 5, 500) < 0)
		return;
	if (p[0].revents & (POLLIN | POLLHUP) && !wire_receive(w))
		take_end(y);
	while (wire_next(w, &f))
		take(y, &f);
	if (w->broken)
		take_end(y);
	if (p[1].revents)
		while (read(y->signals, &info, sizeof(info)) == sizeof(info))
			take_signal(y, info.ssi_signo);
	if (p[2].revents)
		read_input(y);
	if (p[3].revents)
		write_sink(y, 1);
	if (p[4].revents)
		write_sink(y, 2);
	acknowledge(y);
	if (!y->down)
		check_use(y);
	wire_send(w);
}

void relay_run(struct guest *g, const struct options *o, const struct terminal *t,
	       const struct wire_buf *job, struct result *r)
{
	struct relay *y = calloc(1, sizeof(*y));
	int k;

	if (!y)
		die(STATUS_NO_BOOT, "out of memory");
	memset(r, 0, sizeof(*r));
	for (k = 0; k <= NODES_MAX; k++)
		r->status[k] = -1;
	y->guest = g;
	y->o = o;
	y->t = t;
	y->job = job;
	y->r = r;
	y->credit = WIRE_WINDOW;
	y->running = o->each ? o->nodes : 1;
	y->start = now();
	y->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	while (!y->down)
		round_of_work(y);
	guest_kill(g);
	finish_output(y);
	if (y->raw)
		tcsetattr(0, TCSADRAIN, &y->before);
	close(y->signals);
	free(y);
}
