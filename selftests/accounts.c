// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory a process can make the kernel use, row by row of Documentation/security.rst: a process of an ordinary
 * user, in a memory cgroup of 64 MiB, tries to exceed each limit. It is refused, or the OOM killer ends it. A process
 * of another user continues as before.
 *
 * daily: uml-checked
 * timeout: 180
 * paths: host
 * params: max_user_objects=500 user_queue_kb=8192 user_packet_kb=8192 user_faults=8 user_odp_kb=64 loopback=N
 */
#include "harness.h"

#include <dirent.h>
#include <grp.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "disk.h"
#include "never.h"
#include "objects.h"
#include "region.h"
#include "system.h"

#define CGROUPS		"/sys/fs/cgroup/"
#define GROUP		CGROUPS "softmr-accounts"
#define GROUP_MAX	"67108864"
#define NOBODY		65534
#define MEMLOCK		(64 * 1024)

/* as the parameters above say */
#define USER_OBJECTS	500
#define USER_QUEUES	(8 * MIB)
#define USER_PACKETS	(8 * MIB)
#define USER_FAULTS	8
#define USER_ODP	(64 * 1024)

#define DELAY_MS	5000

/* How the process of the other user ends */
enum end {
	REFUSED,	/* it was refused in the end, within the limit */
	TOO_MUCH,	/* it got more than it may have */
	WRONG,		/* anything else, which is printed */
	KILLED,		/* by the OOM killer */
};

/* @pair: of a process of another user, which must not be affected */
FIXTURE(accounts)
{
	struct vt_pair pair;
};

static int make_group(void)
{
	int ret = vt_write_file(CGROUPS "cgroup.subtree_control", "+memory");

	if (!ret && mkdir(GROUP, 0755) && errno != EEXIST)
		ret = -errno;
	if (!ret)
		ret = vt_write_file(GROUP "/memory.max", GROUP_MAX);
	return ret;
}

FIXTURE_SETUP(accounts)
{
	if (make_group())
		SKIP(return, "this kernel has no memory controller");
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
}

FIXTURE_TEARDOWN(accounts)
{
	vt_pair_close(&self->pair);
	rmdir(GROUP);
}

/* Objects of the ordinary user */
struct own {
	struct vt_dev dev;
	struct ibv_pd *pd;
};

typedef enum end try_fn(struct own *own, int arg);

/* Not every try uses both. */
#define TRY(fn) \
	static enum end fn(struct own __attribute__((unused)) *own, int __attribute__((unused)) arg)

static int become_ordinary(rlim_t memlock)
{
	struct rlimit lim = { memlock, memlock };

	return vt_write_file(GROUP "/cgroup.procs", "0") ||
	       setrlimit(RLIMIT_MEMLOCK, &lim) || setgroups(0, NULL) ||
	       setgid(NOBODY) || setuid(NOBODY);
}

/* Calls @fn for each mapping of a device. */
static void for_each_mapping(void (*fn)(unsigned long start, unsigned long end,
					off_t offset))
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "/uverbs") &&
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3)
			fn(start, end, offset);
	if (f)
		fclose(f);
}

static void unmap(unsigned long start, unsigned long end, off_t offset)
{
	(void)offset;
	munmap((void *)start, end - start);
}

/* An error that is not about limits: other tests would find it. */
static enum end wrong(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	return WRONG;
}

static enum end try_in_child(try_fn *try, int arg, rlim_t memlock)
{
	struct own own = {};

	/* the mappings inherited from the other process */
	for_each_mapping(unmap);
	if (become_ordinary(memlock) || vt_dev_open(&own.dev, 0, AF_INET))
		return wrong("open");
	own.pd = ibv_alloc_pd(own.dev.ctx);
	return own.pd ? try(&own, arg) : wrong("PD");
}

