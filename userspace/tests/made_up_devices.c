// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A library to preload into programs that use libibverbs, on a machine without RDMA devices: they
 * see devices in the directory that SYSFS_PATH names, and print that a provider has registered.
 * -DREGISTER=verbs_register_driver_34, or another number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/netlink.h>

#define STRING_OF(x)	#x
#define STRING(x)	STRING_OF(x)

/* libibverbs reads sysfs if the kernel does not answer by netlink. */
int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return (int)syscall(SYS_socket, domain, type, protocol);
}

/* The devices' nodes exist. */
int stat(const char *path, struct stat *buf)
{
	if (!strncmp(path, "/dev/infiniband/", 16))
		path = "/dev/null";
	return fstatat(AT_FDCWD, path, buf, 0);
}

/* The name is the first member of struct verbs_device_ops in every release. */
void REGISTER(const char *const *ops);
void REGISTER(const char *const *ops)
{
	void (*next)(const char *const *ops);

	*(void **)&next = dlsym(RTLD_NEXT, STRING(REGISTER));
	fprintf(stderr, "registered: %s\n", *ops);
	if (next)
		next(ops);
}
