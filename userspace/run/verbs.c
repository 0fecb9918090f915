// SPDX-License-Identifier: GPL-2.0
/*
 * Find out from the command's own dynamic loader which libibverbs the command uses. It may be a library of the system,
 * of a Nix store, of a conda environment or of /opt.
 */
#define _GNU_SOURCE
#include "run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The maximum number of scripts that run each other */
#define SCRIPTS_MAX	4
/* The time limit for a loader, in seconds */
#define LOADER_LIMIT	10
#define LIBRARY		"libibverbs.so.1"
/* A provider registers itself by a function whose name ends in the number of the interface. */
#define REGISTRAR	"verbs_register_driver_"

/* -- the program: the file that is executed in the end */

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* The file that execvp(3) would execute for @name in @dir; NULL: there is none */
static char *find_program(const char *name, const char *dir)
{
	char *path, *list, *part;

	if (strchr(name, '/')) {
		path = *name == '/' ? text("%s", name) : text("%s/%s", dir, name);
		return is_program(path) ? path : NULL;
	}
	list = getenv("PATH");
	list = text("%s", list ? list : "/bin:/usr/bin");
	while ((part = strsep(&list, ":"))) {
		path = *part == '/' ? text("%s/%s", part, name) :
				      text("%s/%s/%s", dir, part, name);
		if (is_program(path))
			return path;
	}
	return NULL;
}

/* The interpreter of a script whose first line is @line: "#!/bin/sh", "#!/usr/bin/env -S python3 -u" */
static char *find_interpreter(char *line, const char *dir)
{
	char *save, *word, *base;

	word = strtok_r(line + 2, " \t\n", &save);
	if (!word)
		return NULL;
	base = strrchr(word, '/');
	if (!base || strcmp(base, "/env"))
		return find_program(word, dir);
	while ((word = strtok_r(NULL, " \t\n", &save)))
		if (*word != '-' && !strchr(word, '='))
			return find_program(word, dir);
	return NULL;
}

static ssize_t read_head(const char *path, char *head, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, size - 1);

	if (fd >= 0)
		close(fd);
	head[n > 0 ? n : 0] = '\0';
	return n;
}

/* The ELF file that @command executes, through scripts; NULL: unknown */
static char *find_elf(const char *command, const char *dir)
{
	char *path = find_program(command, dir), head[256];
	int i;

	for (i = 0; path && i <= SCRIPTS_MAX; i++) {
		if (read_head(path, head, sizeof(head)) < 4)
			return NULL;
		if (!memcmp(head, ELFMAG, SELFMAG))
			return path;
		if (memcmp(head, "#!", 2))
			return NULL;
		head[strcspn(head, "\n")] = '\0';
		path = find_interpreter(head, dir);
	}
	return NULL;
}

/* -- files that are inspected */

struct image {
	const unsigned char *data;
	size_t size;
};

static bool map_image(struct image *m, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
		data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		m->size = st.st_size;
	}
	if (fd >= 0)
		close(fd);
	m->data = data;
	return data != MAP_FAILED;
}

static void unmap_image(struct image *m)
{
	munmap((void *)m->data, m->size);
}

/* The dynamic loader of an x86-64 program; NULL: it has none, or it is another kind of file */
static char *loader_of(const char *path)
{
	char *loader = NULL, *base;
	Elf64_Ehdr head;
	Elf64_Phdr p;
	struct image m;
	uint64_t at;
	int i;

	if (!map_image(&m, path))
		return NULL;
	memcpy(&head, m.data, sizeof(head));
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
		head.e_phnum = 0;
	for (i = 0; !loader && i < head.e_phnum; i++) {
		at = head.e_phoff + (uint64_t)i * sizeof(p);
		if (at > m.size || m.size - at < sizeof(p))
			break;
		memcpy(&p, m.data + at, sizeof(p));
		if (p.p_type == PT_INTERP && p.p_offset < m.size &&
		    p.p_filesz <= m.size - p.p_offset)
			loader = text("%.*s", (int)p.p_filesz, (const char *)m.data + p.p_offset);
	}
	unmap_image(&m);
	/* do not execute a file of another name outside of the guest */
	base = loader ? strrchr(loader, '/') : NULL;
	return base && !strncmp(base, "/ld", 3) ? loader : NULL;
}

/* The number of @path's interface with providers; 0: it has none */
static unsigned int interface_of(const char *path)
{
	const unsigned char *at, *end;
	unsigned int number = 0;
	struct image m;

	if (!map_image(&m, path))
		return 0;
	at = memmem(m.data, m.size, REGISTRAR, strlen(REGISTRAR));
	if (at) {
		end = m.data + m.size;
		for (at += strlen(REGISTRAR); at < end && *at >= '0' && *at <= '9' && number < 10000; at++)
			number = 10 * number + (*at - '0');
	}
	unmap_image(&m);
	return number;
}