/* @works: called while the other process tries */
static enum end try_as_user(FIXTURE_DATA(accounts) *self, try_fn *try, int arg,
			    rlim_t memlock, bool *works)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		enum end end = try_in_child(try, arg, memlock);

		fflush(stdout);
		_exit(end);
	}
	*works = true;
	while (!waitpid(pid, &status, WNOHANG))
		*works &= vt_pair_works(&self->pair);
	*works &= vt_pair_works(&self->pair);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return KILLED;
	if (!WIFEXITED(status))
		printf("# it ends by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

#define EXPECT_REFUSED(try, arg, memlock) do {				\
	bool works;							\
									\
	EXPECT_EQ(REFUSED, try_as_user(self, try, arg, memlock, &works)); \
	EXPECT_TRUE(works);						\
} while (0)

#define REFUSED(name, try, arg, memlock) \
	TEST_F(accounts, name) { EXPECT_REFUSED(try, arg, memlock); }

/* -- objects */

/* As many as the limit, and not one more; also after one is destroyed */
static enum end try_objects(struct own *own, int kind)
{
	/* one of these exists already */
	int max = USER_OBJECTS - (kind == VT_PD || kind == VT_CQ);
	static struct vt_parts parts;
	void *o, *last = NULL;
	int i, err;

	parts.pd = own->pd;
	parts.cq = ibv_create_cq(own->dev.ctx, 1, NULL, NULL, 0);
	parts.address = vt_ah_attr(own->dev.gid_index, &own->dev.gid);
	if (!parts.cq)
		return WRONG;
	for (i = 0; i <= max && (o = vt_object_create(kind, &parts)); i++)
		last = o;
	err = errno;
	printf("# %d objects of kind %d, then errno %d\n", i, kind, err);
	if (i > max)
		return TOO_MUCH;
	if (i < max || err != ENOMEM || vt_object_destroy(kind, last) ||
	    !vt_object_create(kind, &parts))
		return WRONG;
	return vt_object_create(kind, &parts) ? TOO_MUCH : REFUSED;
}

