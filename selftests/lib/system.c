// SPDX-License-Identifier: GPL-2.0
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/**
 * vt_put() - write to a file that is there: a knob of the kernel
 *
 * Return: 0 or a negative errno
 */
int vt_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/**
 * vt_capability() - give this process one that it is permitted, or take it
 * @cap: CAP_*, of the first 32
 * @may: whether it has it from here on
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
