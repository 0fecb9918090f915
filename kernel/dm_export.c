// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory as a dma-buf, which other drivers, other links and other processes can
 * use.
 *
 * The buffer holds references on the pages, but on neither the link nor the process: it may
 * outlive both. The pages stay charged to the link's store until it is freed; see mmap.c. Like
 * any exporter's buffer, it pins the module.
 *
 * The memory is ordinary CPU memory, so an attached device may need cache maintenance:
 * begin_cpu_access() and end_cpu_access() do that for all devices that have it mapped.
 */
#include "dm_export.h"

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/cleanup.h"
#include "compat/compiler.h"
#include "dm.h"
#include "mmap.h"

/**
 * struct dm_export - an exported allocation of device memory
 * @lock: guards @users
 * @users: struct dm_user of the devices that are attached
 * @npages: number of @pages; constant
 * @pages: the pages, with a reference on each; constant
 */
struct dm_export {
	struct mutex lock; /* see above */
	struct list_head users;
	unsigned int npages;
	struct page *pages[] __counted_by(npages);
};

/**
 * struct dm_user - a device that is attached to a buffer
 * @node: on the buffer's list
 * @dev: the device; constant
 * @sgt: the buffer as the device sees it
 * @mapped: @sgt has addresses for the device; under the buffer's lock
 */
struct dm_user {
	struct list_head node;
	struct device *dev;
	struct sg_table sgt;
	bool mapped;
};

static int export_attach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	struct dm_export *e = buf->priv;
	struct dm_user *user;
	int ret;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return -ENOMEM;
	ret = sg_alloc_table_from_pages(&user->sgt, e->pages, e->npages, 0,
					buf->size, GFP_KERNEL_ACCOUNT);
	if (ret) {
		kfree(user);
		return ret;
	}
	user->dev = attach->dev;
	attach->priv = user;
	guard(mutex)(&e->lock);
	list_add(&user->node, &e->users);
	return 0;
}

static void export_detach(struct dma_buf *buf,
			  struct dma_buf_attachment *attach)
{
	struct dm_export *e = buf->priv;
	struct dm_user *user = attach->priv;

	scoped_guard(mutex, &e->lock)
		list_del(&user->node);
	sg_free_table(&user->sgt);
	kfree(user);
}

static struct sg_table *export_map(struct dma_buf_attachment *attach,
				   enum dma_data_direction dir)
{
	struct dm_export *e = attach->dmabuf->priv;
	struct dm_user *user = attach->priv;
	int ret;

	guard(mutex)(&e->lock);
	ret = dma_map_sgtable(user->dev, &user->sgt, dir, 0);
	if (ret)
		return ERR_PTR(ret);
	user->mapped = true;
	return &user->sgt;
}

static void export_unmap(struct dma_buf_attachment *attach,
			 struct sg_table *sgt, enum dma_data_direction dir)
{
	struct dm_export *e = attach->dmabuf->priv;
	struct dm_user *user = attach->priv;

	guard(mutex)(&e->lock);
	user->mapped = false;
	dma_unmap_sgtable(user->dev, sgt, dir, 0);
}

static int export_begin(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct dm_export *e = buf->priv;
	struct dm_user *user;

	guard(mutex)(&e->lock);
	list_for_each_entry(user, &e->users, node)
		if (user->mapped)
			dma_sync_sgtable_for_cpu(user->dev, &user->sgt, dir);
	return 0;
}

static int export_end(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct dm_export *e = buf->priv;
	struct dm_user *user;

	guard(mutex)(&e->lock);
	list_for_each_entry(user, &e->users, node)
		if (user->mapped)
			dma_sync_sgtable_for_device(user->dev, &user->sgt, dir);
	return 0;
}

/*
 * dma-buf has checked the range. Only shared mappings are allowed, as for memory of
 * ibv_alloc_dm().
 */
static int export_mmap(struct dma_buf *buf, struct vm_area_struct *vma)
{
	struct dm_export *e = buf->priv;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	return vm_map_pages(vma, e->pages, e->npages);
}

/* dma-buf counts the users, and calls this only for the first. */
static int export_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct dm_export *e = buf->priv;
	void *addr = vmap(e->pages, e->npages, VM_MAP, PAGE_KERNEL);

	if (!addr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, addr);
	return 0;
}

static void export_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static void export_free(struct dm_export *e)
{
	unsigned int i;

	for (i = 0; i < e->npages; i++)
		put_page(e->pages[i]);
	kvfree(e);
}

static void export_release(struct dma_buf *buf)
{
	export_free(buf->priv);
}

static const struct dma_buf_ops export_ops = {
	.attach = export_attach,
	.detach = export_detach,
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.begin_cpu_access = export_begin,
	.end_cpu_access = export_end,
	.mmap = export_mmap,
	.vmap = export_vmap,
	.vunmap = export_vunmap,
	.release = export_release,
};

/**
 * smr_dm_export() - make a dma-buf of device memory
 * @dm: the memory; the caller keeps it from being freed during the call
 *
 * The buffer consists of the whole pages of @dm. Bytes beyond its length are zero at first.
 *
 * Context: process, may sleep.
 * Return: the buffer with a reference, which dma_buf_put() drops; or an ERR_PTR.
 */
struct dma_buf *smr_dm_export(const struct smr_dm *dm)
{
	unsigned int i, npages = dm->mmap->size >> PAGE_SHIFT;
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dm_export *e;
	struct dma_buf *buf;

	e = kvzalloc(struct_size(e, pages, npages), GFP_KERNEL_ACCOUNT);
	if (!e)
		return ERR_PTR(-ENOMEM);
	mutex_init(&e->lock);
	INIT_LIST_HEAD(&e->users);
	e->npages = npages;
	for (i = 0; i < npages; i++) {
		e->pages[i] = vmalloc_to_page(dm->mmap->mem + i * PAGE_SIZE);
		get_page(e->pages[i]);
	}
	info.ops = &export_ops;
	info.size = dm->mmap->size;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = e;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf))
		export_free(e);
	return buf;
}
