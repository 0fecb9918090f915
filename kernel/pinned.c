// SPDX-License-Identifier: GPL-2.0
/*
 * Pinned memory: the pages of a range of a process, held until it is released. Pages that follow
 * each other physically are one run. A copy searches the run of its first byte, and goes on from
 * run to run.
 */
#include "pinned.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hugetlb_inline.h>
#include <linux/kthread.h>
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

static struct smr_pinned *to_pinned(struct smr_mem *mem)
{
	return container_of(mem, struct smr_pinned, mem);
}

/* The run that contains page @page */
static const struct smr_extent *find_run(const struct smr_pinned *p, unsigned long page)
{
	unsigned long low = 0, high = p->nr - 1, mid;

	/* The run is one of low to high. */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (page < p->runs[mid].end)
			high = mid;
		else
			low = mid + 1;
	}
	return &p->runs[low];
}

static int pinned_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	struct smr_pinned *p = to_pinned(mem);
	unsigned long page;

	/* Unpinning marks the pages dirty only if this is set: clean pages need no swap. */
	if (write && !READ_ONCE(p->written))
		WRITE_ONCE(p->written, true);
	off += p->pgoff;
	page = off >> PAGE_SHIFT;
	return smr_map_extent(map, find_run(p, page), page, offset_in_page(off), len) ?
	       0 : -EFAULT;
}

static void unpin_runs(const struct smr_extent *runs, unsigned long nr, bool dirty)
{
	unsigned long i, page = 0;

	for (i = 0; i < nr; page = runs[i++].end) {
		unpin_user_page_range_dirty_lock(pfn_to_page(page + runs[i].delta),
						 runs[i].end - page, dirty);
		cond_resched();
	}
}

static void pinned_release(struct smr_mem *mem)
{
	struct smr_pinned *p = to_pinned(mem);

	/* An empty memory has no runs. */
	if (p->nr) {
		unpin_runs(p->runs, p->nr, READ_ONCE(p->written));
		smr_memlock_uncharge(mem->mm, p->runs[p->nr - 1].end);
	}
	if (p->runs != &p->one)
		kvfree(p->runs);
	if (p->own)
		kfree(p);
}

static const struct smr_mem_ops pinned_ops = {
	.name = "pinned",
	.map = pinned_map,
	.release = pinned_release,
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
	unsigned long delta = pfn - job->npages;
	int ret;

	if (!job->nr || job->runs[job->nr - 1].delta != delta) {
		if (job->nr == job->room) {
			ret = job_grow(job);
			if (ret)
				return ret;
		}
		job->runs[job->nr++].delta = delta;
	}
	job->runs[job->nr - 1].end = ++job->npages;
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

static void job_drop(struct pin_job *job)
{
	if (job->mm) {
		unpin_runs(job->runs, job->nr, false);
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

/* Store the runs; they need less memory than the job's array has. */
static int pinned_store(struct smr_pinned *p, const struct pin_job *job)
{
	if (job->nr == 1) {
		p->one = job->runs[0];
		p->runs = &p->one;
	} else {
		p->runs = kvmalloc_array(job->nr, sizeof(*p->runs),
					 GFP_KERNEL_ACCOUNT);
		if (!p->runs)
			return -ENOMEM;
		memcpy(p->runs, job->runs, job->nr * sizeof(*p->runs));
	}
	p->nr = job->nr;
	return 0;
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
		ret = pinned_store(p, job);
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

/*
 * Pin a range of the calling process. @pd: of the region; its device's verbs wait for faults.
 * @room: zeroed memory for it, in a struct that is freed after the last smr_mem_put(); NULL: it is
 * allocated. @length: bytes; 0 creates an empty memory. @writable: the memory will be written to.
 * The pages count against RLIMIT_MEMLOCK. Copy-on-write is broken beforehand as for any long-term
 * pin, so that process and device see the same pages. The verb waits for a page as a prefetch does,
 * so that it does not delay the removal of the device. If it stops waiting, the pages pinned so far
 * are unpinned when the page has arrived. Context: process; killable. Returns the memory, or an
 * ERR_PTR: -EINVAL (it wraps), -EFAULT (a page is not mapped, or not writable), -ENOMEM (also: too
 * much for RLIMIT_MEMLOCK), -EINTR or -ERESTARTSYS (killed), -EIO (the device is being removed).
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
	p->pgoff = offset_in_page(start);
	smr_mem_init(&p->mem, &pinned_ops, length);
	if (!npages)
		return &p->mem;

	ret = pinned_fill(p, pd, start & PAGE_MASK, npages, writable);
	if (!ret)
		return &p->mem;
	if (p->own)
		kfree(p);
	return ERR_PTR(ret);
}
