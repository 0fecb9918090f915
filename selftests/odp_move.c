// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: the memory is moved, in each way that the kernel or the
 * process can move it, and RDMA accesses the same bytes as the process. Here
 * one thing happens at a time; in odp_traffic.c everything happens at once.
 *
 * timeout: 240
 * paths: host veth
 */
#include "harness.h"

#include <linux/falloc.h>
#include <sys/syscall.h>

#include "memory.h"
#include "region.h"

#define HUGE		(2 * MIB)
#define LEN		(2 * HUGE)

/* Time limit of a test in seconds, on a busy emulated machine */
#define LIMIT	90

/* The kind of memory that the region is over. */
enum kind { ANON, SMALL, SHMEM, DISK, HUGETLB };

struct rig {
	struct vt_pair pair;
	struct vt_region r;
	int fd;
};

static uint8_t *map_kind(enum kind kind, int *fd)
{
	uint8_t *p;

	switch (kind) {
	case SHMEM:
		*fd = memfd_create("odp_move", 0);
		break;
	case DISK:
		*fd = vt_file("odp_move");
		break;
	case HUGETLB:
		return vt_map(LEN, HUGE, MAP_PRIVATE | MAP_HUGETLB, -1);
	default:
		p = vt_map(LEN, HUGE, MAP_PRIVATE, -1);
		if (p)
			madvise(p, LEN, kind == ANON ? MADV_HUGEPAGE :
						       MADV_NOHUGEPAGE);
		return p;
	}
	if (*fd < 0 || ftruncate(*fd, LEN))
		return NULL;
	return vt_map(LEN, HUGE, MAP_SHARED, *fd);
}

/* -ENODEV, -EOPNOTSUPP if this machine does not have it. */
static int rig_open(struct rig *rig, enum kind kind)
{
	uint8_t *p;
	int ret;

	rig->fd = -1;
	ret = vt_pair_open(&rig->pair, &VT_CONF(.mtu = IBV_MTU_4096,
			.buf_len = LEN + 4 * VT_GUARD));
	if (!ret)
		ret = vt_need_odp(&rig->pair.b, IBV_ODP_SUPPORT);
	if (ret)
		return ret;
	if (kind == HUGETLB && !vt_hugetlb_pages(LEN / HUGE))
		return -ENODEV;
	p = map_kind(kind, &rig->fd);
	if (!p)
		return kind == DISK && rig->fd < 0 ? -ENODEV : -errno;
	return vt_region_reg(&rig->r, rig->pair.b.pd, p, LEN, (uintptr_t)p,
			     VT_ACCESS_ODP);
}

static void rig_close(struct rig *rig)
{
	vt_region_close(&rig->r);
	if (rig->fd >= 0)
		close(rig->fd);
	vt_pair_close(&rig->pair);
}

/* All pages are present and writable before the memory moves. */
#define RIG(kind) do { \
	int _err = rig_open(&self->rig, kind); \
	if (_err == -EOPNOTSUPP) \
		SKIP(return, "no on-demand paging"); \
	if (_err == -ENODEV) \
		SKIP(return, "no such memory here"); \
	ASSERT_EQ(0, _err); \
	ASSERT_TRUE(vt_region_moves(&self->rig.pair, &self->rig.r, VT_WRITE, \
				    0, LEN)); \
} while (0)

/* for any memory */

FIXTURE(any)
{
	struct rig rig;
};

FIXTURE_VARIANT(any)
{
	enum kind kind;
};

FIXTURE_VARIANT_ADD(any, anon) { ANON };
FIXTURE_VARIANT_ADD(any, small) { SMALL };
FIXTURE_VARIANT_ADD(any, shmem) { SHMEM };
FIXTURE_VARIANT_ADD(any, disk) { DISK };
FIXTURE_VARIANT_ADD(any, hugetlb) { HUGETLB };

FIXTURE_SETUP(any)
{
	RIG(variant->kind);
}

FIXTURE_TEARDOWN(any)
{
	rig_close(&self->rig);
}

/* for memory of one process */

