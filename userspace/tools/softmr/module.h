/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel module: the loaded one, and the one on the disk for the running kernel.
 */
#ifndef SOFTMR_MODULE_H
#define SOFTMR_MODULE_H

#include <stdbool.h>

/* State of the module */
struct module {
	char *release;		/* the running kernel's (uname -r) */
	bool loaded;		/* it is loaded, or built into the kernel */
	char *loaded_version;	/* NULL: it has none */
	char *loaded_src;	/* a checksum of the source that it was built from; NULL: unknown */
	/* of modprobe's choice for this kernel, "(builtin)", or NULL: there is none */
	char *file;
	char *disk_version;	/* of @file; NULL: it has none */
	char *disk_src;		/* likewise */
	char *signer;		/* the owner of the key that signed @file; NULL: it is not signed */
	char *why_not;		/* modinfo's message if there is no @file; NULL: none */
};

void module_read(struct module *mod, const char *name);
void module_free(struct module *mod);
/* Was the loaded module built from another source than the one on the disk? */
bool module_differs(const struct module *mod);

#endif /* SOFTMR_MODULE_H */