TEST_F(accounts, objects)
{
	static const enum vt_object kinds[] = {
		VT_PD, VT_CQ, VT_QP, VT_SRQ, VT_MR, VT_MW, VT_AH, VT_XRCD,
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		EXPECT_REFUSED(try_objects, kinds[i], RLIM_INFINITY);
}

/* Objects of root are not counted against the limit, because it has CAP_SYS_RESOURCE. */
TEST_F(accounts, objects_of_root)
{
	struct ibv_pd *pd[2 * USER_OBJECTS];
	int i, n;

	for (n = 0; n < 2 * USER_OBJECTS; n++) {
		pd[n] = ibv_alloc_pd(self->pair.a.dev.ctx);
		if (!pd[n])
			break;
	}
	EXPECT_EQ(2 * USER_OBJECTS, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, ibv_dealloc_pd(pd[i]));
}

/* -- queues */

#define CQ_ENTRIES	16384
#define CQ_BYTES	(CQ_ENTRIES * 64)

/* Memory of destroyed queues is available again. */
static enum end try_queues(struct own *own, int entries)
{
	size_t each = (size_t)entries * 64, most = (USER_QUEUES + MEMLOCK) / each;
	struct ibv_cq *cq[USER_QUEUES / CQ_BYTES + 1];
	size_t n, i, round;

	for (round = 0; round < 2; round++) {
		for (n = 0; n <= most; n++) {
			cq[n] = ibv_create_cq(own->dev.ctx, entries - 1, NULL, NULL, 0);
			if (!cq[n])
				break;
		}
		printf("# %zu CQs of %d entries, then errno %d\n", n, entries, errno);
		if (n > most)
			return TOO_MUCH;
		/* the rest of the allowance is for rings and doorbells of others */
		if (n < most / 2 || errno != ENOMEM)
			return WRONG;
		for (i = 0; i < n; i++)
			if (ibv_destroy_cq(cq[i]))
				return wrong("destroy");
	}
	return REFUSED;
}

TEST_F(accounts, queues)
{
	EXPECT_REFUSED(try_queues, CQ_ENTRIES, MEMLOCK);
	EXPECT_REFUSED(try_queues, 1024 * 1024, MEMLOCK);
}

/*
 * Queues that share mappings: memory of queues that are destroyed, in any order, is available again. A queue that
 * remains keeps the memory that it shares with others, and the user is charged for it.
 */
#define SMALL_ENTRIES	512
#define SMALL_ROUNDS	4

static int make_small(struct own *own, struct ibv_cq **cq)
{
	int n;

	for (n = 0; n < USER_OBJECTS; n++) {
		cq[n] = ibv_create_cq(own->dev.ctx, SMALL_ENTRIES - 1, NULL,
				      NULL, 0);
		if (!cq[n])
			break;
	}
	return n;
}

TRY(try_small_queues)
{
	static struct ibv_cq *cq[USER_OBJECTS];
	int n, i, from, first = 0, round;

	for (round = 0; round < SMALL_ROUNDS; round++) {
		n = make_small(own, cq);
		printf("# %d CQs of %d entries, then errno %d\n", n,
		       SMALL_ENTRIES, errno);
		if (errno != ENOMEM)
			return WRONG;
		if (n * SMALL_ENTRIES * 64 > USER_QUEUES + MEMLOCK)
			return TOO_MUCH;
		/* most of the allowance is for rings, the same amount each time */
		if (n * SMALL_ENTRIES * 64 < USER_QUEUES / 2 ||
		    (round && n < first))
			return wrong("fewer than before");
		first = n;
		for (from = 0; from < 7; from++)
			for (i = from; i < n; i += 7)
				if (ibv_destroy_cq(cq[i]))
					return wrong("destroy");
	}
	return REFUSED;
}

REFUSED(small_queues, try_small_queues, 0, MEMLOCK)

TRY(try_send_queues)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1024, .max_recv_wr = 1,
			 .max_send_sge = 30, .max_recv_sge = 1 },
	};
	/* The kernel's own copy of each entry is not smaller than the ring's. */
	size_t each = 2 * 1024 * (64 + 30 * 16), bytes = 0;

	init.send_cq = ibv_create_cq(own->dev.ctx, 1, NULL, NULL, 0);
	init.recv_cq = init.send_cq;
	if (!init.send_cq)
		return WRONG;
	while (ibv_create_qp(own->pd, &init))
		bytes += each;
	printf("# send queues: at least %zu KiB, then errno %d\n", bytes / 1024,
	       errno);
	if (errno != ENOMEM)
		return WRONG;
	return bytes > USER_QUEUES + MEMLOCK ? TOO_MUCH : REFUSED;
}

REFUSED(send_queues, try_send_queues, 0, MEMLOCK)

/* To get more, an ordinary user needs RLIMIT_MEMLOCK. */
TRY(try_with_memlock)
{
	return ibv_create_cq(own->dev.ctx, 2 * USER_QUEUES / 64 - 1, NULL, NULL,
			     0) ? REFUSED : WRONG;
}

REFUSED(more_queues_with_memlock, try_with_memlock, 0, 16 * MIB)

/* The latest mapping */
static struct {
	off_t offset;
	size_t len;
} last;

static void find_last(unsigned long start, unsigned long end, off_t offset)
{
	if (offset < last.offset)
		return;
	last.offset = offset;
	last.len = end - start;
}

/* Map the memory of the latest object once more. */
static void *map_again(struct own *own, size_t *len)
{
	void *p;

	last.offset = 0;
	for_each_mapping(find_last);
	*len = last.len;
	p = mmap(NULL, last.len, PROT_READ | PROT_WRITE, MAP_SHARED,
		 own->dev.ctx->cmd_fd, last.offset);
	return p == MAP_FAILED ? NULL : p;
}

#define ROUNDS	300

