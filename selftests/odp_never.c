// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging of a page that never arrives: only operations that need it wait for it, and
 * these can be ended at any time.
 *
 * odp_never --hold write|prefetch|reg|rereg waits for such a page, while link_never.sh removes
 * link, netdev and namespace.
 *
 * timeout: 200
 * paths: host wire
 */
#include "harness.h"

#include <sys/utsname.h>

#include "never.h"
#include "region.h"
#include "system.h"
#include "window.h"

#define PAGES	1024
#define SIZE	1000

/* Memory that one notifier watches */
#define CHUNK	(2ul << 20)

/* The promise is a second. On an emulated machine it may take longer. */
#define SOON_MS	5000

/* What a process does while its operation waits for the page */
enum how {
	DEREG,
	REREG,
	QUERY,		/* the QPs */
	DEALLOC,	/* the window that the operation uses */
	INVALIDATE,	/* the same window, by a work request */
	DESTROY,	/* the QP */
	RESET,		/* the QP */
	CLOSE,		/* the device, with all its objects */
	EXIT,		/* without closing anything */
	KILLED,
};

static const char *const names[] = {
	"dereg_mr", "rereg_mr", "query_qp", "dealloc_mw", "LOCAL_INV",
	"destroy_qp", "reset", "close", "exit", "kill",
};

/**
 * struct asked - what a process does
 * @never: the file
 * @way: how a byte of it is accessed
 * @how: what it does next
 */
struct asked {
	const struct vt_never *never;
	enum vt_way way;
	enum how how;
};

/**
 * struct victim - the process that waits for the page
 * @pair: its two ends
 * @r: the file, registered at end b
 * @mw: the window by which end a accesses it, or NULL
 */
struct victim {
	struct vt_pair pair;
	struct vt_region r;
	struct ibv_mw *mw;
};

FIXTURE(never)
{
	struct vt_never never;
	bool open;
};

FIXTURE_SETUP(never)
{
	struct vt_ep ep;

	VT_SETUP(vt_ep_open(&ep, &vt_defaults, 0));
	VT_SETUP(vt_need_odp(&ep, IBV_ODP_SUPPORT));
	vt_ep_close(&ep);
	VT_SETUP(vt_never_open(&self->never, PAGES * PAGE));
	self->open = true;
}

FIXTURE_TEARDOWN(never)
{
	if (self->open)
		EXPECT_TRUE(vt_never_close(&self->never));
}

static int query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
}

static int do_it(struct victim *v, enum how how)
{
	/* either end may be the one that waits for a page */
	struct vt_ep *eps[] = { &v->pair.a, &v->pair.b };
	int i, ret = 0;

	switch (how) {
	case DEREG:
		return ibv_dereg_mr(v->r.mr);
	case REREG:
		return ibv_rereg_mr(v->r.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				    NULL, 0, IBV_ACCESS_ON_DEMAND);
	case QUERY:
		for (i = 0; i < 2; i++)
			ret = ret ? ret : query(eps[i]->qp);
		return ret;
	case DEALLOC:
		return ibv_dealloc_mw(v->mw);
	case INVALIDATE:
		return vt_invalidate(&v->pair.b, v->mw->rkey);
	case DESTROY:
		for (i = 0; i < 2; i++)
			ret = ret ? ret : ibv_destroy_qp(eps[i]->qp);
		return ret;
	case RESET:
		for (i = 0; i < 2; i++)
			ret = ret ? ret : vt_qp_reset(eps[i]->qp);
		return ret;
	case CLOSE:
		ret = ibv_dereg_mr(v->r.mr);
		vt_pair_close(&v->pair);
		return ret;
	default:
		return 0;
	}
}

/* Ask for a page by the key of a window. */
static int post_through(struct victim *v, enum vt_way way, size_t off,
			enum ibv_mw_type type)
{
	struct vt_bind to = {
		v->r.mr, v->r.iova, v->r.len,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct vt_region through = v->r;
	struct ibv_mr mr = *v->r.mr;
	int ret;

