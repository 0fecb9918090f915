// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of all kinds in one queue, READs and atomics between SENDs and WRITEs, many of them
 * outstanding: each byte and each completion.
 *
 *   SMR_MIXED=N ./rc_mixed	how many requests each way
 *   SMR_STOP=FILE ./rc_mixed	runs until that file exists
 *
 * race: yes
 * break: qemu-newest
 * timeout: 60
 * paths: host wire veth
 */
#include "harness.h"
#include "mix.h"
#include "random.h"

#define REQUESTS	300
/* Requests between two checks for the file */
#define BATCH		100

FIXTURE(mixed)
{
	struct vt_pair pair;
	struct vt_mix mix[2];
	unsigned int n;
};

FIXTURE_SETUP(mixed)
{
	const char *given = getenv("SMR_MIXED");
	uint64_t seed = vt_seed();

	self->n = given ? atoi(given) : REQUESTS;
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 14, .buf_len = VT_MIX_BUF)));
	self->mix[0] = vt_mix(&self->pair.a, &self->pair.b, 0, vt_random_begin(seed, 0));
	self->mix[1] = vt_mix(&self->pair.b, &self->pair.a, 1, vt_random_begin(seed, 1));
}

FIXTURE_TEARDOWN(mixed)
{
	vt_pair_close(&self->pair);
}

/* Return: as vt_mix_run() */
static int go_on(struct vt_mix *mix, unsigned int n)
{
	const char *stop = getenv("SMR_STOP");
	int ret = 0;

	if (!stop)
		return vt_mix_run(mix, n);
	while (!ret && access(stop, F_OK))
		ret = vt_mix_run(mix, BATCH);
	return ret;
}

TEST_F(mixed, one_way) { EXPECT_EQ(0, go_on(&self->mix[0], self->n)); }

static void *run(void *arg)
{
	FIXTURE_DATA(mixed) *self = arg;

	return go_on(&self->mix[1], self->n) ? self : NULL;
}

/* Scripts create the file when they are done */
TEST_F_TIMEOUT(mixed, both_ways, 100000)
{
	pthread_t thread;
	void *failed;

	ASSERT_EQ(0, pthread_create(&thread, NULL, run, self));
	EXPECT_EQ(0, go_on(&self->mix[0], self->n));
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
}

VT_HARNESS_MAIN
