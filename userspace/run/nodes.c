// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes are network namespaces, and a bridge in the first one is the switch
 * between them. A single node is the first namespace itself.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netlink.h"

/* How long the core may take to list the address of a link that is up, in ms */
#define GID_LIMIT 5000

/*
 * While this is 1, the kernel gives eth0 no link-local address. The kernel adds
 * that address at an unknown time, and GIDs are in the order in which addresses
 * are added. So eth0 gets it last, and the order is the same on all nodes.
 */
#define LINK_LOCAL "/proc/sys/net/ipv6/conf/eth0/addr_gen_mode"

struct node nodes[NODES_MAX + 1];

static void must(int ret, const char *what, int node)
{
	if (ret)
		fail("node %d: cannot %s: %s", node, what, strerror(-ret));
}

/* Set a sysctl, if this kernel has it */
static void set_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		fail("cannot write %s: %s", path, strerror(errno));
	close(fd);
}

/*
 * The kernel has one table of neighbours for all namespaces, of 1024 entries:
 * too few if more than 32 nodes communicate.
 */
static void make_room_for_neighbours(int n)
{
	static const char * const families[] = { "ipv4", "ipv6" };
	char path[128], entries[16];
	size_t i;
	int k;

	snprintf(entries, sizeof(entries), "%d", 1024 + 2 * n * n);
	for (i = 0; i < 2; i++) {
		for (k = 3; k >= 1; k--) {
			snprintf(path, sizeof(path), "/proc/sys/net/%s/neigh/default/gc_thresh%d",
				 families[i], k);
			set_sysctl(path, entries);
		}
	}
}

/* No duplicate address detection: addresses can be used at once. */
static void no_dad(const char *netdev)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/accept_dad", netdev);
	set_sysctl(path, "0");
}

static void add_addresses(int node)
{
	uint8_t v4[4] = { 10, 0, 0, node };
	uint8_t v6[16] = { 0xfd, [15] = node };

	must(net_add_address("eth0", AF_INET, v4, 24), "give eth0 an IPv4 address", node);
	must(net_add_address("eth0", AF_INET6, v6, 64), "give eth0 an IPv6 address", node);
}

