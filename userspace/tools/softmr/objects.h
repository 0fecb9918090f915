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

/**
 * struct detail - a value that the module reports about an object
 * @name: as in debugging.rst
 * @text: the value; empty: it is a number
 * @number: the value
 */
struct detail {
	char name[24];
	char text[32];
	uint64_t number;
};

/**
 * struct object - an object
 * @kind: its kind; not every kind has all of the fields
 * @dev: its link
 * @id: the number of a QP, or that of the RDMA core for a region or completion queue
 * @peer: the number of the peer's QP
 * @type: enum ib_qp_type
 * @state: enum ib_qp_state
 * @size: the length of a region; the capacity of a completion queue
 * @pid: the process that created it; 0: the kernel, or a process outside of this PID namespace
 * @comm: its command, or the kernel module
 * @details: @nr of them
 */
struct object {
	enum object_kind kind;
	const struct rdma_dev *dev;
	uint32_t id;
	uint32_t peer;
	uint8_t type;
	uint8_t state;
	uint64_t size;
	uint32_t pid;
	char comm[16];
	struct detail *details;
	size_t nr;
};

/**
 * struct objects - the objects found, and the time
 * @devs: the links, @nr_devs of them
 * @list: their objects, @nr of them, in the order of object_compare()
 * @time: nanoseconds of CLOCK_MONOTONIC
 */
struct objects {
	struct rdma_dev *devs;
	size_t nr_devs;
	struct object *list;
	size_t nr;
	uint64_t time;
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
