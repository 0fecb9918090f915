/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP whose peer is simulated by hand-made packets at the other end of the wire, without a
 * device.
 */
#ifndef VT_LINE_H
#define VT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"
#include "roce.h"

#define VT_LINE_QPN	0x321
#define VT_LINE_PSN	0x1000
#define VT_LINE_PKEY	0xffff

/**
 * struct vt_line - the QP and the wire
 * @conf: configuration of the QP
 * @roce: sends packets to it, and receives its packets
 * @ep: the QP
 * @psn: its first PSN
 */
struct vt_line {
	struct vt_conf conf;
	struct vt_roce roce;
	struct vt_ep ep;
	uint32_t psn;
};

int vt_line_open(struct vt_line *l, const struct vt_conf *conf);
int vt_line_connect(struct vt_line *l);
void vt_line_close(struct vt_line *l);
int vt_line_reset(struct vt_line *l);
struct vt_bth vt_line_bth(const struct vt_line *l, uint8_t opcode, uint32_t psn);

bool vt_line_hear(struct vt_line *l, struct vt_heard *packet, int ms);
bool vt_line_settled(struct vt_line *l);
int vt_line_answer(struct vt_line *l, uint8_t opcode, uint32_t psn, uint8_t syndrome,
		   const void *data, uint32_t len);

#endif /* VT_LINE_H */
