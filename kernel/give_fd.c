// SPDX-License-Identifier: GPL-2.0
/* Return a new file descriptor to a process as the result of a verb. */
#include "give_fd.h"

#include <linux/fcntl.h>
#include <linux/file.h>
#include <rdma/uverbs_ioctl.h>

/*
 * Answer a verb with a file descriptor. @attrs: attributes of the verb. @id: the attribute that
 * gets the number, 4 bytes. @file: the file, a reference, which is consumed. The descriptor is
 * installed only after the number has been copied to the process. Returns 0; or -EMFILE or -EFAULT,
 * and no descriptor is installed.
 */
int smr_give_fd(struct uverbs_attr_bundle *attrs, u16 id, struct file *file)
{
	s32 fd = get_unused_fd_flags(O_CLOEXEC);
	int ret = fd;

	if (fd < 0)
		goto put_file;
	ret = uverbs_copy_to(attrs, id, &fd, sizeof(fd));
	if (ret)
		goto put_fd;
	fd_install(fd, file);
	return 0;

put_fd:
	put_unused_fd(fd);
put_file:
	fput(file);
	return ret;
}
