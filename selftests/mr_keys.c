// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: 10,000 of them show no order, none is used again soon, and no key that
 * is near a valid one opens anything.
 *
 * Each statistic has a limit that good random numbers exceed less than once in
 * a million runs.
 *
 * timeout: 150
 * paths: host
 */
#include "harness.h"

#include <math.h>
#include <sys/resource.h>

#include "region.h"

#define N	10000
#define BITS	32
/*
 * In standard deviations: beyond this the chance is far below one in a million.
 */
#define SIGMAS	6.0

FIXTURE(keys)
{
	struct vt_ep ep;
	struct ibv_mr **mr;
	struct ibv_mw **mw;
	uint32_t *key;
};

FIXTURE_VARIANT(keys)
{
	bool windows;
};

FIXTURE_VARIANT_ADD(keys, regions) { false };
FIXTURE_VARIANT_ADD(keys, windows) { true };

static int make(FIXTURE_DATA(keys) *self, bool windows, int i)
{
	if (windows) {
		self->mw[i] = ibv_alloc_mw(self->ep.pd, i % 2 ?
					   IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		if (!self->mw[i])
			return errno;
		self->key[i] = self->mw[i]->rkey;
		return 0;
	}
	self->mr[i] = ibv_reg_mr(self->ep.pd, self->ep.buf.p, 64,
				 VT_ACCESS_ALL);
	if (!self->mr[i])
		return errno;
	self->key[i] = self->mr[i]->rkey;
	return 0;
}

FIXTURE_SETUP(keys)
{
	int i;

	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
	self->mr = calloc(N, sizeof(*self->mr));
	self->mw = calloc(N, sizeof(*self->mw));
	self->key = calloc(N, sizeof(*self->key));
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, make(self, variant->windows, i));
}

FIXTURE_TEARDOWN(keys)
{
	int i;

	for (i = 0; self->mr && i < N; i++) {
		if (self->mr[i])
			EXPECT_EQ(0, ibv_dereg_mr(self->mr[i]));
		if (self->mw[i])
			EXPECT_EQ(0, ibv_dealloc_mw(self->mw[i]));
	}
	free(self->mr);
	free(self->mw);
	free(self->key);
	vt_ep_close(&self->ep);
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The distance from the expected value, in standard deviations */
static double off_by(double seen, double mean, double variance)
{
	return fabs(seen - mean) / sqrt(variance);
}

#define EXPECT_NORMAL(what, seen, mean, variance) do { \
	double _off = off_by(seen, mean, variance); \
	EXPECT_LT(_off, SIGMAS) \
		TH_LOG("%s: %.4f, not about %.4f", what, (double)(seen), \
		       (double)(mean)); \
} while (0)

/* Chi square of @n values below @of in @cells cells of equal size */
static double chi_square(const uint32_t *value, int n, int cells, uint64_t of)
{
	double mean = (double)n / cells, sum = 0;
	int *count = calloc(cells, sizeof(*count)), i;

	for (i = 0; i < n; i++)
		count[value[i] * (uint64_t)cells / of]++;
	for (i = 0; i < cells; i++)
		sum += (count[i] - mean) * (count[i] - mean) / mean;
	free(count);
	return sum;
}

#define EXPECT_UNIFORM(what, value, n, cells, of) \
	EXPECT_NORMAL(what, chi_square(value, n, cells, of), (cells) - 1, \
		      2.0 * ((cells) - 1))

/* No two keys have the same index; the consumer may change the low byte. */
static void distinct(struct __test_metadata *_metadata,
		     FIXTURE_DATA(keys) *self)
{
	uint32_t sorted[N];
	int i;

	for (i = 0; i < N; i++)
		sorted[i] = self->key[i] >> 8;
	qsort(sorted, N, sizeof(*sorted), ascending);
	EXPECT_NE(0, sorted[0]);
	for (i = 1; i < N; i++)
		ASSERT_NE(sorted[i - 1], sorted[i]);
}

static void uniform(struct __test_metadata *_metadata,
		    FIXTURE_DATA(keys) *self)
{
	uint32_t index[N], tag[N];
	int i;

	for (i = 0; i < N; i++) {
		index[i] = self->key[i] >> 8;
		tag[i] = self->key[i] & 0xff;
	}
	EXPECT_UNIFORM("index", index, N, 100, 1 << 24);
	EXPECT_UNIFORM("tag", tag, N, 256, 256);
}

/*
 * Each bit is set in half of the keys, and differs between half of all
 * neighbours.
 */
static void bits(struct __test_metadata *_metadata,
		 FIXTURE_DATA(keys) *self)
{
	int bit, i, ones, flips;

	for (bit = 0; bit < BITS; bit++) {
		for (i = ones = flips = 0; i < N; i++) {
			ones += self->key[i] >> bit & 1;
			if (i)
				flips += (self->key[i] ^ self->key[i - 1]) >>
					 bit & 1;
		}
		EXPECT_NORMAL("ones", ones, N / 2.0, N / 4.0);
		EXPECT_NORMAL("flips", flips, (N - 1) / 2.0, (N - 1) / 4.0);
	}
}

/* No two bits are correlated. */
static void pairs_of_bits(struct __test_metadata *_metadata,
			  FIXTURE_DATA(keys) *self)
{
	int a, b, i, equal;

	for (a = 0; a < BITS; a++)
		for (b = 0; b < a; b++) {
			for (i = equal = 0; i < N; i++)
				equal += !((self->key[i] >> a ^
					    self->key[i] >> b) & 1);
			EXPECT_NORMAL("equal bits", equal, N / 2.0, N / 4.0);
		}
}

