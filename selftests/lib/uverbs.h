/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands of uverbs that are newer than the headers and the libibverbs that tests are
 * built with: a test fills in the attributes, and calls the kernel itself.
 */
#ifndef VT_UVERBS_H
#define VT_UVERBS_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* The numbers of enum uverbs_default_objects, and of the enums of methods and attributes */
enum {
	VT_OBJ_DEVICE = 0,

	VT_METHOD_QUERY_PORT_SPEED = 7,
	VT_PORT_SPEED_NUM = 0,
	VT_PORT_SPEED_RESP,
};

enum { VT_UCMD_ATTRS = 12 };

/**
 * struct vt_ucmd - a command
 * @hdr: how many attributes it has
 * @attrs: the attributes
 */
struct vt_ucmd {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[VT_UCMD_ATTRS];
};

struct vt_ucmd vt_ucmd(uint16_t object, uint16_t method);
struct ib_uverbs_attr *vt_ucmd_value(struct vt_ucmd *cmd, uint16_t id,
				     uint64_t value, size_t len);
void vt_ucmd_out(struct vt_ucmd *cmd, uint16_t id, void *out, size_t len);
int vt_ucmd_run(struct vt_ucmd *cmd, struct ibv_context *ctx);
int vt_ucmd_file(struct ibv_context *ctx, uint16_t method, uint16_t id);

#endif /* VT_UVERBS_H */
