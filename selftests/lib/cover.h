/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a fuzzer asks the kernel: how much of softmr has been executed, where the module was
 * built to count that (record/cover.c), and whether something has gone wrong. What a test of
 * races asks it: to be slow where it matters.
 */
#ifndef VT_COVER_H
#define VT_COVER_H

#include <stdbool.h>

/**
 * struct vt_cover - what has been executed since vt_cover_open()
 * @fd: where the numbers are read, or -1: this module does not count
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
