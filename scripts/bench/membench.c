// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of memory regions: membench TEST COUNT [RUN], on the device $SMR_DEV.
 *
 *	reg MIB		register and deregister MIB of memory, of pages of 4 KiB
 *			and, if available, of 2 MiB (transparent ones)
 *	many N		N regions of 4 KiB alive at once
 *	fault PAGES	the first access to a page that is present in the process
 *			but not in the device
 *	prefetch MIB	first accesses with and without ibv_advise_mr()
 *	hold N		makes N regions of a page, prints "ready" and keeps them until
 *			its input ends
 *	counted PAGES	the cost of one call, in ns, as the median: registering and
 *			deregistering of three sizes, first accesses and
 *			prefetches of PAGES pages, a WRITE and a verb that are
 *			refused. For machines whose time is the number of
 *			instructions
 *
 * Memory comes in runs of RUN pages (16) that follow each other physically, as
 * in a process that has run for some time.
 *
 * Prints lines "test size metric value". Times are the best of some rounds,
 * since other load can only make them longer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"
#include "work.h"

#define ROUNDS	5
#define PAGE	4096ul
#define HUGE	(2ul << 20)
#define BLOCK	4096ul
/* a prime: the step between two runs of pages that are touched */
#define SCATTER	7919ul
#define ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ)

static struct vt_pair pair;
static size_t run_pages = 16;

static void die(const char *what, int err)
{
	fprintf(stderr, "membench: %s: %s\n", what, strerror(err));
	exit(1);
}

static void result(const char *test, unsigned long size, const char *metric,
		   double value)
{
	printf("%s %lu %s %.6g\n", test, size, metric, value);
	fflush(stdout);
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void least(double *min, double value)
{
	if (!*min || value < *min)
		*min = value;
}

/*
 * The sum of the fields @names (each with its colon) of a file like
 * /proc/meminfo
 */
static double kib_of(const char *path, const char *const *names)
{
	FILE *f = fopen(path, "r");
	double sum = 0, value;
	char line[128], word[64];
	int i;

	while (f && fgets(line, sizeof(line), f))
		for (i = 0; names[i]; i++)
			if (sscanf(line, "%63s %lf", word, &value) == 2 &&
			    !strcmp(word, names[i]))
				sum += value;
	if (f)
		fclose(f);
	return sum;
}

/* Kernel memory. Sync the per-CPU counters first. */
static double kernel_bytes(void)
{
	static const char *const names[] = { "Slab:", "VmallocUsed:", NULL };
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);

	if (fd < 0 || write(fd, "1", 1) != 1)
		die("/proc/sys/vm/stat_refresh", errno);
	close(fd);
	return 1024 * kib_of("/proc/meminfo", names);
}

/* Touch each page, run by run, but never two adjacent runs in a row. */
static void touch(char *p, size_t len)
{
	size_t run = run_pages * PAGE, runs = len / run, i, k;

	for (i = 0; i < runs; i++)
		for (k = 0; k < run; k += PAGE)
			p[i * SCATTER % runs * run + k] = 1;
	for (k = runs * run; k < len; k += PAGE)
		p[k] = 1;
}

/* Reserve addresses without pages, of which none will be a huge one. */
static char *room(size_t len)
{
	char *p = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap", errno);
	p += -(uintptr_t)p & (HUGE - 1);
	madvise(p, len, MADV_NOHUGEPAGE);
	return p;
}

/* The same with pages */
static char *memory(size_t len)
{
	char *p = room(len);

	touch(p, len);
	return p;
}

static struct ibv_mr *reg(char *p, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pair.b.pd, p, len, ALL | access);

	if (!mr)
		die("ibv_reg_mr", errno);
	return mr;
}

static void dereg(struct ibv_mr *mr)
{
	int ret = ibv_dereg_mr(mr);

	if (ret)
		die("ibv_dereg_mr", ret);
}

/* -- registering */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, unsigned long n)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

static void bench_reg(unsigned long mib)
{
	double start, before, reg_us = 0, dereg_us = 0, bytes[ROUNDS];
	size_t len = mib << 20;
	char *p = memory(len);
	struct ibv_mr *mr;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		/* memory that RCU frees later */
		usleep(200000);
		before = kernel_bytes();
		start = now_us();
		mr = reg(p, len, 0);
		least(&reg_us, now_us() - start);
		bytes[i] = kernel_bytes() - before;
		start = now_us();
		dereg(mr);
		least(&dereg_us, now_us() - start);
	}
	munmap(p, len);
	result("reg_4k_pages", len, "reg_ms", reg_us / 1e3);
	result("reg_4k_pages", len, "dereg_ms", dereg_us / 1e3);
	result("reg_4k_pages", len, "kernel_KiB_per_GiB",
	       median(bytes, ROUNDS) / 1024 * (1ul << 30) / len);
}

/* One of @n steps is too short to measure, and all together may be disturbed. */
#define BATCH	1000

