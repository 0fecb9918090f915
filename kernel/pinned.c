// SPDX-License-Identifier: GPL-2.0
/*
 * Pinned memory: the pages of a range of a process, held until it is released.
 *
 * Pages that follow each other physically are one run. There are three layouts of the runs,
 * each with its own set of operations:
 *
 *  - single: one run, stored in the struct itself;
 *  - direct: pieces of equal size, a power of two of pages, one word for each; for scattered
 *    pages and huge folios;
 *  - search: runs of any size, two words for each, and a binary search.
 */
#include "pinned.h"

#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hugetlb_inline.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "account.h"
#include "await.h"
#include "compat/mm.h"
#include "fault.h"
#include "pd.h"

/* Pages pinned at once: those of a small range on the stack */
#define BATCH_STACK	16
#define BATCH_MAX	(PAGE_SIZE / sizeof(struct page *))

/* From this many present pages on, pinning them in another thread is faster. */
#define PRESENT_MIN	64

/* Jiffies for which a registration tries to take the mmap_lock itself */
#define LOCK_TRIES	100

/**
 * struct pin_job - pages pinned so far
 * @mm: the process that is charged for them; NULL: a memory has taken them over
 * @addr: of the first page
 * @total: number of pages to pin; all are charged
 * @writable: the pages will be written to
 * @late: the struct that contains it, or NULL
 * @runs: the pages pinned so far
 * @nr: number of runs
 * @room: size of @runs
 * @npages: pages pinned so far
 * @one: storage for the first run
 */
struct pin_job {
	struct mm_struct *mm;
	unsigned long addr;
	unsigned long total;
	bool writable;
	struct pin_late *late;
	struct smr_extent *runs;
	unsigned long nr;
	unsigned long room;
	unsigned long npages;
	struct smr_extent one;
};

/**
 * struct pin_late - a job that had to wait for a page
 * @mem: lets faults be executed for it as for any memory. It has no key, and is not mapped
 * @faults: executes its faults, a reference is held
 * @cred: the caller's, a reference is held
 * @job: owned by the fault while one runs, else by the caller
 */
struct pin_late {
	struct smr_mem mem;
	struct smr_faults *faults;
	const struct cred *cred;
	struct pin_job job;
};

/*
 * Find page @page in one of the layouts: returns the number of pages known to be physically
 * contiguous from there (perhaps beyond the end of the memory), and the PFN of the first.
 */
typedef unsigned long (*find_fn)(const struct smr_pinned *p,
				 unsigned long page, unsigned long *pfn);

static struct smr_pinned *to_pinned(struct smr_mem *mem)
{
	return container_of(mem, struct smr_pinned, mem);
}

static __always_inline unsigned long
find_single(const struct smr_pinned *p, unsigned long page, unsigned long *pfn)
{
	*pfn = p->pfn + page;
	return PHYS_PFN(U64_MAX);
}

static __always_inline unsigned long
find_direct(const struct smr_pinned *p, unsigned long page, unsigned long *pfn)
{
	unsigned long pos = page + p->lead;
	unsigned long size = 1UL << p->shift;
	unsigned long in = pos & (size - 1);

	*pfn = p->pieces[pos >> p->shift] + in;
	return size - in;
}

static __always_inline unsigned long
find_search(const struct smr_pinned *p, unsigned long page, unsigned long *pfn)
{
	unsigned long low = 0, high = p->nr, mid;

	/* runs[low].first <= page, and page < runs[high].first if there is one */
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (p->runs[mid].first <= page)
			low = mid;
		else
			high = mid;
	}
	*pfn = p->runs[low].pfn + (page - p->runs[low].first);
	return (high < p->nr ? p->runs[high].first : PHYS_PFN(U64_MAX)) - page;
}

/*
 * The number of bytes, of @len, before the first page with a memory error. This is checked for
 * each page of each copy: there is no notifier of memory errors, and MMU notifiers do not apply
 * to pinned pages. Reading the flag costs little compared to copying a page.
 */
static __always_inline u64 good_bytes(unsigned long pfn, unsigned long pgoff,
				      u64 len)
{
	u64 good = 0, step = PAGE_SIZE - pgoff;

	if (!IS_ENABLED(CONFIG_MEMORY_FAILURE))
		return len;
	for (; good < len; good += step, step = PAGE_SIZE)
		if (smr_mem_is_bad(pfn_to_page(pfn++)))
			return good;
	return len;
}

