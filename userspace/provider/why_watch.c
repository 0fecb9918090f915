// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * With SOFTMR_WHY=1 in the environment a thread prints the device's refusals to this process as
 * they happen: calls, completions, and requests of peers. Remaining refusals are printed when the
 * device is closed, and when the program exits without closing it. They are also warnings of
 * libibverbs' log: its VERBS_LOG_LEVEL and VERBS_LOG_FILE have the same effect.
 */
#include "why_watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "why_note.h"
#include "why_text.h"

#define LOOK_MS		100
/* The maximum number that is printed in a second */
#define PRINT_MAX	20
/* Warnings, in libibverbs' VERBS_LOG_LEVEL */
#define LEVEL_WARN	2
#define TEXT_MAX	512

/* The thread of an open device */
struct smr_why_watch {
	struct smr_why_watch *next;	/* in the list of all threads */
	struct ibv_context *context;	/* the device */
	pthread_t thread;		/* prints */
	FILE *out;			/* to this file */
	/* the process that has the thread: a forked child has this struct, but no thread */
	pid_t pid;
	/* the thread must end; guarded by watches_lock, like the fields below */
	bool stop;
	uint64_t from;			/* the last refusal that was printed or skipped */
	time_t second;			/* when counting in @printed began */
	unsigned int printed;		/* how many since */
	unsigned int left_out;		/* how many were not printed */
};

static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t watches_stop = PTHREAD_COND_INITIALIZER;
static struct smr_why_watch *watches;

static void print(const struct smr_why_watch *watch,
		  const struct smr_abi_why *rec)
{
	const char *dev = watch->context->device->name;
	char text[TEXT_MAX], error[32], qp[32] = "";

	smr_why_error(rec, error, sizeof(error));
	if (rec->qpn)
		snprintf(qp, sizeof(qp), " QP %#x", rec->qpn);
	smr_why_say(rec, text, sizeof(text));
	fprintf(watch->out, "softmr: %s%s: %s: %s; try: %s (%#06x)\n", dev, qp,
		error, text, smr_why_todo(rec), rec->id);
}

static void count_second(struct smr_why_watch *watch)
{
	time_t now = time(NULL);

	if (now != watch->second) {
		watch->second = now;
		watch->printed = 0;
	}
}

static void print_or_leave(struct smr_why_watch *watch,
			   const struct smr_abi_why *rec)
{
	count_second(watch);
	if (watch->printed++ < PRINT_MAX)
		print(watch, rec);
	else
		watch->left_out++;
}

/*
 * Print new refusals, and how many were left out: once in a second, and at the
 * @end. Caller holds watches_lock.
 */
static void print_new(struct smr_why_watch *watch, bool end)
{
	struct smr_abi_why recs[SMR_WHY_ROOM];
	uint32_t n, i;

	while (!smr_why_read(watch->context, watch->from, recs, &n) && n) {
		for (i = 0; i < n; i++)
			print_or_leave(watch, &recs[i]);
		/* those between were overwritten */
		watch->left_out += (unsigned int)(recs[n - 1].seq - watch->from - n);
		watch->from = recs[n - 1].seq;
	}
	count_second(watch);
	if (watch->left_out && (end || watch->printed <= PRINT_MAX)) {
		fprintf(watch->out, "softmr: %u more refusals were not printed\n",
			watch->left_out);
		watch->left_out = 0;
	}
}

static void *watch_thread(void *arg)
{
	struct smr_why_watch *watch = arg;
	struct timespec until;

	pthread_mutex_lock(&watches_lock);
	while (!watch->stop) {
		print_new(watch, false);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&watches_stop, &watches_lock, &until);
	}
	pthread_mutex_unlock(&watches_lock);
	return NULL;
}

/* The program's signals must go to its own threads. */
static int start(struct smr_why_watch *watch)
{
	sigset_t all, was;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	ret = pthread_create(&watch->thread, NULL, watch_thread, watch);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return ret;
}

/* Where to print, as the environment says; NULL: nowhere */
static FILE *output(void)
{
	const char *why = getenv("SOFTMR_WHY"), *level = getenv("VERBS_LOG_LEVEL");
	const char *name = getenv("VERBS_LOG_FILE");
	FILE *file;

	if (getauxval(AT_SECURE))
		return NULL;
	if (why)
		return strcmp(why, "1") ? NULL : stderr;
	if (!level || atoi(level) < LEVEL_WARN)
		return NULL;
	file = name ? fopen(name, "ae") : NULL;
	if (!file)
		return stderr;
	setvbuf(file, NULL, _IOLBF, 0);
	return file;
}

static void free_watch(struct smr_why_watch *watch)
{
	if (watch->out != stderr)
		fclose(watch->out);
	free(watch);
}

struct smr_why_watch *smr_why_watch_begin(struct ibv_context *context)
{
	struct smr_why_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->out = output();
	if (!watch->out) {
		free(watch);
		return NULL;
	}
	watch->context = context;
	watch->pid = getpid();
	pthread_mutex_lock(&watches_lock);
	if (start(watch)) {
		free_watch(watch);
		watch = NULL;
	} else {
		watch->next = watches;
		watches = watch;
	}
	pthread_mutex_unlock(&watches_lock);
	return watch;
}

void smr_why_watch_end(struct smr_why_watch *watch)
{
	struct smr_why_watch **at = &watches;

	if (!watch)
		return;
	pthread_mutex_lock(&watches_lock);
	while (*at != watch)
		at = &(*at)->next;
	*at = watch->next;
	watch->stop = true;
	pthread_cond_broadcast(&watches_stop);
	pthread_mutex_unlock(&watches_lock);
	if (watch->pid == getpid()) {
		pthread_join(watch->thread, NULL);
		print_new(watch, true);
	}
	free_watch(watch);
}

/* Runs at the exit of a program that has not closed its devices */
static __attribute__((destructor)) void print_rest(void)
{
	struct smr_why_watch *watch;

	if (pthread_mutex_trylock(&watches_lock))
		return;
	for (watch = watches; watch; watch = watch->next)
		if (watch->pid == getpid())
			print_new(watch, true);
	pthread_mutex_unlock(&watches_lock);
}
