// SPDX-License-Identifier: GPL-2.0
/*
 * An exporter of dma-bufs for tests of importers: see dmabuf_exporter.h.
 *
 * A bracketed buffer has two memories, the device's and the CPU's, as if each had a
 * cache of its own. begin_cpu_access() copies from the first to the second,
 * end_cpu_access() copies back, and destroys what the CPU has. So each byte that an
 * importer moves outside of the two is lost, and shows.
 */
#include "dmabuf_exporter.h"

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define SIZE_MAX_BYTES	(64 * 1024 * 1024)

/**
 * struct buffer - a buffer
 * @ref: one for the file, one for the dma-buf
 * @lock: guards all that follows
 * @size: bytes; 0: not exported yet
 * @flags: enum exporter_flags
 * @device: the memory as the device sees it
 * @cpu: as the CPU sees it, where that is another memory
 * @combined: @device, mapped write-combined
 * @fence: the device's writing; or NULL
 * @access: CPU accesses under way
 * @report: what importers have done
 */
struct buffer {
	struct kref ref;
	struct mutex lock; /* see above */
	u32 size;
	u32 flags;
	void *device;
	void *cpu;
	void *combined;
	struct dma_fence *fence;
	int access;
	struct exporter_report report;
};

static DEFINE_SPINLOCK(fence_lock);

static const char *fence_name(struct dma_fence *fence)
{
	return "dmabuf_exporter";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

static void buffer_free(struct kref *ref)
{
	struct buffer *b = container_of(ref, struct buffer, ref);

	vunmap(b->combined);
	vfree(b->cpu);
	vfree(b->device);
	kfree(b);
}

static struct sg_table *map_for_device(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void unmap_for_device(struct dma_buf_attachment *attach,
			     struct sg_table *table,
			     enum dma_data_direction dir)
{
}

static int begin_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct buffer *b = buf->priv;

	mutex_lock(&b->lock);
	b->report.begins++;
	b->report.wrong += b->access++ > 0;
	b->report.early += b->fence && !dma_fence_is_signaled(b->fence);
	memcpy(b->cpu, b->device, b->size);
	mutex_unlock(&b->lock);
	return 0;
}

static int end_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct buffer *b = buf->priv;

	mutex_lock(&b->lock);
	b->report.ends++;
	b->report.wrong += --b->access < 0;
	if (dir != DMA_FROM_DEVICE && !(b->flags & EXPORTER_BROKEN))
		memcpy(b->device, b->cpu, b->size);
	memset(b->cpu, 0xee, b->size);
	mutex_unlock(&b->lock);
	return b->flags & EXPORTER_BROKEN ? -EIO : 0;
}

static int map_for_cpu(struct dma_buf *buf, struct iosys_map *map)
{
	struct buffer *b = buf->priv;

	if (b->flags & EXPORTER_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)b->device);
	else
		iosys_map_set_vaddr(map, b->combined ?: b->cpu ?: b->device);
	return 0;
}

static void release(struct dma_buf *buf)
{
	struct buffer *b = buf->priv;

	kref_put(&b->ref, buffer_free);
}

static const struct dma_buf_ops plain_ops = {
	.map_dma_buf = map_for_device,
	.unmap_dma_buf = unmap_for_device,
	.vmap = map_for_cpu,
	.release = release,
};

static const struct dma_buf_ops bracketed_ops = {
	.map_dma_buf = map_for_device,
	.unmap_dma_buf = unmap_for_device,
	.begin_cpu_access = begin_access,
	.end_cpu_access = end_access,
	.vmap = map_for_cpu,
	.release = release,
};

static int map_combined(struct buffer *b)
{
	unsigned int i, n = b->size / PAGE_SIZE;
	struct page **pages;

	if (!IS_ENABLED(CONFIG_ARM64))
		return -EOPNOTSUPP;
	pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		pages[i] = vmalloc_to_page(b->device + i * PAGE_SIZE);
	b->combined = vmap(pages, n, VM_MAP, pgprot_writecombine(PAGE_KERNEL));
	kvfree(pages);
	return b->combined ? 0 : -ENOMEM;
}

static int make_memory(struct buffer *b)
{
	b->device = vmalloc_user(b->size);
	if (!b->device)
		return -ENOMEM;
	if (b->flags & EXPORTER_WRITE_COMBINED)
		return map_combined(b);
	if (!(b->flags & EXPORTER_BRACKETED))
		return 0;
	b->cpu = vmalloc(b->size);
	return b->cpu ? 0 : -ENOMEM;
}

