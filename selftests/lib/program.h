/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The programs of fuzz_wire: lists of steps: packets, and actions of the victims' process. They
 * are read and printed as text, and mutated at random.
 */
#ifndef VT_PROGRAM_H
#define VT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VT_MAX_STEPS	12
#define VT_MAX_CORPUS	4096

/* Kinds of steps */
enum vt_fuzz_what {
	S_PACKET,	/* one, or a train */
	S_BYTES,	/* a datagram of random bytes */
	S_POST,		/* a victim posts a request */
	S_RECV,		/* a victim posts receives */
	S_STATE,	/* a victim's QP changes its state */
	S_PAGEOUT,	/* on-demand memory is paged out */
	S_WINDOW,	/* a window is bound, or invalidated */
	S_STARVE,	/* the kernel's next allocations fail */
	S_WAIT,
	S_NR,
};

/* Fields of a step; 0 is the valid value of each field. */
enum vt_fuzz_field {
	F_WHO,		/* the victim */
	F_OP,		/* BTH opcode; enum ibv_wr_opcode; a state */
	F_PSN_OFF,	/* distance from the expected PSN */
	F_LEN,		/* bytes of payload */
	F_KEY,		/* which of a victim's keys */
	F_OFF,		/* is added to the address */
	F_DMA,		/* to the RETH's length */
	F_AETH,		/* the AETH */
	F_FLAGS,	/* changes bits of the BTH's flags */
	F_N,		/* packets of a train, less one; a count */
	F_ICRC,		/* changes bits of the ICRC */
	F_CUT,		/* bytes cut off the end of the frame */
	F_SPOOF,	/* is added to the source address */
	F_FAMILY,	/* 1: the other IP version */
	F_UDP,		/* is added to the UDP length */
	F_PKEY_OFF,	/* to the P_Key */
	F_QPN,		/* to the QPN */
	F_TOS,		/* of the IP header */
	F_GROUP,	/* to this IP multicast address */
	F_SUB,		/* what else an opcode has: Q_Key, SRQ, FETH, immediate data */
	F_NR,
};

struct vt_fuzz_step {
	int what;
	int32_t f[F_NR];
};

struct vt_program {
	int n;
	struct vt_fuzz_step step[VT_MAX_STEPS];
};

/**
 * struct vt_corpus - the programs from which others are derived
 * @n: number of programs
 * @program: space for VT_MAX_CORPUS
 * @victims: number of victims
 */
struct vt_corpus {
	int n;
	struct vt_program *program;
	uint32_t victims;
};

void vt_program_print(const struct vt_program *p, char *text, size_t size);
void vt_program_make(const struct vt_corpus *corpus, struct vt_program *p, uint64_t *random);

int vt_corpus_open(struct vt_corpus *corpus, const char *file, uint32_t victims);
void vt_corpus_close(struct vt_corpus *corpus);
bool vt_corpus_add(struct vt_corpus *corpus, const struct vt_program *p);

uint64_t vt_log_kept(FILE *log);
uint64_t vt_log_seed(FILE *log);

#endif /* VT_PROGRAM_H */
