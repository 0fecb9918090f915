// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's root: the host's own file system, or directories of the host
 * stacked on each other, below a tmpfs that takes all writes.
 *
 * hostfs opens files by system calls of the host, as the user who runs
 * softmr-run. So the host decides which files can be read, and which can be
 * written with --rw.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LAYERS_MAX 16

static void make_dirs(const char *path)
{
	char part[4096];
	size_t i;

	snprintf(part, sizeof(part), "%s", path);
	for (i = 1; part[i]; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		mkdir(part, 0755);
		part[i] = '/';
	}
	mkdir(part, 0755);
}

/* Mount it, or fail; @what is for the message */
static void must_mount(const char *what, const char *type, const char *target,
		       unsigned long flags, const char *data)
{
	make_dirs(target);
	if (mount(what, target, type, flags, data))
		fail("cannot mount %s at %s: %s", what, target, strerror(errno));
}

static void mount_host(const char *dir, const char *target, unsigned long flags)
{
	make_dirs(target);
	if (mount("none", target, "hostfs", flags, dir))
		fail("cannot mount the host's %s: %s", dir, strerror(errno));
}

static void write_file(const char *path, int flags, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("cannot write the guest's %s: %s", path, strerror(errno));
	close(fd);
}

void root_early(void)
{
	umask(0);
	mkdir("/dev", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	umask(022);
}

static void mount_layers(const struct job *job)
{
	static char *host[] = { (char *)"/", NULL };
	char **layers = job_list(job, "layer");
	char options[512] = "lowerdir=", path[32];
	int n = 0, i;

	if (!layers[0])
		layers = host;
	for (; layers[n]; n++) {
		if (n == LAYERS_MAX)
			fail("there can be no more than %d layers", LAYERS_MAX);
		snprintf(path, sizeof(path), "/lower/%d", n);
		mount_host(layers[n], path, MS_RDONLY);
	}
	for (i = n - 1; i >= 0; i--)
		sprintf(options + strlen(options), "/lower/%d%s", i, i ? ":" : "");
	must_mount("rw", "tmpfs", "/rw", 0, "mode=755");
	mkdir("/rw/upper", 0755);
	mkdir("/rw/work", 0755);
	strcat(options, ",upperdir=/rw/upper,workdir=/rw/work");
	must_mount("root", "overlay", "/root", 0, options);
}

static void switch_root(void)
{
	make_dirs("/root/dev");
	if (mount("/dev", "/root/dev", NULL, MS_MOVE, NULL) || chdir("/root") ||
	    mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		fail("cannot enter the root: %s", strerror(errno));
}

/*
 * /sys shows the network namespace in which it was mounted, so each node mounts
 * its own
 */
void root_mount_sys(void)
{
	must_mount("sysfs", "sysfs", "/sys", 0, NULL);
	/* not in every kernel */
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	mount("configfs", "/sys/kernel/config", "configfs", 0, NULL);
	mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
}

static void mount_kernels_own(const struct job *job)
{
	must_mount("proc", "proc", "/proc", 0, NULL);
	root_mount_sys();
	must_mount("devpts", "devpts", "/dev/pts", 0, "gid=5,mode=620,ptmxmode=666");
	must_mount("shm", "tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
	must_mount("softmr", "tmpfs", GUEST_DIR, 0, "mode=755");
	if (job_get(job, "layer"))
		must_mount("tmp", "tmpfs", "/tmp", 0, "mode=1777");
	if (symlink("/proc/self/fd", "/dev/fd") ||
	    symlink("fd/0", "/dev/stdin") ||
	    symlink("fd/1", "/dev/stdout") ||
	    symlink("fd/2", "/dev/stderr"))
		fail("cannot link /dev/fd: %s", strerror(errno));
	/* if the guest dies, only the console shows why */
	klogctl(8, NULL, 8);
}

static void load_module(const char *dir, const char *file, const char *parameters)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail("cannot open the module %s: %s", file, strerror(errno));
	if (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST)
		fail("cannot load the module %s: %s", file, strerror(errno));
	close(fd);
}

static void load_modules(const struct job *job)
{
	const char *dir = job_get(job, "modules"), *file = NULL, *parameters = "";
	struct utsname u;
	char path[256];

	if (!dir)
		return;
	uname(&u);
	mount_host(dir, GUEST_DIR "/modules", MS_RDONLY);
	/*
	 * otherwise two processes of one node would exchange data without
	 * packets, so none could be lost
	 */
	if (job_get(job, "netem") && job_int(job, "nodes") == 1)
		parameters = "loopback=N";
	while ((file = job_next(job, "load", file)))
		load_module(GUEST_DIR "/modules", file,
			    strstr(file, "/softmr.ko") ? parameters : "");
	/* for modprobe as called by the kernel, and with --root */
	snprintf(path, sizeof(path), "/lib/modules/%s", u.release);
	make_dirs(path);
	if (mount(GUEST_DIR "/modules", path, NULL, MS_BIND, NULL))
		fail("cannot mount %s: %s", path, strerror(errno));
}

/*
 * libibverbs accepts a driver's absolute path, so the directory in which the
 * host's libibverbs searches for drivers does not matter.
 */
static void add_provider(const struct job *job)
{
	const char *dir = job_get(job, "provider");

	if (!dir)
		return;
	mount_host(dir, GUEST_PROVIDER, MS_RDONLY);
	/* for plugin.c, which runs in processes of any user */
	make_dirs(GUEST_DIR "/alias");
	chmod(GUEST_DIR "/alias", 0777);
	make_dirs("/etc/libibverbs.d");
	write_file("/etc/libibverbs.d/softmr.driver", O_TRUNC,
		   "driver " GUEST_PROVIDER "/libsoftmr\n");
}

/* Link the files of @from into @to, unless a file of that name exists there */
static void add_links(const char *from, const char *to)
{
	char source[512], target[512];
	struct dirent *entry;
	DIR *dir = opendir(from);

	make_dirs(to);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
		snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
		if (symlink(source, target) && errno != EEXIST)
			fail("cannot make %s: %s", target, strerror(errno));
	}
	if (dir)
		closedir(dir);
}

/*
 * A libibverbs for programs that find no other one: link it into the last
 * directories that dynamic loaders search, of Debian and of other systems. The
 * machine's own libraries come first.
 */
static void add_verbs(const struct job *job)
{
	const char *dir = job_get(job, "verbs");

	if (!dir)
		return;
	mount_host(dir, GUEST_VERBS, MS_RDONLY);
	add_links(GUEST_VERBS "/lib", "/usr/lib64");
	add_links(GUEST_VERBS "/lib", "/usr/lib/x86_64-linux-gnu");
	add_links(GUEST_VERBS "/bin", "/usr/bin");
}

static void mount_writable(const struct job *job)
{
	const char *host = NULL, *at = NULL;

	while ((host = job_next(job, "rw", host))) {
		at = job_next(job, "rw-at", at);
		mount_host(host, at, 0);
	}
}

/* Names for the nodes, because mpirun and others need them */
static void add_hosts(const struct job *job)
{
	int n = job_int(job, "nodes"), k, fd;
	const char *name = job_get(job, "hostname");
	char *text, *p;

	text = p = malloc(64 + 96 * n + (name ? strlen(name) : 0));
	if (!text)
		fail("out of memory");
	*p++ = '\n';
	for (k = 1; k <= n; k++) {
		p += sprintf(p, "10.0.0.%d node%d%s%s\n", k, k,
			     n == 1 && name ? " " : "", n == 1 && name ? name : "");
		p += sprintf(p, "fd00::%x node%d\n", k, k);
	}
	make_dirs("/etc");
	/* if /etc cannot be handled, there are no names */
	fd = open("/etc/hosts", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, p - text) < 0)
		dprintf(2, "softmr-run init: /etc/hosts: %s\n", strerror(errno));
	if (fd >= 0)
		close(fd);
	free(text);
}

