/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's serial line to the host, and reporting failures over it. */
#ifndef SMR_RUN_LINE_H
#define SMR_RUN_LINE_H

#include "wire.h"

/* Only process 1 uses the line. */
extern struct wire host_line;

/* Open console and line, or fail */
void line_open(void);
/* Wait for @events of poll(2) */
void line_wait(short events);
/* Send what is queued */
void line_flush(void);
/* Send what is queued, and wait until the host ends the guest */
void line_end(void) __attribute__((noreturn));

/*
 * Tell the host why the command cannot be run, and wait for the end. A child of
 * process 1 leaves the reason to process 1, and exits.
 */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
