// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Opening a device: modules that are older, newer, or of another kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/softmrdv.h>

#include "rig.h"

/* PROVIDER_DRIVER() of other providers makes it */
extern const struct verbs_device_ops verbs_provider_softmr;

enum {
	/* what modules filled in of their answer before there was a minor */
	ANSWER_OF_OLD = offsetof(struct smr_alloc_ucontext_resp, abi_minor),
};

static void module(uint32_t version, uint32_t minor, size_t answer)
{
	fake.abi_version = version;
	fake.abi_minor = minor;
	fake.answer = answer;
	fake.context_err = 0;
}

static struct ibv_context *open_it(bool import)
{
	const struct verbs_device_ops *ops = &verbs_provider_softmr;
	int fd = dup(fake_context()->cmd_fd);
	struct verbs_context *vctx;

	vctx = import ? ops->import_context(fake_device(), fd) :
			ops->alloc_context(fake_device(), fd, NULL);
	return vctx ? &vctx->context : NULL;
}

static void close_it(struct ibv_context *context)
{
	struct smr_context *ctx = to_smr_context(context);

	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

/* Opens the device both ways. */
static void want_minor(uint32_t minor)
{
	struct softmrdv_device device;
	struct ibv_context *context;
	int import;

	for (import = 0; import < 2; import++) {
		device = (struct softmrdv_device){};
		context = open_it(import);
		want(context);
		if (!context)
			continue;
		want(!softmrdv_query_device(context, &device));
		want(device.abi_version == 1 && device.abi_minor == minor);
		close_it(context);
	}
}

static void want_error(int err)
{
	int import;

	for (import = 0; import < 2; import++) {
		errno = 0;
		want(!open_it(import) && errno == err);
	}
}

static void same(void)
{
	module(1, SMR_ABI_MINOR, sizeof(struct smr_alloc_ucontext_resp));
	want_minor(SMR_ABI_MINOR);
}

static void older(void)
{
	module(1, 77, ANSWER_OF_OLD);
	want_minor(0);
}

static void newer(void)
{
	module(1, 4711, sizeof(struct smr_alloc_ucontext_resp));
	want_minor(4711);
}

static void other(void)
{
	module(2, 0, sizeof(struct smr_alloc_ucontext_resp));
	want_error(EPROTO);
	module(0, 0, sizeof(struct smr_alloc_ucontext_resp));
	want_error(EPROTO);
}

/* The error is the command's, not what errno happens to be. */
static void refused(void)
{
	module(1, SMR_ABI_MINOR, sizeof(struct smr_alloc_ucontext_resp));
	fake.context_err = EPERM;
	want_error(EPERM);
	fake.context_err = 0;
}

static void questions_refused(void)
{
	static const struct verbs_device_ops other_ops = { .name = "other" };
	static struct verbs_device other_device = { .ops = &other_ops };
	struct softmrdv_device device = {};
	struct ibv_context context = { .device = &other_device.device };

	want(softmrdv_query_device(NULL, &device) == EINVAL);
	want(softmrdv_query_device(&context, NULL) == EINVAL);
	want(softmrdv_query_device(&context, &device) == EOPNOTSUPP);
	device.comp_mask = 1;
	context.device = fake_device();
	want(softmrdv_query_device(&context, &device) == EINVAL);
}

const struct tap_test context_tests[] = {
	{ "a module of this version", same },
	{ "an older module, which answers less", older },
	{ "a newer module", newer },
	{ "another ABI is refused", other },
	{ "a context that the kernel refuses", refused },
	{ "questions about a device that are refused", questions_refused },
	{},
};