/* -- the loader's answer */

/* The loader's list of the libraries of @file, as the command would load them */
static char *ask_loader(const char *loader, const char *file, const char *dir)
{
	struct wire_buf b = { 0 };
	char piece[4096];
	int p[2], null;
	ssize_t n;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return text("%s", "");
	pid = fork();
	if (!pid) {
		null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(p[1], 1);
		dup2(p[1], 2);
		alarm(LOADER_LIMIT);
		if (chdir(dir))
			_exit(1);
		execl(loader, loader, "--list", file, (char *)NULL);
		_exit(1);
	}
	close(p[1]);
	while (pid > 0 && ((n = read(p[0], piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			wire_buf_add(&b, piece, n);
	close(p[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	wire_buf_add(&b, "", 1);
	return (char *)b.data + b.start;
}

/* "PROGRAM: error while loading shared libraries: libibverbs.so.1: cannot open...", or musl's message for that */
static bool is_missing(const char *line)
{
	return strstr(line, LIBRARY ": ") && strstr(line, "rror") && strstr(line, "loading");
}

/*
 * Take the file from the line "libibverbs.so.1 => /usr/lib64/libibverbs.so.1 (0x00007f...)". A copy in a Python package
 * may have another name, "libibverbs-1a2b3c.so.1.14.50.0".
 */
static void take_answer(struct verbs *v, char *answer)
{
	char *line, *name, *arrow, *file;

	while ((line = strsep(&answer, "\n"))) {
		v->needs |= is_missing(line);
		name = line + strspn(line, " \t");
		if (strncmp(name, "libibverbs", strlen("libibverbs")))
			continue;
		arrow = strstr(name, " => ");
		if (!arrow)
			continue;
		v->needs = true;
		file = arrow + strlen(" => ");
		if (*file != '/')
			continue;
		file[strcspn(file, " ")] = '\0';
		v->library = text("%s", file);
		return;
	}
}

void verbs_find(struct verbs *v, const struct options *o, const char *provider)
{
	char *loader;

	*v = (struct verbs){ .there = find_program(o->command[0], o->dir) };
	v->program = find_elf(o->command[0], o->dir);
	loader = v->program ? loader_of(v->program) : NULL;
	if (!loader)
		return;
	v->musl = strstr(loader, "/ld-musl");
	take_answer(v, ask_loader(loader, v->program, o->dir));
	/* a shell, or a program that loads libibverbs later: list the provider, which needs libibverbs */
	if (!v->needs && provider) {
		take_answer(v, ask_loader(loader, text("%s/libsoftmr.so", provider), o->dir));
		v->needs = false;
	}
	if (v->library)
		v->interface = interface_of(v->library);
}

/* -- messages */

static bool has_plugin(const char *provider, unsigned int interface)
{
	char *path = text("%s/libsoftmr-rdmav%u.so", provider, interface);
	bool has = !access(path, R_OK);

	free(path);
	return has;
}

/* Why the command will see no device, although it has or needs libibverbs; NULL: it should see one */
static char *verbs_problem(const struct verbs *v, const char *provider)
{
	if (!v->needs)
		return NULL;
	if (v->musl)
		return text("%s runs on musl, and the provider needs the GNU C library", v->program);
	if (!v->library)
		return NULL;
	if (!has_plugin(provider, v->interface))
		return text("the provider does not know the interface of the libibverbs of %s, %s (number %u)",
			    v->program, v->library, v->interface);
	return NULL;
}

void verbs_say(const struct verbs *v, const struct options *o, const char *provider, const char *own)
{
	char *problem = verbs_problem(v, provider);

	if (problem)
		say("no device will be seen: %s.", problem);
	else if (v->needs && !v->library && !o->with_verbs)
		say("%s needs libibverbs, which this machine does not have.%s", v->program,
		    own ? " --with-verbs gives the guest one." : " Install it: Debian libibverbs1, Fedora libibverbs.");
	else if (!v->there && own && !o->with_verbs &&
		 !access(text("%s/bin/%s", own, o->command[0]), X_OK))
		say("this machine has no %s; --with-verbs gives the guest one.", o->command[0]);
	if (!o->verbose)
		return;
	if (v->library)
		say("%s %s %s (interface %u with providers); the guest's provider is %s/libsoftmr-rdmav%u.so",
		    v->program, v->needs ? "loads" : "would find", v->library, v->interface, provider,
		    v->interface);
	else if (v->program)
		say("%s: its loader finds no libibverbs", v->program);
	else
		say("%s: no program of this machine by which libibverbs could be looked for", o->command[0]);
	if (o->with_verbs)
		say("what the machine lacks of %s/lib and %s/bin is added to the guest", own, own);
}
