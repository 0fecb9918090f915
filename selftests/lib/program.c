// SPDX-License-Identifier: GPL-2.0
#include "program.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "roce.h"

/* Most tests use this MTU. */
#define MTU	1024

static const char * const what_names[] = {
	"packet", "bytes", "post", "recv", "state", "pageout", "window", "starve", "wait",
};

static const char * const field_names[] = {
	"who", "op", "psn", "len", "key", "off", "dma", "aeth", "flags", "n", "icrc", "cut",
	"spoof", "family", "udp", "pkey", "qpn", "tos", "group", "sub",
};

/**
 * vt_program_print() - a program as fuzz/wire.programs has it
 * @p: the program
 * @text: where to
 * @size: bytes of that
 */
void vt_program_print(const struct vt_program *p, char *text, size_t size)
{
	size_t at = 0;
	int i, f;

	text[0] = 0;
	for (i = 0; i < p->n; i++) {
		at += snprintf(text + at, size - at, "%s%s", i ? "; " : "",
			       what_names[p->step[i].what]);
		for (f = 0; f < F_NR && at < size; f++)
			if (p->step[i].f[f])
				at += snprintf(text + at, size - at, " %s=%d", field_names[f],
					       p->step[i].f[f]);
		if (at >= size)
			return;
	}
}