/* Make an object, map it once more, destroy it, and so on */
static enum end try_mappings(struct own *own, bool (*one)(struct own *, int, void **, size_t *),
			     int size, size_t max)
{
	size_t len[ROUNDS], bytes = 0, again = 0;
	void *p[ROUNDS];
	int n;

	for (n = 0; n < ROUNDS && one(own, size, &p[n], &len[n]); n++)
		bytes += len[n];
	printf("# %zu KiB stay mapped, then errno %d\n", bytes / 1024, errno);
	if (n == ROUNDS || bytes > max)
		return TOO_MUCH;
	if (errno != ENOMEM)
		return WRONG;
	/* Their memory is returned when the last mapping is gone. */
	while (n--)
		munmap(p[n], len[n]);
	for (n = 0; n < 2 && one(own, size, &p[n], &len[n]); n++)
		again += len[n];
	return n == 2 && again ? REFUSED : WRONG;
}

/* A small ring is the first of a shared mapping, and keeps all of it. */
static bool one_cq(struct own *own, int entries, void **p, size_t *len)
{
	struct ibv_cq *cq = ibv_create_cq(own->dev.ctx, entries - 1, NULL, NULL, 0);

	if (!cq)
		return false;
	*p = map_again(own, len);
	return *p && !ibv_destroy_cq(cq);
}

static bool one_dm(struct own *own, int size, void **p, size_t *len)
{
	struct ibv_alloc_dm_attr attr = { .length = size };
	struct ibv_dm *dm = ibv_alloc_dm(own->dev.ctx, &attr);

	if (!dm)
		return false;
	*p = map_again(own, len);
	return *p && !ibv_free_dm(dm);
}

TRY(try_mapped_queues) { return try_mappings(own, one_cq, arg, USER_QUEUES + MEMLOCK); }
TRY(try_mapped_dm) { return try_mappings(own, one_dm, arg, MIB); }

REFUSED(queues_that_stay_mapped, try_mapped_queues, CQ_ENTRIES, MEMLOCK)
REFUSED(small_queues_that_stay_mapped, try_mapped_queues, 128, MEMLOCK)
REFUSED(device_memory_that_stays_mapped, try_mapped_dm, 256 * 1024, MEMLOCK)

/* -- pinned regions */

#define PINNED_PAGES	10		/* of the 16 of MEMLOCK */

/* A region that becomes writable is pinned anew, and both pins count. */
static enum end try_rereg(struct own *own, int pages)
{
	uint8_t *p = vt_map(pages * PAGE, PAGE, MAP_PRIVATE, -1);
	struct ibv_mr *mr;
	int ret;

	mr = p ? ibv_reg_mr(own->pd, p, pages * PAGE, 0) : NULL;
	if (!mr)
		return wrong("region");
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_LOCAL_WRITE);
	if (!ret)
		return TOO_MUCH;
	if (errno != ENOMEM)
		return wrong("rereg_mr");
	/* It is unchanged. */
	return ibv_dereg_mr(mr) ? wrong("dereg_mr") : REFUSED;
}

REFUSED(rereg_counts_twice, try_rereg, PINNED_PAGES, MEMLOCK)

/* -- operations that wait for slow pages */

static uint8_t *slow_pages(size_t len)
{
	int fd = open(VT_DISK, O_RDONLY);
	uint8_t *p = fd < 0 ? NULL : vt_disk_map(fd, len);

	close(fd);
	return p;
}

static long group_bytes(void)
{
	FILE *f = fopen(GROUP "/memory.current", "r");
	long bytes = -1;

	if (f) {
		if (fscanf(f, "%ld", &bytes) != 1)
			bytes = -1;
		fclose(f);
	}
	return bytes;
}

#define RANGES		1000
#define ADVICES		500
#define ADVICE_MAX	(8 * MIB)	/* plus what else the process allocates during that time */

TRY(try_advice)
{
	uint8_t *p = slow_pages(RANGES * PAGE);
	static struct ibv_sge sge[RANGES];
	struct ibv_mr *mr;
	long before;
	int i, ret = 0;

	mr = p ? ibv_reg_mr(own->pd, p, RANGES * PAGE, IBV_ACCESS_ON_DEMAND) :
		 NULL;
	if (!mr)
		return WRONG;
	for (i = 0; i < RANGES; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)p + i * PAGE, PAGE,
					   mr->lkey };
	before = group_bytes();
	for (i = 0; i < ADVICES && !ret; i++)
		ret = ibv_advise_mr(own->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
				    sge, RANGES);
	printf("# %d advices, errno %d, took %ld KiB\n", i, ret,
	       (group_bytes() - before) / 1024);
	if (ret)
		return WRONG;
	return group_bytes() - before > ADVICE_MAX ? TOO_MUCH : REFUSED;
}