FIXTURE(anon)
{
	struct rig rig;
};

FIXTURE_VARIANT(anon)
{
	enum kind kind;
};

FIXTURE_VARIANT_ADD(anon, huge) { ANON };
FIXTURE_VARIANT_ADD(anon, small) { SMALL };

FIXTURE_SETUP(anon)
{
	RIG(variant->kind);
}

FIXTURE_TEARDOWN(anon)
{
	rig_close(&self->rig);
}

/* Files */

FIXTURE(file)
{
	struct rig rig;
};

FIXTURE_VARIANT(file)
{
	enum kind kind;
};

FIXTURE_VARIANT_ADD(file, shmem) { SHMEM };
FIXTURE_VARIANT_ADD(file, disk) { DISK };

FIXTURE_SETUP(file)
{
	RIG(variant->kind);
}

FIXTURE_TEARDOWN(file)
{
	rig_close(&self->rig);
}

/* Ignore the contents that a test has left in the peer's buffer. */
#define WORKS(_off, _n) do { \
	struct vt_buf *_buf = &self->rig.pair.a.buf; \
	vt_fill(_buf->p, _buf->len, _buf->seed, 0); \
	EXPECT_TRUE(vt_region_works(&self->rig.pair, &self->rig.r, _off, _n)); \
} while (0)

/* RDMA reads the same bytes as the process, from @off on. */
static bool reads_same(struct vt_pair *pair, const struct vt_region *r,
		       size_t off, size_t len)
{
	int status = vt_region_copy(pair, r, VT_READ, off, len);

	if (status)
		printf("# reading %zu bytes at %zu: %s\n", len, off,
		       ibv_wc_status_str(status));
	return !status && !memcmp(pair->a.buf.p + VT_GUARD, r->p + off, len);
}

static int fails(struct vt_pair *pair, const struct vt_region *r, size_t off)
{
	int status = vt_region_copy(pair, r, VT_READ, off, 8);

	vt_pair_recover(pair);
	return status;
}

TEST_F_TIMEOUT(any, unmapped_and_mapped_anew, LIMIT)
{
	int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, munmap(self->rig.r.p, LEN));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  fails(&self->rig.pair, &self->rig.r, i * PAGE));
		ASSERT_EQ(self->rig.r.p,
			  (uint8_t *)mmap(self->rig.r.p, LEN,
					  PROT_READ | PROT_WRITE, flags, -1, 0));
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		WORKS(i * PAGE, MIB);
	}
}

/* A page of another file, or of other memory, at the same address */
TEST_F_TIMEOUT(any, mapped_over, LIMIT)
{
	int fd = memfd_create("other", 0);
	uint8_t *other;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	other = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)other);
	vt_fill(other, LEN, 7, 0);
	ASSERT_EQ(self->rig.r.p, (uint8_t *)mmap(self->rig.r.p, LEN,
					     PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_FIXED, fd, 0));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	EXPECT_TRUE(vt_check("other file", other, LEN, 7, 0));
	/* a write through the region arrives in that file */
	vt_fill(self->rig.pair.a.buf.p + VT_GUARD, 9 * PAGE, 8, 0);
	ASSERT_EQ(0, vt_region_copy(&self->rig.pair, &self->rig.r, VT_WRITE, PAGE + 3,
				    9 * PAGE));
	EXPECT_TRUE(vt_check("other file", other + PAGE + 3, 9 * PAGE, 8, 0));
	munmap(other, LEN);
	close(fd);
}