static int name_index(const char * const *names, int n, const char *name, size_t len)
{
	int i;

	for (i = 0; i < n; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return i;
	return -1;
}

/* One step: a word, then NAME=NUMBER. */
static bool step_parse(struct vt_fuzz_step *step, char *text)
{
	char *save, *word = strtok_r(text, " ", &save), *equals;
	int f;

	memset(step, 0, sizeof(*step));
	step->what = word ? name_index(what_names, S_NR, word, strlen(word)) : -1;
	while (step->what >= 0 && (word = strtok_r(NULL, " ", &save))) {
		equals = strchr(word, '=');
		f = equals ? name_index(field_names, F_NR, word, equals - word) : -1;
		if (f < 0)
			return false;
		step->f[f] = strtol(equals + 1, NULL, 0);
	}
	return step->what >= 0;
}

static bool program_parse(struct vt_program *p, char *line)
{
	char *save, *part = strtok_r(line, ";\n", &save);

	for (p->n = 0; part && p->n < VT_MAX_STEPS; part = strtok_r(NULL, ";\n", &save))
		if (!step_parse(&p->step[p->n++], part))
			return false;
	return p->n && !part;
}

/* -- making programs */

static int32_t small(uint64_t *r)
{
	return (int32_t)vt_random_below(r, 9) - 4;
}

/* Every number that a BTH opcode can be; most of the time one that exists. */
static int32_t random_op(uint64_t *r)
{
	static const uint8_t transports[] = { 0, 0, 0, 0x20, 0xa0 };

	if (!vt_random_below(r, 8))
		return vt_random_below(r, 256);
	if (!vt_random_below(r, 8))
		return vt_random_below(r, 2) ? 0x64 + vt_random_below(r, 2) : 0x81;
	return transports[vt_random_below(r, 5)] + vt_random_below(r, 0x1e);
}

static int32_t random_field(const struct vt_corpus *corpus, uint64_t *r, int f, int32_t was)
{
	switch (f) {
	case F_WHO:
		return vt_random_below(r, corpus->victims);
	case F_OP:
		return random_op(r);
	case F_PSN_OFF:
		return vt_random_below(r, 3) ? small(r) : (int32_t)(vt_nasty(r) & 0xffffff);
	case F_LEN:
		return vt_random_below(r, 2) ? MTU * vt_random_below(r, 5) + small(r) :
					       vt_random_below(r, 4200);
	case F_KEY:
		return vt_random_below(r, 256);
	case F_N:
		return vt_random_below(r, VT_MAX_TRAIN);
	case F_CUT:
		return vt_random_below(r, 2) ? vt_random_below(r, 64) : vt_random_below(r, 4200);
	case F_AETH:
		return vt_random_below(r, 256) << 24 | vt_random_below(r, 4);
	case F_TOS:
	case F_FLAGS:
	case F_GROUP:
		return vt_random_below(r, 256);
	case F_ICRC:
	case F_SPOOF:
	case F_FAMILY:
		return vt_random_below(r, 3);
	case F_PKEY_OFF:
	case F_UDP:
	case F_QPN:
		return vt_random_below(r, 2) ? small(r) : (int32_t)vt_nasty(r);
	}
	return vt_random_below(r, 3) ? was + small(r) : (int32_t)vt_nasty(r);
}

static void random_step(const struct vt_corpus *corpus, uint64_t *r,
			struct vt_fuzz_step *s)
{
	memset(s, 0, sizeof(*s));
	s->what = vt_random_below(r, 3) ? S_PACKET : vt_random_below(r, S_NR);
	s->f[F_WHO] = vt_random_below(r, corpus->victims);
	s->f[F_OP] = s->what == S_PACKET ? random_op(r) : vt_random_below(r, 12);
	s->f[F_LEN] = random_field(corpus, r, F_LEN, 0);
	s->f[F_N] = s->what == S_PACKET ? 0 : vt_random_below(r, 8);
}

static void insert(struct vt_program *p, int at, const struct vt_fuzz_step *s)
{
	if (p->n == VT_MAX_STEPS)
		return;
	memmove(&p->step[at + 1], &p->step[at], (p->n - at) * sizeof(*s));
	p->step[at] = *s;
	p->n++;
}

static void mutate(const struct vt_corpus *corpus, struct vt_program *p, uint64_t *r)
{
	const struct vt_program *other = &corpus->program[vt_random_below(r, corpus->n)];
	int at = vt_random_below(r, p->n), f = vt_random_below(r, F_NR);
	struct vt_fuzz_step s = p->step[at];

	switch (vt_random_below(r, 10)) {
	case 0:
		random_step(corpus, r, &s);
		insert(p, at, &s);
		break;
	case 1:
		insert(p, at, &s);
		break;
	case 2:
		if (p->n > 1) {
			memmove(&p->step[at], &p->step[at + 1], (p->n - at - 1) * sizeof(s));
			p->n--;
		}
		break;
	case 3:
		insert(p, at, &other->step[vt_random_below(r, other->n)]);
		break;
	case 4:
		f = vt_random_below(r, p->n);
		p->step[at] = p->step[f];
		p->step[f] = s;
		break;
	default:
		p->step[at].f[f] = random_field(corpus, r, f, s.f[f]);
	}
}

/**
 * vt_program_make() - change a program of the corpus, half of the time one that came last
 * @corpus: where from
 * @p: the new program
 * @r: state of vt_random()
 */
void vt_program_make(const struct vt_corpus *corpus, struct vt_program *p, uint64_t *r)
{
	int n = corpus->n, last = n > 64 ? 64 : n, changes, who;

	*p = corpus->program[vt_random_below(r, 2) ? vt_random_below(r, n) :
						  n - 1 - vt_random_below(r, last)];
	if (!vt_random_below(r, 8)) {
		who = vt_random_below(r, corpus->victims);
		for (changes = 0; changes < p->n; changes++)
			p->step[changes].f[F_WHO] = who;
	}
	for (changes = 1 + vt_random_below(r, 4); changes; changes--)
		mutate(corpus, p, r);
}

/* -- the corpus */

static int read_corpus(struct vt_corpus *corpus, const char *file)
{
	char path[PATH_MAX + 64] = "", dir[PATH_MAX] = "", line[4096];
	FILE *f;
	int ret = 0;

	if (readlink("/proc/self/exe", dir, sizeof(dir) - 1) < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s", dirname(dir), file);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	while (!ret && corpus->n < VT_MAX_CORPUS && fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (!program_parse(&corpus->program[corpus->n], line))
			ret = -EINVAL;
		else
			corpus->n++;
	}
	fclose(f);
	return corpus->n ? ret : -EINVAL;
}

/**
 * vt_corpus_open() - read the programs to begin with
 * @corpus: filled in; close it even after a failure
 * @file: its name from the directory of this program on
 * @victims: how many there are
 *
 * Return: 0 or a negative errno; -EINVAL: it has no programs, or one that cannot be read
 */
int vt_corpus_open(struct vt_corpus *corpus, const char *file, uint32_t victims)
{
	*corpus = (struct vt_corpus){ .victims = victims };
	corpus->program = calloc(VT_MAX_CORPUS, sizeof(*corpus->program));
	return corpus->program ? read_corpus(corpus, file) : -ENOMEM;
}

void vt_corpus_close(struct vt_corpus *corpus)
{
	free(corpus->program);
	corpus->program = NULL;
}

/**
 * vt_corpus_add() - keep a program
 *
 * Return: false: it is full
 */
bool vt_corpus_add(struct vt_corpus *corpus, const struct vt_program *p)
{
	if (corpus->n == VT_MAX_CORPUS)
		return false;
	corpus->program[corpus->n++] = *p;
	return true;
}

/**
 * vt_log_kept() - the number of the next program that a run has kept
 * @log: what that run has printed
 *
 * Return: ~0 after the last one
 */
uint64_t vt_log_kept(FILE *log)
{
	unsigned long long n;
	char line[4096];

	while (fgets(line, sizeof(line), log))
		if (sscanf(line, "# keep %llu:", &n) == 1)
			return n;
	return ~0ull;
}

/**
 * vt_log_seed() - the seed of a run
 * @log: from its begin on
 *
 * Return: the seed, 0: it is not there
 */
uint64_t vt_log_seed(FILE *log)
{
	unsigned long long seed;
	char line[4096];

	while (fgets(line, sizeof(line), log))
		if (sscanf(line, "# the seed is SMR_SEED=%llu", &seed) == 1)
			return seed;
	return 0;
}
