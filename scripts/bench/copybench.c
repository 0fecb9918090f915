// SPDX-License-Identifier: GPL-2.0
/*
 * How fast one CPU copies memory: copybench SIZE...
 *
 * By memcpy(), and to another process by process_vm_writev() (CMA, as MPI
 * libraries copy on one host). Prints lines "memcpy SIZE MiBps VALUE" and
 * "cma SIZE MiBps VALUE".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS	0.5

static char *from, *to;
static pid_t peer;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("copybench: mmap");
		exit(1);
	}
	memset(p, 1, size);
	return p;
}

static void copy_here(size_t size)
{
	memcpy(to, from, size);
	/* The compiler must not optimise away a copy whose result is not read */
	__asm__ volatile("" : : "r"(to) : "memory");
}

/* The peer is a fork, so its memory has the same address */
static void copy_there(size_t size)
{
	struct iovec src = { .iov_base = from, .iov_len = size };
	struct iovec dst = { .iov_base = to, .iov_len = size };

	if (process_vm_writev(peer, &src, 1, &dst, 1, 0) != (ssize_t)size) {
		perror("copybench: process_vm_writev");
		kill(peer, SIGKILL);
		exit(1);
	}
}

static void measure(const char *what, size_t size, void (*copy)(size_t))
{
	double start;
	long n = 0;

	copy(size);
	start = now();
	for (; now() - start < SECONDS; n++)
		copy(size);
	printf("%s %zu MiBps %.1f\n", what, size,
	       n * size / (now() - start) / (1 << 20));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t size;
	int i;

	for (i = 1; i < argc; i++) {
		size = strtoul(argv[i], NULL, 0);
		from = memory(size);
		to = memory(size);
		peer = fork();
		if (peer < 0) {
			perror("copybench: fork");
			return 1;
		}
		if (!peer) {
			/* Get pages of its own, instead of those shared with the parent */
			memset(to, 2, size);
			pause();
			_exit(0);
		}
		measure("memcpy", size, copy_here);
		measure("cma", size, copy_there);
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
		munmap(from, size);
		munmap(to, size);
	}
	return 0;
}
