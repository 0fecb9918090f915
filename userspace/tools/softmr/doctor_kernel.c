// SPDX-License-Identifier: GPL-2.0
/* The kernel and the module for it. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define MOK		"/var/lib/dkms/mok.pub"

/* -- kernel: does it have RDMA at all? */

/* A container has the host's kernel but, mostly, not its modules. */
static bool has_modules(const struct doctor *d)
{
	return exists("/lib/modules/%s", d->module.release);
}

static bool has_module(const char *name)
{
	struct module mod;
	bool has;

	module_read(&mod, name);
	has = mod.loaded || mod.file;
	module_free(&mod);
	return has;
}

void check_kernel(struct doctor *d)
{
	const char *release = d->module.release;

	d->check = "kernel";
	if (d->sk_error && d->sk_error != EPROTONOSUPPORT)
		found(d, LEVEL_PROBLEM,
		      strf("the kernel does not answer about RDMA devices: %s",
			   strerror(d->sk_error)), NULL);
	else if (!d->sk_error && (exists("/sys/class/infiniband_verbs") || has_module("ib_uverbs")))
		found(d, LEVEL_OK, strf("%s has RDMA for programs", release), NULL);
	else if (!has_modules(d))
		found(d, LEVEL_PROBLEM,
		      strf("RDMA is not loaded, and there is no /lib/modules/%s to load it from; is this a container? Load it on the host",
			   release),
		      copy("modprobe -a ib_uverbs rdma_ucm softmr"));
	else if (has_module("ib_uverbs"))
		found(d, LEVEL_WARNING, strf("%s has RDMA, but it is not loaded", release),
		      copy("modprobe -a ib_uverbs rdma_ucm"));
	else
		found(d, LEVEL_PROBLEM,
		      strf("%s has no RDMA for programs (CONFIG_INFINIBAND_USER_ACCESS); boot another kernel, such as the distribution's",
			   release), NULL);
}

/* -- module */

static bool is_newer_on_disk(const struct module *mod)
{
	return mod->loaded_version && mod->disk_version &&
	       strverscmp(mod->disk_version, mod->loaded_version) > 0;
}

static void found_differs(struct doctor *d)
{
	const struct module *mod = &d->module;
	char *todo = copy(d->nr_links ?
		"stop what uses the links, then: modprobe -r softmr && modprobe softmr" :
		"modprobe -r softmr && modprobe softmr");

	if (is_newer_on_disk(mod))
		found(d, LEVEL_WARNING,
		      strf("version %s is loaded, but %s is installed",
			   mod->loaded_version, mod->disk_version), todo);
	else
		found(d, LEVEL_WARNING,
		      strf("what is loaded (%s) is another build than %s (%s)",
			   mod->loaded_version ? mod->loaded_version : "?", mod->file,
			   mod->disk_version ? mod->disk_version : "?"), todo);
}