	v->mw = ibv_alloc_mw(v->pair.b.pd, type);
	if (!v->mw)
		return -errno;
	ret = vt_bind_any(&v->pair.b, v->mw, &to);
	if (ret)
		return ret;
	mr.rkey = v->mw->rkey;
	through.mr = &mr;
	return vt_region_post(&v->pair, &through, way, off, SIZE);
}

/* Register the file and ask for one of its pages. */
static int ask(struct victim *v, const struct asked *what)
{
	uint8_t *p = vt_never_map(what->never, PAGES * PAGE);
	size_t off = what->way * PAGE;
	int ret;

	if (!p)
		return -errno;
	ret = vt_pair_open(&v->pair, &vt_defaults);
	if (!ret)
		ret = vt_region_reg(&v->r, v->pair.b.pd, p, PAGES * PAGE,
				    (uintptr_t)p,
				    VT_ACCESS_ODP | IBV_ACCESS_MW_BIND);
	if (ret)
		return ret;
	switch (what->how) {
	case DEALLOC:
		return post_through(v, what->way, off, IBV_MW_TYPE_1);
	case INVALIDATE:
		return post_through(v, what->way, off, IBV_MW_TYPE_2);
	default:
		return vt_region_post(&v->pair, &v->r, what->way, off, SIZE);
	}
}

/* A byte tells the parent that the request was posted, or that everything is done. */
static int victim_main(int sock, const void *arg)
{
	const struct asked *what = arg;
	struct victim v = {};
	char byte;

	if (ask(&v, what))
		return 1;
	if (write(sock, "", 1) != 1 || read(sock, &byte, 1) != 1)
		return 2;
	if (do_it(&v, what->how))
		return 3;
	if (write(sock, "", 1) != 1)
		return 4;
	if (what->how == KILLED)
		pause();
	/* without having closed the rest */
	_exit(0);
}

static bool step_within(int sock, int ms)
{
	struct timeval limit = { .tv_sec = ms / 1000 };
	char byte;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return read(sock, &byte, 1) == 1;
}

/* Return: the process's status, or -1 if it has not ended soon. */
static int ends_soon(pid_t pid)
{
	uint64_t start = vt_now_ms();
	int status;

	while (vt_now_ms() - start < SOON_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(1000);
	}
	return -1;
}

/*
 * A process that has not exited soon exits when its page gives an error. So the next test finds a
 * working device.
 */
static void let_go(struct __test_metadata *_metadata,
		   FIXTURE_DATA(never) *self, pid_t pid)
{
	EXPECT_TRUE(vt_never_close(&self->never));
	self->open = false;
	waitpid(pid, NULL, 0);
}

static void while_waiting(struct __test_metadata *_metadata,
			  FIXTURE_DATA(never) *self, enum vt_way way,
			  enum how how)
{
	struct asked what = { &self->never, way, how };
	int sock, status;
	pid_t pid;

