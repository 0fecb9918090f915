// SPDX-License-Identifier: GPL-2.0
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008U
#endif
#define SBIN	"/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

void complain(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("softmr: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void *must(void *memory)
{
	if (!memory) {
		complain("there is no memory");
		exit(1);
	}
	return memory;
}

char *vstrf(const char *format, va_list ap)
{
	char *text;

	return must(vasprintf(&text, format, ap) < 0 ? NULL : text);
}

char *strf(const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = vstrf(format, ap);
	va_end(ap);
	return text;
}

char *copy(const char *text)
{
	return must(strdup(text));
}

void *zalloc(size_t size)
{
	return must(calloc(1, size));
}

void *one_more(void *array, size_t n, size_t size)
{
	char *grown = must(reallocarray(array, n + 1, size));

	memset(grown + n * size, 0, size);
	return grown;
}

/* -- files */

static PRINTF(1, 0) char *vroot_path(const char *format, va_list ap)
{
	const char *root = getenv("SOFTMR_ROOT");
	char *path = vstrf(format, ap), *full;

	if (!root)
		return path;
	full = strf("%s%s", root, path);
	free(path);
	return full;
}

bool parse_number(const char *text, uint32_t *to)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || !value || value > UINT32_MAX)
		return false;
	*to = (uint32_t)value;
	return true;
}

char *root_path(const char *format, ...)
{
	va_list ap;
	char *path;

	va_start(ap, format);
	path = vroot_path(format, ap);
	va_end(ap);
	return path;
}

/* Everything that can be read from a descriptor, with a NUL at its end. */
static char *read_all(int fd, size_t *size)
{
	size_t len = 0, room = 4096;
	char *text = must(malloc(room));
	ssize_t n;

	while ((n = read(fd, text + len, room - len - 1)) > 0) {
		len += (size_t)n;
		if (len == room - 1)
			text = must(realloc(text, room *= 2));
	}
	if (n < 0) {
		int err = errno;

		free(text);
		errno = err;
		return NULL;
	}
	text[len] = '\0';
	*size = len;
	return text;
}

char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	char *text;
	size_t len;

	if (fd < 0)
		return NULL;
	text = read_all(fd, &len);
	err = errno;
	close(fd);
	errno = err;
	if (text && len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

char *read_text(const char *format, ...)
{
	char *path, *text;
	va_list ap;
	int err;

	va_start(ap, format);
	path = vroot_path(format, ap);
	va_end(ap);
	text = read_file(path);
	err = errno;
	free(path);
	errno = err;
	return text;
}

bool exists(const char *format, ...)
{
	va_list ap;
	char *path;
	bool found;

	va_start(ap, format);
	path = vroot_path(format, ap);
	va_end(ap);
	found = !access(path, F_OK);
	free(path);
	return found;
}

/* -- programs */

/* If vm.memfd_noexec is 2, some kernels refuse a file without the flag. Kernels before 6.3 do not know the flag. */
static int memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0) {
		complain("cannot make a file in memory: %s", strerror(errno));
		exit(1);
	}
	return fd;
}

static char *memory_text(int fd)
{
	char *text = NULL;
	size_t len;

	if (!lseek(fd, 0, SEEK_SET))
		text = read_all(fd, &len);
	close(fd);
	return text ? text : copy("");
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

void run_function(struct ran *ran, int (*function)(void *arg), void *arg)
{
	int out = memory_file("out"), err = memory_file("err");
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		int status;

		dup2(null, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		status = function(arg);
		fflush(NULL);
		_exit(status);
	}
	ran->status = pid < 0 ? 127 : wait_for(pid);
	ran->out = memory_text(out);
	ran->err = memory_text(err);
}

static int execute(void *arg)
{
	char *const *argv = arg;
	const char *path = getenv("PATH");
	char *longer = strf("%s:" SBIN, path ? path : "/usr/bin");

	setenv("PATH", longer, 1);
	setenv("LC_ALL", "C", 1);
	execvp(argv[0], argv);
	free(longer);
	return 127;
}

void run(struct ran *ran, char *const argv[])
{
	run_function(ran, execute, (void *)argv);
}

void ran_free(struct ran *ran)
{
	free(ran->out);
	free(ran->err);
}

const char *ran_says(struct ran *ran)
{
	char *text = *ran->err ? ran->err : ran->out;

	text[strcspn(text, "\n")] = '\0';
	return *text ? text : "it does not say why";
}
