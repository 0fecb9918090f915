/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface between libibverbs and a provider, which is private to rdma-core and in no package: softmr's own
 * description of the parts that it uses, as in rdma-core 65. <layout.h> handles the differences to the libibverbs that
 * has loaded the provider.
 *
 * In rdma-core's own tree the provider is compiled with rdma-core's header of this name.
 */
#ifndef SMR_IBVERBS_DRIVER_H
#define SMR_IBVERBS_DRIVER_H

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/kern-abi.h>
#include <infiniband/verbs.h>

#define container_of(ptr, type, member)                                        \
	((type *)((char *)(ptr) - offsetof(type, member)))

struct ibv_command_buffer;
struct ibv_fd_arr;
struct verbs_create_cq_prov_attr;
struct verbs_sysfs_dev;
struct verbs_xrcd;

/* -- objects: libibverbs takes a pointer to the public structure as one to these */

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	/* only libibverbs writes and reads these */
	struct verbs_xrcd *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

enum {
	/* the QP has the functions of struct ibv_qp_ex */
	VERBS_QP_EX = 1 << 1,
	/* bytes, more than any known release needs */
	SMR_QP_ROOM = 640,
};

/*
 * struct ibv_qp_ex, whose size depends on the release, is followed by comp_mask and a pointer to a struct verbs_xrcd:
 * see smr_layout_add_comp_mask().
 */
struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		uint64_t room[SMR_QP_ROOM / sizeof(uint64_t)];
	};
};

struct verbs_cq {
	union {
		struct ibv_cq_ex cq_ex;
		struct ibv_cq cq;
	};
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	int mr_type;
	int access;
};

struct verbs_dm {
	struct ibv_dm dm;
	uint32_t handle;
};

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	/* which of the following members libibverbs has set */
	uint32_t comp_mask;
	uint32_t handle;
};

/* -- devices */

enum {
	/* by the driver id of the kernel's driver */
	SMR_MATCH_DRIVER_ID = 3,
};

/**
 * struct verbs_match_ent - a kind of device that the provider is for
 * @driver_data: not used
 * @u: the driver's number
 * @vendor: not used
 * @device: not used
 * @kind: SMR_MATCH_DRIVER_ID; 0 ends a table
 */
struct verbs_match_ent {
	void *driver_data;
	union {
		uint64_t driver_id;
		const char *modalias;
	} u;
	uint16_t vendor, device;
	uint8_t kind;
};

#define VERBS_DRIVER_ID(id)	{ .u.driver_id = (id), .kind = SMR_MATCH_DRIVER_ID }

struct verbs_device_ops {
	const char *name;
	/* of the module, and its devices */
	uint32_t match_min_abi_version, match_max_abi_version;
	const struct verbs_match_ent *match_table;
	/* softmr has neither */
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *dev);
	/* opened by this process, and by another one */
	struct verbs_context *(*alloc_context)(struct ibv_device *device,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *dev);
	void (*uninit_device)(struct verbs_device *device);
};

struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	atomic_int refcount;
	void *list[2];
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

static inline struct verbs_device *
verbs_get_device(const struct ibv_device *device)
{
	return container_of(device, struct verbs_device, device);
}

/* -- operations and functions */

struct verbs_context_ops {
#define OP(release, result, name, arguments)	result (*name) arguments;
#define UNUSED(release, name)			void (*name)(void);
#include <infiniband/operations.def>
#undef UNUSED
#undef OP
};

/* Weak: smr_layout_find() checks which exist. A function whose arguments have changed has a second name. */
#define FUNCTION(release, result, name, arguments)                             \
	result name arguments __attribute__((weak));
#define UNTIL(release, result, name, arguments)                                \
	result name##_until_##release arguments __asm__(#name)                 \
		__attribute__((weak));
#include <infiniband/functions.def>
#undef UNTIL
#undef FUNCTION

static inline int
ibv_check_alloc_parent_domain(struct ibv_parent_domain_init_attr *attr)
{
	if (attr->pd)
		return 0;
	errno = EINVAL;
	return -1;
}

/* libibverbs sees a parent domain as its protection domain. */
static inline void ibv_initialize_parent_domain(struct ibv_pd *parent,
						struct ibv_pd *pd)
{
	parent->context = pd->context;
	parent->handle = pd->handle;
}

/* -- sizes, as they are in all releases; a mutex has 40 bytes on x86-64, and 48 on arm64 */

#if UINTPTR_MAX == UINT64_MAX
#define SMR_SIZE(type, size)                                                   \
	static_assert(sizeof(struct type) == (size),                           \
		      "struct " #type " is not as libibverbs knows it")
SMR_SIZE(ibv_context, 288 + sizeof(pthread_mutex_t));
SMR_SIZE(ibv_device, 664);
SMR_SIZE(verbs_match_ent, 24);
SMR_SIZE(verbs_device_ops, 72);
SMR_SIZE(verbs_device, 712);
SMR_SIZE(verbs_xrcd, 16);
SMR_SIZE(verbs_srq, 120 + sizeof(pthread_mutex_t));
SMR_SIZE(verbs_cq, 248 + sizeof(pthread_mutex_t));
SMR_SIZE(verbs_mr, 56);
SMR_SIZE(verbs_dm, 40);
SMR_SIZE(verbs_context_ops, 93 * sizeof(void *));
#undef SMR_SIZE
#endif

#include <layout.h>

#endif /* SMR_IBVERBS_DRIVER_H */