TEST_F_TIMEOUT(any, mremap_away_and_back, LIMIT)
{
	uint8_t *place = vt_map(LEN, HUGE, MAP_PRIVATE, -1), *moved;

	ASSERT_NE(NULL, place);
	vt_fill(self->rig.r.p, LEN, 9, 0);
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	moved = mremap(self->rig.r.p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
		       place);
	if (moved == MAP_FAILED && variant->kind == HUGETLB)
		SKIP(return, "this kernel does not move hugetlb mappings");
	ASSERT_EQ(place, moved);
	/* The region covers addresses, not the memory that was mapped there. */
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, fails(&self->rig.pair, &self->rig.r, PAGE));
	vt_fill(moved, PAGE, 10, 0);
	ASSERT_EQ(self->rig.r.p,
		  (uint8_t *)mremap(moved, LEN, LEN,
				    MREMAP_MAYMOVE | MREMAP_FIXED, self->rig.r.p));
	EXPECT_TRUE(vt_check("moved", self->rig.r.p, PAGE, 10, 0));
	EXPECT_TRUE(vt_check("moved", self->rig.r.p + PAGE, LEN - PAGE, 9, PAGE));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	WORKS(HUGE - MIB / 2, MIB);
}

TEST_F_TIMEOUT(any, dontneed, LIMIT)
{
	static const uint8_t zeros[HUGE];

	vt_fill(self->rig.r.p, LEN, 11, 0);
	ASSERT_EQ(0, madvise(self->rig.r.p, HUGE, MADV_DONTNEED));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	if (self->rig.fd < 0) {
		EXPECT_EQ(0, memcmp(zeros, self->rig.pair.a.buf.p + VT_GUARD,
				    HUGE));
	} else {
		EXPECT_TRUE(vt_check("file", self->rig.r.p, HUGE, 11, 0));
	}
	WORKS(HUGE - MIB / 2, MIB);
}

/*
 * Only the device has written. Then the pages are reclaimed: to swap, or to the
 * file.
 */
TEST_F_TIMEOUT(any, reclaimed, LIMIT)
{
	size_t out = 0;
	int i;

	if (variant->kind != DISK && !vt_swap_on())
		SKIP(return, "no swap can be made here");
	for (i = 0; i < 3; i++) {
		vt_fill(self->rig.pair.a.buf.p + VT_GUARD, LEN, 20 + i, 0);
		ASSERT_EQ(0, vt_region_copy(&self->rig.pair, &self->rig.r, VT_WRITE, 0,
					    LEN));
		out = vt_page_out(self->rig.r.p, LEN);
		if (!out && variant->kind == HUGETLB)
			SKIP(return, "hugetlb pages are not reclaimed");
		EXPECT_LT(LEN / 2, out) TH_LOG("%zu bytes are out", out);
		/* written first by the device, then by the process */
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		EXPECT_TRUE(vt_check("reclaimed", self->rig.r.p, LEN, 20 + i, 0));
		/* pages that were only read since then */
		vt_page_out(self->rig.r.p, LEN);
		EXPECT_TRUE(vt_check("again", self->rig.r.p, LEN, 20 + i, 0));
	}
	WORKS(HUGE - MIB / 2, MIB);
}

/* read() returns from the file what the device wrote. */
TEST_F_TIMEOUT(file, written_reaches_the_file, LIMIT)
{
	uint8_t *copy = self->rig.pair.b.buf.p;
	int i;

	for (i = 0; i < 3; i++) {
		vt_fill(self->rig.pair.a.buf.p + VT_GUARD, LEN, 30 + i, 0);
		ASSERT_EQ(0, vt_region_copy(&self->rig.pair, &self->rig.r, VT_WRITE, 0,
					    LEN));
		ASSERT_EQ(0, fsync(self->rig.fd));
		vt_page_out(self->rig.r.p, LEN);
		ASSERT_EQ(LEN, pread(self->rig.fd, copy, LEN, 0));
		EXPECT_TRUE(vt_check("file", copy, LEN, 30 + i, 0));
	}
}

TEST_F_TIMEOUT(file, truncated, LIMIT)
{
	vt_fill(self->rig.r.p, LEN, 12, 0);
	ASSERT_EQ(0, ftruncate(self->rig.fd, 10 * PAGE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  fails(&self->rig.pair, &self->rig.r, 10 * PAGE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, fails(&self->rig.pair, &self->rig.r, HUGE));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, 10 * PAGE));
	EXPECT_TRUE(vt_check("kept", self->rig.r.p, 10 * PAGE, 12, 0));
	ASSERT_EQ(0, ftruncate(self->rig.fd, LEN));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	WORKS(HUGE - MIB / 2, MIB);
}

