// SPDX-License-Identifier: GPL-2.0
/* Start and end the guest: a process group of the host. */
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB		(1ULL << 20)
#define MEM_DEFAULT	(1024 * MIB)
/* The minimum memory of a useful guest */
#define MEM_LEAST	(192 * MIB)
#define LINE_FD		3
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008U
#endif

/* -- the runtime */

static bool is_runtime(const char *dir)
{
	char *kernel = text("%s/vmlinux", dir);
	bool is = !access(kernel, X_OK);

	free(kernel);
	return is;
}

const char *runtime_find(const struct options *o)
{
	const char *named = o->runtime ? o->runtime : getenv("SOFTMR_RUN_DIR");
	char self[4096] = "", *dirs[3];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	if (named) {
		if (!is_runtime(named))
			die(STATUS_NO_BOOT,
			    "%s has no vmlinux that can be run: it is no runtime of softmr run", named);
		return named;
	}
	if (n > 0 && strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	dirs[0] = self;
	dirs[1] = (char *)"/usr/lib/softmr/uml";
	dirs[2] = (char *)"/usr/local/lib/softmr/uml";
	for (i = 0; i < 3; i++)
		if (*dirs[i] && is_runtime(dirs[i]))
			return strdup(dirs[i]);
	die(STATUS_NO_BOOT, "the guest's kernel is not there (/usr/lib/softmr/uml/vmlinux).\n"
	    "Install the package softmr-uml; or, in softmr's source, make it by scripts/build.sh run and name\n"
	    "the directory that this prints by --runtime or SOFTMR_RUN_DIR.");
}

/* -- memory: a file that the kernel maps, and executes from */

/* How much guest memory fits into @dir; 0, and the reason in *@why */
static unsigned long long room_in(const char *dir, const char **why)
{
	struct statvfs st;
	void *page;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0700), error;

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		char *name = text("%s/softmr-run.XXXXXX", dir);

		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
		free(name);
	}
	if (fd < 0) {
		*why = strerror(errno);
		return 0;
	}
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	error = errno;
	close(fd);
	if (page == MAP_FAILED) {
		*why = error == EPERM ? "it is mounted noexec" : strerror(error);
		return 0;
	}
	munmap(page, 4096);
	if (statvfs(dir, &st) || !st.f_blocks)
		return ~0ULL;	/* a tmpfs without a limit has no size */
	*why = "it is full";
	return (unsigned long long)st.f_bavail * st.f_frsize;
}

/* Choose a directory for @want bytes. If the caller did not specify a size, less suffices. */
static const char *choose_mem_dir(const struct options *o, unsigned long long *want)
{
	const char *dirs[] = { getenv("SOFTMR_RUN_TMPDIR"), "/dev/shm", getenv("TMPDIR"),
			       getenv("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp" };
	unsigned long long room, most = 0;
	const char *best = NULL, *why;
	char *reasons = text("%s", "");
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!dirs[i] || !*dirs[i])
			continue;
		room = room_in(dirs[i], &why);
		if (room >= *want)
			return dirs[i];
		if (room > most) {
			most = room;
			best = dirs[i];
		}
		if (room)
			why = text("%llu MiB are free", room / MIB);
		reasons = text("%s\n  %s: %s", reasons, dirs[i], why);
	}
	/* leave some for others */
	most -= most / 8;
	if (o->mem || most < MEM_LEAST)
		die(STATUS_NO_BOOT, "there is no room for the guest's memory, %llu MiB:%s\n"
		    "Name a directory on a file system that is not mounted noexec by SOFTMR_RUN_TMPDIR, ask for\n"
		    "less by --mem, or give the container a larger /dev/shm (docker run --tmpfs /dev/shm:exec,size=2g).",
		    *want / MIB, reasons);
	*want = most;
	return best;
}

/* The file has the size of the memory, and the kernel maps it as a whole */
static void check_limits(unsigned long long mem)
{
	static const struct {
		int resource;
		char option;
	} needs[] = { { RLIMIT_FSIZE, 'f' }, { RLIMIT_AS, 'v' } };
	struct rlimit r;
	size_t i;

	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (!getrlimit(needs[i].resource, &r) && r.rlim_max < mem)
			die(STATUS_NO_BOOT, "the hard limit 'ulimit -H%c' is %llu KiB, less than the guest's memory, %llu MiB:\n"
			    "raise it, or ask for less memory by --mem.", needs[i].option,
			    (unsigned long long)r.rlim_max / 1024, mem / MIB);
}

/* -- starting */

static void make_dir(struct guest *g, const char *mem_dir)
{
	const char *dirs[] = { getenv("SOFTMR_RUN_TMPDIR"), getenv("TMPDIR"), "/tmp", mem_dir };
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!dirs[i] || *dirs[i] != '/')
			continue;
		if (snprintf(g->dir, sizeof(g->dir), "%s/softmr-run.XXXXXX", dirs[i]) >=
		    (int)sizeof(g->dir))
			continue;
		if (mkdtemp(g->dir))
			return;
	}
	g->dir[0] = '\0';
	die(STATUS_NO_BOOT, "cannot make a directory in TMPDIR, in /tmp or in %s: %s", mem_dir,
	    strerror(errno));
}

