// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Releases of rdma-core that share the number in the provider's file name
 * (rdmav34) may differ in the structures that libibverbs and its providers
 * share, and in the arguments of private functions. So the provider finds out
 * which release has loaded it before it registers itself.
 *
 * libibverbs has no function that returns its release. Its file's name has it:
 * libibverbs.so.1.14.56.1 is of rdma-core 56.1. The name comes from the
 * kernel's list of mappings, because the file at that path may have been
 * replaced after the program was started.
 */
#include "fit.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/driver.h>

/* Reads "56.1", which must be all of @text, or all but " (deleted)". */
static bool parse_release(const char *text, struct smr_release *release)
{
	int end = 0;

	if (!isdigit((unsigned char)*text) ||
	    sscanf(text, "%u.%u%n", &release->major, &release->minor,
		   &end) < 2)
		return false;
	return !text[end] || !strcmp(text + end, " (deleted)");
}

/**
 * smr_release_of_file - which release of rdma-core a libibverbs is of
 * @path: the file, all symbolic links resolved
 * @release: filled in
 *
 * Return: false if the name does not have it.
 */
bool smr_release_of_file(const char *path, struct smr_release *release)
{
	static const char stem[] = "libibverbs", soname[] = ".so.1.";
	const char *name = strrchr(path, '/'), *version;

	name = name ? name + 1 : path;
	if (strncmp(name, stem, strlen(stem)))
		return false;
	version = strstr(name, soname);
	if (!version)
		return false;
	/* the number of the public symbols' version */
	version = strchr(version + strlen(soname), '.');
	return version && parse_release(version + 1, release);
}

/**
 * smr_release_fits - was the provider built for this release?
 * @release: of rdma-core
 */
bool smr_release_fits(const struct smr_release *release)
{
	return release->major >= SMR_RDMA_CORE_FIRST &&
	       release->major < SMR_RDMA_CORE_END;
}

/* The path in a line of /proc/self/maps if the mapping has @address. */
static const char *path_of_mapping(const char *line, uintptr_t address)
{
	unsigned long long first, end;

	if (sscanf(line, "%llx-%llx", &first, &end) != 2 || address < first ||
	    address >= end)
		return NULL;
	return strchr(line, '/');
}

/**
 * smr_file_of_address - which file is mapped there
 * @address: of code or data
 * @path: filled in; it ends in " (deleted)" if the file was removed
 * @size: bytes of it
 *
 * Return: false if no file is, or there is no /proc.
 */
bool smr_file_of_address(const void *address, char *path, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const char *found = NULL;
	char *line = NULL;
	size_t room = 0;

	if (!maps)
		return false;
	while (!found && getline(&line, &room, maps) > 0)
		found = path_of_mapping(line, (uintptr_t)address);
	if (found)
		snprintf(path, size, "%.*s", (int)strcspn(found, "\n"), found);
	free(line);
	fclose(maps);
	return found;
}

/* The file that libibverbs was loaded from. */
static void find_libibverbs(char path[PATH_MAX])
{
	const void *code = (const void *)(uintptr_t)verbs_set_ops;
	Dl_info info;

	if (smr_file_of_address(code, path, PATH_MAX))
		return;
	if (!dladdr(code, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, path))
		strcpy(path, "libibverbs");
}

/*
 * A program that shows every warning wants this one, and so does a user who has
 * loaded the module. Others may have installed the package for later use.
 */
static bool somebody_cares(void)
{
	return getenv("IBV_SHOW_WARNINGS") || !access("/sys/module/softmr", F_OK);
}

static void decline(const char *path, const char *why, const char *what_to_do)
{
	char to[16] = "";

	if (!somebody_cares())
		return;
	if (SMR_RDMA_CORE_END - SMR_RDMA_CORE_FIRST > 1)
		snprintf(to, sizeof(to), " to %d", SMR_RDMA_CORE_END - 1);
	fprintf(stderr,
		"softmr: its devices cannot be used: this provider is built for rdma-core %d%s, but %s %s; %s\n",
		SMR_RDMA_CORE_FIRST, to, path, why, what_to_do);
}

/**
 * smr_libibverbs_fits - was the provider built for the libibverbs that has
 * loaded it?
 *
 * Call it before any structure of libibverbs is accessed. If the name of a
 * libibverbs has no release, SOFTMR_RDMA_CORE in the environment gives it.
 *
 * Return: false, after a message that says what to do.
 */
bool smr_libibverbs_fits(void)
{
	const char *told = secure_getenv("SOFTMR_RDMA_CORE");
	struct smr_release release;
	char path[PATH_MAX], why[64];

	find_libibverbs(path);
	if (!smr_release_of_file(path, &release) &&
	    (!told || !parse_release(told, &release))) {
		decline(path, "does not have its release in its name",
			"if you know its release, set SOFTMR_RDMA_CORE=56.1 "
			"(for example) in the environment");
		return false;
	}
	if (smr_release_fits(&release))
		return true;
	snprintf(why, sizeof(why), "is of %u.%u", release.major,
		 release.minor);
	decline(path, why,
		"install the libsoftmr1 that is built for it, or run 'make install' in the source of softmr again");
	return false;
}