static int make_busy(struct buffer *b, struct dma_resv *resv,
		     enum dma_resv_usage usage)
{
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	int ret;

	if (!fence)
		return -ENOMEM;
	dma_fence_init(fence, &fence_ops, &fence_lock,
		       dma_fence_context_alloc(1), 1);
	dma_resv_lock(resv, NULL);
	ret = dma_resv_reserve_fences(resv, 1);
	if (!ret)
		dma_resv_add_fence(resv, fence, usage);
	dma_resv_unlock(resv);
	if (ret)
		dma_fence_put(fence);
	else
		b->fence = fence;
	return ret;
}

/* With b->lock held */
static int export(struct buffer *b)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;
	int ret;

	info.ops = b->flags & EXPORTER_BRACKETED ? &bracketed_ops : &plain_ops;
	info.size = b->size;
	info.priv = b;
	info.flags = b->flags & EXPORTER_READ_ONLY ? O_RDONLY : O_RDWR;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	kref_get(&b->ref);
	ret = 0;
	if (b->flags & EXPORTER_BUSY)
		ret = make_busy(b, buf->resv, DMA_RESV_USAGE_WRITE);
	else if (b->flags & EXPORTER_MOVING)
		ret = make_busy(b, buf->resv, DMA_RESV_USAGE_KERNEL);
	if (!ret)
		ret = dma_buf_fd(buf, O_CLOEXEC);
	if (ret < 0)
		dma_buf_put(buf);
	return ret;
}

static int make(struct buffer *b, const struct exporter_make __user *from)
{
	struct exporter_make how;
	int ret = -EBUSY;

	if (copy_from_user(&how, from, sizeof(how)))
		return -EFAULT;
	if (!how.size || how.size > SIZE_MAX_BYTES || how.size % PAGE_SIZE)
		return -EINVAL;
	mutex_lock(&b->lock);
	if (!b->size) {
		b->size = how.size;
		b->flags = how.flags;
		ret = make_memory(b);
		if (!ret)
			ret = export(b);
	}
	mutex_unlock(&b->lock);
	return ret;
}

static void done(struct buffer *b)
{
	mutex_lock(&b->lock);
	if (b->fence) {
		dma_fence_signal(b->fence);
		dma_fence_put(b->fence);
	}
	b->fence = NULL;
	mutex_unlock(&b->lock);
}

static int report(struct buffer *b, struct exporter_report __user *to)
{
	struct exporter_report now;

	mutex_lock(&b->lock);
	now = b->report;
	mutex_unlock(&b->lock);
	return copy_to_user(to, &now, sizeof(now)) ? -EFAULT : 0;
}

static long exporter_ioctl(struct file *file, unsigned int cmd,
			   unsigned long arg)
{
	struct buffer *b = file->private_data;

	switch (cmd) {
	case EXPORTER_MAKE:
		return make(b, (void __user *)arg);
	case EXPORTER_DONE:
		done(b);
		return 0;
	case EXPORTER_REPORT:
		return report(b, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static int exporter_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct buffer *b = file->private_data;
	int ret = -EINVAL;

	mutex_lock(&b->lock);
	if (b->device)
		ret = remap_vmalloc_range(vma, b->device, vma->vm_pgoff);
	mutex_unlock(&b->lock);
	return ret;
}

static int exporter_open(struct inode *inode, struct file *file)
{
	struct buffer *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return -ENOMEM;
	kref_init(&b->ref);
	mutex_init(&b->lock);
	file->private_data = b;
	return 0;
}

static int exporter_release(struct inode *inode, struct file *file)
{
	struct buffer *b = file->private_data;

	done(b);
	kref_put(&b->ref, buffer_free);
	return 0;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.open = exporter_open,
	.release = exporter_release,
	.unlocked_ioctl = exporter_ioctl,
	.mmap = exporter_mmap,
};

static struct miscdevice exporter = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dmabuf_exporter",
	.fops = &exporter_fops,
};

module_misc_device(exporter);

/* MODULE_IMPORT_NS() takes a token on older kernels, and a string on newer ones. */
MODULE_INFO(import_ns, "DMA_BUF");
MODULE_DESCRIPTION("Test of importers of dma-bufs");
MODULE_LICENSE("GPL");
