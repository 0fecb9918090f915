// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of many QPs: scalebench TEST [COUNT], on the device $SMR_DEV.
 *
 *	qps N		N QPs in this process, each with two CQs, connected to
 *			themselves, and destroyed one by one
 *	kill N		the same, but the process is killed
 *	hold N		the same; prints "ready" and keeps them until its input
 *			ends
 *	kernel		KiB of memory that the kernel has
 *
 * Prints lines "test size metric value". The kernel's memory is Slab, VmallocUsed, Percpu,
 * PageTables and KernelStack of /proc/meminfo. Processor time is that of this process, in the
 * kernel and outside of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"
#include "system.h"

/* A usual depth */
#define DEPTH	16

/**
 * struct one - a QP and its CQs
 */
struct one {
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
};

/**
 * struct clock - the state at the beginning of a measurement
 * @wall: microseconds
 * @cpu: microseconds
 * @kib: memory of the kernel
 * @maps: mappings of this process
 */
struct clock {
	double wall;
	double cpu;
	long kib;
	int maps;
};

static struct vt_ep ep;
static const char *test;

static void die(const char *what, int err)
{
	fprintf(stderr, "scalebench: %s: %s\n", what, strerror(err));
	exit(1);
}

static void result(long size, const char *metric, double value)
{
	printf("%s %ld %s %.10g\n", test, size, metric, value);
	fflush(stdout);
}

static long kernel_kib(void)
{
	static const char *const names[] = {
		"Slab:", "VmallocUsed:", "Percpu:", "PageTables:",
		"KernelStack:",
	};
	long sum = 0;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		sum += vt_meminfo(names[i]);
	return sum;
}

static struct clock now(void)
{
	struct rusage usage;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	getrusage(RUSAGE_SELF, &usage);
	return (struct clock){
		.wall = ts.tv_sec * 1e6 + ts.tv_nsec / 1e3,
		.cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
		       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
		.kib = kernel_kib(),
		.maps = vt_mappings(),
	};
}

static void since(const struct clock *start, long n, const char *what)
{
	struct clock end = now();
	char metric[64];

	snprintf(metric, sizeof(metric), "%s_usec_each", what);
	result(n, metric, (end.wall - start->wall) / n);
	snprintf(metric, sizeof(metric), "%s_cpu_usec_each", what);
	result(n, metric, (end.cpu - start->cpu) / n);
}

static void create(struct one *one)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};

	one->scq = ibv_create_cq(ep.dev.ctx, DEPTH, NULL, NULL, 0);
	one->rcq = ibv_create_cq(ep.dev.ctx, DEPTH, NULL, NULL, 0);
	if (!one->scq || !one->rcq)
		die("CQ", errno);
	init.send_cq = one->scq;
	init.recv_cq = one->rcq;
	one->qp = ibv_create_qp(ep.pd, &init);
	if (!one->qp)
		die("QP", errno);
}

static void connect_to_itself(struct one *one)
{
	struct vt_addr me = vt_ep_addr(&ep);
	int ret;

	me.qpn = one->qp->qp_num;
	ret = vt_qp_connect(one->qp, &ep.conf, ep.dev.gid_index, &me);
	if (ret)
		die("connect", -ret);
}

static void destroy(struct one *one)
{
	int ret = ibv_destroy_qp(one->qp);

	if (!ret)
		ret = ibv_destroy_cq(one->rcq);
	if (!ret)
		ret = ibv_destroy_cq(one->scq);
	if (ret)
		die("destroy", ret);
}

static void open_device(void)
{
	struct vt_conf conf = vt_defaults;
	int ret = vt_ep_open(&ep, &conf, 0);

	if (ret)
		die("device", -ret);
}

/* Makes @n of them, which exist until the process exits or destroys them. */
static struct one *make(long n)
{
	struct one *all = calloc(n, sizeof(*all));
	struct clock start;
	long i;

	if (!all)
		die("memory", ENOMEM);
	/* the figures must not include the array's own pages */
	memset(all, 1, n * sizeof(*all));
	start = now();
	for (i = 0; i < n; i++)
		create(&all[i]);
	since(&start, n, "create");
	result(n, "kernel_KiB_each", (double)(kernel_kib() - start.kib) / n);
	result(n, "mappings", vt_mappings() - start.maps);
	start = now();
	for (i = 0; i < n; i++)
		connect_to_itself(&all[i]);
	since(&start, n, "connect");
	result(n, "connected_more_KiB_each",
	       (double)(kernel_kib() - start.kib) / n);
	return all;
}

static void test_qps(long n)
{
	struct clock start;
	struct one *all;
	long i;

	open_device();
	all = make(n);
	start = now();
	for (i = 0; i < n; i++)
		destroy(&all[i]);
	since(&start, n, "destroy");
	result(n, "destroyed_KiB_each", (double)(start.kib - kernel_kib()) / n);
}

/* The child prints nothing but "ready". */
static void test_kill(long n)
{
	long before = kernel_kib();
	struct clock start;
	int status, fd[2];
	pid_t pid;
	char c;

	if (pipe(fd))
		die("pipe", errno);
	pid = fork();
	if (!pid) {
		close(fd[0]);
		if (!freopen("/dev/null", "w", stdout))
			exit(1);
		open_device();
		make(n);
		if (write(fd[1], "r", 1) != 1)
			exit(1);
		pause();
		exit(1);
	}
	close(fd[1]);
	if (read(fd[0], &c, 1) != 1)
		die("the process with the QPs", EPIPE);
	start = now();
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		die("wait", errno);
	result(n, "kill_usec_each", (now().wall - start.wall) / n);
	result(n, "left_KiB", kernel_kib() - before);
}

static void test_hold(long n)
{
	open_device();
	make(n);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	test = argc > 1 ? argv[1] : "";
	if (!strcmp(test, "kernel"))
		result(0, "KiB", kernel_kib());
	else if (n > 0 && !strcmp(test, "qps"))
		test_qps(n);
	else if (n > 0 && !strcmp(test, "kill"))
		test_kill(n);
	else if (n > 0 && !strcmp(test, "hold"))
		test_hold(n);
	else
		die("usage", EINVAL);
	return 0;
}
