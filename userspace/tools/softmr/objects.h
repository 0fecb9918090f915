/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs, regions and completion queues as the RDMA core shows them, with the module's details. */
#ifndef SOFTMR_OBJECTS_H
#define SOFTMR_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nldev.h"

enum object_kind {
	OBJECT_QP,
	OBJECT_MR,
	OBJECT_CQ,
	OBJECT_KINDS,
};

/* A value that the module reports about an object */
struct detail {
	char name[24];	/* as in debugging.rst */
	char text[32];	/* the value; empty: it is a number */
	uint64_t number;
};

/* An object */
struct object {
	enum object_kind kind;		/* its kind; not every kind has all of the fields */
	const struct rdma_dev *dev;	/* its link */
	/* the number of a QP, or that of the RDMA core for a region or completion queue */
	uint32_t id;
	uint32_t peer;			/* the number of the peer's QP */
	uint8_t type;			/* enum ib_qp_type */
	uint8_t state;			/* enum ib_qp_state */
	/* the length of a region; the capacity of a completion queue */
	uint64_t size;
	/* the process that created it; 0: the kernel, or a process outside of this PID namespace */
	uint32_t pid;
	char comm[16];			/* its command, or the kernel module */
	struct detail *details;		/* @nr of them */
	size_t nr;
};

/* The objects found, and the time */
struct objects {
	struct rdma_dev *devs;	/* the links, @nr_devs of them */
	size_t nr_devs;
	struct object *list;	/* their objects, @nr of them, in the order of object_compare() */
	size_t nr;
	uint64_t time;		/* nanoseconds of CLOCK_MONOTONIC */
};

/* Links of softmr only; @link: only this one, if not NULL. 0 or a negative errno; -ENODEV: no such link */
int objects_read(struct objects *all, const char *link);
/* Print why objects_read() failed */
void objects_complain(int err, const char *link);
void objects_free(struct objects *all);
/* A number that the module reports; 0: it does not */
uint64_t object_number(const struct object *object, const char *name);
/* A text that the module reports; NULL: it does not */
const char *object_text(const struct object *object, const char *name);
const char *object_type(const struct object *qp);
const char *object_state(const struct object *qp);
const char *object_kind_name(enum object_kind kind);
/* For qsort(): by kind, link and number; 0: the same object, perhaps read at another time */
int object_compare(const void *a, const void *b);
/* The same object among those that were read earlier; or NULL */
const struct object *objects_find(const struct objects *all, const struct object *object);
/* Add to each queue pair its last refusal, if there is one, as the detail "reason" */
void objects_add_reasons(struct objects *all);
/* Let the module count the use of regions for some seconds, if the caller has the permission */
void objects_watch(void);

#endif /* SOFTMR_OBJECTS_H */
