// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a dma-buf: whatever a driver exports, as long as the CPU can
 * reach it.
 *
 * The CPU copies, so no device is attached and no bus addresses are needed. The
 * whole buffer is mapped into the kernel, and its exporter keeps it in place until
 * it is unmapped. One CPU access begins with the registration and ends with it.
 */
#include "dmabuf.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/iosys-map.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "compat/dma_buf.h"
#include "mem.h"

/* At registration it is not known how the region will be accessed. */
#define DIRECTION	DMA_BIDIRECTIONAL

/**
 * struct smr_dmabuf - a part of a dma-buf
 * @mem: the common part
 * @buf: the buffer, a reference is held
 * @map: where all of it is mapped
 * @offset: where in the buffer the memory begins
 *
 * Constant.
 */
struct smr_dmabuf {
	struct smr_mem mem;
	struct dma_buf *buf;
	struct iosys_map map;
	u64 offset;
};

static struct smr_dmabuf *to_dmabuf(struct smr_mem *mem)
{
	return container_of(mem, struct smr_dmabuf, mem);
}

static int dmabuf_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	const struct smr_dmabuf *d = to_dmabuf(mem);

	map->addr = d->map.vaddr + d->offset + off;
	map->len = len;
	return 0;
}

static void dmabuf_release(struct smr_mem *mem)
{
	struct smr_dmabuf *d = to_dmabuf(mem);

	dma_buf_vunmap_unlocked(d->buf, &d->map);
	dma_buf_end_cpu_access(d->buf, DIRECTION);
	dma_buf_put(d->buf);
	/* A reader that found the key may still try to take a reference. */
	kfree_rcu(d, mem.rcu);
}

static const struct smr_mem_ops dmabuf_ops = {
	.any_access = true,
	.map = dmabuf_map,
	.release = dmabuf_release,
};

/* The exporter may still be moving the content to where it is now. */
static int wait_for_content(struct dma_buf *buf)
{
	long left = dma_resv_wait_timeout(buf->resv, DMA_RESV_USAGE_KERNEL,
					  true, MAX_SCHEDULE_TIMEOUT);

	return left < 0 ? left : 0;
}

static int dmabuf_attach(struct smr_dmabuf *d)
{
	int ret;

	ret = dma_buf_begin_cpu_access(d->buf, DIRECTION);
	if (ret)
		return ret;
	ret = dma_buf_vmap_unlocked(d->buf, &d->map);
	if (ret)
		goto end_access;
	/* I/O memory would need other accessors. */
	if (d->map.is_iomem)
		ret = -EOPNOTSUPP;
	else
		ret = wait_for_content(d->buf);
	if (!ret)
		return 0;
	dma_buf_vunmap_unlocked(d->buf, &d->map);
end_access:
	dma_buf_end_cpu_access(d->buf, DIRECTION);
	return ret;
}

/**
 * smr_dmabuf_create() - make a memory of a part of a dma-buf
 * @fd: the dma-buf, a descriptor of the calling process
 * @offset: where in it the memory begins, in bytes
 * @length: bytes
 *
 * Context: process, may sleep; waits for the buffer's content, interruptibly.
 * Return: the memory, or an ERR_PTR: -EBADF (no such descriptor), -EINVAL (not
 * a dma-buf, not inside of it, or its exporter cannot map it), -EOPNOTSUPP
 * (not in the CPU's memory), -ENOMEM, -ERESTARTSYS (a signal), or what else
 * the exporter says.
 */
struct smr_mem *smr_dmabuf_create(int fd, u64 offset, u64 length)
{
	struct smr_dmabuf *d;
	u64 end;
	int ret;

	if (check_add_overflow(offset, length, &end))
		return ERR_PTR(-EINVAL);
	d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->buf = dma_buf_get(fd);
	if (IS_ERR(d->buf)) {
		ret = PTR_ERR(d->buf);
		goto free;
	}
	ret = -EINVAL;
	if (end > d->buf->size)
		goto put_buf;
	ret = dmabuf_attach(d);
	if (ret)
		goto put_buf;
	d->offset = offset;
	smr_mem_init(&d->mem, &dmabuf_ops, length);
	return &d->mem;

put_buf:
	dma_buf_put(d->buf);
free:
	kfree(d);
	return ERR_PTR(ret);
}

SMR_IMPORT_NS_DMA_BUF;