static void bench_many(unsigned long n)
{
	unsigned long batches = n / BATCH, i, k;
	struct ibv_mr **mrs = calloc(n, sizeof(*mrs));
	double *times = calloc(batches + 1, sizeof(*times));
	char *p = memory(n * PAGE);
	double start, before, bytes;

	if (!mrs || !times || !batches)
		die("memory for results", ENOMEM);
	n = batches * BATCH;
	before = kernel_bytes();
	for (i = 0; i < batches; i++) {
		start = now_us();
		for (k = i * BATCH; k < (i + 1) * BATCH; k++)
			mrs[k] = reg(p + k * PAGE, PAGE, 0);
		times[i] = (now_us() - start) / BATCH;
	}
	bytes = kernel_bytes() - before;
	result("many_mrs", n, "reg_usec_each", median(times, batches));
	for (i = 0; i < batches; i++) {
		start = now_us();
		for (k = i * BATCH; k < (i + 1) * BATCH; k++)
			dereg(mrs[k]);
		times[i] = (now_us() - start) / BATCH;
	}
	result("many_mrs", n, "dereg_usec_each", median(times, batches));
	result("many_mrs", n, "kernel_bytes_each", bytes / n);
}

static void bench_hold(unsigned long n)
{
	char *p = memory(PAGE);

	while (n--)
		reg(p, PAGE, 0);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

/* -- on demand */

static void write_to(char *p, const struct ibv_mr *mr, size_t len)
{
	struct ibv_sge sge = vt_sge(&pair.a.buf, 0, len);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)p, mr->rkey },
	};
	struct ibv_wc wc;
	int ret = vt_post(&pair.a, &wr);

	if (!ret)
		ret = vt_wait(pair.a.scq, &wc);
	if (ret)
		die("RDMA WRITE", -ret);
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "membench: RDMA WRITE: %s\n",
			ibv_wc_status_str(wc.status));
		exit(1);
	}
}

/*
 * WRITEs of @len bytes, a step apart, over all of the memory. Return:
 * microseconds for each
 */
static double pass(char *p, const struct ibv_mr *mr, size_t len, size_t step,
		   unsigned long n)
{
	double start = now_us();
	unsigned long i;

	for (i = 0; i < n; i++)
		write_to(p + i * step, mr, len);
	return (now_us() - start) / n;
}

/*
 * A region whose pages are present in the process but not in the device: they
 * were touched after the registration.
 */
static struct ibv_mr *reg_unknown(char **p, size_t len)
{
	struct ibv_mr *mr;

	*p = room(len);
	mr = reg(*p, len, IBV_ACCESS_ON_DEMAND);
	touch(*p, len);
	return mr;
}

static void bench_fault(unsigned long pages)
{
	size_t len = pages * PAGE;
	double cold = 0, hot = 0;
	struct ibv_mr *mr;
	char *p;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		mr = reg_unknown(&p, len);
		least(&cold, pass(p, mr, 8, PAGE, pages));
		least(&hot, pass(p, mr, 8, PAGE, pages));
		dereg(mr);
		munmap(p, len);
	}
	result("odp_fault", 8, "first_access_usec", cold);
	result("odp_fault", 8, "next_access_usec", hot);
	result("odp_fault", 8, "fault_usec", cold - hot);
}

static int advise(char *p, const struct ibv_mr *mr, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p, .length = len, .lkey = mr->lkey,
	};

	return ibv_advise_mr(pair.b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

/* With @call: prefetch, and store the time for each page. Return: 0 or an errno */
static int one_prefetch(size_t len, double *call, double *first, double *next)
{
	unsigned long n = len / BLOCK;
	struct ibv_mr *mr;
	double start;
	int ret = 0;
	char *p;

	mr = reg_unknown(&p, len);
	start = now_us();
	if (call)
		ret = advise(p, mr, len);
	if (call && !ret)
		least(call, (now_us() - start) / (len / PAGE));
	if (!ret)
		least(first, pass(p, mr, BLOCK, BLOCK, n));
	if (!ret)
		least(next, pass(p, mr, BLOCK, BLOCK, n));
	dereg(mr);
	munmap(p, len);
	return ret;
}

static void bench_prefetch(unsigned long mib)
{
	double cold = 0, warm = 0, hot = 0, call = 0;
	int i, ret = 0;

	for (i = 0; i < ROUNDS && !ret; i++) {
		one_prefetch(mib << 20, NULL, &cold, &hot);
		ret = one_prefetch(mib << 20, &call, &warm, &hot);
	}
	result("odp_writes", BLOCK, "cold_usec", cold);
	result("odp_writes", BLOCK, "hot_usec", hot);
	if (ret) {
		fprintf(stderr, "membench: ibv_advise_mr: %s\n", strerror(ret));
		return;
	}
	result("odp_writes", BLOCK, "prefetched_usec", warm);
	result("odp_writes", BLOCK, "prefetch_gain_times", cold / warm);
	result("odp_writes", BLOCK, "prefetch_usec_per_page", call);
}

/* -- counted: without disturbance, the median is the cost of a call */

#define NS	1e3
/* enough that it does not matter when the kernel refills or empties its lists */
#define COUNTED	41
#define NO_ADVICE	((enum ibv_advise_mr_advice)1000)

static void count_reg(size_t len, int rounds)
{
	double start, reg_us[COUNTED], dereg_us[COUNTED];
	char *p = memory(len);
	struct ibv_mr *mr;
	int i;

	for (i = 0; i < rounds; i++) {
		start = now_us();
		mr = reg(p, len, 0);
		reg_us[i] = now_us() - start;
		start = now_us();
		dereg(mr);
		dereg_us[i] = now_us() - start;
	}
	munmap(p, len);
	result("reg", len, "ns", median(reg_us, rounds) * NS);
	result("dereg", len, "ns", median(dereg_us, rounds) * NS);
}

/* How much more a first access costs than the next one */
static void count_fault(unsigned long pages)
{
	size_t len = pages * PAGE;
	double us[ROUNDS];
	struct ibv_mr *mr;
	char *p;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		mr = reg_unknown(&p, len);
		us[i] = pass(p, mr, 8, PAGE, pages);
		us[i] -= pass(p, mr, 8, PAGE, pages);
		dereg(mr);
		munmap(p, len);
	}
	result("odp_fault", 8, "ns", median(us, ROUNDS) * NS);
}