static unsigned long part_of(const struct smr_pinned *p, unsigned long page)
{
	return page >> p->part_shift;
}

/*
 * The device is about to write. Only parts that it wrote become dirty when they are unpinned:
 * clean pages need not be written to swap again. There is one bit for each 64th part of the
 * memory, so no table is needed.
 */
static void pinned_will_write(struct smr_mem *mem, u64 off, size_t len)
{
	struct smr_pinned *p = to_pinned(mem);
	u64 first = p->pgoff + off;
	unsigned long parts = GENMASK(part_of(p, PHYS_PFN(first + len - 1)),
				      part_of(p, PHYS_PFN(first)));

	if (parts & ~atomic_long_read(&p->written))
		atomic_long_or(parts, &p->written);
}

static __always_inline int map_with(struct smr_mem *mem, u64 off, size_t len,
				    struct smr_map *map, find_fn find)
{
	const struct smr_pinned *p = to_pinned(mem);
	unsigned long pfn, n;
	u64 room;

	off += p->pgoff;
	n = find(p, off >> PAGE_SHIFT, &pfn);
	room = min_t(u64, len, PFN_PHYS(n) - offset_in_page(off));
	map->addr = page_address(pfn_to_page(pfn)) + offset_in_page(off);
	map->len = good_bytes(pfn, offset_in_page(off), room);
	return map->len ? 0 : -EFAULT;
}

static unsigned long pinned_pages(const struct smr_pinned *p)
{
	return p->mem.size ? PFN_UP(p->pgoff + p->mem.size) : 0;
}

static __always_inline void unpin_part(const struct smr_pinned *p,
				       unsigned long page, unsigned long end,
				       bool dirty, find_fn find)
{
	unsigned long n, pfn;

	for (; page < end; page += n) {
		n = min(find(p, page, &pfn), end - page);
		unpin_user_page_range_dirty_lock(pfn_to_page(pfn), n, dirty);
		cond_resched();
	}
}

static __always_inline void unpin_with(struct smr_mem *mem, find_fn find)
{
	const struct smr_pinned *p = to_pinned(mem);
	unsigned long written = atomic_long_read(&p->written);
	unsigned long npages = pinned_pages(p);
	unsigned long page, end;

	for (page = 0; page < npages; page = end) {
		end = min((part_of(p, page) + 1) << p->part_shift, npages);
		unpin_part(p, page, end, written & BIT(part_of(p, page)),
			   find);
	}
}

static void pinned_free(struct smr_pinned *p)
{
	if (p->mem.mm)
		smr_memlock_uncharge(p->mem.mm, pinned_pages(p));
	if (p->own)
		kfree(p);
}

static int single_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	return map_with(mem, off, len, map, find_single);
}

static void unpin_single(struct smr_mem *mem)
{
	unpin_with(mem, find_single);
	pinned_free(to_pinned(mem));
}

static const struct smr_mem_ops single_ops = {
	.name = "pinned",
	.map = single_map,
	.will_write = pinned_will_write,
	.release = unpin_single,
};

static int direct_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	return map_with(mem, off, len, map, find_direct);
}

static void unpin_direct(struct smr_mem *mem)
{
	unpin_with(mem, find_direct);
	kvfree(to_pinned(mem)->pieces);
	pinned_free(to_pinned(mem));
}

static const struct smr_mem_ops direct_ops = {
	.name = "pinned",
	.map = direct_map,
	.will_write = pinned_will_write,
	.release = unpin_direct,
};

static int search_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	return map_with(mem, off, len, map, find_search);
}

static void unpin_search(struct smr_mem *mem)
{
	unpin_with(mem, find_search);
	kvfree(to_pinned(mem)->runs);
	pinned_free(to_pinned(mem));
}

static const struct smr_mem_ops search_ops = {
	.name = "pinned",
	.map = search_map,
	.will_write = pinned_will_write,
	.release = unpin_search,
};

static int job_grow(struct pin_job *job)
{
	unsigned long room = max(job->room * 2, 64UL);
	struct smr_extent *runs;

	runs = kvmalloc_array(room, sizeof(*runs),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!runs)
		return -ENOMEM;
	memcpy(runs, job->runs, job->nr * sizeof(*runs));
	if (job->runs != &job->one)
		kvfree(job->runs);
	job->runs = runs;
	job->room = room;
	return 0;
}

