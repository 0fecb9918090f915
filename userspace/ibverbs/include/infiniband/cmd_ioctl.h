/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How a provider builds a command of uverbs' ioctl(), which libibverbs executes. */
#ifndef SMR_IBVERBS_CMD_IOCTL_H
#define SMR_IBVERBS_CMD_IOCTL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* A command */
struct ibv_command_buffer {
	/* a buffer whose attributes are sent as well; softmr has none */
	struct ibv_command_buffer *next;
	struct ib_uverbs_attr *next_attr;	/* where the next attribute goes */
	struct ib_uverbs_attr *last_attr;	/* the end of the room for attributes */
	/* the attribute with the driver's input in the form for older kernels; 0xff: none */
	uint8_t uhw_in_idx;
	uint8_t uhw_out_idx;			/* likewise for its output */
	uint8_t uhw_in_headroom_dwords;		/* libibverbs' own */
	uint8_t uhw_out_headroom_dwords;	/* likewise */
	uint8_t buffer_error : 1;		/* an attribute does not fit */
	/* the command for the kernel; its attributes follow */
	struct ib_uverbs_ioctl_hdr hdr;
};

enum {
	SMR_NO_UHW = 0xff,
};

static inline struct ibv_command_buffer *
smr_command_begin(struct ibv_command_buffer *cmd, uint16_t object,
		  uint16_t method, size_t attrs)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->next_attr = cmd->hdr.attrs;
	cmd->last_attr = cmd->hdr.attrs + attrs;
	cmd->uhw_in_idx = SMR_NO_UHW;
	cmd->uhw_out_idx = SMR_NO_UHW;
	cmd->hdr.object_id = object;
	cmd->hdr.method_id = method;
	return cmd;
}

/* Declares the variable @name, with room for a constant number of attributes. */
#define DECLARE_COMMAND_BUFFER(name, object, method, n)                        \
	struct {                                                               \
		struct ibv_command_buffer head;                                \
		struct ib_uverbs_attr attrs[n];                                \
	} name##_room;                                                         \
	struct ibv_command_buffer *name =                                      \
		smr_command_begin(&name##_room.head, object, method, n)

/*
 * A buffer to which libibverbs adds its own attributes. It is the first of its chain: @link is
 * NULL.
 */
#define DECLARE_COMMAND_BUFFER_LINK(name, object, method, n, link)             \
	DECLARE_COMMAND_BUFFER(name, object, method, n)

static inline struct ib_uverbs_attr *
smr_command_add(struct ibv_command_buffer *cmd, uint16_t id, size_t len,
		uint64_t data)
{
	struct ib_uverbs_attr *attr = cmd->next_attr++;

	assert(attr < cmd->last_attr);
	if (len > UINT16_MAX)
		cmd->buffer_error = 1;
	memset(attr, 0, sizeof(*attr));
	attr->attr_id = id;
	attr->len = (uint16_t)len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = data;
	return attr;
}

static inline struct ib_uverbs_attr *
fill_attr_in_obj(struct ibv_command_buffer *cmd, uint16_t id, uint32_t handle)
{
	return smr_command_add(cmd, id, 0, handle);
}

static inline struct ib_uverbs_attr *
fill_attr_in_uint64(struct ibv_command_buffer *cmd, uint16_t id, uint64_t value)
{
	return smr_command_add(cmd, id, sizeof(value), value);
}

/* Values of up to 8 bytes are stored in the attribute, as in memory. */
static inline struct ib_uverbs_attr *
fill_attr_in(struct ibv_command_buffer *cmd, uint16_t id, const void *from,
	     size_t len)
{
	struct ib_uverbs_attr *attr = smr_command_add(cmd, id, len, 0);

	if (len > sizeof(attr->data))
		attr->data = (uintptr_t)from;
	else
		memcpy(&attr->data, from, len);
	return attr;
}

#define fill_attr_in_ptr(cmd, id, from)                                        \
	fill_attr_in(cmd, id, from, sizeof(*(from)))

static inline struct ib_uverbs_attr *
fill_attr_in_uint32(struct ibv_command_buffer *cmd, uint16_t id, uint32_t value)
{
	return fill_attr_in(cmd, id, &value, sizeof(value));
}

static inline struct ib_uverbs_attr *
fill_attr_out(struct ibv_command_buffer *cmd, uint16_t id, void *to, size_t len)
{
	return smr_command_add(cmd, id, len, (uintptr_t)to);
}

#define fill_attr_out_ptr(cmd, id, to)	fill_attr_out(cmd, id, to, sizeof(*(to)))

/*
 * A size above the limit of attributes is an error, so a product that overflows must remain above
 * it.
 */
static inline size_t smr_array_size(size_t size, size_t n)
{
	size_t bytes;

	return __builtin_mul_overflow(size, n, &bytes) ? SIZE_MAX : bytes;
}

#define fill_attr_out_ptr_array(cmd, id, to, n)                                \
	fill_attr_out(cmd, id, to, smr_array_size(sizeof(*(to)), n))

int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd)
	__attribute__((weak));

#endif /* SMR_IBVERBS_CMD_IOCTL_H */
