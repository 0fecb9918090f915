/* SPDX-License-Identifier: GPL-2.0 */
/* Objects of each kind that verbs have, for tests of their limits. */
#ifndef VT_OBJECTS_H
#define VT_OBJECTS_H

#include <stdint.h>

#include <infiniband/verbs.h>

enum vt_object {
	VT_PD, VT_CQ, VT_QP, VT_SRQ, VT_MR, VT_MW, VT_AH, VT_DM, VT_XRCD,
};

/**
 * struct vt_parts - the parts that objects need
 * @pd: for kinds that have a PD; the other kinds use its device
 * @cq: of QPs
 * @address: of address handles
 * @page: memory of regions
 */
struct vt_parts {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_ah_attr address;
	uint8_t page[4096];
};

void *vt_object_create(enum vt_object kind, struct vt_parts *parts);
int vt_object_destroy(enum vt_object kind, void *object);

#endif /* VT_OBJECTS_H */