	pid = vt_child(&sock, victim_main, &what);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(step_within(sock, VT_TIMEOUT_MS))
		TH_LOG("way %d: post_send waits for the page", way);
	EXPECT_TRUE(vt_never_wait(&self->never, VT_TIMEOUT_MS))
		TH_LOG("way %d: nobody has asked for the page", way);
	EXPECT_EQ(1, write(sock, "", 1));
	EXPECT_TRUE(step_within(sock, SOON_MS))
		TH_LOG("way %d: %s waits for the page", way, names[how]);
	if (how == KILLED)
		kill(pid, SIGKILL);
	status = ends_soon(pid);
	EXPECT_EQ(how == KILLED ? SIGKILL : 0, status)
		TH_LOG("way %d, %s: %s", way, names[how],
		       status < 0 ? "does not end" : "wrong status");
	close(sock);
	if (status < 0)
		let_go(_metadata, self, pid);
}

/* One process after another, each with pages of its own */
static void in_each_way(struct __test_metadata *_metadata,
			FIXTURE_DATA(never) *self, enum how how)
{
	int way;

	for (way = 0; way < VT_WAYS && self->open; way++)
		while_waiting(_metadata, self, way, how);
}

TEST_F(never, dereg_mr) { in_each_way(_metadata, self, DEREG); }
TEST_F(never, rereg_mr) { in_each_way(_metadata, self, REREG); }
TEST_F(never, query_qp) { in_each_way(_metadata, self, QUERY); }
TEST_F(never, destroy_qp) { in_each_way(_metadata, self, DESTROY); }
TEST_F(never, reset_qp) { in_each_way(_metadata, self, RESET); }
TEST_F(never, close_device) { in_each_way(_metadata, self, CLOSE); }
TEST_F(never, exit_process) { in_each_way(_metadata, self, EXIT); }
TEST_F(never, killed) { in_each_way(_metadata, self, KILLED); }

/* Only the peer uses windows. */
static void through_window(struct __test_metadata *_metadata,
			   FIXTURE_DATA(never) *self, enum how how)
{
	while_waiting(_metadata, self, VT_WRITE, how);
	if (self->open)
		while_waiting(_metadata, self, VT_READ, how);
}

TEST_F(never, dealloc_mw) { through_window(_metadata, self, DEALLOC); }
TEST_F(never, local_inv) { through_window(_metadata, self, INVALIDATE); }

static int prefetch(struct ibv_pd *pd, const struct ibv_mr *mr, uint64_t addr,
		    uint32_t len, uint32_t flags)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = mr->lkey };

	return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, flags, &sge, 1);
}

/* Register the file with a device of its own. */
static int open_file(struct vt_ep *ep, struct vt_region *r,
		     const struct vt_never *never)
{
	uint8_t *p = vt_never_map(never, PAGES * PAGE);
	int ret;

	if (!p)
		return -errno;
	ret = vt_ep_open(ep, &vt_defaults, 0);
	return ret ? ret : vt_region_reg(r, ep->pd, p, PAGES * PAGE,
					 (uintptr_t)p, VT_ACCESS_ODP);
}

/* Prefetch each page by itself, without waiting; then all, and wait. */
static int prefetcher_main(int sock, const void *arg)
{
	struct vt_region r;
	struct vt_ep ep;
	char byte;
	int i;

	if (open_file(&ep, &r, arg))
		return 1;
	for (i = 0; i < PAGES; i++)
		if (prefetch(ep.pd, r.mr, r.iova + i * PAGE, PAGE, 0))
			return 2;
	if (write(sock, "", 1) != 1 || read(sock, &byte, 1) != 1)
		return 3;
	prefetch(ep.pd, r.mr, r.iova, PAGES * PAGE,
		 IBV_ADVISE_MR_FLAG_FLUSH);
	return 4;
}

/*
 * A process of the same user waits for a thousand pages. Pages of other processes are brought in,
 * prefetched and released as always, and its own wait can be ended.
 */
TEST_F(never, thousand_prefetches)
{
	struct vt_region r;
	struct vt_pair pair;
	int sock, way, status;
	uint8_t *p;
	pid_t pid;

	pid = vt_child(&sock, prefetcher_main, &self->never);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(step_within(sock, VT_TIMEOUT_MS));
	EXPECT_TRUE(vt_never_wait(&self->never, VT_TIMEOUT_MS));
	ASSERT_EQ(0, vt_pair_open(&pair, &vt_defaults));
	for (way = 0; way < VT_WAYS; way++) {
		p = vt_map(2 * PAGE, PAGE, MAP_PRIVATE, -1);
		ASSERT_NE(NULL, p);
		ASSERT_EQ(0, vt_region_reg(&r, pair.b.pd, p, 2 * PAGE,
					   (uintptr_t)p, VT_ACCESS_ODP));
		EXPECT_TRUE(vt_region_moves(&pair, &r, way, 0, SIZE));
		EXPECT_EQ(0, prefetch(pair.b.pd, r.mr, r.iova, 2 * PAGE,
				      IBV_ADVISE_MR_FLAG_FLUSH));
		vt_region_close(&r);
	}
	vt_pair_close(&pair);
	EXPECT_EQ(1, write(sock, "", 1));
	usleep(100000);
	kill(pid, SIGTERM);
	status = ends_soon(pid);
	EXPECT_EQ(SIGTERM, status);
	close(sock);
	if (status < 0)
		let_go(_metadata, self, pid);
}

