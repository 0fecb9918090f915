/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For fuzzers: which parts of softmr were executed, if the module was built to count that
 * (record/cover.c), and whether the kernel has reported an error. For tests of races: delays at
 * critical points.
 */
#ifndef VT_COVER_H
#define VT_COVER_H

#include <stdbool.h>

/**
 * struct vt_cover - what was executed since vt_cover_open()
 * @fd: for reading the numbers, or -1: this module does not count
 * @blocks: basic blocks
 * @edges: pairs of blocks that followed each other
 */
struct vt_cover {
	int fd;
	int blocks;
	int edges;
};

void vt_cover_open(struct vt_cover *cover);
bool vt_cover_grows(struct vt_cover *cover);
void vt_cover_close(struct vt_cover *cover);

bool vt_pause(unsigned int us);
bool vt_pause_faults(unsigned int us);
unsigned long vt_tainted(void);
int vt_fuzz_seconds(int usual, int brief);

#endif /* VT_COVER_H */
