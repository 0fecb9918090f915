/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/dmabuf_exporter: each open file is a buffer of a made-up device, which is
 * exported once. mmap() of the file gives the memory as that device sees it.
 */
#ifndef DMABUF_EXPORTER_H
#define DMABUF_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum exporter_flags {
	/* CPU and device see each other's bytes after begin_cpu_access() and
	 * end_cpu_access() only
	 */
	EXPORTER_BRACKETED = 1 << 0,
	/* the memory is the device's own: vmap() says is_iomem */
	EXPORTER_IOMEM = 1 << 1,
	/* vmap() maps write-combined; where that is not write-back (arm64) */
	EXPORTER_WRITE_COMBINED = 1 << 2,
	/* the descriptor is not open for writing */
	EXPORTER_READ_ONLY = 1 << 3,
	/* the device is writing, until EXPORTER_DONE */
	EXPORTER_BUSY = 1 << 4,
	/* end_cpu_access() fails */
	EXPORTER_BROKEN = 1 << 5,
	/* the content is being moved to where it is, until EXPORTER_DONE */
	EXPORTER_MOVING = 1 << 6,
};

struct exporter_make {
	__u32 size;
	/* enum exporter_flags */
	__u32 flags;
};

/* What importers have done */
struct exporter_report {
	__u32 begins;
	__u32 ends;
	/* begins while an access was under way, and ends without one */
	__u32 wrong;
	/* begins while the device was writing */
	__u32 early;
};

/* Returns the dma-buf's descriptor. */
#define EXPORTER_MAKE	_IOW('x', 1, struct exporter_make)
/* The device is done with writing. */
#define EXPORTER_DONE	_IO('x', 2)
#define EXPORTER_REPORT	_IOR('x', 3, struct exporter_report)

#endif /* DMABUF_EXPORTER_H */
