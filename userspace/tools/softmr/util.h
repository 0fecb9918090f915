/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strings, files and programs. No function here returns for lack of memory: the tool exits with a
 * message.
 */
#ifndef SOFTMR_UTIL_H
#define SOFTMR_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#define PRINTF(f, a)	__attribute__((format(printf, f, a)))

/* Prints "softmr: " and the message on stderr. */
void complain(const char *format, ...) PRINTF(1, 2);

/* asprintf() and friends */
char *strf(const char *format, ...) PRINTF(1, 2);
char *vstrf(const char *format, va_list ap) PRINTF(1, 0);
char *copy(const char *text);
void *zalloc(size_t size);
/* Makes room for one more element of @size bytes at the end of an array of @n. */
void *one_more(void *array, size_t n, size_t size);

/* Parses a 32-bit number that is not 0, in decimal or with 0x */
bool parse_number(const char *text, uint32_t *to);

/*
 * Paths of files are made with root_path(): the tests set SOFTMR_ROOT to a directory with their own
 * /sys, /proc and /etc. Caller frees it.
 */
char *root_path(const char *format, ...) PRINTF(1, 2);

/*
 * read_text - the content of a small file, without the newline at its end
 *
 * Return: the content, which the caller frees; NULL with errno if it cannot be read.
 */
char *read_text(const char *format, ...) PRINTF(1, 2);
/* The same for a path from root_path() */
char *read_file(const char *path);
bool exists(const char *format, ...) PRINTF(1, 2);

/* The result of a program */
struct ran {
	int status;	/* exit status; 127: there is no such program; 128 and the signal */
	char *out;	/* its output on stdout */
	char *err;	/* its output on stderr */
};

/* Runs a program in the C locale; /usr/sbin is searched too. */
void run(struct ran *ran, char *const argv[]);
/* Runs a function in a child; its return value is the exit status. */
void run_function(struct ran *ran, int (*function)(void *arg), void *arg);
void ran_free(struct ran *ran);
/* The first line of a program's output, on stderr or else stdout. The caller does not free it. */
const char *ran_says(struct ran *ran);

#endif /* SOFTMR_UTIL_H */
