// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a dma-buf: any that a driver exports and the CPU can access.
 *
 * The CPU copies, so no device is attached and no bus addresses are needed. The
 * whole buffer is mapped into the kernel, and its exporter keeps it in place until
 * it is unmapped.
 *
 * CPU and devices see the same bytes at once where the exporter has neither begin_cpu_access()
 * nor end_cpu_access(); such a buffer is *plain*. The others are *bracketed*: each copy is
 * between dma_buf_begin_cpu_access() and dma_buf_end_cpu_access(), so that it finds what
 * devices have written before, and devices find what it has written when the operation is
 * complete. Both functions may sleep, so only kernel threads copy; see @thread in struct
 * smr_mem_ops. Waiting for fences may take long, so a fault does that, and no thread blocks.
 *
 * begin_cpu_access() may invalidate the CPU's caches, and so lose the bytes of another copy
 * that has not yet called end_cpu_access(). So a buffer has a lock, which is held from begin to
 * end.
 */
#include "dmabuf.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/iosys-map.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#ifdef CONFIG_ARM64
#include <asm/alternative.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>
#endif

#include "await.h"
#include "compat/cleanup.h"
#include "compat/dma_buf.h"
#include "fault.h"
#include "mem.h"
#include "pd.h"

/* How often a fault that waits for fences checks whether it was abandoned */
#define FENCE_SLICE	(HZ / 10)

/**
 * struct bracket - CPU access to a bracketed buffer by all of its regions
 * @lock: held from the beginning of an access to its end
 * @users: number of struct smr_dmabuf of the buffer; under brackets_lock
 * @broken: an access could not be ended, so its bytes may not have reached the buffer
 */
struct bracket {
	struct mutex lock; /* see above */
	u32 users;
	bool broken;
};

/* struct bracket of each buffer that has one, by its address */
static DEFINE_XARRAY(brackets);
static DEFINE_MUTEX(brackets_lock);

/**
 * struct smr_dmabuf - a part of a dma-buf
 * @mem: the common part
 * @buf: the buffer, a reference is held
 * @map: the kernel mapping of all of it
 * @offset: offset in the buffer at which the memory begins
 * @bracket: of the buffer, a reference is held; NULL: the buffer is plain
 * @faults: executes its faults, a reference is held; NULL: it has no faults
 *
 * Constant once it has a key.
 */
struct smr_dmabuf {
	struct smr_mem mem;
	struct dma_buf *buf;
	struct iosys_map map;
	u64 offset;
	struct bracket *bracket;
	struct smr_faults *faults;
};

static struct smr_dmabuf *to_dmabuf(struct smr_mem *mem)
{
	return container_of(mem, struct smr_dmabuf, mem);
}

static struct bracket *bracket_get(struct dma_buf *buf)
{
	unsigned long index = (unsigned long)buf;
	struct bracket *b;
	int ret;

	guard(mutex)(&brackets_lock);
	b = xa_load(&brackets, index);
	if (b) {
		b->users++;
		return b;
	}
	b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	if (!b)
		return ERR_PTR(-ENOMEM);
	mutex_init(&b->lock);
	b->users = 1;
	ret = xa_err(xa_store(&brackets, index, b, GFP_KERNEL));
	if (ret) {
		kfree(b);
		return ERR_PTR(ret);
	}
	return b;
}

static void bracket_put(struct dma_buf *buf, struct bracket *b)
{
	guard(mutex)(&brackets_lock);
	if (--b->users)
		return;
	xa_erase(&brackets, (unsigned long)buf);
	kfree(b);
}

static int plain_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		     struct smr_map *map)
{
	const struct smr_dmabuf *d = to_dmabuf(mem);

	map->addr = d->map.vaddr + d->offset + off;
	map->len = len;
	return 0;
}

/* A copy that writes a part of a cache line needs the rest of the line. */
static enum dma_data_direction direction(bool write)
{
	return write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

static bool fences_signaled(const struct smr_dmabuf *d, bool write)
{
	return dma_resv_test_signaled(d->buf->resv, dma_resv_usage_rw(write));
}

/* Called with the bracket's lock held; keeps it on success, and releases it on error. */
static int bracket_begin_or_unlock(struct smr_mem *mem, u64 off, size_t len,
				   bool write, struct smr_map *map)
{
	const struct smr_dmabuf *d = to_dmabuf(mem);
	int ret = -EFAULT;

	if (!d->bracket->broken)
		ret = dma_buf_begin_cpu_access(d->buf, direction(write));
	if (ret) {
		mutex_unlock(&d->bracket->lock);
		return -EFAULT;
	}
	/* For the end */
	map->cookie = (void *)(unsigned long)direction(write);
	return plain_map(mem, off, len, write, map);
}

static int bracketed_map(struct smr_mem *mem, u64 off, size_t len, bool write,
			 struct smr_map *map)
{
	const struct smr_dmabuf *d = to_dmabuf(mem);

