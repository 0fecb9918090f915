// SPDX-License-Identifier: GPL-2.0
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "util.h"

/* The value of a field of modinfo's output; caller frees it. NULL if it is empty. */
static char *field(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *line, *end;

	for (line = text; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (strncmp(line, name, len) || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		len = strcspn(line, "\n");
		return len ? strf("%.*s", (int)len, line) : NULL;
	}
	return NULL;
}

/* modinfo decompresses and knows the search order of depmod.d. */
static void read_disk(struct module *mod, const char *name)
{
	char *argv[] = { (char *)"modinfo", (char *)name, NULL };
	struct ran ran;

	run(&ran, argv);
	if (!ran.status) {
		mod->file = field(ran.out, "filename");
		mod->disk_version = field(ran.out, "version");
		mod->disk_src = field(ran.out, "srcversion");
		mod->signer = field(ran.out, "signer");
	} else if (ran.status == 127) {
		mod->why_not = copy("there is no modinfo; install the package kmod");
	} else {
		mod->why_not = copy(ran_says(&ran));
	}
	ran_free(&ran);
}

void module_read(struct module *mod, const char *name)
{
	struct utsname uts;

	*mod = (struct module){};
	uname(&uts);
	mod->release = copy(uts.release);
	mod->loaded = exists("/sys/module/%s", name);
	mod->loaded_version = read_text("/sys/module/%s/version", name);
	mod->loaded_src = read_text("/sys/module/%s/srcversion", name);
	read_disk(mod, name);
}

void module_free(struct module *mod)
{
	free(mod->release);
	free(mod->loaded_version);
	free(mod->loaded_src);
	free(mod->file);
	free(mod->disk_version);
	free(mod->disk_src);
	free(mod->signer);
	free(mod->why_not);
}

static bool both_differ(const char *a, const char *b)
{
	return a && b && strcmp(a, b);
}

bool module_differs(const struct module *mod)
{
	return mod->loaded && (both_differ(mod->loaded_src, mod->disk_src) ||
			       both_differ(mod->loaded_version, mod->disk_version));
}
