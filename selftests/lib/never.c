// SPDX-License-Identifier: GPL-2.0
#include "never.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "region.h"

/* The file system has one file and its root. */
#define NAME	"page"
#define NODE	2

/* The largest request of the kernel to a server that does not offer more */
#define REQUEST	(128 * 1024)

static void answer(int dev, uint64_t unique, int err, const void *data,
		   size_t len)
{
	struct {
		struct fuse_out_header head;
		char data[256];
	} out = { .head = { sizeof(out.head) + len, err, unique } };

	memcpy(out.data, data, len);
	/* An interrupted request no longer exists, which is no error here. */
	if (write(dev, &out, out.head.len) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr attr_of(uint64_t node, size_t len)
{
	struct fuse_attr attr = {
		.ino = node, .nlink = 1, .mode = S_IFDIR | 0755,
		.blksize = 4096,
	};

	if (node == NODE) {
		attr.mode = S_IFREG | 0644;
		attr.size = len;
	}
	return attr;
}

static void serve(int dev, const struct fuse_in_header *in, size_t len,
		  int asked)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096,
	};
	struct fuse_entry_out entry = {
		.nodeid = NODE, .entry_valid = 3600, .attr_valid = 3600,
		.attr = attr_of(NODE, len),
	};
	struct fuse_attr_out attr = {
		.attr_valid = 3600, .attr = attr_of(in->nodeid, len),
	};
	struct fuse_open_out open = {};

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(dev, in->unique, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return answer(dev, in->unique, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return answer(dev, in->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return answer(dev, in->unique, 0, &open, sizeof(open));
	case FUSE_RELEASE:
		return answer(dev, in->unique, 0, NULL, 0);
	case FUSE_READ:
		/* Never. */
		if (write(asked, "", 1) != 1)
			_exit(1);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return answer(dev, in->unique, -ENOSYS, NULL, 0);
	}
}

static void server_main(int dev, size_t len, int asked)
{
	int netns = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	char *in = malloc(REQUEST);

	/* The opener's namespace is to end with the opener. */
	if (netns < 0 || setns(netns, CLONE_NEWNET))
		_exit(1);

	while (in && read(dev, in, REQUEST) > 0)
		serve(dev, (struct fuse_in_header *)in, len, asked);
	_exit(0);
}

/**
 * vt_never_open() - create the file
 * @len: its length in bytes
 *
 * Return: 0; -EOPNOTSUPP if the kernel has no FUSE; or another negative errno. After success,
 * vt_never_close() must be called.
 */
int vt_never_open(struct vt_never *n, size_t len)
{
	char options[96], path[64];
	int dev, pipes[2];

	*n = (struct vt_never){ .dir = "/tmp/never-XXXXXX", .fd = -1 };
	if (system("modprobe -q fuse") || access("/dev/fuse", F_OK))
		return -EOPNOTSUPP;
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (dev < 0 || pipe(pipes) || !mkdtemp(n->dir))
		return -errno;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", dev);
	if (mount("never", n->dir, "fuse", MS_NOSUID | MS_NODEV, options))
		return -errno;
	n->server = fork();
	if (!n->server) {
		close(pipes[0]);
		server_main(dev, len, pipes[1]);
	}
	/* With the server's end of the device its requests end. */
	close(dev);
	close(pipes[1]);
	n->asked = pipes[0];
	snprintf(path, sizeof(path), "%s/" NAME, n->dir);
	n->fd = open(path, O_RDONLY | O_CLOEXEC);
	return n->fd < 0 ? -errno : 0;
}

/**
 * vt_never_wait() - wait until a process waits for a page
 *
 * Return: true if a process does that no earlier call has reported
 */
bool vt_never_wait(const struct vt_never *n, int timeout_ms)
{
	struct pollfd p = { .fd = n->asked, .events = POLLIN };
	char byte;

	return poll(&p, 1, timeout_ms) == 1 && read(n->asked, &byte, 1) == 1;
}

/**
 * vt_never_map() - map pages of the file, readable and writable
 *
 * Readahead is off: one READ asks for one page.
 *
 * Return: where, or NULL
 */
uint8_t *vt_never_map(const struct vt_never *n, size_t len)
{
	uint8_t *p = vt_map(len, getpagesize(), MAP_PRIVATE, n->fd);

	return p && !madvise(p, len, MADV_RANDOM) ? p : NULL;
}

/**
 * vt_never_close() - kill the server: processes that wait for a page get an error
 *
 * Return: true if the server was still running
 */
bool vt_never_close(struct vt_never *n)
{
	int status = 0;

	if (n->fd >= 0)
		close(n->fd);
	if (n->server <= 0)
		return false;
	kill(n->server, SIGKILL);
	waitpid(n->server, &status, 0);
	umount2(n->dir, MNT_DETACH);
	rmdir(n->dir);
	close(n->asked);
	return WIFSIGNALED(status);
}
