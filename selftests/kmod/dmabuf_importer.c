// SPDX-License-Identifier: GPL-2.0
/*
 * An importer of dma-bufs for tests of exporters: see dmabuf_importer.h. It maps a buffer
 * for a device as drivers do. The device being made up, it is the CPU that changes the
 * memory behind its addresses.
 */
#include "dmabuf_importer.h"

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

static struct platform_device *device;

/**
 * struct import - what the device has of a buffer
 * @lock: guards all that follows
 * @buf: the buffer, or NULL
 * @attach: the device's attachment
 * @sgt: where the device finds the buffer
 */
struct import {
	struct mutex lock; /* see above */
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
};

static long import_map(struct import *import, int fd)
{
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	struct dma_buf *buf;

	if (import->buf)
		return -EBUSY;
	buf = dma_buf_get(fd);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	attach = dma_buf_attach(buf, &device->dev);
	if (IS_ERR(attach)) {
		dma_buf_put(buf);
		return PTR_ERR(attach);
	}
	/* Older kernels have no function that takes the lock by itself. */
	dma_resv_lock(buf->resv, NULL);
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	dma_resv_unlock(buf->resv);
	if (IS_ERR(sgt)) {
		dma_buf_detach(buf, attach);
		dma_buf_put(buf);
		return PTR_ERR(sgt);
	}
	import->buf = buf;
	import->attach = attach;
	import->sgt = sgt;
	return 0;
}

static long import_invert(struct import *import)
{
	struct sg_page_iter iter;
	struct scatterlist *sg;
	long found = 0;
	int i;

	if (!import->buf)
		return -ENXIO;
	for_each_sgtable_dma_sg(import->sgt, sg, i)
		found += sg_dma_len(sg);
	for_each_sgtable_page(import->sgt, &iter, 0) {
		u8 *p = kmap_local_page(sg_page_iter_page(&iter));

		for (i = 0; i < PAGE_SIZE; i++)
			p[i] = ~p[i];
		kunmap_local(p);
	}
	return found;
}

static long importer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct import *import = file->private_data;
	long ret = -ENOTTY;
	int fd;

	mutex_lock(&import->lock);
	if (cmd == IMPORTER_MAP)
		ret = get_user(fd, (int __user *)arg) ? -EFAULT :
		      import_map(import, fd);
	else if (cmd == IMPORTER_INVERT)
		ret = import_invert(import);
	mutex_unlock(&import->lock);
	return ret;
}

static int importer_open(struct inode *inode, struct file *file)
{
	struct import *import = kzalloc(sizeof(*import), GFP_KERNEL);

	if (!import)
		return -ENOMEM;
	mutex_init(&import->lock);
	file->private_data = import;
	return 0;
}

static int importer_release(struct inode *inode, struct file *file)
{
	struct import *import = file->private_data;

	if (import->buf) {
		dma_resv_lock(import->buf->resv, NULL);
		dma_buf_unmap_attachment(import->attach, import->sgt,
					 DMA_BIDIRECTIONAL);
		dma_resv_unlock(import->buf->resv);
		dma_buf_detach(import->buf, import->attach);
		dma_buf_put(import->buf);
	}
	kfree(import);
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_release,
	.unlocked_ioctl = importer_ioctl,
};

static struct miscdevice importer = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dmabuf_importer",
	.fops = &importer_fops,
};

static int __init importer_init(void)
{
	int ret;

	device = platform_device_register_simple("dmabuf_importer", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	ret = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));
	/* A kernel without DMA says so when the buffer is mapped, too. */
	if (!ret || !IS_ENABLED(CONFIG_HAS_DMA))
		ret = misc_register(&importer);
	if (ret)
		platform_device_unregister(device);
	return ret;
}

static void __exit importer_exit(void)
{
	misc_deregister(&importer);
	platform_device_unregister(device);
}

module_init(importer_init);
module_exit(importer_exit);

/* MODULE_IMPORT_NS() takes a token on older kernels, and a string on newer ones. */
MODULE_INFO(import_ns, "DMA_BUF");
MODULE_DESCRIPTION("Test of exporters of dma-bufs");
MODULE_LICENSE("GPL");