/*
 * All faults that this process may have at once wait for such pages. Memory that is present can
 * still be registered.
 */
TEST_F(never, register_beside_prefetches)
{
	size_t len = PAGES * PAGE, i;
	struct vt_region r;
	struct ibv_mr *mr;
	struct vt_ep ep;
	uint8_t *p;

	ASSERT_EQ(0, open_file(&ep, &r, &self->never));
	for (i = 0; i < PAGES; i++)
		ASSERT_EQ(0, prefetch(ep.pd, r.mr, r.iova + i * PAGE, PAGE, 0));
	EXPECT_TRUE(vt_never_wait(&self->never, VT_TIMEOUT_MS));
	p = vt_map(len, PAGE, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, p);
	memset(p, 1, len);
	mr = ibv_reg_mr(ep.pd, p, len, VT_ACCESS_ALL);
	EXPECT_NE(NULL, mr);
	if (mr)
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(p, len);
	vt_region_close(&r);
	vt_ep_close(&ep);
}

/* Punch a page out of the file that @arg maps, again and again. */
static int puncher_main(int sock, const void *arg)
{
	const int *fd = arg;
	char byte;

	if (write(sock, "", 1) != 1)
		return 1;
	while (recv(sock, &byte, 1, MSG_DONTWAIT) < 0)
		if (fallocate(*fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      CHUNK / 2, PAGE))
			return 2;
	return 0;
}

/*
 * User-Mode Linux walks another process's mappings without their lock when a file
 * loses pages, and its lockdep says so.
 */
static bool has_uml_lockdep(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.release, "uml") &&
	       !access("/proc/lockdep", F_OK);
}

/* One page is taken away again and again: operations that need other pages get them. */
TEST_F(never, neighbour_punches)
{
	int fd = memfd_create("shared", MFD_CLOEXEC), sock, status = -1, i;
	struct vt_pair pair;
	struct vt_region r;
	uint8_t *p;
	pid_t pid;

	if (has_uml_lockdep())
		SKIP(return, "lockdep of User-Mode Linux");
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, CHUNK));
	p = vt_map(CHUNK, CHUNK, MAP_SHARED, fd);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_pair_open(&pair, &vt_defaults));
	ASSERT_EQ(0, vt_region_reg(&r, pair.b.pd, p, CHUNK, (uintptr_t)p,
				   VT_ACCESS_ODP));
	pid = vt_child(&sock, puncher_main, &fd);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(step_within(sock, VT_TIMEOUT_MS));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, prefetch(pair.b.pd, r.mr, r.iova, CHUNK,
				      IBV_ADVISE_MR_FLAG_FLUSH));
	EXPECT_TRUE(vt_region_works(&pair, &r, 0, SIZE * 8));
	/* The page that is punched out again and again may or may not be present. */
	EXPECT_EQ(0, vt_region_post(&pair, &r, VT_WRITE, CHUNK / 2, SIZE));
	vt_region_close(&r);
	vt_pair_close(&pair);
	EXPECT_EQ(1, write(sock, "", 1));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(sock);
	close(fd);
}

/* A thread that waits for a prefetch of the file */
struct waiter {
	struct vt_ep ep;
	struct vt_region r;
	int ret;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = prefetch(w->ep.pd, w->r.mr, w->r.iova, PAGE,
			  IBV_ADVISE_MR_FLAG_FLUSH);
	return NULL;
}

