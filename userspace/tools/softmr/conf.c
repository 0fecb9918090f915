// SPDX-License-Identifier: GPL-2.0
#include "conf.h"

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

#define TEMPORARY	".softmr-link.XXXXXX"

static char *conf_path(const char *file)
{
	return root_path(CONF_DIR "/%s", file);
}

/* The value of "name = VALUE"; the last such line is used. */
static char *name_of(const char *text)
{
	char *copied = copy(text), *line, *rest = copied, *name = NULL;

	while ((line = strsep(&rest, "\n"))) {
		char key[16], value[256];

		if (sscanf(line, " %15[a-z] = %255s", key, value) != 2 ||
		    strcmp(key, "name"))
			continue;
		free(name);
		name = copy(value);
	}
	free(copied);
	return name;
}

int conf_read(const char *netdev, char **name)
{
	char *text = read_text(CONF_DIR "/%s", netdev);

	*name = NULL;
	if (!text)
		return -errno;
	*name = name_of(text);
	free(text);
	return *name ? 0 : -EINVAL;
}

/*
 * Files that editors, dpkg and rpm leave next to a file are not files of links. A netdev may have
 * such a name, but then softmr link add --persistent refuses it.
 */
bool conf_is_netdev(const char *file)
{
	static const char * const ends[] = {
		"~", ".swp", ".bak", ".orig", ".rej", ".tmp", ".dpkg-old", ".dpkg-new", ".dpkg-dist",
		".dpkg-tmp", ".rpmsave", ".rpmnew", ".rpmorig", ".ucf-old", ".ucf-dist",
	};
	size_t len = strlen(file), end, i;

	if (!len || *file == '.' || *file == '#' || len >= IFNAMSIZ)
		return false;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		end = strlen(ends[i]);
		if (len > end && !strcmp(file + len - end, ends[i]))
			return false;
	}
	return true;
}

static int is_link_file(const struct dirent *entry)
{
	return conf_is_netdev(entry->d_name);
}

int conf_list(struct conf **confs, size_t *n)
{
	char *path = root_path(CONF_DIR);
	struct dirent **entries;
	int found, i;

	*n = 0;
	*confs = NULL;
	found = scandir(path, &entries, is_link_file, alphasort);
	free(path);
	if (found < 0)
		return errno == ENOENT ? 0 : -errno;
	*confs = zalloc(((size_t)found + 1) * sizeof(**confs));
	for (i = 0; i < found; i++) {
		(*confs)[i].netdev = copy(entries[i]->d_name);
		conf_read(entries[i]->d_name, &(*confs)[i].name);
		free(entries[i]);
	}
	free(entries);
	*n = (size_t)found;
	return 0;
}

void conf_free(struct conf *confs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free(confs[i].netdev);
		free(confs[i].name);
	}
	free(confs);
}

static int make_dir(const char *name)
{
	char *path = root_path("%s", name);
	int ret = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;

	free(path);
	return ret;
}

static int write_file(int fd, const char *netdev, const char *name)
{
	FILE *file = fdopen(fd, "w");
	int ret = 0;

	if (!file) {
		ret = -errno;
		close(fd);
		return ret;
	}
	fprintf(file, "# The softmr link that %s gets. Written by softmr link add --persistent\n"
		      "name = %s\n", netdev, name);
	if (fflush(file) || fchmod(fd, 0644) || fsync(fd))
		ret = -errno;
	if (fclose(file) && !ret)
		ret = -errno;
	return ret;
}

/* A reader sees the old file or the new one, never a part of one. */
int conf_write(const char *netdev, const char *name)
{
	char *path = conf_path(netdev), *temporary = conf_path(TEMPORARY);
	int ret, fd;

	ret = make_dir("/etc/softmr");
	if (!ret)
		ret = make_dir(CONF_DIR);
	if (!ret) {
		fd = mkstemp(temporary);
		ret = fd < 0 ? -errno : write_file(fd, netdev, name);
		if (!ret && rename(temporary, path))
			ret = -errno;
		if (ret && fd >= 0)
			unlink(temporary);
	}
	free(temporary);
	free(path);
	return ret;
}

/* Fails, as intended, if there are other files. */
static void remove_dir(const char *name)
{
	char *path = root_path("%s", name);

	rmdir(path);
	free(path);
}

int conf_remove(const char *netdev)
{
	char *path = conf_path(netdev);
	int ret = unlink(path) ? -errno : 0;

	free(path);
	if (!ret) {
		remove_dir(CONF_DIR);
		remove_dir("/etc/softmr");
	}
	return ret;
}