/* Add a page: to the last run if it is contiguous with it, else as a new run. */
static int job_add(struct pin_job *job, unsigned long pfn)
{
	const struct smr_extent *last;
	int ret;

	if (job->nr) {
		last = &job->runs[job->nr - 1];
		if (last->pfn + (job->npages - last->first) == pfn) {
			job->npages++;
			return 0;
		}
	}
	if (job->nr == job->room) {
		ret = job_grow(job);
		if (ret)
			return ret;
	}
	job->runs[job->nr++] = (struct smr_extent){ pfn, job->npages++ };
	return 0;
}

static int job_add_batch(struct pin_job *job, struct page **pages, int n)
{
	int i, ret;

	for (i = 0; i < n; i++) {
		ret = job_add(job, page_to_pfn(pages[i]));
		if (ret) {
			unpin_user_pages(pages + i, n - i);
			return ret;
		}
	}
	return 0;
}

/* The area that contains the next page. NULL: none, and GUP will return an error. */
static struct vm_area_struct *job_area(const struct pin_job *job)
{
	return vma_lookup(job->mm, job->addr + job->npages * PAGE_SIZE);
}

/* The number of pages left in @vma, at most @max */
static unsigned long job_left(const struct pin_job *job,
			      const struct vm_area_struct *vma,
			      unsigned long max)
{
	unsigned long addr = job->addr + job->npages * PAGE_SIZE;

	max = min(max, job->total - job->npages);
	return vma ? min(max, PHYS_PFN(vma->vm_end - addr)) : 1;
}

static unsigned int job_flags(const struct pin_job *job,
			      const struct vm_area_struct *vma)
{
	if (job->writable)
		return FOLL_LONGTERM | FOLL_WRITE;
	return FOLL_LONGTERM | (vma ? smr_compat_pin_unshare(vma) : 0);
}

/*
 * Does a fault need no more than an allocation or a read from swap? Elsewhere a process (FUSE,
 * userfaultfd) or another host may decide when the page arrives.
 */
static bool area_is_instant(struct vm_area_struct *vma)
{
	if (userfaultfd_armed(vma))
		return false;
	return vma_is_anonymous(vma) || is_vm_hugetlb_page(vma) ||
	       (vma->vm_file && shmem_mapping(vma->vm_file->f_mapping));
}

/* Take the mmap_lock unless it stays busy: another thread may hold it while it waits for a page. */
static bool job_lock(struct pin_job *job)
{
	int tries = LOCK_TRIES;

	while (!mmap_read_trylock(job->mm)) {
		if (!tries-- || fatal_signal_pending(current))
			return false;
		schedule_timeout_killable(1);
	}
	return true;
}

/*
 * Pin some pages of the calling process without waiting for a page, nor long for the mmap_lock,
 * whose holder may wait for a page. This runs in the context of the process for its memory
 * policy and cpuset, and so that clearing pages is accounted to it. -EAGAIN: the next page has
 * to be waited for.
 */
static int job_pin_here(struct pin_job *job, struct page **batch,
			unsigned long max)
{
	struct vm_area_struct *vma;
	bool instant;
	long n;

	if (!job_lock(job))
		return -EAGAIN;
	vma = job_area(job);
	instant = !vma || area_is_instant(vma);
	n = smr_compat_pin(job->addr + job->npages * PAGE_SIZE,
			   job_left(job, vma, max),
			   job_flags(job, vma) | (instant ? 0 : FOLL_NOFAULT),
			   batch);
	mmap_read_unlock(job->mm);
	if (n > 0)
		return job_add_batch(job, batch, n);
	return n == -EFAULT && !instant ? -EAGAIN : n ?: -EFAULT;
}

/* Pin some pages of any process, and wait for them. */
static int job_pin_late(struct pin_job *job)
{
	struct page *batch[BATCH_STACK];
	struct vm_area_struct *vma;
	long n;

	mmap_read_lock(job->mm);
	vma = job_area(job);
	n = smr_compat_pin_unlock(job->mm, job->addr + job->npages * PAGE_SIZE,
				  job_left(job, vma, BATCH_STACK),
				  job_flags(job, vma), batch);
	return n > 0 ? job_add_batch(job, batch, n) : n ?: -EFAULT;
}