static int hold_prefetch(const struct vt_never *never)
{
	struct waiter w = {};
	pthread_t thread;

	if (open_file(&w.ep, &w.r, never) ||
	    pthread_create(&thread, NULL, waiter_main, &w) ||
	    !vt_never_wait(never, VT_TIMEOUT_MS))
		return KSFT_FAIL;
	printf("waits\n");
	fflush(stdout);
	pthread_join(thread, NULL);
	printf("prefetch: %s\n", strerror(w.ret));
	return w.ret ? KSFT_PASS : KSFT_FAIL;
}

/* A thread that registers the file, whose page the process needs to be pinned */
struct registrar {
	struct vt_ep ep;
	struct ibv_mr *mr;	/* to be reregistered, or NULL */
	uint8_t *p;
	int err;
};

static void *registrar_main(void *arg)
{
	struct registrar *r = arg;

	errno = 0;
	if (!r->mr)
		r->err = ibv_reg_mr(r->ep.pd, r->p, PAGE, 0) ? 0 : errno;
	else
		r->err = ibv_rereg_mr(r->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      r->p, PAGE, 0) ? errno : 0;
	return NULL;
}

/* Registers the file, whose page has to be pinned. It never arrives, so this does not return. */
static int registrar_child(int sock, const void *never)
{
	struct registrar r = { .p = vt_never_map(never, PAGES * PAGE) };

	if (!r.p || vt_ep_open(&r.ep, &vt_defaults, 0) || write(sock, "", 1) != 1)
		return 1;
	registrar_main(&r);
	return 2;
}

/* A process that waits for a page to be pinned can be killed. */
TEST_F(never, registration_killed)
{
	int sock, status;
	pid_t pid;

	pid = vt_child(&sock, registrar_child, &self->never);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(step_within(sock, VT_TIMEOUT_MS));
	EXPECT_TRUE(vt_never_wait(&self->never, VT_TIMEOUT_MS));
	kill(pid, SIGKILL);
	status = ends_soon(pid);
	EXPECT_EQ(SIGKILL, status);
	close(sock);
	if (status < 0)
		let_go(_metadata, self, pid);
}

static int hold_registration(const struct vt_never *never, bool again)
{
	struct registrar r = { .p = vt_never_map(never, PAGES * PAGE) };
	pthread_t thread;

	if (!r.p || vt_ep_open(&r.ep, &vt_defaults, 0))
		return KSFT_FAIL;
	if (again) {
		r.mr = ibv_reg_mr(r.ep.pd, vt_map(PAGE, PAGE, MAP_PRIVATE, -1), PAGE, 0);
		if (!r.mr)
			return KSFT_FAIL;
	}
	if (pthread_create(&thread, NULL, registrar_main, &r) ||
	    !vt_never_wait(never, VT_TIMEOUT_MS))
		return KSFT_FAIL;
	printf("waits\n");
	fflush(stdout);
	pthread_join(thread, NULL);
	printf("registration: %s\n", strerror(r.err));
	return r.err == EIO ? KSFT_PASS : KSFT_FAIL;
}

/* Wait for a page, until this process is killed or the device is removed. */
static int hold(const char *what)
{
	struct asked asked = { .way = VT_WRITE, .how = KILLED };
	struct vt_never never;
	struct victim v = {};
	int ret = vt_never_open(&never, PAGES * PAGE);

	if (ret)
		return vt_unsupported(ret) ? KSFT_SKIP : KSFT_FAIL;
	if (!strcmp(what, "prefetch"))
		return hold_prefetch(&never);
	if (!strcmp(what, "reg") || !strcmp(what, "rereg"))
		return hold_registration(&never, !strcmp(what, "rereg"));
	asked.never = &never;
	if (ask(&v, &asked) || !vt_never_wait(&never, VT_TIMEOUT_MS))
		return KSFT_FAIL;
	printf("waits\n");
	fflush(stdout);
	pause();
	return KSFT_FAIL;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--hold")) {
		vt_load_providers();
		return hold(argv[2]);
	}
	return vt_harness_main(argc, argv);
}
