// SPDX-License-Identifier: GPL-2.0
/*
 * A dummy provider: it is loaded as one, and behaves as the name says that it
 * is compiled with.
 */
#include <signal.h>
#include <stdio.h>

static __attribute__((constructor)) void loaded(void)
{
#if defined(PLUGIN_CRASHES)
	raise(SIGSEGV);
#elif defined(PLUGIN_DECLINES)
	fputs("softmr: built for another libibverbs; install the right one\n", stderr);
#endif
}
