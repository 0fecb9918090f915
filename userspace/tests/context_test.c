// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Opening a device: modules of this version of the ABI, and of others.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <infiniband/softmrdv.h>

#include "rig.h"

/* PROVIDER_DRIVER() defines it */
extern const struct verbs_device_ops verbs_provider_softmr;

enum {
	/* the part of the answer that a module without a minor version would fill in */
	ANSWER_OF_OLD = offsetof(struct smr_alloc_ucontext_resp, abi_minor),
};

static void module(uint32_t version, uint32_t minor, size_t answer)
{
	fake.abi_version = version;
	fake.abi_minor = minor;
	fake.answer = answer;
	fake.context_err = 0;
}

/* Where libibverbs expects it */
static struct ibv_context *context_of(struct verbs_context *vctx)
{
	struct verbs_context own;
	const char *as_libibverbs = (const char *)smr_layout_context(&own);

	return (struct ibv_context *)((char *)vctx +
				      ((char *)&own.context - as_libibverbs));
}

static struct ibv_context *open_it(bool import)
{
	const struct verbs_device_ops *ops = &verbs_provider_softmr;
	int fd = dup(fake_context()->cmd_fd);
	struct verbs_context *vctx;

	vctx = import ? ops->import_context(fake_device(), fd) :
			ops->alloc_context(fake_device(), fd, NULL);
	return vctx ? context_of(vctx) : NULL;
}

/* By libibverbs' function, which the stub that this program is linked with lacks */
static void close_it(struct ibv_context *context)
{
	int (*close_device)(struct ibv_context *context) =
		dlsym(RTLD_DEFAULT, "ibv_close_device");

	want(!close_device(context));
}

/* Open the device in both ways. */
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
		want(device.abi_version == SMR_ABI_VERSION && device.abi_minor == minor);
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
	module(SMR_ABI_VERSION, SMR_ABI_MINOR, sizeof(struct smr_alloc_ucontext_resp));
	want_minor(SMR_ABI_MINOR);
}

/* Its doorbell is a file, which is closed with it. */
static void doorbell(void)
{
	struct ibv_context *context;
	int import;

	module(SMR_ABI_VERSION, SMR_ABI_MINOR, sizeof(struct smr_alloc_ucontext_resp));
	for (import = 0; import < 2; import++) {
		fake.bell_fd = 0;
		context = open_it(import);
		want(context && fake.bell_fd > 0);
		if (!context)
			continue;
		want(to_smr_context(context)->bell_fd == fake.bell_fd);
		want(fcntl(fake.bell_fd, F_GETFD) & FD_CLOEXEC);
		close_it(context);
		want(fcntl(fake.bell_fd, F_GETFD) < 0 && errno == EBADF);
	}
	fake.bell_fd = -1;
	for (import = 0; import < 2; import++) {
		errno = 0;
		want(!open_it(import) && errno == EMFILE);
	}
	fake.bell_fd = 0;
}

static void older(void)
{
	module(SMR_ABI_VERSION, 77, ANSWER_OF_OLD);
	want_minor(0);
}

static void newer(void)
{
	module(SMR_ABI_VERSION, 4711, sizeof(struct smr_alloc_ucontext_resp));
	want_minor(4711);
}

static void other(void)
{
	module(SMR_ABI_VERSION + 1, 0, sizeof(struct smr_alloc_ucontext_resp));
	want_error(EPROTO);
	module(SMR_ABI_VERSION - 1, 5, sizeof(struct smr_alloc_ucontext_resp));
	want_error(EPROTO);
	module(0, 0, sizeof(struct smr_alloc_ucontext_resp));
	want_error(EPROTO);
}

/* The error is that of the command, not an old value of errno. */
static void refused(void)
{
	module(SMR_ABI_VERSION, SMR_ABI_MINOR, sizeof(struct smr_alloc_ucontext_resp));
	fake.context_err = EPERM;
	want_error(EPERM);
	fake.context_err = 0;
}

/* A libibverbs whose struct verbs_context is longer, or whose operations have moved */
static void other_libibverbs(void)
{
	struct smr_libibverbs old = smr_libibverbs;
	static const unsigned int releases[] = { 39, 59, 62, 65 };
	size_t i;

	module(SMR_ABI_VERSION, SMR_ABI_MINOR, sizeof(struct smr_alloc_ucontext_resp));
	for (i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		smr_libibverbs.layout = smr_layout_of(releases[i]);
		if (smr_libibverbs.layout->front != old.layout->front)
			want_error(EPROTO);
	}
	smr_libibverbs = old;
	fake.new_op = true;
	want_error(EPROTO);
	fake.new_op = false;
	want_minor(SMR_ABI_MINOR);
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

static int query(struct ibv_device_attr_ex *attr, size_t size)
{
	memset(attr, 0xee, sizeof(*attr));
	return smr_query_device_ex(fake_context(), NULL, attr, size);
}

/* A program of an older release has a shorter struct. */
static void attributes(void)
{
	const size_t before_rss = offsetof(struct ibv_device_attr_ex, rss_caps);
	struct ibv_device_attr_ex attr;
	const uint8_t *bytes = (const void *)&attr;
	size_t i;

	fake.fw_ver = 12ULL << 32 | 3 << 16 | 45;
	fake.caps = (struct smr_query_device_resp){ .rate_limit_max = 1000 };
	want(!query(&attr, sizeof(attr)) && !strcmp(attr.orig_attr.fw_ver, "12.3.45"));
	want(attr.packet_pacing_caps.qp_rate_limit_max == 1000);
	want(!query(&attr, before_rss) && !strcmp(attr.orig_attr.fw_ver, "12.3.45"));
	for (i = before_rss; i < sizeof(attr) && bytes[i] == 0xee; i++)
		;
	want(i == sizeof(attr));
}

static void rate_limit(void)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };
	struct smr_qp *qp = rig_qp(IBV_QPT_RAW_PACKET, 0);

	want(!smr_modify_qp_rate_limit(&qp->vqp.qp, &limit) && fake.rate_limit == 1000);
	limit.max_burst_sz = 4000;
	limit.rate_limit = 2000;
	want(!smr_modify_qp_rate_limit(&qp->vqp.qp, &limit));
	want(fake.rate_limit == 2000 && fake.burst.max_burst_sz == 4000);
	smr_destroy_qp(&qp->vqp.qp);
}

const struct tap_test context_tests[] = {
	{ "a module of this version", same },
	{ "a doorbell, and none", doorbell },
	{ "a module that answers less", older },
	{ "a newer module", newer },
	{ "another ABI is refused", other },
	{ "a context that the kernel refuses", refused },
	{ "a libibverbs that is not what it seems", other_libibverbs },
	{ "questions about a device that are refused", questions_refused },
	{ "attributes for programs with a shorter struct", attributes },
	{ "rate limits", rate_limit },
	{},
};
