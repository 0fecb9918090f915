/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the guest's init. */
#ifndef SMR_RUN_GUEST_H
#define SMR_RUN_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "job.h"
#include "line.h"
#include "wire.h"

/* Directories and files of the guest itself */
#define GUEST_DIR	"/run/softmr"
/* For each of several nodes a link to a process's namespaces, as /proc has them */
#define GUEST_NODES	GUEST_DIR "/nodes"
#define GUEST_VERBS	GUEST_DIR "/verbs"

/* root.c: the file system of the guest's processes */
void root_early(void);
void root_enter(const struct job *job);
void root_mount_sys(void);
/* On return all written data has reached the host */
void root_leave(const struct job *job);

/* nodes.c: network namespaces on a bridge */
struct node {
	int net, uts, mnt;	/* its namespaces; -1: those of the first node */
};
extern struct node nodes[NODES_MAX + 1];
void nodes_make(const struct job *job);
/* Move the caller to a node. It must not be process 1. */
int node_enter(int node);

/* spawn.c: a process of the user on a node */
struct spawn {
	int node;
	int fd[3];
	bool terminal;		/* fd[0] or fd[1] is to be its terminal */
	unsigned int uid, gid;
	unsigned int *groups;
	int group_count;
	const char *cwd;
	unsigned int mask;	/* umask(2) */
	char **argv, **envp;
};
int spawn(const struct job *job, const struct spawn *s);

/* The status in the form of a shell's $? */
static inline int shell_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* trace.c */
void trace_begin(const struct job *job);
/* On return the file is written */
void trace_end(void);

/* agent.c */
void agent_run(const struct job *job, struct wire *wire);

/* node.c: the command softmr-node */
int node_main(int argc, char **argv);

#endif