	if (!smr_mem_in_thread() || !fences_signaled(d, write))
		return SMR_PAGE_MISSING;
	mutex_lock(&d->bracket->lock);
	return bracket_begin_or_unlock(mem, off, len, write, map);
}

static int bracketed_trymap(struct smr_mem *mem, u64 off, size_t len,
			    bool write, struct smr_map *map)
{
	const struct smr_dmabuf *d = to_dmabuf(mem);

	/* The caller's other map may be of on-demand memory, and so hold a spinlock. */
	if (!smr_mem_in_thread() || !mutex_trylock(&d->bracket->lock))
		return -EBUSY;
	if (fences_signaled(d, write))
		return bracket_begin_or_unlock(mem, off, len, write, map);
	mutex_unlock(&d->bracket->lock);
	return SMR_PAGE_MISSING;
}

/* bracketed_map() has mapped all that was asked for. */
static bool bracketed_next(struct smr_mem *mem, size_t len, bool write,
			   struct smr_map *map)
{
	return false;
}

static void bracketed_unmap(struct smr_mem *mem, struct smr_map *map)
{
	const struct smr_dmabuf *d = to_dmabuf(mem);

	if (dma_buf_end_cpu_access(d->buf, (unsigned long)map->cookie))
		d->bracket->broken = true;
	mutex_unlock(&d->bracket->lock);
}

static int wait_for_fences(const struct smr_dmabuf *d,
			   enum dma_resv_usage usage, const bool *stop)
{
	long left;

	do {
		left = dma_resv_wait_timeout(d->buf->resv, usage, false,
					     FENCE_SLICE);
		if (left)
			return left < 0 ? -EFAULT : 0;
	} while (!READ_ONCE(*stop));
	return -EINTR;
}

/* Wait for fences, so that begin_cpu_access() need not. */
static int bracketed_fault(struct smr_mem *mem, const struct smr_populate *how,
			   u64 off, u64 len)
{
	if (how->at_once)
		return -EAGAIN;
	return wait_for_fences(to_dmabuf(mem),
			       dma_resv_usage_rw(how->want == SMR_WANT_WRITE),
			       how->stop);
}

/* The exporter may still be moving the content to where it is now. */
static int arriving_fault(struct smr_mem *mem, const struct smr_populate *how,
			  u64 off, u64 len)
{
	return wait_for_fences(to_dmabuf(mem), DMA_RESV_USAGE_KERNEL, how->stop);
}

static struct smr_faults *dmabuf_faults(const struct smr_mem *mem)
{
	return container_of(mem, const struct smr_dmabuf, mem)->faults;
}

static void dmabuf_release(struct smr_mem *mem)
{
	struct smr_dmabuf *d = to_dmabuf(mem);

	if (d->bracket)
		bracket_put(d->buf, d->bracket);
	dma_buf_vunmap_unlocked(d->buf, &d->map);
	smr_faults_put(d->faults);
	dma_buf_put(d->buf);
	kfree(d);
}

static const struct smr_mem_ops plain_ops = {
	.name = "dma-buf",
	.any_access = true,
	.map = plain_map,
	.release = dmabuf_release,
};

static const struct smr_mem_ops bracketed_ops = {
	.name = "dma-buf",
	.any_access = true,
	.thread = true,
	.map = bracketed_map,
	.trymap = bracketed_trymap,
	.next = bracketed_next,
	.unmap = bracketed_unmap,
	.fault = bracketed_fault,
	.faults = dmabuf_faults,
	.release = dmabuf_release,
};

/* Used until the content has arrived; the region has no key before that */
static const struct smr_mem_ops arriving_ops = {
	.name = "dma-buf",
	.fault = arriving_fault,
	.faults = dmabuf_faults,
	.release = dmabuf_release,
};

/*
 * Is the page mapped write-back, so that the CPU's atomics work on it? iosys_map does not say.
 * x86 locks the bus for a line that cannot be cached. On arm64, exclusive accesses and LSE
 * atomics to memory that is not write-back fault on many systems ("unsupported exclusive"), so
 * ask the CPU. Elsewhere only the linear mapping is known to be write-back.
 */
#ifdef CONFIG_ARM64
/* Bits 63:56 of PAR_EL1 are as in MAIR_EL1; 0xf0 is write-back with MTE's tags. */
#define PAR_WRITE_BACK		0xff
#define PAR_WRITE_BACK_TAGGED	0xf0

static bool page_does_atomics(const void *addr)
{
	unsigned long flags;
	u64 par;

	local_irq_save(flags);
	asm volatile("at s1e1r, %0" : : "r" (addr));
	isb(); /* the translation is in PAR_EL1 */
	par = read_sysreg_par();
	local_irq_restore(flags);
	return !(par & BIT(0)) && (par >> 56 == PAR_WRITE_BACK ||
				   par >> 56 == PAR_WRITE_BACK_TAGGED);
}
#else
static bool page_does_atomics(const void *addr)
{
	return IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_UML) ||
	       virt_addr_valid(addr);
}
#endif