/*
 * Write one record of cpuinfo, with the values that differ between processors:
 * each is a core of its own, in one package.
 */
static void write_cpu(FILE *f, const char *record, int cpu, int cpus)
{
	static const struct {
		const char *name;
		bool all;	/* the number of processors, not the number of this one */
	} fields[] = {
		{ "processor", false }, { "core id", false }, { "apicid", false },
		{ "initial apicid", false }, { "siblings", true }, { "cpu cores", true },
	};
	const char *line, *end;
	size_t i, len;

	for (line = record; *line; line = end + 1) {
		end = strchr(line, '\n');
		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			len = strlen(fields[i].name);
			if (!strncmp(line, fields[i].name, len) && line[len] == '\t')
				break;
		}
		if (i == sizeof(fields) / sizeof(fields[0]))
			fprintf(f, "%.*s\n", (int)(end - line), line);
		else
			fprintf(f, "%.*s: %d\n", (int)(strcspn(line, ":")), line,
				fields[i].all ? cpus : cpu);
	}
	fputc('\n', f);
}

/*
 * UML's /proc/cpuinfo lacks "cpu MHz", which perftest reads. So show the host's
 * entry for each processor of the guest.
 */
static void show_cpuinfo(const struct job *job)
{
	const char *record = job_get(job, "cpuinfo");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), i;
	FILE *f;

	if (cpus < job_int(job, "cpus"))
		fail("its kernel takes %ld processors at most, not %d (--cpus)", cpus,
		     job_int(job, "cpus"));
	if (!record)
		return;
	f = fopen(GUEST_DIR "/cpuinfo", "we");
	if (!f)
		fail("cannot write the guest's cpuinfo: %s", strerror(errno));
	for (i = 0; i < cpus; i++)
		write_cpu(f, record, i, cpus);
	fclose(f);
	if (mount(GUEST_DIR "/cpuinfo", "/proc/cpuinfo", NULL, MS_BIND, NULL))
		fail("cannot mount /proc/cpuinfo: %s", strerror(errno));
}

