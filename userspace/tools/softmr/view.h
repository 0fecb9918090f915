/* SPDX-License-Identifier: GPL-2.0 */
/* Objects as lines of a table, and in JSON. */
#ifndef SOFTMR_VIEW_H
#define SOFTMR_VIEW_H

#include <json-c/json.h>

#include "objects.h"

/**
 * struct view - which objects are shown, and beside what
 * @now: all of them
 * @before: the same some time ago: what has happened since then is shown by the second; NULL: all
 *	that has happened is shown
 * @pid: only those of this process; 0: of all
 */
struct view {
	const struct objects *now;
	const struct objects *before;
	uint32_t pid;
};

/* To be freed. No newline at the end */
char *view_head(const struct view *view, enum object_kind kind);
char *view_line(const struct view *view, const struct object *object);
/* All that the module says of it; NULL: nothing */
char *view_details(const struct object *object);
struct json_object *view_json(const struct view *view, const struct object *object);
bool view_has(const struct view *view, enum object_kind kind, const struct object *object);
/* What it has moved: bytes, by the second or all */
double view_bytes(const struct view *view, const struct object *object);

#endif /* SOFTMR_VIEW_H */