TEST_F_TIMEOUT(file, hole_punched, LIMIT)
{
	static const uint8_t zeros[20 * PAGE];

	if (variant->kind == DISK)
		SKIP(return, "not every file system has holes");
	vt_fill(self->rig.r.p, LEN, 13, 0);
	ASSERT_EQ(0, fallocate(self->rig.fd,
			       FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       HUGE - 10 * PAGE, 20 * PAGE));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	EXPECT_EQ(0, memcmp(zeros, self->rig.r.p + HUGE - 10 * PAGE,
			    sizeof(zeros)));
	WORKS(HUGE - MIB / 2, MIB);
}

TEST_F_TIMEOUT(anon, huge_pages_made_and_split, LIMIT)
{
	int i;

	for (i = 0; i < 3; i++) {
		madvise(self->rig.r.p, LEN, MADV_NOHUGEPAGE);
		vt_fill(self->rig.r.p, LEN, 40 + i, 0);
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		madvise(self->rig.r.p, LEN, MADV_HUGEPAGE);
		if (!vt_collapse(self->rig.r.p, LEN))
			SKIP(return, "this kernel makes no huge pages of these");
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		EXPECT_TRUE(vt_check("collapsed", self->rig.r.p, LEN, 40 + i, 0));
		WORKS(HUGE - MIB / 2, MIB);
		/* another advice for a part splits the mapping */
		vt_fill(self->rig.r.p, LEN, 50 + i, 0);
		ASSERT_EQ(0, mprotect(self->rig.r.p + 7 * PAGE, 5 * PAGE,
				      PROT_READ));
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		ASSERT_EQ(0, mprotect(self->rig.r.p, LEN, PROT_READ | PROT_WRITE));
		ASSERT_EQ(0, madvise(self->rig.r.p + HUGE + 3 * PAGE, PAGE,
				     MADV_DONTNEED));
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		EXPECT_TRUE(vt_check("split", self->rig.r.p, HUGE, 50 + i, 0));
		WORKS(HUGE - MIB / 2, MIB);
	}
}

