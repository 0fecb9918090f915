/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel module: what is loaded, and what lies on the disk for the running
 * kernel.
 */
#ifndef SOFTMR_MODULE_H
#define SOFTMR_MODULE_H

#include <stdbool.h>

/**
 * struct module - what is known of the module
 * @release: the running kernel's (uname -r)
 * @loaded: it is loaded, or built into the kernel
 * @loaded_version: NULL: it does not say
 * @loaded_src: a checksum of the source that it was built of; NULL: not known
 * @file: of modprobe's choice for this kernel, "(builtin)", or NULL: there is none
 * @disk_version: of @file; NULL: it does not say
 * @disk_src: likewise
 * @signer: whose key has signed @file; NULL: nobody's
 * @why_not: what modinfo says where there is no @file; NULL: nothing
 */
struct module {
	char *release;
	bool loaded;
	char *loaded_version;
	char *loaded_src;
	char *file;
	char *disk_version;
	char *disk_src;
	char *signer;
	char *why_not;
};

void module_read(struct module *mod, const char *name);
void module_free(struct module *mod);
/* Is what is loaded built of another source than what is on the disk? */
bool module_differs(const struct module *mod);

#endif /* SOFTMR_MODULE_H */