/*
 * Pin some present pages in a thread that has adopted the process's mm, and may wait for the
 * mmap_lock: GUP-fast takes no lock for present pages, but takes it for others. -EAGAIN: the
 * next page is not present.
 */
static int job_pin_present(struct pin_job *job)
{
	struct page *batch[PRESENT_MIN];
	struct vm_area_struct *vma;
	unsigned int flags;
	unsigned long max;
	int n;

	mmap_read_lock(job->mm);
	vma = job_area(job);
	max = job_left(job, vma, PRESENT_MIN);
	flags = job_flags(job, vma);
	mmap_read_unlock(job->mm);
	n = pin_user_pages_fast(job->addr + job->npages * PAGE_SIZE, max,
				flags | FOLL_NOFAULT, batch);
	return n > 0 ? job_add_batch(job, batch, n) : -EAGAIN;
}

static struct pin_late *to_late(struct smr_mem *mem)
{
	return container_of(mem, struct pin_late, mem);
}

/* Tables of runs are charged to the process's memcg, as when the process allocates them itself. */
static int late_fault(struct smr_mem *mem, const struct smr_populate *how,
		      u64 off, u64 len)
{
	struct pin_late *late = to_late(mem);
	struct pin_job *job = &late->job;
	unsigned long until = PHYS_PFN(off + len);
	bool present = how->want == SMR_WANT_PRESENT;
	struct mem_cgroup *owner, *memcg;
	const struct cred *cred;
	int ret = 0;

	if (!mmget_not_zero(job->mm))
		return -EFAULT;
	owner = get_mem_cgroup_from_mm(job->mm);
	memcg = set_active_memcg(owner);
	cred = override_creds(late->cred);
	if (present)
		kthread_use_mm(job->mm);
	while (!ret && job->npages < until && !READ_ONCE(*how->stop)) {
		ret = present ? job_pin_present(job) : job_pin_late(job);
		cond_resched();
	}
	if (present)
		kthread_unuse_mm(job->mm);
	revert_creds(cred);
	set_active_memcg(memcg);
	mem_cgroup_put(owner);
	mmput(job->mm);
	return ret;
}

static struct smr_faults *late_faults(const struct smr_mem *mem)
{
	return container_of(mem, const struct pin_late, mem)->faults;
}

static unsigned long job_run_end(const struct pin_job *job, unsigned long i)
{
	return i + 1 < job->nr ? job->runs[i + 1].first : job->npages;
}

static void job_unpin(const struct pin_job *job)
{
	unsigned long i, n;

	for (i = 0; i < job->nr; i++) {
		n = job_run_end(job, i) - job->runs[i].first;
		unpin_user_page_range_dirty_lock(pfn_to_page(job->runs[i].pfn),
						 n, false);
		cond_resched();
	}
}

static void job_drop(struct pin_job *job)
{
	if (job->mm) {
		job_unpin(job);
		smr_memlock_uncharge(job->mm, job->total);
	}
	if (job->runs != &job->one)
		kvfree(job->runs);
}

static void late_release(struct smr_mem *mem)
{
	struct pin_late *late = to_late(mem);

	job_drop(&late->job);
	put_cred(late->cred);
	smr_faults_put(late->faults);
	kfree(late);
}

static const struct smr_mem_ops late_ops = {
	.name = "pinned",
	.fault = late_fault,
	.faults = late_faults,
	.release = late_release,
};

/* End a job, whose fault may still run if the caller has abandoned it */
static void job_end(struct pin_job *job)
{
	if (job->late)
		smr_mem_put(&job->late->mem);
	else
		job_drop(job);
}

/* Turn a job into one that a fault can continue, and that can outlive its caller */
static struct pin_job *job_make_late(struct pin_job *job)
{
	struct pin_late *late;

	if (job->late)
		return job;
	late = kzalloc(sizeof(*late), GFP_KERNEL_ACCOUNT);
	if (!late)
		return ERR_PTR(-ENOMEM);
	late->faults = smr_faults_get();
	if (IS_ERR(late->faults)) {
		kfree(late);
		return ERR_PTR(-ENOMEM);
	}
	late->cred = get_current_cred();
	smr_mem_init(&late->mem, &late_ops, (u64)job->total << PAGE_SHIFT);
	late->job = *job;
	late->job.late = late;
	if (job->runs == &job->one)
		late->job.runs = &late->job.one;
	return &late->job;
}

