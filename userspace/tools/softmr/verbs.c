// SPDX-License-Identifier: GPL-2.0
#include "verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "util.h"

#define LIBIBVERBS	"libibverbs.so.1"
#define MAX_ABI		200

/* The exit statuses of the children, other than 0 */
enum {
	TRY_NOT_LOADED = 3,
	TRY_NO_DEVICE = 4,
	TRY_NOT_OPENED = 5,
};

/* The part of a path after its last slash */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* -- in the children */

static void *load(const char *file)
{
	void *lib = dlopen(file, RTLD_NOW | RTLD_GLOBAL);

	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	return lib;
}

/* The number is in the name of the function that registers a provider. */
static unsigned int provider_abi(void *lib)
{
	unsigned int abi;
	char name[40];

	for (abi = 1; abi < MAX_ABI; abi++) {
		snprintf(name, sizeof(name), "verbs_register_driver_%u", abi);
		if (dlsym(lib, name))
			return abi;
	}
	return 0;
}

static int child_find_lib(void *arg)
{
	void *lib = load(LIBIBVERBS);
	struct link_map *map;

	(void)arg;
	if (!lib || dlinfo(lib, RTLD_DI_LINKMAP, &map))
		return TRY_NOT_LOADED;
	printf("%u %s\n", provider_abi(lib), map->l_name);
	return 0;
}

/* The provider registers itself when it is loaded, or says why it does not. */
static int child_load_provider(void *arg)
{
	setenv("IBV_SHOW_WARNINGS", "1", 1);
	return load(LIBIBVERBS) && load(arg) ? 0 : TRY_NOT_LOADED;
}

static int child_open_device(void *arg)
{
	struct ibv_context *(*open_device)(struct ibv_device *device);
	struct ibv_device **(*get_list)(int *n);
	void *lib = load(LIBIBVERBS);
	struct ibv_device **list;
	int n, i;

	if (!lib)
		return TRY_NOT_LOADED;
	get_list = (struct ibv_device **(*)(int *))dlsym(lib, "ibv_get_device_list");
	open_device = (struct ibv_context *(*)(struct ibv_device *))
		dlsym(lib, "ibv_open_device");
	if (!get_list || !open_device)
		return TRY_NOT_LOADED;
	list = get_list(&n);
	for (i = 0; list && i < n; i++) {
		if (strcmp(list[i]->name, arg))
			continue;
		errno = 0;
		if (open_device(list[i]))
			return 0;
		fprintf(stderr, "%s\n", strerror(errno));
		return TRY_NOT_OPENED;
	}
	return TRY_NO_DEVICE;
}

char *verbs_try_device(const char *device)
{
	char *why = NULL;
	struct ran ran;

	run_function(&ran, child_open_device, (void *)device);
	if (ran.status >= 128)
		why = strf("a program that opens %s dies of signal %d", device, ran.status - 128);
	else if (ran.status == TRY_NO_DEVICE)
		why = strf("libibverbs does not list %s: %s", device,
			   *ran.err ? ran_says(&ran) : "it has loaded no provider for it");
	else if (ran.status)
		why = strf("libibverbs cannot open %s: %s", device, ran_says(&ran));
	ran_free(&ran);
	return why;
}

/* -- libibverbs */

/* The part after the soname's number: 1.0.0 of libsoftmr.so.1.1.0.0; NULL: there is none */
static const char *file_version(const char *file)
{
	const char *version = strstr(base_name(file), ".so.");

	version = version ? strchr(version + strlen(".so."), '.') : NULL;
	return version ? version + 1 : NULL;
}

/* libibverbs.so.1.14.56.1 is from rdma-core 56.1. */
static char *rdma_core_version(const char *file)
{
	const char *version = file_version(file), *dot;

	dot = version ? strchr(version, '.') : NULL;
	return dot && strchr(dot + 1, '.') ? copy(dot + 1) : NULL;
}