static void refused_behind_slow_pages(struct __test_metadata *_metadata,
				      FIXTURE_DATA(accounts) *self,
				      try_fn *try, rlim_t memlock)
{
	VT_SETUP(vt_need_odp(&self->pair.a, IBV_ODP_SUPPORT));
	if (!vt_disk_add(DELAY_MS))
		SKIP(return, "no slow disk (null_blk)");
	chmod(VT_DISK, 0444);
	EXPECT_REFUSED(try, 0, memlock);
	EXPECT_TRUE(vt_disk_del(3 * DELAY_MS));
}

TEST_F(accounts, advice_that_waits)
{
	refused_behind_slow_pages(_metadata, self, try_advice, MEMLOCK);
}

#define CONNS		120
#define WRITE_LEN	(256 * 1024)
/* Each CPU's count may lag, and each CPU may exceed the limit by a train. */
#define PACKETS_SLACK	MIB

/* A READ of a page that arrives late, and a WRITE after it, whose packets wait for the READ */
static int post_behind_slow_page(struct vt_conn *c, struct vt_ep *a,
				 struct vt_ep *b, const struct ibv_mr *slow,
				 const uint8_t *page)
{
	struct ibv_sge read = vt_sge(&a->buf, 0, 8);
	struct ibv_sge write = vt_sge(&a->buf, 0, WRITE_LEN);
	struct ibv_send_wr *bad, wr[2] = {
		{ .opcode = IBV_WR_RDMA_READ, .sg_list = &read, .num_sge = 1,
		  .next = &wr[1],
		  .wr.rdma = { (uintptr_t)page, slow->rkey } },
		{ .opcode = IBV_WR_RDMA_WRITE, .sg_list = &write, .num_sge = 1,
		  .wr.rdma = { (uintptr_t)b->buf.p, b->buf.mr->rkey } },
	};
	int ret = vt_conn_open(c, a, b);

	return ret ?: ibv_post_send(c->a, wr, &bad);
}

TRY(try_packets)
{
	uint8_t *p = slow_pages(CONNS * PAGE);
	static struct vt_conn conns[CONNS];
	struct vt_conf conf = vt_defaults;
	int64_t dropped, waiting = 0;
	struct vt_ep a, b;
	struct ibv_mr *mr;
	int i;

	conf.depth = 4;
	conf.cqe = CONNS;
	conf.buf_len = WRITE_LEN;
	if (!p || vt_ep_open(&a, &conf, 0) || vt_ep_open(&b, &conf, 0))
		return wrong("endpoints");
	mr = ibv_reg_mr(b.pd, p, CONNS * PAGE, IBV_ACCESS_ON_DEMAND |
					       IBV_ACCESS_REMOTE_READ);
	if (!mr)
		return wrong("region");
	dropped = vt_counter_now(own->dev.ctx, "rx_dropped");
	for (i = 0; i < CONNS; i++) {
		if (post_behind_slow_page(&conns[i], &a, &b, mr, p + i * PAGE))
			return wrong("connection");
		waiting = MAX(waiting, vt_counter_now(own->dev.ctx,
						      "rx_waiting_bytes"));
	}
	dropped = vt_counter_now(own->dev.ctx, "rx_dropped") - dropped;
	printf("# at most %lld KiB wait, %lld packets or trains were dropped\n",
	       (long long)waiting / 1024, (long long)dropped);
	if (waiting > USER_PACKETS + PACKETS_SLACK)
		return TOO_MUCH;
	return dropped > 0 && waiting > USER_PACKETS / 2 ? REFUSED : WRONG;
}