/* Allocate a fault that pins at most @max of the next pages. This may replace *@jobp. */
static struct smr_fault *job_fault(struct pin_job **jobp, enum smr_want want,
				   unsigned long max)
{
	struct pin_job *job = job_make_late(*jobp);
	struct smr_fault *fault;
	struct smr_span span;

	if (IS_ERR(job))
		return ERR_CAST(job);
	*jobp = job;
	fault = smr_fault_alloc(1, want, GFP_KERNEL_ACCOUNT);
	if (!fault)
		return ERR_PTR(-ENOMEM);
	span = (struct smr_span){ .mem = &job->late->mem };
	smr_fault_add(fault, &span, (u64)job->npages << PAGE_SHIFT,
		      (u64)min(job->total - job->npages, max) << PAGE_SHIFT);
	return fault;
}

/* Let a fault pin the next pages, and wait for it. */
static int job_wait(struct pin_job **jobp, const struct smr_pd *pd)
{
	struct smr_fault *fault = job_fault(jobp, SMR_WANT_READ, BATCH_MAX);

	if (IS_ERR(fault))
		return PTR_ERR(fault);
	return smr_fault_await(fault, pd->awaits, TASK_KILLABLE);
}

/*
 * Let a fault pin the next pages while they are present. @more: enough pages were pinned that
 * it is worth another try after the page that is not present.
 */
static int job_wait_present(struct pin_job **jobp, const struct smr_pd *pd,
			    bool *more)
{
	unsigned long npages = (*jobp)->npages;
	struct smr_fault *fault;
	int ret;

	*more = false;
	if ((*jobp)->total - npages < PRESENT_MIN)
		return 0;
	fault = job_fault(jobp, SMR_WANT_PRESENT, ULONG_MAX);
	if (IS_ERR(fault))
		return PTR_ERR(fault);
	ret = smr_fault_await_now(fault, pd->awaits, TASK_KILLABLE);
	if (ret && ret != -EAGAIN)
		return ret == -EBUSY ? 0 : ret;
	*more = (*jobp)->npages - npages >= PRESENT_MIN;
	return 0;
}

/* Pin all pages; pages pinned before an error stay in the job. */
static int job_pin(struct pin_job **jobp, const struct smr_pd *pd,
		   struct page **batch, unsigned long batch_max)
{
	bool present = true;
	int ret = 0;

	while (!ret && (*jobp)->npages < (*jobp)->total) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (present)
			ret = job_wait_present(jobp, pd, &present);
		if (!ret && (*jobp)->npages < (*jobp)->total)
			ret = job_pin_here(*jobp, batch, batch_max);
		if (ret == -EAGAIN)
			ret = job_wait(jobp, pd);
		cond_resched();
	}
	return ret;
}

