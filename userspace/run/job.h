/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The job of the guest: lines "name=value", each terminated by a NUL byte, in
 * FRAME_JOB frames. A name that may occur several times makes a list.
 *
 *   nodes    how many nodes there are
 *   each     the command runs on every node, not on the first only
 *   layer    a directory of the host that is a layer of the root, the lowest
 *            first; the host's own / if there is none
 *   rw       a directory of the host that is mounted writable; its place in the
 *            guest is the "rw-at" of the same rank
 *   modules  the host's directory of kernel modules
 *   load     a module of it, as a path below it; in the order of loading
 *   provider the host's directory that has the provider
 *   verbs    the host's directory that has a libibverbs for guests without one
 *   link     make a softmr link on each node
 *   netem    what a node's network does to packets, in the words of tc-netem(8)
 *   trace    the guest's file that gets a timeline
 *   hostname of the first and only node
 *   cpus     how many processors the guest was asked to have
 *   cpuinfo  the host's /proc/cpuinfo, of one processor
 *   uid, gid, group (a list), root: whom the command runs as
 *   limit    RESOURCE SOFT HARD
 *   umask    in decimal
 *   cwd, env (a list), arg (a list)
 *   stdin    what each is for the command: null, pipe or tty; so stdout,
 *            stderr
 *   termios  the host's terminal, struct termios in hexadecimal
 *   winsize  ROWS COLUMNS
 */
#ifndef SMR_RUN_JOB_H
#define SMR_RUN_JOB_H

#include <stddef.h>

#define NODES_MAX	200
/* The place of the provider in the guest */
#define GUEST_PROVIDER	"/run/softmr/provider"
/* That of the directory which gets a trace */
#define GUEST_TRACE	"/run/softmr/trace"

/* The job as received; the strings are in @text. */
struct job {
	char *text;
	size_t len;
};

/* The value of @name that follows @after (NULL: the first); NULL if none does */
const char *job_next(const struct job *job, const char *name, const char *after);
const char *job_get(const struct job *job, const char *name);
int job_int(const struct job *job, const char *name);
/* All values of @name, ended by NULL; the array is allocated */
char **job_list(const struct job *job, const char *name);

#endif
