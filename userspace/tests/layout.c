// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints what libibverbs and its providers share, of the release whose headers
 * this was compiled with: two releases that print the same have one layout.
 */
#include <config.h>
#include <stdio.h>

#include <infiniband/cmd_ioctl.h>
#include <infiniband/driver.h>

#define SIZE(type)	printf("%s: %zu\n", #type, sizeof(type))
#define PLACE(type, member)                                                    \
	printf("%s.%s: %zu\n", #type, #member, offsetof(type, member))
#ifdef SMR_HAVE_DMABUF_MR_DRIVER
#define DMABUF_MR_DRIVER	1
#else
#define DMABUF_MR_DRIVER	0
#endif
#ifdef SMR_HAVE_GET_CONTEXT_FDS
#define GET_CONTEXT_FDS		1
#else
#define GET_CONTEXT_FDS		0
#endif
#ifdef SMR_HAVE_CREATE_CQ_ATTR
#define CREATE_CQ_ATTR		1
#else
#define CREATE_CQ_ATTR		0
#endif
#ifdef SMR_HAVE_CREATE_QP_DRIVER
#define CREATE_QP_DRIVER	1
#else
#define CREATE_QP_DRIVER	0
#endif

static void print_arguments(void)
{
	printf("arguments that were added: %d %d %d %d\n", DMABUF_MR_DRIVER,
	       GET_CONTEXT_FDS, CREATE_CQ_ATTR, CREATE_QP_DRIVER);
}

static void print_contexts(void)
{
	SIZE(struct verbs_device_ops);
	PLACE(struct verbs_device_ops, match_table);
	PLACE(struct verbs_device_ops, alloc_context);
	PLACE(struct verbs_device_ops, uninit_device);
	SIZE(struct verbs_device);
	PLACE(struct verbs_device, ops);
	SIZE(struct verbs_context);
	PLACE(struct verbs_context, context);
	PLACE(struct verbs_context, priv);
	SIZE(struct verbs_context_ops);
	PLACE(struct verbs_context_ops, create_qp_ex);
	PLACE(struct verbs_context_ops, free_context);
	PLACE(struct verbs_context_ops, query_port);
	PLACE(struct verbs_context_ops, reg_dmabuf_mr);
	PLACE(struct verbs_context_ops, unimport_pd);
}

static void print_objects(void)
{
	SIZE(struct verbs_qp);
	PLACE(struct verbs_qp, comp_mask);
	SIZE(struct verbs_cq);
	SIZE(struct verbs_srq);
	PLACE(struct verbs_srq, srq_type);
	SIZE(struct verbs_mr);
	PLACE(struct verbs_mr, access);
	SIZE(struct verbs_dm);
	PLACE(struct verbs_dm, handle);
	SIZE(struct verbs_xrcd);
	SIZE(struct ibv_pd);
	SIZE(struct ibv_ah);
	SIZE(struct ibv_mw);
	SIZE(struct ibv_td);
	SIZE(struct ibv_command_buffer);
	SIZE(struct ibv_qp_init_attr_ex);
	SIZE(struct ibv_cq_init_attr_ex);
	SIZE(struct ibv_srq_init_attr_ex);
	SIZE(struct ibv_parent_domain_init_attr);
	SIZE(struct ibv_device_attr_ex);
}

int main(void)
{
	print_arguments();
	print_contexts();
	print_objects();
	return 0;
}