static int job_run(struct pin_job **jobp, const struct smr_pd *pd)
{
	struct page *few[BATCH_STACK], **batch;
	int ret;

	if ((*jobp)->total <= BATCH_STACK)
		return job_pin(jobp, pd, few, BATCH_STACK);

	batch = (struct page **)__get_free_page(GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	ret = job_pin(jobp, pd, batch, BATCH_MAX);
	free_page((unsigned long)batch);
	return ret;
}

/*
 * The largest piece size that divides all runs except the two ends: from the second run on, the
 * distances between their beginnings are multiples of it. Two runs are only ends.
 */
static u8 piece_shift(const struct pin_job *job)
{
	unsigned long i, bits = 0;

	for (i = 2; i < job->nr; i++)
		bits |= job->runs[i].first - job->runs[1].first;
	return bits ? __ffs(bits) : order_base_2(job->npages);
}

static void fill_pieces(struct smr_pinned *p, const struct pin_job *job)
{
	unsigned long i, page = 0, pos;

	for (i = 0; i < job->nr; i++) {
		for (; page < job_run_end(job, i); page = pos - p->lead) {
			pos = page + p->lead;
			/* Only the end of the first piece exists. */
			p->pieces[pos >> p->shift] = job->runs[i].pfn +
				(page - job->runs[i].first) -
				(pos & ((1UL << p->shift) - 1));
			pos = ((pos >> p->shift) + 1) << p->shift;
		}
	}
}

static int build_direct(struct smr_pinned *p, const struct pin_job *job,
			unsigned long nr)
{
	p->pieces = kvmalloc_array(nr, sizeof(*p->pieces), GFP_KERNEL_ACCOUNT);
	if (!p->pieces)
		return -ENOMEM;
	fill_pieces(p, job);
	p->mem.ops = &direct_ops;
	return 0;
}

static int build_search(struct smr_pinned *p, const struct pin_job *job)
{
	p->nr = job->nr;
	p->runs = kvmalloc_array(p->nr, sizeof(*p->runs), GFP_KERNEL_ACCOUNT);
	if (!p->runs)
		return -ENOMEM;
	memcpy(p->runs, job->runs, p->nr * sizeof(*p->runs));
	p->mem.ops = &search_ops;
	return 0;
}

/* Store the runs in the layout that needs the least memory. */
static int build(struct smr_pinned *p, const struct pin_job *job)
{
	unsigned long lead, nr;
	u8 shift;

	if (job->nr == 1) {
		p->pfn = job->runs[0].pfn;
		return 0;
	}
	shift = piece_shift(job);
	lead = -job->runs[1].first & ((1UL << shift) - 1);
	nr = DIV_ROUND_UP(lead + job->npages, 1UL << shift);
	if (nr * sizeof(*p->pieces) > job->nr * sizeof(*p->runs))
		return build_search(p, job);
	p->shift = shift;
	p->lead = lead;
	return build_direct(p, job, nr);
}

static int pinned_fill(struct smr_pinned *p, const struct smr_pd *pd,
		       unsigned long addr, unsigned long npages, bool writable)
{
	struct pin_job here = {
		.mm = current->mm,
		.addr = addr,
		.total = npages,
		.writable = writable,
		.runs = &here.one,
		.room = 1,
	};
	struct pin_job *job = &here;
	int ret;

	ret = smr_memlock_charge(current->mm, npages);
	if (ret)
		return ret;
	ret = job_run(&job, pd);
	if (!ret)
		ret = build(p, job);
	if (!ret) {
		p->mem.mm = job->mm;
		job->mm = NULL;
	}
	job_end(job);
	return ret;
}

/* The number of pages in the range. -EINVAL: it wraps, or is too large. */
static int count_pages(u64 start, u64 length, unsigned long *npages)
{
	u64 end;

	if (check_add_overflow(start, length, &end) ||
	    check_add_overflow(end, PAGE_SIZE - 1, &end))
		return -EINVAL;
	*npages = length ? (end >> PAGE_SHIFT) - (start >> PAGE_SHIFT) : 0;
	return 0;
}

/**
 * smr_pinned_create() - pin a range of the calling process
 * @pd: of the region; its device's verbs wait for faults
 * @room: zeroed memory for it, in a struct that is freed after the last smr_mem_put(); NULL: it
 *	is allocated
 * @start: first byte
 * @length: bytes; 0 creates an empty memory
 * @writable: the memory will be written to
 *
 * The pages count against RLIMIT_MEMLOCK. Copy-on-write is broken beforehand
 * as for any long-term pin, so that process and device see the same pages.
 *
 * The verb waits for a page as a prefetch does, so that it does not delay the removal of the
 * device. If it stops waiting, the pages pinned so far are unpinned when the page has arrived.
 *
 * Context: process, may sleep; killable.
 * Return: the memory, or an ERR_PTR: -EINVAL (it wraps), -EFAULT (a page is not mapped, or not
 * writable), -ENOMEM (also: too much for RLIMIT_MEMLOCK), -EINTR or -ERESTARTSYS (killed), -EIO
 * (the device is being removed).
 */
struct smr_mem *smr_pinned_create(const struct smr_pd *pd,
				  struct smr_pinned *room, u64 start,
				  u64 length, bool writable)
{
	struct smr_pinned *p = room;
	unsigned long npages;
	int ret;

	ret = count_pages(start, length, &npages);
	if (ret)
		return ERR_PTR(ret);
	if (!room)
		p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return ERR_PTR(-ENOMEM);
	p->own = !room;
	p->part_shift = order_base_2(DIV_ROUND_UP(npages, BITS_PER_LONG));
	p->pgoff = offset_in_page(start);
	smr_mem_init(&p->mem, &single_ops, length);
	if (!npages)
		return &p->mem;

	ret = pinned_fill(p, pd, start & PAGE_MASK, npages, writable);
	if (!ret)
		return &p->mem;
	if (p->own)
		kfree(p);
	return ERR_PTR(ret);
}