/* This program is also softmr-node, and the remote shell that mpirun runs. */
static void add_commands(void)
{
	static const char * const names[] = { "/usr/bin/softmr-node", "/usr/bin/softmr-rsh" };
	size_t i;

	make_dirs("/usr/bin");
	for (i = 0; i < 2; i++) {
		unlink(names[i]);
		if (symlink(GUEST_DIR "/init", names[i]))
			fail("cannot make %s: %s", names[i], strerror(errno));
	}
}

/* The program itself is in the initrd, which is not accessible later. */
static void keep_program(int fd)
{
	char buf[65536];
	ssize_t n;
	int out = open(GUEST_DIR "/init", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	if (out < 0)
		fail("cannot write to %s: %s", GUEST_DIR, strerror(errno));
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			fail("cannot write to %s: %s", GUEST_DIR, strerror(errno));
	if (fchmod(out, 04755))
		fail("cannot make softmr-node set-user-id: %s", strerror(errno));
	close(out);
	close(fd);
}

void root_enter(const struct job *job)
{
	int self = open("/init", O_RDONLY | O_CLOEXEC);

	mount_layers(job);
	switch_root();
	mount_kernels_own(job);
	keep_program(self);
	load_modules(job);
	add_provider(job);
	add_verbs(job);
	mount_writable(job);
	add_hosts(job);
	show_cpuinfo(job);
	add_commands();
}

void root_leave(const struct job *job)
{
	const char *at = NULL;

	kill(-1, SIGKILL);
	sync();
	while ((at = job_next(job, "rw-at", at)))
		umount2(at, MNT_DETACH);
	sync();
}
