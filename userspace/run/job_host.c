// SPDX-License-Identifier: GPL-2.0
/* The job for the guest: the command, its user, and how it runs. */
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

/* fs.nr_open of the guest; a container's caller may have more */
#define NOFILE_MAX	1048576

static void put(struct wire_buf *b, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(struct wire_buf *b, const char *name, const char *format, ...)
{
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		die(STATUS_NO_BOOT, "out of memory");
	va_end(args);
	wire_buf_add(b, name, strlen(name));
	wire_buf_add(b, "=", 1);
	wire_buf_add(b, s, strlen(s) + 1);
	free(s);
}

static void put_list(struct wire_buf *b, const char *name, char **list)
{
	for (; list && *list; list++)
		put(b, name, "%s", *list);
}

/* -- the provider */

static bool has_provider(const char *dir)
{
	char *pattern = text("%s/libsoftmr-rdmav*.so", dir);
	glob_t g;
	bool found = !glob(pattern, 0, NULL, &g);

	globfree(&g);
	free(pattern);
	return found;
}

static char *in_real_dir(const char *dir)
{
	char *real = realpath(dir, NULL);

	if (!real)
		die(STATUS_NO_BOOT, "%s: %s", dir, strerror(errno));
	return real;
}

/* The directory of the provider for the guest; NULL: there is none */
static char *find_provider(const struct options *o, const char *runtime)
{
	char *dir;

	if (o->no_provider || o->layers)
		return NULL;
	if (o->provider) {
		if (!has_provider(o->provider))
			die(STATUS_USAGE, "--provider: %s has no libsoftmr-rdmav*.so", o->provider);
		return in_real_dir(o->provider);
	}
	dir = text("%s/provider", runtime);
	if (!has_provider(dir))
		die(STATUS_NO_BOOT, "%s has no libsoftmr-rdmav*.so: the runtime is not complete. Name a\n"
		    "directory that has one by --provider; --no-provider runs COMMAND without, and\n"
		    "libibverbs then finds no device.", dir);
	return in_real_dir(dir);
}

/* The runtime's own libibverbs; NULL: it has none */
static char *find_own_verbs(const struct options *o, const char *runtime)
{
	char *dir = realpath(text("%s/verbs", runtime), NULL);

	if (!dir && o->with_verbs)
		die(STATUS_USAGE, "--with-verbs: the runtime in %s has no libibverbs of its own; that of the archive\n"
		    "softmr-run-*.tar.xz has one (make tar).", runtime);
	return dir;
}

/* -- the caller */

static void put_user(struct wire_buf *b)
{
	gid_t groups[NGROUPS_MAX];
	int n = getgroups(NGROUPS_MAX, groups), i;

	mode_t mask = umask(0);

	umask(mask);
	put(b, "umask", "%d", mask);
	put(b, "uid", "%u", getuid());
	put(b, "gid", "%u", getgid());
	for (i = 0; i < n; i++)
		put(b, "group", "%u", groups[i]);
}

/*
 * The caller's limits, except the one for locked memory: RDMA programs lock the
 * memory that they register, and here the guest's memory is the limit.
 */
static void put_limits(struct wire_buf *b)
{
	static const int resources[] = { RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_FSIZE,
					 RLIMIT_DATA, RLIMIT_CPU, RLIMIT_AS, RLIMIT_NPROC,
					 RLIMIT_RTPRIO, RLIMIT_NICE, RLIMIT_MSGQUEUE,
					 RLIMIT_SIGPENDING };
	struct rlimit r;
	size_t i;

	for (i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (getrlimit(resources[i], &r))
			continue;
		if (resources[i] == RLIMIT_NOFILE) {
			r.rlim_cur = r.rlim_cur < NOFILE_MAX ? r.rlim_cur : NOFILE_MAX;
			r.rlim_max = r.rlim_max < NOFILE_MAX ? r.rlim_max : NOFILE_MAX;
		}
		put(b, "limit", "%d %llu %llu", resources[i], (unsigned long long)r.rlim_cur,
		    (unsigned long long)r.rlim_max);
	}
	put(b, "limit", "%d %llu %llu", RLIMIT_MEMLOCK, (unsigned long long)RLIM_INFINITY,
	    (unsigned long long)RLIM_INFINITY);
}

static void put_files(struct wire_buf *b, const struct terminal *t)
{
	static const char * const names[] = { "stdin", "stdout", "stderr" };
	struct termios tio;
	struct winsize w;
	char hex[2 * sizeof(tio) + 1];
	size_t i;

	for (i = 0; i < 3; i++)
		put(b, names[i], "%s", t->tty[i] ? "tty" : i || t->input ? "pipe" : "null");
	if (t->tty[1] && !tcgetattr(1, &tio)) {
		for (i = 0; i < sizeof(tio); i++)
			sprintf(hex + 2 * i, "%02x", ((uint8_t *)&tio)[i]);
		put(b, "termios", "%s", hex);
	}
	if (t->tty[1] && !ioctl(1, TIOCGWINSZ, &w))
		put(b, "winsize", "%u %u", w.ws_row, w.ws_col);
}

/*
 * The directory of libibverbs' configuration is compiled in, and need not be
 * the guest's /etc/libibverbs.d. It always loads the driver that this variable
 * names.
 */
static void put_drivers(struct wire_buf *b)
{
	const char *others = getenv("RDMAV_DRIVERS");

	others = others ? others : getenv("IBV_DRIVERS");
	put(b, "env", "RDMAV_DRIVERS=%s%s" GUEST_PROVIDER "/libsoftmr", others ? others : "",
	    others && *others ? ":" : "");
}

/*
 * Variables that mpirun of Open MPI and of MPICH needs to start processes on
 * other nodes
 */
static void put_environment(struct wire_buf *b, const struct options *o, bool provider)
{
	static const char * const agents[] = {
		"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC",
	};
	char **e;
	size_t i;

	for (e = environ; e && *e; e++)
		if (!provider || strncmp(*e, "RDMAV_DRIVERS=", strlen("RDMAV_DRIVERS=")))
			put(b, "env", "%s", *e);
	if (provider)
		put_drivers(b);
	if (o->nodes == 1)
		return;
	for (i = 0; i < sizeof(agents) / sizeof(agents[0]); i++)
		if (!getenv(agents[i]))
			put(b, "env", "%s=softmr-rsh", agents[i]);
	if (!getenv("HYDRA_LAUNCHER"))
		put(b, "env", "HYDRA_LAUNCHER=ssh");
}

/* The first processor's entry in the host's /proc/cpuinfo */
static void put_cpuinfo(struct wire_buf *b)
{
	char buf[65536], *end;
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return;
	while (len < sizeof(buf) - 1 && (n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += n;
	close(fd);
	buf[len] = '\0';
	end = strstr(buf, "\n\n");
	if (end)
		put(b, "cpuinfo", "%.*s", (int)(end + 1 - buf), buf);
}

/* -- the runtime's modules */

static void put_modules(struct wire_buf *b, const char *runtime)
{
	char *list = text("%s/modules/load", runtime), line[512], *dir;
	FILE *f = fopen(list, "re");

	if (!f)
		die(STATUS_NO_BOOT, "%s: %s; the runtime in %s is incomplete", list,
		    strerror(errno), runtime);
	dir = text("%s/modules", runtime);
	put(b, "modules", "%s", in_real_dir(dir));
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			put(b, "load", "%s", line);
	}
	fclose(f);
	free(list);
	free(dir);
}

void job_write(struct wire_buf *b, const struct options *o, const char *runtime,
	       const struct terminal *t)
{
	char *provider = find_provider(o, runtime), *own = find_own_verbs(o, runtime);
	struct verbs verbs;
	struct utsname u;

	if (provider) {
		verbs_find(&verbs, o, provider);
		verbs_say(&verbs, o, provider, own);
	}
	put(b, "nodes", "%d", o->nodes);
	if (o->each)
		put(b, "each", "1");
	put_list(b, "layer", o->layers);
	put_list(b, "rw", o->rw);
	put_list(b, "rw-at", o->rw_at);
	put(b, "cpus", "%d", o->cpus);
	/* layers have their own */
	if (!o->layers)
		put_modules(b, runtime);
	if (provider)
		put(b, "provider", "%s", provider);
	if (own && o->with_verbs)
		put(b, "verbs", "%s", own);
	if (!o->no_link)
		put(b, "link", "1");
	if (o->netem)
		put(b, "netem", "%s", o->netem);
	if (o->trace)
		put(b, "trace", GUEST_TRACE "/%s", o->trace);
	if (!o->layers && !uname(&u))
		put(b, "hostname", "%s", u.nodename);
	put_user(b);
	if (o->root)
		put(b, "root", "1");
	put_limits(b);
	put_files(b, t);
	put(b, "cwd", "%s", o->dir);
	put_environment(b, o, provider);
	put_list(b, "arg", o->command);
	put_cpuinfo(b);
}
