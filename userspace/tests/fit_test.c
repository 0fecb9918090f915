// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which libibverbs the provider takes for one that it was built for.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../provider/fit.h"
#include "rig.h"

static bool is(const char *path, unsigned int major, unsigned int minor)
{
	struct smr_release release;

	return smr_release_of_file(path, &release) && release.major == major &&
	       release.minor == minor;
}

static bool tells_nothing(const char *path)
{
	struct smr_release release;

	return !smr_release_of_file(path, &release);
}

static void names(void)
{
	want(is("/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", 44, 0));
	want(is("/usr/lib64/libibverbs.so.1.14.56.1", 56, 1));
	want(is("/opt/a b/libibverbs.so.1.18.65.0", 65, 0));
	want(is("libibverbs.so.1.14.39.13", 39, 13));
	want(is("/x/libibverbs-1f2e3d4c.so.1.14.52.6", 52, 6));
	/* replaced by an upgrade while the program ran */
	want(is("/usr/lib/libibverbs.so.1.14.44.0 (deleted)", 44, 0));
	/* a build of a vendor's: no release of rdma-core */
	want(is("/usr/lib/libibverbs.so.1.14.2410.0", 2410, 0));
}

static void names_without_release(void)
{
	want(tells_nothing("/usr/lib/libibverbs.so.1"));
	want(tells_nothing("/usr/lib/libibverbs.so"));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14"));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14.56"));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14.56."));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14.56.1mlnx1"));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14.56.1.2"));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14.-1.1"));
	want(tells_nothing("/usr/lib/librdmacm.so.1.3.56.1"));
	want(tells_nothing("/usr/lib/libibverbs.so.1.14.56.1/program"));
	want(tells_nothing("/usr/bin/program"));
	want(tells_nothing(""));
}

static void releases(void)
{
	struct smr_release release = { .major = SMR_RDMA_CORE_FIRST };

	want(smr_release_fits(&release));
	release.minor = 99;
	want(smr_release_fits(&release));
	release.major = SMR_RDMA_CORE_END - 1;
	want(smr_release_fits(&release));
	release.major = SMR_RDMA_CORE_END;
	want(!smr_release_fits(&release));
	release.major = SMR_RDMA_CORE_FIRST - 1;
	want(!smr_release_fits(&release));
	release.major = 2410;
	want(!smr_release_fits(&release));
}

/* The file is told by what is mapped, not by what has the name now. */
static void mapped_file(void)
{
	char path[] = "/tmp/libibverbs.so.1.14.XXXXXX", found[4096];
	int fd = mkstemp(path);
	void *map;

	want(fd >= 0 && !ftruncate(fd, 4096));
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	want(map != MAP_FAILED);
	want(smr_file_of_address((char *)map + 100, found, sizeof(found)));
	want(!strcmp(found, path));
	unlink(path);
	want(smr_file_of_address(map, found, sizeof(found)));
	want(!strncmp(found, path, strlen(path)) &&
	     !strcmp(found + strlen(path), " (deleted)"));
	munmap(map, 4096);
	want(!smr_file_of_address(map, found, sizeof(found)));
	close(fd);
}

/* The libibverbs that this test runs with is the one it was built for. */
static void this_libibverbs(void)
{
	want(smr_libibverbs_fits());
}

const struct tap_test fit_tests[] = {
	{ "names that tell a release", names },
	{ "names that do not", names_without_release },
	{ "releases that fit", releases },
	{ "the file that is mapped", mapped_file },
	{ "the libibverbs of this program fits", this_libibverbs },
	{},
};
