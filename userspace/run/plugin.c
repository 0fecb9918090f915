// SPDX-License-Identifier: GPL-2.0
/*
 * What libibverbs loads in the guest, by the name of a provider's plugin: it loads the provider from its own directory.
 *
 * The provider needs libibverbs.so.1. The copy in a Python package has another name, libibverbs-1a2b3c.so.1.14.50.0,
 * and for the provider the dynamic loader would load one more libibverbs, or find none. So before that, this library
 * asks for libibverbs.so.1 where that is a link to the copy: the loader sees that it has this file, and from then on
 * knows it by this name, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first directory of this library's RPATH (Makefile) */
#define ALIAS	"/run/softmr/alias/libibverbs.so.1"

static int find_copy(struct dl_phdr_info *info, size_t size, void *path)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	return base && !strncmp(base, "/libibverbs-", strlen("/libibverbs-")) && realpath(info->dlpi_name, path);
}

static void name_copy(void)
{
	char path[PATH_MAX], link[sizeof(ALIAS) + 16];

	if (!dl_iterate_phdr(find_copy, path))
		return;
	snprintf(link, sizeof(link), ALIAS ".%d", getpid());
	if (!symlink(path, link) && !rename(link, ALIAS))
		dlopen("libibverbs.so.1", RTLD_LAZY);
}

static __attribute__((constructor)) void load_provider(void)
{
	name_copy();
	if (!dlopen("libsoftmr.so", RTLD_NOW))
		fprintf(stderr, "softmr: its devices cannot be used: %s\n", dlerror());
}
