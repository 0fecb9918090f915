// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Loads a provider as libibverbs does, and does not use it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	fprintf(stderr, "loaded\n");
	return 0;
}
