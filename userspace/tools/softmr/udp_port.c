// SPDX-License-Identifier: GPL-2.0
#include "udp_port.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

/* The inode of a socket that is bound to the port, or 0 */
static unsigned long socket_inode(const char *table)
{
	char *text = read_text("/proc/net/%s", table), *line, *rest = text;
	unsigned long inode = 0;

	while (rest && (line = strsep(&rest, "\n"))) {
		unsigned int port;
		unsigned long ino;

		/* slot, local address and port, remote, state, queues, timer,
		 * retransmits, user, timeout, inode */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %*s %*s %lu",
			   &port, &ino) == 2 && port == ROCE_PORT)
			inode = ino;
	}
	free(text);
	return inode;
}

/* Does the process have the socket? Negative: this user may not see it. */
static int process_has(const char *pid, const char *socket)
{
	char *path = root_path("/proc/%s/fd", pid), target[64];
	DIR *dir = opendir(path);
	struct dirent *entry;
	int has = 0;

	free(path);
	if (!dir)
		return errno == ENOENT ? 0 : -1;
	while (!has && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (len < 0)
			continue;
		target[len] = '\0';
		has = !strcmp(target, socket);
	}
	closedir(dir);
	return has;
}

static void find_process(struct udp_port *port, unsigned long inode)
{
	char *socket = strf("socket:[%lu]", inode), *path = root_path("/proc");
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool hidden = false;

	while (dir && port->holder == HOLDER_KERNEL && (entry = readdir(dir))) {
		int has;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		has = process_has(entry->d_name, socket);
		hidden |= has < 0;
		if (has <= 0)
			continue;
		port->holder = HOLDER_PROCESS;
		port->pid = atoi(entry->d_name);
		port->command = read_text("/proc/%s/comm", entry->d_name);
	}
	if (port->holder == HOLDER_KERNEL && hidden)
		port->holder = HOLDER_HIDDEN;
	if (dir)
		closedir(dir);
	free(path);
	free(socket);
}

void udp_port_read(struct udp_port *port)
{
	unsigned long inode = socket_inode("udp");

	*port = (struct udp_port){ .holder = HOLDER_NONE };
	if (!inode)
		inode = socket_inode("udp6");
	if (!inode)
		return;
	port->holder = HOLDER_KERNEL;
	find_process(port, inode);
}

void udp_port_free(struct udp_port *port)
{
	free(port->command);
}