/* On an emulated machine it takes half of that time */
TEST_F_TIMEOUT(accounts, packets_that_wait, 60)
{
	refused_behind_slow_pages(_metadata, self, try_packets, RLIM_INFINITY);
}

/* -- operations that wait for pages that never arrive */

#define CONTEXTS	64
#define EACH		16		/* faults of a context */
#define THREADS_SLACK	8		/* of other users, started at the same time */
#define CHILDREN	4

static struct vt_never never;

/* Kernel threads of unbound workqueues */
static int unbound_workers(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int n = 0;

	while (dir && (d = readdir(dir))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = atoi(d->d_name) ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && strstr(name, "kworker/u"))
			n++;
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Register pages of the file, and prefetch each one separately. */
static bool ask_for_pages(struct ibv_pd *pd, uint8_t *p, int pages)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, p, pages * PAGE,
				       IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge;
	int i;

	for (i = 0; mr && i < pages; i++) {
		sge = (struct ibv_sge){ (uintptr_t)p + i * PAGE, PAGE,
					mr->lkey };
		if (ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
				  1))
			return false;
	}
	return mr;
}

static bool ask_by_context(const char *name, uint8_t *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	struct ibv_pd *pd;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	return pd && ask_for_pages(pd, p, EACH);
}

/* Wait until no more faults are added, and a little longer, for faults that must not be there. */
static enum end count_faults(int before)
{
	int n, i;

	for (i = 0; i < USER_FAULTS; i++)
		if (!vt_never_wait(&never, VT_TIMEOUT_MS))
			return wrong("nobody asks for the pages");
	if (vt_never_wait(&never, 1000))
		printf("# more than %d faults are under way\n", USER_FAULTS);
	n = unbound_workers();
	printf("# %d kernel threads, %d before\n", n, before);
	if (n < USER_FAULTS)
		return wrong("kernel threads are not seen");
	return n > before + USER_FAULTS + THREADS_SLACK ? TOO_MUCH : REFUSED;
}

TRY(try_contexts)
{
	uint8_t *p = vt_never_map(&never, CONTEXTS * EACH * PAGE);
	const char *name = ibv_get_device_name(own->dev.ctx->device);
	int before = unbound_workers(), i;

	for (i = 0; i < CONTEXTS; i++)
		if (!p || !ask_by_context(name, p + i * EACH * PAGE))
			return wrong("context");
	return count_faults(before);
}

static int asker_main(int sock, const void *arg)
{
	const char *name = arg;
	char byte;

	if (!ask_by_context(name, vt_never_map(&never, EACH * PAGE)) ||
	    write(sock, "", 1) != 1)
		return 1;
	return read(sock, &byte, 1) < 0;
}

TRY(try_processes)
{
	int before = unbound_workers(), i, sock;
	char byte;

	for (i = 0; i < CHILDREN; i++)
		if (vt_child(&sock, asker_main,
			     ibv_get_device_name(own->dev.ctx->device)) < 0 ||
		    read(sock, &byte, 1) != 1)
			return wrong("process");
	return count_faults(before);
}

static void refused_for_ever(struct __test_metadata *_metadata,
			     FIXTURE_DATA(accounts) *self, try_fn *try)
{
	VT_SETUP(vt_need_odp(&self->pair.a, IBV_ODP_SUPPORT));
	VT_SETUP(vt_never_open(&never, CONTEXTS * EACH * PAGE));
	EXPECT_REFUSED(try, 0, MEMLOCK);
	EXPECT_TRUE(vt_never_close(&never));
}

/* The same process, one context after the other */
TEST_F_TIMEOUT(accounts, faults_of_many_contexts, 60)
{
	refused_for_ever(_metadata, self, try_contexts);
}

TEST_F_TIMEOUT(accounts, faults_of_many_processes, 60)
{
	refused_for_ever(_metadata, self, try_processes);
}

/*
 * A process that fills memory, starts one fault and ends. Its parent waits until the fault has requested the page, or
 * has had time to do so.
 */
