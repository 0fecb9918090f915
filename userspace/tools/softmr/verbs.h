/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libibverbs and the provider for it. Both are loaded and tried in a child process: a broken
 * library may crash the program.
 */
#ifndef SOFTMR_VERBS_H
#define SOFTMR_VERBS_H

#include <stdbool.h>

/* State of libibverbs and the provider */
struct verbs {
	char *lib;		/* libibverbs' file, or NULL: it cannot be loaded */
	char *lib_version;	/* of its rdma-core, "56.1"; NULL: unknown */
	char *lib_error;	/* why it cannot be loaded, or NULL */
	unsigned int abi;	/* the number of its interface with providers; 0: unknown */
	/* the file that tells libibverbs to load the provider; NULL: not there */
	char *config;
	/* the file that libibverbs loads, links followed; NULL: not there */
	char *provider;
	char *provider_version;	/* its softmr version; NULL: unknown */
	bool fits;		/* this libibverbs can use it */
	char *why;		/* why not; NULL if it can */
};

void verbs_read(struct verbs *v);
void verbs_free(struct verbs *v);
/* Opens the device as a program would. Returns NULL, or why it cannot; caller frees it. */
char *verbs_try_device(const char *device);

#endif /* SOFTMR_VERBS_H */
