/* SPDX-License-Identifier: GPL-2.0 */
/* Objects as lines of a table, and in JSON. */
#ifndef SOFTMR_VIEW_H
#define SOFTMR_VIEW_H

#include <json-c/json.h>

#include "objects.h"

/* Which objects are shown, and compared with what */
struct view {
	const struct objects *now;	/* all of them */
	/* an earlier reading: what grows is shown per second since then */
	const struct objects *before;
	uint32_t pid;			/* only those of this process; 0: of all */
};

/* Caller frees it. No newline at the end */
char *view_head(enum object_kind kind);
char *view_line(const struct view *view, const struct object *object);
struct json_object *view_json(const struct view *view, const struct object *object);
bool view_has(const struct view *view, enum object_kind kind, const struct object *object);
/* The bytes that it transfers, per second */
double view_bytes(const struct view *view, const struct object *object);

#endif /* SOFTMR_VIEW_H */