#define DEAD		24
#define DEAD_BYTES	(2 * MIB)
#define DEAD_SLACK	(8 * MIB)

static int dying_main(int sock, const void __attribute__((unused)) *arg)
{
	uint8_t *own = vt_map(DEAD_BYTES, PAGE, MAP_PRIVATE, -1);
	uint8_t *p = vt_never_map(&never, PAGE);
	struct vt_dev dev;
	struct ibv_pd *pd;
	char byte;

	if (!own || !p || vt_dev_open(&dev, 0, AF_INET))
		return 1;
	memset(own, 1, DEAD_BYTES);
	pd = ibv_alloc_pd(dev.ctx);
	if (!pd || !ask_for_pages(pd, p, 1) || write(sock, "", 1) != 1)
		return 2;
	return read(sock, &byte, 1) < 0;
}

TRY(try_dead)
{
	long before = group_bytes(), took;
	int i, sock, status;
	char byte;
	pid_t pid;

	for (i = 0; i < DEAD; i++) {
		pid = vt_child(&sock, dying_main, NULL);
		if (pid < 0 || read(sock, &byte, 1) != 1)
			return wrong("process");
		usleep(100000);
		close(sock);
		if (waitpid(pid, &status, 0) != pid || status)
			return wrong("end of a process");
	}
	sleep(1);
	took = group_bytes() - before;
	printf("# %d processes have left %ld KiB\n", DEAD, took / 1024);
	return took > USER_FAULTS * DEAD_BYTES + DEAD_SLACK ? TOO_MUCH :
							       REFUSED;
}

TEST_F_TIMEOUT(accounts, memory_of_processes_that_have_ended, 60)
{
	refused_for_ever(_metadata, self, try_dead);
}

/* -- tables of on-demand regions */

#define CHUNK		(2 * MIB)
#define TABLE		4096		/* of a chunk, at least */
#define REGIONS		8

/* Pages of zeros take no memory, but their tables do. */
static int fill_tables(struct ibv_pd *pd, struct ibv_mr **mr, uint8_t *p)
{
	size_t i, chunks = 2 * USER_ODP / TABLE / REGIONS;
	struct ibv_sge sge;
	int r, n = 0;

	for (r = 0; r < REGIONS; r++) {
		mr[r] = ibv_reg_mr(pd, p, chunks * CHUNK, IBV_ACCESS_ON_DEMAND);
		for (i = 0; mr[r] && i < chunks; i++, n++) {
			sge = (struct ibv_sge){ (uintptr_t)p + i * CHUNK, PAGE,
						mr[r]->lkey };
			errno = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
					      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
			if (errno)
				return n;
		}
	}
	return n;
}

TRY(try_tables)
{
	size_t len = 2 * USER_ODP / TABLE / REGIONS * CHUNK;
	uint8_t *p = vt_map(len, CHUNK, MAP_PRIVATE, -1);
	struct ibv_mr *mr[REGIONS] = {};
	int round, n, r, first = 0;

	if (!p)
		return wrong("memory");
	/* a kernel without huge pages refuses */
	madvise(p, len, MADV_NOHUGEPAGE);
	for (round = 0; round < 2; round++) {
		n = fill_tables(own->pd, mr, p);
		printf("# %d tables, then errno %d\n", n, errno);
		if (n * TABLE > USER_ODP)
			return TOO_MUCH;
		/* They are freed with the regions. */
		if (errno != ENOMEM || n * TABLE < USER_ODP / 2 || n < first)
			return wrong("tables");
		first = n;
		for (r = 0; r < REGIONS; r++)
			if (mr[r] && ibv_dereg_mr(mr[r]))
				return wrong("dereg_mr");
		memset(mr, 0, sizeof(mr));
	}
	return REFUSED;
}

TEST_F(accounts, tables_of_on_demand_regions)
{
	VT_SETUP(vt_need_odp(&self->pair.a, IBV_ODP_SUPPORT));
	EXPECT_REFUSED(try_tables, 0, MEMLOCK);
}

VT_HARNESS_MAIN
