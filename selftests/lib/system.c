// SPDX-License-Identifier: GPL-2.0
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

/**
 * vt_spin() - wait without leaving the CPU: a sleep takes longer than most races
 * @us: microseconds; 0 or less: none
 */
void vt_spin(long us)
{
	struct timespec start, now;
	long passed;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		passed = (now.tv_sec - start.tv_sec) * 1000000 +
			 (now.tv_nsec - start.tv_nsec) / 1000;
	} while (passed < us);
}

/**
 * vt_number() - a number in a file of /proc or /sys
 * @path: the file
 * @key: what its line begins with; "": the first line
 *
 * Return: the number behind @key, or -1
 */
long vt_number(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	char line[128];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), "%ld", &n);
	if (f)
		fclose(f);
	return n;
}

/**
 * vt_number_wait() - wait for a file of one number, as a module's parameter is
 *
 * Return: whether it became at least @least in time
 */
bool vt_number_wait(const char *path, long least)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;

	while (vt_number(path, "") < least && vt_now_ms() < end)
		;
	return vt_number(path, "") >= least;
}

/**
 * vt_mappings() - how many mappings this process has
 */
int vt_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0, c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/**
 * vt_write_file() - write to an existing file, as of /sys and /proc
 *
 * Return: 0 or a negative errno
 */
int vt_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/**
 * vt_no_more_addresses() - forbid this process to map more memory
 * @was: gets the old RLIMIT_AS; setting it ends that
 *
 * Return: 0 or a negative errno
 */
int vt_no_more_addresses(struct rlimit *was)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_AS, was))
		return -errno;
	now = (struct rlimit){ 0, was->rlim_max };
	return setrlimit(RLIMIT_AS, &now) ? -errno : 0;
}

/**
 * vt_capability() - raise or drop an effective capability of this process
 * @cap: CAP_*, of the first 32
 * @may: whether it has it after that
 *
 * Return: 0 or a negative errno
 */
int vt_capability(int cap, bool may)
{
	struct __user_cap_header_struct hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &hdr, data))
		return -errno;
	if (may)
		data[0].effective |= 1u << cap;
	else
		data[0].effective &= ~(1u << cap);
	return syscall(SYS_capset, &hdr, data) ? -errno : 0;
}

/**
 * vt_child() - fork a child that is connected by a socket
 * @sock: gets this end of the socket
 * @child_main: runs in the child with the other end; returns its exit status
 * @arg: for @child_main
 *
 * Return: the child's pid, or -1
 */
pid_t vt_child(int *sock, int (*child_main)(int sock, const void *arg),
	       const void *arg)
{
	int socks[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks))
		return -1;
	pid = fork();
	if (!pid) {
		close(socks[0]);
		_exit(child_main(socks[1], arg));
	}
	close(socks[1]);
	*sock = socks[0];
	return pid;
}