/* tc(8) of this machine knows the words of tc-netem(8), and says what is wrong with them. */
static void add_netem(const char *netdev, const char *words)
{
	static const char script[] =
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin; set -f; exec tc qdisc replace dev \"$0\" root netem $1";
	char said[256] = "";
	int out[2], pid, status;
	ssize_t n;

	if (pipe2(out, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		execl("/bin/sh", "sh", "-c", script, netdev, words, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	/* a pipe takes all that it says */
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		fail("cannot start a process: %s", strerror(errno));
	n = read(out[0], said, sizeof(said) - 1);
	close(out[0]);
	said[n > 0 ? strcspn(said, "\n") : 0] = '\0';
	if (shell_status(status) == 127)
		fail("--netem takes tc(8) of this machine (Debian: iproute2; Fedora: iproute-tc)");
	if (status)
		fail("--netem '%s': %s", words, said);
}

/* Whether the device has the GID of the node's IPv4 address */
static bool has_gid(const char *device, int node)
{
	char path[128], gid[64], want[64];
	bool found = false;
	int i;

	snprintf(want, sizeof(want), "0000:0000:0000:0000:0000:ffff:0a00:00%02x\n", node);
	for (i = 0; i < 8 && !found; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/%d", device, i);
		f = fopen(path, "re");
		if (!f)
			return false;
		found = fgets(gid, sizeof(gid), f) && !strcmp(gid, want);
		fclose(f);
	}
	return found;
}

static void add_link(int node)
{
	char device[32];
	int waited;

	snprintf(device, sizeof(device), "softmr%d", node - 1);
	must(rdma_add_link(device, "eth0"), "make a softmr link on eth0", node);
	/* the core lists addresses from a work queue, so wait */
	for (waited = 0; !has_gid(device, node); waited++) {
		if (waited == GID_LIMIT)
			fail("node %d: %s never got the address of eth0", node, device);
		usleep(1000);
	}
}

/* The node's part of the set-up: in its namespace, after eth0 exists */
static void set_up(const struct job *job, int node)
{
	const char *words = job_get(job, "netem");

	no_dad("all");
	no_dad("default");
	no_dad("eth0");
	set_sysctl(LINK_LOCAL, "1");
	/* hostfs shows no file capabilities, which ping(8) would need */
	set_sysctl("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
	must(net_set_up("lo"), "bring up lo", node);
	must(net_set_up("eth0"), "bring up eth0", node);
	add_addresses(node);
	if (words)
		add_netem("eth0", words);
	/* a single node sends only to itself */
	if (words && job_int(job, "nodes") == 1)
		add_netem("lo", words);
	if (job_get(job, "link"))
		add_link(node);
	set_sysctl(LINK_LOCAL, "0");
}

/* -- more than one node */

/*
 * A child creates the namespaces of one node. It reports when it has its
 * network namespace, waits for eth0, reports when it has its own file
 * system, after all nodes have their names, and when all is set up.
 */
struct birth {
	int pid;
	int ready[2], go[2];
};

/* The child's side: tell the parent, and wait for its answer */
static void meet(const struct birth *b)
{
	char c;

	if (write(b->ready[1], "", 1) != 1 || read(b->go[0], &c, 1) != 1)
		_exit(1);
}

static void be_node(const struct job *job, int node, struct birth *b)
{
	char name[16];

	if (unshare(CLONE_NEWNET | CLONE_NEWUTS))
		fail("node %d: cannot make namespaces: %s", node, strerror(errno));
	snprintf(name, sizeof(name), "node%d", node);
	sethostname(name, strlen(name));
	meet(b);
	if (unshare(CLONE_NEWNS))
		fail("node %d: cannot make namespaces: %s", node, strerror(errno));
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	root_mount_sys();
	meet(b);
	set_up(job, node);
	if (write(b->ready[1], "", 1) != 1)
		_exit(1);
	/* softmr-node finds the namespaces by this process */
	for (;;)
		pause();
}

static int open_ns(int pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail("cannot open %s: %s", path, strerror(errno));
	return fd;
}

/* ip(8) shows it as node1, node2...; softmr-node enters it. */
static void name_netns(int node, int pid)
{
	char path[64], ns[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/node%d", node);
	snprintf(ns, sizeof(ns), "/proc/%d/ns/net", pid);
	mkdir("/run/netns", 0755);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
	mount(ns, path, NULL, MS_BIND, NULL);
	snprintf(path, sizeof(path), GUEST_NODES "/%d", node);
	snprintf(ns, sizeof(ns), "/proc/%d/ns", pid);
	mkdir(GUEST_NODES, 0755);
	if (symlink(ns, path))
		fail("cannot link %s: %s", path, strerror(errno));
}

static void wait_ready(const struct birth *b, int node)
{
	char c;

	if (read(b->ready[0], &c, 1) != 1)
		fail("cannot make node %d", node);
}

static void answer(const struct birth *b, int node)
{
	if (write(b->go[1], "", 1) != 1)
		fail("cannot make node %d", node);
}

static void start_birth(const struct job *job, int node, struct birth *b)
{
	if (pipe2(b->ready, O_CLOEXEC) || pipe2(b->go, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	b->pid = fork();
	if (!b->pid)
		be_node(job, node, b);
	if (b->pid < 0)
		fail("cannot start a process: %s", strerror(errno));
	close(b->ready[1]);
	wait_ready(b, node);
	nodes[node].net = open_ns(b->pid, "net");
	nodes[node].uts = open_ns(b->pid, "uts");
	name_netns(node, b->pid);
}

static void plug_in(int node)
{
	char port[16];

	snprintf(port, sizeof(port), "port%d", node);
	must(net_add_veth(port, "eth0", nodes[node].net), "make a veth pair", node);
	must(net_set_master(port, "switch"), "plug it into the bridge", node);
	must(net_set_up(port), "bring up its port", node);
}

static void make_many(const struct job *job, int n)
{
	struct birth *births = calloc(n + 1, sizeof(*births));
	int k;

	if (!births)
		fail("out of memory");
	if (job_get(job, "link"))
		must(rdma_set_exclusive(), "have nodes see their own RDMA devices only", 0);
	must(net_add_bridge("switch"), "make a bridge", 0);
	must(net_set_up("switch"), "bring up the bridge", 0);
	make_room_for_neighbours(n);
	for (k = 1; k <= n; k++) {
		start_birth(job, k, &births[k]);
		plug_in(k);
	}
	for (k = 1; k <= n; k++) {
		answer(&births[k], k);
		wait_ready(&births[k], k);
		nodes[k].mnt = open_ns(births[k].pid, "mnt");
		answer(&births[k], k);
	}
	for (k = 1; k <= n; k++) {
		wait_ready(&births[k], k);
		close(births[k].ready[0]);
		close(births[k].go[0]);
		close(births[k].go[1]);
	}
	free(births);
}

void nodes_make(const struct job *job)
{
	int n = job_int(job, "nodes"), k;
	const char *name = job_get(job, "hostname");

	for (k = 0; k <= NODES_MAX; k++)
		nodes[k].net = nodes[k].uts = nodes[k].mnt = -1;
	name = name ? name : "node1";
	if (n > 1) {
		make_many(job, n);
		return;
	}
	sethostname(name, strlen(name));
	must(net_add_veth("eth0", "switch0", -1), "make a veth pair", 1);
	must(net_set_up("switch0"), "bring up switch0", 1);
	set_up(job, 1);
}

int node_enter(int node)
{
	const struct node *n = &nodes[node];

	if (n->net < 0)
		return 0;
	if (setns(n->uts, CLONE_NEWUTS) || setns(n->net, CLONE_NEWNET) ||
	    setns(n->mnt, CLONE_NEWNS))
		return -errno;
	return 0;
}
