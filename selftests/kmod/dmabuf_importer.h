/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/dmabuf_importer: each open file is what a made-up device has of one dma-buf, until
 * it is closed.
 */
#ifndef DMABUF_IMPORTER_H
#define DMABUF_IMPORTER_H

#include <linux/ioctl.h>

/* Attach the device to a dma-buf, and map that: its descriptor */
#define IMPORTER_MAP	_IOW('x', 16, int)
/* The device inverts each bit. Returns how many bytes it has found. */
#define IMPORTER_INVERT	_IO('x', 17)

#endif /* DMABUF_IMPORTER_H */
