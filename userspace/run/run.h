/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of softmr-run. */
#ifndef SMR_RUN_RUN_H
#define SMR_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "job.h"
#include "wire.h"

/*
 * Exit statuses of softmr-run itself, the same as those of the test beds. 124 is that of timeout(1); 126 and above mean
 * the same as in a shell.
 */
enum {
	STATUS_USAGE = 2,
	STATUS_DIED = 123,
	STATUS_TIMEOUT = 124,
	STATUS_NO_BOOT = 125,
};

/* The options of the command line. Lists end with NULL. */
struct options {
	int nodes, cpus, timeout;
	int cpus_asked;		/* --cpus; 0: not given */
	bool each, root, no_link, no_provider;
	bool with_verbs, verbose, no_judge;
	bool ptrace;		/* the kernel must work without seccomp */
	unsigned long long mem;	/* bytes; 0: as much as fits */
	const char *netem, *runtime, *provider, *log, *cmdline, *chdir;
	const char *dir;	/* the working directory of the command */
	const char *trace, *trace_dir;	/* the name and the directory of the timeline */
	char **rw, **rw_at;	/* a directory of the host, and its place in the guest */
	char **layers;
	char **command;
};

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(int status, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
/* printf to a string that is never freed */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Append to a list that ends with NULL */
void list_add(char ***list, char *value);

void options_parse(struct options *o, int argc, char **argv);

/* Find the directory with kernel and initrd, or exit. */
const char *runtime_find(const struct options *o);

/* How the command's three files are connected */
struct terminal {
	bool tty[3];		/* of the command */
	bool input;		/* it has any */
	bool raw;		/* our terminal is raw while the command runs */
};
void terminal_look(const struct options *o, struct terminal *t);

/* verbs.c: the command's libibverbs */
struct verbs {
	bool there;		/* the command exists on this machine */
	const char *program;	/* the ELF file of the command or of its interpreter; NULL: unknown */
	bool needs;		/* it is linked with libibverbs */
	bool musl;
	const char *library;	/* the libibverbs that it loads, or would load; NULL: none */
	unsigned int interface;	/* the number of the library's interface with providers */
};
/* @provider: the provider's directory, or NULL */
void verbs_find(struct verbs *v, const struct options *o, const char *provider);
/* Print what will not work, and with --verbose what was found. @own: the runtime's libibverbs, or NULL */
void verbs_say(const struct verbs *v, const struct options *o, const char *provider, const char *own);

/* job_host.c: the job for the guest, as one block */
void job_write(struct wire_buf *b, const struct options *o, const char *runtime,
	       const struct terminal *t);

/* launch.c */
struct guest {
	pid_t pid;		/* of its kernel, and the id of its process group; 0: it has ended */
	int wait_status;
	struct wire wire;
	int console;		/* an unnamed file with the console's output */
	char dir[64];		/* temporary directory; empty after it was removed */
};
void guest_start(struct guest *g, const struct options *o, const char *runtime);
/* Kill the guest, if it has not ended */
void guest_kill(struct guest *g);
/* Remove its directory, which is not needed after the boot */
void guest_forget_dir(struct guest *g);
/* Its console's output; allocated, terminated by NUL */
char *guest_console(const struct guest *g);

/* relay.c: carry everything between guest and caller until the guest is down, and kill it */
enum outcome {
	RUN_DOWN,		/* it has ended normally */
	RUN_REFUSED,		/* the guest has reported why it cannot run the command */
	RUN_NO_BOOT,
	RUN_DIED,
	RUN_TIMEOUT,
	RUN_SIGNAL,		/* a signal to softmr-run has ended it */
};
struct result {
	enum outcome outcome;
	bool up;
	int signal;
	int status[NODES_MAX + 1];	/* -1: none */
	struct wire_buf log;	/* of the guest's kernel */
	char why[512];
};
/* Block the signals that relay_run() handles; called before the guest is started */
void relay_init(void);
void relay_run(struct guest *g, const struct options *o, const struct terminal *t,
	       const struct wire_buf *job, struct result *r);

/* judge.c: report what went wrong; returns the exit status */
int judge(const struct guest *g, const struct options *o, const char *runtime, struct result *r);

#endif