TEST_F_TIMEOUT(any, mprotect, LIMIT)
{
	vt_fill(self->rig.r.p, LEN, 14, 0);
	ASSERT_EQ(0, mprotect(self->rig.r.p, LEN, PROT_READ));
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_region_copy(&self->rig.pair, &self->rig.r, VT_WRITE, HUGE, 8));
	ASSERT_EQ(0, vt_pair_recover(&self->rig.pair));
	EXPECT_TRUE(vt_check("read only", self->rig.r.p, LEN, 14, 0));
	ASSERT_EQ(0, mprotect(self->rig.r.p, LEN, PROT_NONE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, fails(&self->rig.pair, &self->rig.r, HUGE));
	ASSERT_EQ(0, mprotect(self->rig.r.p, LEN, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(vt_check("as it was", self->rig.r.p, LEN, 14, 0));
	WORKS(HUGE - MIB / 2, MIB);
}

/* -- fork */

/* A child that gets commands as bytes, and answers each with a byte. */
struct child {
	pid_t pid;
	int to, from;
};

static int child_main(int in, int out, uint8_t *p, uint32_t old, uint32_t new)
{
	char what, ok;

	while (read(in, &what, 1) == 1) {
		ok = 1;
		if (what == 'w')
			vt_fill(p, LEN, new, 0);
		else
			ok = vt_check("child", p, LEN, what == 'o' ? old : new,
				      0);
		if (write(out, &ok, 1) != 1)
			return 1;
	}
	return 0;
}

static int child_start(struct child *c, uint8_t *p, uint32_t old, uint32_t new)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -errno;
	c->pid = fork();
	if (c->pid < 0)
		return -errno;
	if (!c->pid) {
		close(to[1]);
		_exit(child_main(to[0], from[1], p, old, new));
	}
	close(to[0]);
	close(from[1]);
	c->to = to[1];
	c->from = from[0];
	return 0;
}

static bool child_does(struct child *c, char what)
{
	char ok = 0;

	return write(c->to, &what, 1) == 1 && read(c->from, &ok, 1) == 1 && ok;
}

static int child_end(struct child *c)
{
	int status = -1;

	close(c->to);
	close(c->from);
	waitpid(c->pid, &status, 0);
	return status;
}

/*
 * After fork(), the device uses the parent's pages, whichever process writes
 * first.
 */
TEST_F_TIMEOUT(anon, fork, LIMIT)
{
	struct child c;
	int order;

	for (order = 0; order < 3; order++) {
		vt_fill(self->rig.r.p, LEN, 60, 0);
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		ASSERT_EQ(0, child_start(&c, self->rig.r.p, 60, 61));
		if (order == 0)
			EXPECT_TRUE(child_does(&c, 'w'));
		if (order == 1)
			vt_fill(self->rig.r.p, LEN, 62, 0);
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		EXPECT_TRUE(vt_check("parent", self->rig.r.p, LEN,
				     order == 1 ? 62 : 60, 0));
		/* The device writes: the child must not see it. */
		WORKS(HUGE - MIB / 2, MIB);
		EXPECT_TRUE(child_does(&c, order == 0 ? 'n' : 'o'));
		EXPECT_TRUE(child_does(&c, 'w'));
		WORKS(HUGE - MIB / 2, MIB);
		EXPECT_TRUE(child_does(&c, 'n'));
		EXPECT_EQ(0, child_end(&c));
		WORKS(HUGE - MIB / 2, MIB);
	}
}

/* -- moves of pages that leave the data alone */

TEST_F_TIMEOUT(any, compacted, LIMIT)
{
	int i;

	if (!vt_compact())
		SKIP(return, "no memory compaction that spares processes");
	for (i = 0; i < 2; i++) {
		vt_fill(self->rig.r.p, LEN, 70 + i, 0);
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		ASSERT_TRUE(vt_compact());
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		EXPECT_TRUE(vt_check("compacted", self->rig.r.p, LEN, 70 + i, 0));
	}
	WORKS(HUGE - MIB / 2, MIB);
}

TEST_F_TIMEOUT(any, migrated_between_nodes, LIMIT)
{
	unsigned long all, here, there;
	int i;

	if (access("/sys/devices/system/node/node1", F_OK))
		SKIP(return, "the machine has one memory node");
	for (i = 0; i < 4; i++) {
		here = 1 << (i % 2);
		there = 2 >> (i % 2);
		vt_fill(self->rig.r.p, LEN, 80 + i, 0);
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		all = syscall(SYS_migrate_pages, 0, 3ul, &here, &there);
		ASSERT_LE(0, (long)all);
		EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
		EXPECT_TRUE(vt_check("migrated", self->rig.r.p, LEN, 80 + i, 0));
	}
	WORKS(HUGE - MIB / 2, MIB);
}

TEST_F_TIMEOUT(anon, merged_with_equal_pages, LIMIT)
{
	size_t i;

	for (i = 0; i < LEN; i += PAGE)
		vt_fill(self->rig.r.p + i, PAGE, 90, 0);
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	if (!vt_ksm_merge(self->rig.r.p, LEN))
		SKIP(return, "this kernel does not merge pages");
	EXPECT_TRUE(reads_same(&self->rig.pair, &self->rig.r, 0, LEN));
	/* The device must not write to a page that KSM shares. */
	vt_fill(self->rig.pair.a.buf.p + VT_GUARD, PAGE, 91, 0);
	ASSERT_EQ(0, vt_region_copy(&self->rig.pair, &self->rig.r, VT_WRITE, 3 * PAGE,
				    PAGE));
	for (i = 0; i < LEN; i += PAGE)
		ASSERT_TRUE(vt_check("page", self->rig.r.p + i, PAGE,
				     i == 3 * PAGE ? 91 : 90, 0));
	WORKS(HUGE - MIB / 2, MIB);
}

VT_HARNESS_MAIN