static bool does_atomics(const struct smr_dmabuf *d, u64 length)
{
	u64 off = round_down(d->offset, PAGE_SIZE);

	for (; off < d->offset + length; off += PAGE_SIZE) {
		if (!page_does_atomics(d->map.vaddr + off))
			return false;
		cond_resched();
	}
	return true;
}

static bool content_is_there(const struct smr_dmabuf *d)
{
	return dma_resv_test_signaled(d->buf->resv, DMA_RESV_USAGE_KERNEL);
}

/* A verb waits for the content as it waits for a page: see smr_fault_await(). */
static int wait_for_content(struct smr_dmabuf *d, const struct smr_pd *pd)
{
	struct smr_span span = { .mem = &d->mem };
	struct smr_fault *fault;

	fault = smr_fault_alloc(1, SMR_WANT_READ, GFP_KERNEL_ACCOUNT);
	if (!fault)
		return -ENOMEM;
	smr_fault_add(fault, &span, 0, PAGE_SIZE);
	return smr_fault_await(fault, pd->awaits, TASK_INTERRUPTIBLE);
}

static int dmabuf_attach(struct smr_dmabuf *d)
{
	int ret = dma_buf_vmap_unlocked(d->buf, &d->map);

	/* I/O memory would need other accessors. */
	if (!ret && d->map.is_iomem) {
		dma_buf_vunmap_unlocked(d->buf, &d->map);
		ret = -EOPNOTSUPP;
	}
	return ret;
}

static int dmabuf_get_faults(struct smr_dmabuf *d)
{
	struct smr_faults *faults = smr_faults_get();

	if (IS_ERR(faults))
		return PTR_ERR(faults);
	d->faults = faults;
	return 0;
}

static int dmabuf_bracket(struct smr_dmabuf *d)
{
	struct bracket *b = bracket_get(d->buf);

	if (IS_ERR(b))
		return PTR_ERR(b);
	d->bracket = b;
	return 0;
}

/* Initialize the memory. @d has a reference on the buffer, which is mapped. */
static int dmabuf_init(struct smr_dmabuf *d, const struct smr_pd *pd,
		       u64 length)
{
	const struct dma_buf_ops *ops = d->buf->ops;
	bool bracketed = ops->begin_cpu_access || ops->end_cpu_access;
	bool there = content_is_there(d);
	int ret = 0;

	if (bracketed || !there)
		ret = dmabuf_get_faults(d);
	if (!ret && bracketed)
		ret = dmabuf_bracket(d);
	if (!ret && !there)
		ret = wait_for_content(d, pd);
	if (ret)
		return ret;
	d->mem.ops = bracketed ? &bracketed_ops : &plain_ops;
	d->mem.no_atomics = !does_atomics(d, length);
	return 0;
}

/*
 * Create the memory for a part of a dma-buf. @pd: of the region; its device's verbs wait for faults
 * there. @fd: the dma-buf, a descriptor of the calling process. Whether it is open for writing does
 * not matter, as for any importer. @offset: first byte of the memory in the dma-buf. Context:
 * process; waits for the buffer's content, interruptibly. Returns the memory, or an ERR_PTR: -EBADF
 * (no such descriptor), -EINVAL (not a dma-buf, a range outside it, or its exporter cannot map it),
 * -EOPNOTSUPP (not in the CPU's memory), -ENOMEM, -ERESTARTSYS (a signal), -EIO (the device is
 * being removed), or another error of the exporter.
 */
struct smr_mem *smr_dmabuf_create(const struct smr_pd *pd, int fd, u64 offset,
				  u64 length)
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
	d->offset = offset;
	ret = end > d->buf->size ? -EINVAL : dmabuf_attach(d);
	if (ret)
		goto put_buf;
	smr_mem_init(&d->mem, &arriving_ops, length);
	ret = dmabuf_init(d, pd, length);
	if (!ret)
		return &d->mem;
	/* A fault may still wait for the content. */
	smr_mem_put(&d->mem);
	return ERR_PTR(ret);

put_buf:
	dma_buf_put(d->buf);
free:
	kfree(d);
	return ERR_PTR(ret);
}

SMR_IMPORT_NS_DMA_BUF;
