/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whether the libibverbs of this process is one that the provider was built
 * for.
 */
#ifndef SMR_PROVIDER_FIT_H
#define SMR_PROVIDER_FIT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct smr_release - a release of rdma-core
 * @major: 56 of 56.1
 * @minor: 1 of 56.1
 */
struct smr_release {
	unsigned int major;
	unsigned int minor;
};

bool smr_release_of_file(const char *path, struct smr_release *release);
bool smr_release_fits(const struct smr_release *release);
bool smr_file_of_address(const void *address, char *path, size_t size);
bool smr_libibverbs_fits(void);

#endif /* SMR_PROVIDER_FIT_H */
