/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel module: the loaded one, and the one on the disk for the running kernel.
 */
#ifndef SOFTMR_MODULE_H
#define SOFTMR_MODULE_H

#include <stdbool.h>

/**
 * struct module - state of the module
 * @release: the running kernel's (uname -r)
 * @loaded: it is loaded, or built into the kernel
 * @loaded_version: NULL: it has none
 * @loaded_src: a checksum of the source that it was built from; NULL: unknown
 * @file: of modprobe's choice for this kernel, "(builtin)", or NULL: there is none
 * @disk_version: of @file; NULL: it has none
 * @disk_src: likewise
 * @signer: the owner of the key that signed @file; NULL: it is not signed
 * @why_not: modinfo's message if there is no @file; NULL: none
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
/* Was the loaded module built from another source than the one on the disk? */
bool module_differs(const struct module *mod);

#endif /* SOFTMR_MODULE_H */
