/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strings, files and programs. Nothing here returns for lack of memory: the
 * tool ends with a message.
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
/* Makes room for one more of @size bytes at the end of an array of @n. */
void *one_more(void *array, size_t n, size_t size);

/* A number of 32 bits that is not 0, in decimal or with 0x */
bool parse_number(const char *text, uint32_t *to);

/*
 * Paths of files are made with root_path(): the tests set SOFTMR_ROOT to a
 * directory with a /sys, /proc and /etc of their own. To be freed.
 */
char *root_path(const char *format, ...) PRINTF(1, 2);

/*
 * read_text - the content of a small file, without the newline at its end
 *
 * Return: to be freed; NULL with errno if it cannot be read.
 */
char *read_text(const char *format, ...) PRINTF(1, 2);
/* The same of a path that root_path() has made */
char *read_file(const char *path);
bool exists(const char *format, ...) PRINTF(1, 2);

/**
 * struct ran - what a program did
 * @status: exit status; 127: there is no such program; 128 and the signal
 * @out: what it wrote to stdout
 * @err: what it wrote to stderr
 */
struct ran {
	int status;
	char *out;
	char *err;
};

/* Runs a program in the C locale; /usr/sbin is searched too. */
void run(struct ran *ran, char *const argv[]);
/* Runs a function in a child; what it returns is the exit status. */
void run_function(struct ran *ran, int (*function)(void *arg), void *arg);
void ran_free(struct ran *ran);
/* The first line of what a program said, on stderr or else stdout. Not freed. */
const char *ran_says(struct ran *ran);

#endif /* SOFTMR_UTIL_H */
