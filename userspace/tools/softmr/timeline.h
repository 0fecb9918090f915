/* SPDX-License-Identifier: GPL-2.0 */
/* Events of the module's tracepoints, and a timeline made from them. */
#ifndef SOFTMR_TIMELINE_H
#define SOFTMR_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct timeline;

/* @out: gets JSON in Chrome's trace event format, or, with @text, a line for each event */
struct timeline *timeline_begin(FILE *out, bool text);
/* Process a line from ftrace */
void timeline_line(struct timeline *t, char *line);
/* Returns the number of events. Frees @t, but does not close its file. */
uint64_t timeline_end(struct timeline *t, uint64_t *lost);

#endif /* SOFTMR_TIMELINE_H */