static double correlation(const uint32_t *key, int n, int lag)
{
	double mean = 0, var = 0, cov = 0;
	int i;

	for (i = 0; i < n; i++)
		mean += key[i];
	mean /= n;
	for (i = 0; i < n; i++)
		var += (key[i] - mean) * (key[i] - mean);
	for (i = lag; i < n; i++)
		cov += (key[i] - mean) * (key[i - lag] - mean);
	return cov / var;
}

/* A key does not predict the keys after it. */
static void serial_correlation(struct __test_metadata *_metadata,
			       FIXTURE_DATA(keys) *self)
{
	int lag;

	for (lag = 1; lag <= 64; lag++)
		EXPECT_NORMAL("correlation", correlation(self->key, N, lag), 0,
			      1.0 / N);
}

static void neither_rise_nor_fall(struct __test_metadata *_metadata,
				  FIXTURE_DATA(keys) *self)
{
	int i, rises = 0;

	for (i = 1; i < N; i++)
		rises += self->key[i] > self->key[i - 1];
	EXPECT_NORMAL("rises", rises, (N - 1) / 2.0, (N + 1) / 12.0);
}

/*
 * The distances from each key to the next one made, and to the next one by
 * value
 */
static void spacing(struct __test_metadata *_metadata,
		    FIXTURE_DATA(keys) *self)
{
	uint32_t step[N - 1], gap[N - 1], sorted[N];
	double mean = (double)(1 << 24) / N, sum = 0;
	int i;

	for (i = 0; i < N; i++)
		sorted[i] = self->key[i] >> 8;
	for (i = 1; i < N; i++)
		step[i - 1] = (sorted[i] - sorted[i - 1]) & 0xffffff;
	EXPECT_UNIFORM("steps", step, N - 1, 64, 1 << 24);

	/*
	 * The gaps between random points are exponential; their squares show
	 * that.
	 */
	qsort(sorted, N, sizeof(*sorted), ascending);
	for (i = 1; i < N; i++) {
		gap[i - 1] = sorted[i] - sorted[i - 1];
		sum += gap[i - 1] / mean * (gap[i - 1] / mean);
	}
	EXPECT_NORMAL("squared gaps", sum / N, 2.0, 20.0 / N);
}

TEST_F(keys, show_no_order)
{
	distinct(_metadata, self);
	uniform(_metadata, self);
	bits(_metadata, self);
	pairs_of_bits(_metadata, self);
	serial_correlation(_metadata, self);
	neither_rise_nor_fall(_metadata, self);
	spacing(_metadata, self);
}

/* -- after a key was freed */

FIXTURE(freed)
{
	struct vt_pair pair;
};

FIXTURE_SETUP(freed)
{
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
}

FIXTURE_TEARDOWN(freed)
{
	vt_pair_close(&self->pair);
}

/*
 * None of the next 4000 keys has the same index. At random, one key in 4000 would, so 7 of these.
 */
TEST_F_TIMEOUT(freed, not_soon_reused, 120)
{
	enum { ROUNDS = 30000, SOON = 4000 };
	static int last[1 << 24];
	struct vt_ep *b = &self->pair.b;
	struct ibv_mr *mr;
	uint32_t index;
	int i;

	for (i = 1; i <= ROUNDS; i++) {
		mr = ibv_reg_mr(b->pd, b->buf.p, 64, 0);
		ASSERT_NE(NULL, mr);
		index = mr->rkey >> 8;
		ASSERT_TRUE(!last[index] || i - last[index] > SOON)
			TH_LOG("again after %d", i - last[index]);
		last[index] = i;
		ASSERT_EQ(0, ibv_dereg_mr(mr));
	}
}

/* A WRITE of 8 bytes with a key */
static int use(struct vt_pair *pair, uint32_t rkey)
{
	struct ibv_mr mr = *pair->b.buf.mr;
	struct vt_region r = {
		.p = pair->b.buf.p, .len = pair->b.buf.len, .mr = &mr,
		.iova = (uintptr_t)pair->b.buf.p,
	};
	int status;

	mr.rkey = rkey;
	status = vt_region_copy(pair, &r, VT_WRITE, VT_GUARD, 8);
	if (status && vt_pair_recover(pair))
		return -EIO;
	return status;
}

/*
 * A key that differs in one bit from a valid one, and a freed key, are invalid.
 */
TEST_F(freed, near_misses)
{
	struct vt_ep *b = &self->pair.b;
	uint32_t rkey = b->buf.mr->rkey;
	struct ibv_mr *mr;
	int bit, i;

	for (bit = 0; bit < BITS; bit++)
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  use(&self->pair, rkey ^ 1u << bit));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, use(&self->pair, 0));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, use(&self->pair, UINT32_MAX));
	for (i = 0; i < 8; i++) {
		mr = ibv_reg_mr(b->pd, b->buf.p, b->buf.len, VT_ACCESS_ALL);
		ASSERT_NE(NULL, mr);
		rkey = mr->rkey;
		EXPECT_EQ(IBV_WC_SUCCESS, use(&self->pair, rkey));
		ASSERT_EQ(0, ibv_dereg_mr(mr));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, use(&self->pair, rkey));
	}
}

VT_HARNESS_MAIN