static void read_lib(struct verbs *v)
{
	struct ran ran;
	int n = 0;

	run_function(&ran, child_find_lib, NULL);
	if (ran.status || sscanf(ran.out, "%u %n", &v->abi, &n) != 1 || !n) {
		v->lib_error = copy(ran_says(&ran));
	} else {
		ran.out[n + (int)strcspn(ran.out + n, "\n")] = '\0';
		v->lib = realpath(ran.out + n, NULL);
		if (!v->lib)
			v->lib = copy(ran.out + n);
		v->lib_version = rdma_core_version(v->lib);
	}
	ran_free(&ran);
}

/* -- the provider */

/*
 * The lines "driver NAME" and "driver PATH" make libibverbs load
 * libNAME-rdmav34.so from its own directory, or PATH-rdmav34.so. By convention
 * the file is softmr.driver. Returns NAME or PATH; NULL: this file has none.
 */
static char *driver_in(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[PATH_MAX + 16], word[PATH_MAX], *driver = NULL;

	while (file && !driver && fgets(line, sizeof(line), file))
		if (sscanf(line, " driver %4095s", word) == 1 &&
		    !strcmp(base_name(word), strchr(word, '/') ? "libsoftmr" : "softmr"))
			driver = copy(word);
	if (file)
		fclose(file);
	return driver;
}

/* Returns the driver that libibverbs is configured to load, or NULL. */
static char *read_config(struct verbs *v)
{
	char *pattern = root_path("/etc/libibverbs.d/*.driver"), *driver = NULL;
	glob_t all = {};
	size_t i;

	glob(pattern, 0, NULL, &all);
	for (i = 0; i < all.gl_pathc && !driver; i++) {
		driver = driver_in(all.gl_pathv[i]);
		if (driver)
			v->config = copy(all.gl_pathv[i]);
	}
	globfree(&all);
	free(pattern);
	return driver;
}

/* A provider with another interface number, which this libibverbs ignores */
static char *other_provider(const char *dir)
{
	char *pattern = strf("%s/libsoftmr-rdmav*.so", dir), *file = NULL;
	glob_t found = {};

	if (!glob(pattern, 0, NULL, &found))
		file = copy(found.gl_pathv[0]);
	globfree(&found);
	free(pattern);
	return file;
}

static void no(struct verbs *v, char *why)
{
	v->fits = false;
	free(v->why);
	v->why = why;
}

static void judge(struct verbs *v, struct ran *ran)
{
	v->fits = true;
	if (ran->status >= 128)
		no(v, strf("a program that loads it dies of signal %d", ran->status - 128));
	else if (ran->status)
		no(v, strf("it cannot be loaded: %s", ran_says(ran)));
	else if (*ran->err)
		no(v, strf("it declines: %s", ran_says(ran)));
}

static void read_provider(struct verbs *v, const char *driver)
{
	char *dir = strf("%.*s/libibverbs", (int)(base_name(v->lib) - v->lib - 1), v->lib);
	bool by_path = driver && strchr(driver, '/');
	char *file = by_path ?
			     strf("%s-rdmav%u.so", driver, v->abi) :
			     strf("%s/libsoftmr-rdmav%u.so", dir, v->abi);
	struct ran ran;

	v->provider = realpath(file, NULL);
	if (v->provider) {
		v->provider_version = file_version(v->provider) ?
					      copy(file_version(v->provider)) : NULL;
		run_function(&ran, child_load_provider, file);
		judge(v, &ran);
		ran_free(&ran);
	} else {
		char *other = by_path ? NULL : other_provider(dir);

		if (other)
			no(v, strf("there is %s, but this libibverbs loads %s",
					   base_name(other), base_name(file)));
		else
			no(v, strf("there is no %s", file));
		free(other);
	}
	free(file);
	free(dir);
}

void verbs_read(struct verbs *v)
{
	char *driver;

	*v = (struct verbs){};
	driver = read_config(v);
	read_lib(v);
	if (v->lib)
		read_provider(v, driver);
	else
		no(v, strf("libibverbs cannot be loaded: %s", v->lib_error));
	if (v->fits && !v->config)
		no(v, copy("no file in /etc/libibverbs.d has the line \"driver softmr\""));
	free(driver);
}

void verbs_free(struct verbs *v)
{
	free(v->lib);
	free(v->lib_version);
	free(v->lib_error);
	free(v->config);
	free(v->provider);
	free(v->provider_version);
	free(v->why);
}