/* The text of a file; of several files, of the last one */
static char *read_last(const char *pattern)
{
	char *full = root_path("%s", pattern), *text = NULL;
	glob_t found = {};

	if (!glob(full, 0, NULL, &found))
		text = read_file(found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	free(full);
	return text;
}

/*
 * The options that dkms.conf requires and this kernel's configuration lacks.
 * DKMS skips such a kernel, without an error.
 */
static char *dkms_lacks(const char *release)
{
	char *conf = read_last("/usr/src/softmr-*/dkms.conf"), *lacks = copy("");
	char *config = read_text("/lib/modules/%s/build/.config", release), *rest, *option;

	if (!config)
		config = read_text("/boot/config-%s", release);
	rest = conf ? strstr(conf, "BUILD_EXCLUSIVE_CONFIG=\"") : NULL;
	strsep(&rest, "\"");
	if (rest)
		rest[strcspn(rest, "\"")] = '\0';
	while (config && (option = strsep(&rest, " "))) {
		char *yes = strf("\n%s=y", option), *module = strf("\n%s=m", option), *longer;

		if (!strstr(config, yes) && !strstr(config, module)) {
			longer = strf("%s%s%s", lacks, *lacks ? " " : "", option);
			free(lacks);
			lacks = longer;
		}
		free(yes);
		free(module);
	}
	free(config);
	free(conf);
	return lacks;
}

static void found_not_built(struct doctor *d)
{
	const char *release = d->module.release;
	char *lacks = dkms_lacks(release);

	if (*lacks)
		found(d, LEVEL_PROBLEM,
		      strf("DKMS leaves softmr out of this kernel (%s), which was built without %s; boot another kernel",
			   release, lacks), NULL);
	else
		found(d, LEVEL_PROBLEM,
		      strf("DKMS has softmr, but has not built it for this kernel (%s)", release),
		      strf("dkms autoinstall -k %s", release));
	free(lacks);
}

/* DKMS may have the module, but not for this kernel. */
static void found_no_module(struct doctor *d)
{
	const struct module *mod = &d->module;

	if (!has_modules(d))
		found(d, LEVEL_PROBLEM,
		      strf("softmr is not loaded, and there is no /lib/modules/%s to load it from; is this a container? Load it on the host",
			   mod->release), copy("modprobe softmr"));
	else if (exists("/var/lib/dkms/softmr"))
		found_not_built(d);
	else
		found(d, LEVEL_PROBLEM,
		      strf("softmr is not installed for this kernel (%s)", mod->release),
		      install_softmr("softmr-dkms", "softmr-dkms", false));
}

void check_module(struct doctor *d)
{
	const struct module *mod = &d->module;
	const char *known = mod->loaded ? mod->loaded_version : mod->disk_version;
	char *version = strf("%s%s", known ? " " : "", known ? known : "");

	d->check = "module";
	if (module_differs(mod))
		found_differs(d);
	else if (mod->loaded)
		found(d, LEVEL_OK, strf("softmr%s is loaded", version), NULL);
	else if (mod->file)
		found(d, LEVEL_OK,
		      strf("softmr%s is installed; it is loaded with the first link",
			   version), NULL);
	else
		found_no_module(d);
	free(version);
}

/* -- headers: only DKMS needs them */

void check_headers(struct doctor *d)
{
	const char *release = d->module.release;

	d->check = "headers";
	if (exists("/lib/modules/%s/build/Makefile", release)) {
		found(d, LEVEL_OK, strf("the kernel's headers are there (%s)", release), NULL);
		return;
	}
	if (!has_modules(d)) {
		found(d, LEVEL_OK, copy("no module can be built here, so no headers are needed"),
		      NULL);
		return;
	}
	found(d, d->module.file ? LEVEL_WARNING : LEVEL_PROBLEM,
	      strf("there are no headers of this kernel (%s), so the module cannot be built for it",
		   release), install_headers(release));
}

/* -- Secure Boot */

/* Four bytes of attributes, then the value */
static bool secure_boot_is_on(void)
{
	char *path = root_path(SECURE_BOOT);
	unsigned char var[5];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool on = fd >= 0 && read(fd, var, sizeof(var)) == sizeof(var) && var[4] == 1;

	if (fd >= 0)
		close(fd);
	free(path);
	return on;
}

static const char *why_signed(void)
{
	char *enforce = read_text("/sys/module/module/parameters/sig_enforce");
	char *lockdown = read_text("/sys/kernel/security/lockdown");
	const char *why = NULL;

	if (enforce && *enforce == 'Y')
		why = "the kernel takes only modules that are signed (module.sig_enforce)";
	else if (lockdown && (strstr(lockdown, "[integrity]") ||
			      strstr(lockdown, "[confidentiality]")))
		why = "the kernel is locked down, so it takes only modules that are signed";
	else if (secure_boot_is_on())
		why = "Secure Boot is on, so the kernel may take only modules that are signed";
	free(enforce);
	free(lockdown);
	return why;
}

static char *how_to_sign(void)
{
	char *install, *todo;

	if (exists(MOK))
		return copy("mokutil --import " MOK ", reboot and enroll the key, then: dkms install --force softmr/$(dkms status softmr | grep -o '[0-9.]*' | head -n 1)");
	install = install_other("dkms mokutil", "dkms mokutil");
	todo = strf("%s; then: dkms generate_mok && mokutil --import " MOK ", reboot and enroll the key",
		    install);
	free(install);
	return todo;
}

void check_secure_boot(struct doctor *d)
{
	const char *why = why_signed();

	d->check = "secure-boot";
	if (!why)
		found(d, LEVEL_OK, copy("the kernel takes modules that are not signed"), NULL);
	else if (d->module.loaded)
		found(d, LEVEL_OK, strf("%s, and softmr is loaded", why), NULL);
	else if (!d->module.file)
		found(d, LEVEL_OK, strf("%s; there is no module yet", why), NULL);
	else if (!d->module.signer)
		found(d, LEVEL_PROBLEM, strf("%s, and softmr is not", why), how_to_sign());
	else
		found(d, LEVEL_WARNING,
		      strf("%s; softmr is signed by \"%s\", whose key has to be enrolled",
			   why, d->module.signer),
		      copy("mokutil --test-key " MOK));
}
