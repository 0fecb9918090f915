/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libibverbs and the provider for it. Both are loaded and tried in a child process: a broken
 * library may crash the program.
 */
#ifndef SOFTMR_VERBS_H
#define SOFTMR_VERBS_H

#include <stdbool.h>

/**
 * struct verbs - state of libibverbs and the provider
 * @lib: libibverbs' file, or NULL: it cannot be loaded
 * @lib_version: of its rdma-core, "56.1"; NULL: unknown
 * @lib_error: why it cannot be loaded, or NULL
 * @abi: the number of its interface with providers; 0: unknown
 * @config: the file that tells libibverbs to load the provider; NULL: not there
 * @provider: the file that libibverbs loads, links followed; NULL: not there
 * @provider_version: its softmr version; NULL: unknown
 * @fits: this libibverbs can use it
 * @why: why not; NULL if it can
 */
struct verbs {
	char *lib;
	char *lib_version;
	char *lib_error;
	unsigned int abi;
	char *config;
	char *provider;
	char *provider_version;
	bool fits;
	char *why;
};

void verbs_read(struct verbs *v);
void verbs_free(struct verbs *v);
/* Opens the device as a program would. Returns NULL, or why it cannot; caller frees it. */
char *verbs_try_device(const char *device);

#endif /* SOFTMR_VERBS_H */