/* A WRITE with a wrong rkey, up to its completion. The QPs are connected again in between. */
static void count_refused(void)
{
	struct ibv_sge sge = vt_sge(&pair.a.buf, 0, 8);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)pair.b.buf.p, pair.b.buf.mr->rkey ^ 0x5a00 },
	};
	double start, us[COUNTED];
	int i, ret;

	for (i = 0; i < COUNTED; i++) {
		start = now_us();
		ret = vt_outcome(&pair.a, &wr);
		us[i] = now_us() - start;
		if (ret != IBV_WC_REM_ACCESS_ERR) {
			fprintf(stderr, "membench: a WRITE with a wrong rkey: %d\n", ret);
			exit(1);
		}
		ret = vt_pair_reset(&pair);
		if (ret)
			die("cannot connect again", -ret);
	}
	result("refused", 8, "ns", median(us, COUNTED) * NS);
}

/* A verb that is refused at once: an advice that does not exist */
static void count_refused_verb(void)
{
	struct ibv_sge sge = vt_sge(&pair.b.buf, 0, 8);
	double start, us[COUNTED];
	int i, ret;

	for (i = 0; i < COUNTED; i++) {
		start = now_us();
		ret = ibv_advise_mr(pair.b.pd, NO_ADVICE, 0, &sge, 1);
		us[i] = now_us() - start;
		if (ret != EOPNOTSUPP)
			die("ibv_advise_mr with a wrong advice", ret);
	}
	result("refused_verb", 8, "ns", median(us, COUNTED) * NS);
}

/* The cost of a page of a prefetch. Return: 0 or an errno */
static int count_prefetch(unsigned long pages)
{
	size_t len = pages * PAGE;
	double start, us[ROUNDS];
	struct ibv_mr *mr;
	int i, ret = 0;
	char *p;

	for (i = 0; i < ROUNDS && !ret; i++) {
		mr = reg_unknown(&p, len);
		start = now_us();
		ret = advise(p, mr, len);
		us[i] = (now_us() - start) / pages;
		dereg(mr);
		munmap(p, len);
	}
	if (ret)
		fprintf(stderr, "membench: ibv_advise_mr: %s\n", strerror(ret));
	else
		result("prefetch", PAGE, "ns", median(us, ROUNDS) * NS);
	return ret;
}

static void bench_counted(unsigned long pages)
{
	count_reg(PAGE, COUNTED);
	count_reg(2ul << 20, COUNTED);
	count_reg(256ul << 20, ROUNDS);
	count_fault(pages);
	/* rdma_rxe's provider has no ibv_advise_mr(), so no verb of it is refused */
	if (!count_prefetch(pages))
		count_refused_verb();
	count_refused();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned long count);
	} tests[] = {
		{ "reg", bench_reg },
		{ "many", bench_many },
		{ "fault", bench_fault },
		{ "prefetch", bench_prefetch },
		{ "hold", bench_hold },
		{ "counted", bench_counted },
	};
	struct vt_conf conf = vt_defaults;
	unsigned long count;
	unsigned int i;
	int ret;

	count = argc >= 3 ? strtoul(argv[2], NULL, 0) : 0;
	if (argc == 4)
		run_pages = strtoul(argv[3], NULL, 0);
	if (!count || !run_pages) {
		fprintf(stderr, "usage: membench reg|many|fault|prefetch|hold|counted COUNT [RUN]\n");
		return 2;
	}
	conf.buf_len = BLOCK;
	ret = vt_pair_open(&pair, &conf);
	if (ret)
		die("cannot connect", -ret);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(argv[1], tests[i].name)) {
			tests[i].run(count);
			vt_pair_close(&pair);
			return 0;
		}
	fprintf(stderr, "membench: no test %s\n", argv[1]);
	return 2;
}