static int open_console(const char *mem_dir)
{
	int fd = memfd_create("softmr-console", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	/*
	 * If vm.memfd_noexec is 2, Linux 6.3 to 6.5 refuse a file without the flag. Older kernels do
	 * not know it.
	 */
	if (fd < 0)
		fd = memfd_create("softmr-console", MFD_CLOEXEC);
	if (fd < 0)
		fd = open(mem_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		die(STATUS_NO_BOOT, "cannot make a file for the guest's console: %s",
		    strerror(errno));
	return fd;
}

static void close_others(void)
{
	int fd;

	if (!syscall(SYS_close_range, LINE_FD + 1, ~0U, 0))
		return;
	for (fd = LINE_FD + 1; fd < 4096; fd++)
		close(fd);
}

/*
 * The caller's soft limits are for the command, and the job has them. The guest's kernel gets what
 * the hard ones allow, and an error instead of SIGXFSZ beyond that.
 */
static void free_limits(void)
{
	static const int resources[] = { RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU,
					 RLIMIT_NPROC, RLIMIT_NOFILE };
	struct rlimit r;
	size_t i;

	for (i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (getrlimit(resources[i], &r))
			continue;
		r.rlim_cur = r.rlim_max;
		setrlimit(resources[i], &r);
	}
	r = (struct rlimit){ 0, 0 };
	setrlimit(RLIMIT_CORE, &r);
	signal(SIGXFSZ, SIG_IGN);
}

/* Runs in the new process: the guest's kernel gets our environment, not the caller's */
static void __attribute__((noreturn)) be_guest(char **argv, const char *mem_dir, int line,
					       int console, pid_t parent)
{
	char *env[] = { text("TMPDIR=%s", mem_dir), text("PATH=/usr/bin:/bin"), text("HOME=/"),
			NULL };
	sigset_t none;
	int sig, null;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	free_limits();
	null = open("/dev/null", O_RDONLY);
	dup2(null, 0);
	/* so that no descriptor has the number of another one's target */
	line = fcntl(line, F_DUPFD_CLOEXEC, 10);
	console = fcntl(console, F_DUPFD_CLOEXEC, 10);
	dup2(console, 1);
	dup2(console, 2);
	dup2(line, LINE_FD);
	close_others();
	execve(argv[0], argv, env);
	dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(1);
}

static char **kernel_arguments(const struct guest *g, const struct options *o, const char *runtime,
			       unsigned long long mem)
{
	char **argv = NULL, *word, *save;

	list_add(&argv, text("%s/vmlinux", runtime));
	list_add(&argv, text("mem=%lluM", mem / MIB));
	list_add(&argv, text("ncpus=%d", o->cpus));
	list_add(&argv, text("seccomp=%s", o->ptrace ? "off" : "on"));
	list_add(&argv, text("uml_dir=%s/", g->dir));
	list_add(&argv, text("umid=guest"));
	list_add(&argv, text("initrd=%s/initrd", runtime));
	list_add(&argv, text("con=null"));
	list_add(&argv, text("con0=null,fd:1"));
	list_add(&argv, text("ssl=null"));
	list_add(&argv, text("ssl0=fd:%d", LINE_FD));
	list_add(&argv, text("panic=-1"));
	list_add(&argv, text("loglevel=5"));
	list_add(&argv, text("log_buf_len=1M"));
	word = o->cmdline ? strtok_r(text("%s", o->cmdline), " ", &save) : NULL;
	for (; word; word = strtok_r(NULL, " ", &save))
		list_add(&argv, word);
	return argv;
}

void guest_start(struct guest *g, const struct options *o, const char *runtime)
{
	unsigned long long mem = o->mem ? o->mem : MEM_DEFAULT;
	const char *mem_dir = choose_mem_dir(o, &mem);
	pid_t parent = getpid();
	char **argv;
	int s[2];

	memset(g, 0, sizeof(*g));
	if (mem < 64 * MIB)
		die(STATUS_USAGE, "--mem: %llu MiB are too little for a guest", mem / MIB);
	check_limits(mem);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		die(STATUS_NO_BOOT, "cannot make a socket: %s", strerror(errno));
	g->console = open_console(mem_dir);
	make_dir(g, mem_dir);
	argv = kernel_arguments(g, o, runtime, mem);
	g->pid = fork();
	if (!g->pid)
		be_guest(argv, mem_dir, s[1], g->console, parent);
	if (g->pid < 0) {
		guest_forget_dir(g);
		die(STATUS_NO_BOOT, "cannot start a process: %s", strerror(errno));
	}
	setpgid(g->pid, g->pid);
	close(s[1]);
	g->wire.fd = s[0];
	g->wire.host = true;
	g->wire.room = WIRE_LINE;
	fcntl(s[0], F_SETFL, O_NONBLOCK);
	free(argv);
}

void guest_kill(struct guest *g)
{
	if (g->pid) {
		kill(-g->pid, SIGKILL);
		kill(g->pid, SIGKILL);
		while (waitpid(g->pid, &g->wait_status, 0) < 0 && errno == EINTR)
			;
	}
	guest_forget_dir(g);
	g->pid = 0;
}

void guest_forget_dir(struct guest *g)
{
	static const char * const files[] = { "guest/pid", "guest/mconsole" };
	char *path;
	size_t i;

	if (!g->dir[0])
		return;
	for (i = 0; i < 2; i++) {
		path = text("%s/%s", g->dir, files[i]);
		unlink(path);
		free(path);
	}
	path = text("%s/guest", g->dir);
	rmdir(path);
	free(path);
	rmdir(g->dir);
	g->dir[0] = '\0';
}

char *guest_console(const struct guest *g)
{
	off_t size = lseek(g->console, 0, SEEK_END);
	char *s = calloc(1, size > 0 ? size + 1 : 1);

	if (!s)
		die(STATUS_NO_BOOT, "out of memory");
	if (size > 0 && pread(g->console, s, size, 0) < 0)
		*s = '\0';
	return s;
}
