// SPDX-License-Identifier: GPL-2.0
/* Begin faults for missing pages, and run the task again when they have ended. */
#include "qp/paging.h"

#include <linux/container_of.h>
#include <linux/errno.h>

#include "fault.h"
#include "qp/tally.h"
#include "sgl.h"

static struct smr_task *cb_task(struct smr_fault_cb *cb)
{
	return container_of(cb, struct smr_paging, cb)->task;
}

static bool paging_get(struct smr_fault_cb *cb)
{
	struct smr_task *task = cb_task(cb);

	return task->get(task);
}

/*
 * The fault has ended: the pages are present, or cannot be brought in. The context that has
 * executed the fault runs the task.
 */
static void paging_run(struct smr_fault_cb *cb, struct smr_budget *budget)
{
	struct smr_budget worker = { .can_sleep = true, .left = SMR_BUDGET_PROCESS };
	struct smr_task *task = cb_task(cb);

	if (budget)
		smr_task_run_foreign(task, budget, NULL);
	else
		smr_task_run(task, &worker);
	task->put(task);
}

void smr_paging_init(struct smr_paging *paging, struct smr_task *task)
{
	paging->cb.get = paging_get;
	paging->cb.run = paging_run;
	paging->task = task;
}

/* The result of the fault that has ended, if it was for these pages */
static int paging_result(struct smr_paging *paging, const struct smr_sgl *sgl,
			 bool write)
{
	int ret = -ENOENT;

	if (!paging->fault)
		return ret;
	if (smr_sgl_is_of(sgl, write, paging->fault))
		ret = paging->fault->err;
	smr_paging_cancel(paging);
	return ret;
}

static enum smr_step paging_start(struct smr_paging *paging, struct smr_budget *budget,
				  const struct smr_sgl *sgl, bool write, int *err)
{
	gfp_t gfp = budget->can_sleep ? GFP_KERNEL_ACCOUNT :
				     GFP_ATOMIC | __GFP_NOWARN;

	paging->fault = smr_sgl_fault(sgl, write, gfp);
	if (!paging->fault && !budget->can_sleep)
		return SMR_STEP_DEFER;
	if (!paging->fault) {
		*err = -ENOMEM;
		return SMR_STEP_DONE;
	}
	if (budget->takes_errand && !budget->errand) {
		smr_fault_start_errand(paging->fault, &paging->cb);
		budget->errand = paging->fault;
	} else {
		smr_fault_start(paging->fault, &paging->cb);
	}
	return SMR_STEP_WAIT;
}

/*
 * Bring in missing pages. @paging: of the side, which does not wait for pages now. @sgl: an open
 * list, of which a page may be missing. The caller closes it, and opens it again when the pages are
 * present. @write: the pages will be written to. @err: set on SMR_STEP_DONE only: -EFAULT or
 * -ENOMEM. After a fault has ended, the task retries the same copy. If a page is still missing,
 * this returns the result of the fault. Context: as @budget says; called by the task. Returns
 * SMR_STEP_AGAIN: retry the copy; SMR_STEP_WAIT: the task runs when the fault has ended;
 * SMR_STEP_DEFER; SMR_STEP_DONE: the pages cannot be brought in.
 */
enum smr_step smr_paging_fault(struct smr_paging *paging, struct smr_budget *budget,
			       const struct smr_sgl *sgl, bool write, int *err)
{
	int ret;

	if (smr_sgl_needs_thread(sgl))
		return SMR_STEP_DEFER;
	ret = paging_result(paging, sgl, write);
	/* The page is missing in another list, such as that of a local operation's requester. */
	if (!smr_sgl_is_paged(sgl))
		return SMR_STEP_AGAIN;
	/* The caller has no status for a fault that was interrupted. */
	if (ret == -EINTR)
		ret = -EFAULT;
	if (ret == -ENOENT)
		smr_tally(&paging->faults, 1);
	if (ret == -ENOENT && budget->can_sleep) {
		ret = smr_sgl_fault_here(sgl, write);
		if (ret == -EAGAIN)
			ret = -ENOENT;
	}
	if (ret == -ENOENT)
		return paging_start(paging, budget, sgl, write, err);
	if (!ret)
		return SMR_STEP_AGAIN;
	*err = ret;
	return SMR_STEP_DONE;
}

/*
 * Stop waiting for pages. Does not wait for pages. Context: as smr_fault_leave(); called by the
 * task, or while it is paused.
 */
void smr_paging_cancel(struct smr_paging *paging)
{
	if (!paging->fault)
		return;
	/* The worker that has ended the fault may be about to call @cb: wait for that. */
	smr_fault_leave(paging->fault);
	paging->fault = NULL;
}
