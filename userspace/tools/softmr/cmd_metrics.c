// SPDX-License-Identifier: GPL-2.0
/* softmr metrics: the counters of all links for Prometheus and other readers of its format (OpenMetrics 1.0). */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "links.h"
#include "objects.h"
#include "util.h"

static const char usage[] =
	"Usage: softmr metrics [--output FILE | --http]\n"
	"\n"
	"Prints the counters of all links as OpenMetrics text.\n"
	"\n"
	"  -o, --output FILE  replace FILE with it, at once: for node_exporter's textfile collector\n"
	"  -H, --http         answer one HTTP request on stdin: softmr-metrics.socket does that\n"
	"  -h, --help         show this\n";

/*
 * A counter with the same meaning as one of mlx5 is also printed under mlx5's name, for dashboards that were made for
 * adapters. Counters that already have the same name are not listed here.
 */
static const struct { const char *ours, *mlx5; } also[] = {
	{ "ack_timeouts", "local_ack_timeout_err" },
	{ "duplicate_requests", "duplicate_request" },
	{ "retry_exceeded", "req_transport_retries_exceeded" },
	{ "rnr_retry_exceeded", "req_rnr_retries_exceeded" },
	{ "rx_bad_icrc", "rx_icrc_encapsulated" },
};

/* Counters that can decrease */
static const char *const gauges[] = { "odp_chunks", "rx_waiting_bytes" };

static bool is_gauge(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gauges); i++)
		if (!strcmp(gauges[i], name))
			return true;
	return false;
}

/* The value of a label; caller frees it */
static char *escaped(const char *text)
{
	char *to = zalloc(2 * strlen(text) + 1), *at = to;

	for (; *text; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			*at++ = '\\';
		*at++ = *text == '\n' ? 'n' : *text;
	}
	return to;
}

static void print_labels(FILE *out, const struct rdma_dev *dev)
{
	char *link = escaped(dev->name), *netdev = escaped(dev->netdev);

	fprintf(out, "link=\"%s\",netdev=\"%s\"", link, netdev);
	free(link);
	free(netdev);
}

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# TYPE softmr_%s %s\n", name, type);
	if (help)
		fprintf(out, "# HELP softmr_%s %s\n", name, help);
}

/* One counter for all links: OpenMetrics requires the samples of a name to be together. */
static void print_counter(FILE *out, const struct objects *all, const char *counter,
			  const char *name, const char *help)
{
	bool gauge = is_gauge(counter);
	size_t i;

	print_head(out, name, gauge ? "gauge" : "counter", help);
	for (i = 0; i < all->nr_devs; i++) {
		char *value = read_text("/sys/class/infiniband/%s/ports/1/hw_counters/%s",
					all->devs[i].name, counter);

		if (value) {
			fprintf(out, "softmr_%s%s{", name, gauge ? "" : "_total");
			print_labels(out, &all->devs[i]);
			fprintf(out, "} %llu\n", strtoull(value, NULL, 10));
		}
		free(value);
	}
}

static void print_both(FILE *out, const struct objects *all, const char *counter)
{
	const char *meaning = link_counter_meaning(counter);
	size_t i;

	print_counter(out, all, counter, counter, meaning);
	for (i = 0; i < ARRAY_SIZE(also); i++)
		if (!strcmp(also[i].ours, counter))
			print_counter(out, all, counter, also[i].mlx5, meaning);
}

static int is_counter(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "lifespan");
}

/* The module defines which counters there are. */
static void print_counters(FILE *out, const struct objects *all)
{
	struct dirent **list;
	char *path;
	int i, n;

	if (!all->nr_devs)
		return;
	path = root_path("/sys/class/infiniband/%s/ports/1/hw_counters", all->devs[0].name);
	n = scandir(path, &list, is_counter, alphasort);
	for (i = 0; i < n; i++) {
		print_both(out, all, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	free(path);
}

static void print_up(FILE *out, const struct objects *all)
{
	size_t i;

	print_head(out, "up", "gauge", "the port is active");
	for (i = 0; i < all->nr_devs; i++) {
		fprintf(out, "softmr_up{");
		print_labels(out, &all->devs[i]);
		fprintf(out, "} %d\n", !strcmp(link_state(&all->devs[i]), "ACTIVE"));
	}
}

static size_t count(const struct objects *all, const struct rdma_dev *dev, enum object_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < all->nr; i++)
		n += all->list[i].dev == dev && all->list[i].kind == kind;
	return n;
}

static void print_objects(FILE *out, const struct objects *all)
{
	enum object_kind kind;
	size_t i;

	print_head(out, "objects", "gauge", "queue pairs, regions and completion queues there are");
	for (i = 0; i < all->nr_devs; i++) {
		for (kind = 0; kind < OBJECT_KINDS; kind++) {
			fprintf(out, "softmr_objects{");
			print_labels(out, &all->devs[i]);
			fprintf(out, ",kind=\"%s\"} %zu\n", object_kind_name(kind),
				count(all, &all->devs[i], kind));
		}
	}
}

/* Without a link, or without RDMA, there is nothing to print, which is not an error. */
static int print_all(FILE *out)
{
	struct objects all;
	int ret = objects_read(&all, NULL);

	if (ret && ret != -EPROTONOSUPPORT)
		return ret;
	fprintf(out, "# TYPE softmr info\nsoftmr_info{version=\"%s\"} 1\n", SMR_TOOL_VERSION);
	print_up(out, &all);
	print_objects(out, &all);
	print_counters(out, &all);
	fprintf(out, "# EOF\n");
	objects_free(&all);
	return fflush(out) || ferror(out) ? -(errno ? errno : EIO) : 0;
}

/* All of the output, or -errno; caller frees it */
static int in_memory(char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	int ret;

	if (!out)
		return -ENOMEM;
	ret = print_all(out);
	fclose(out);
	if (ret)
		free(*text);
	return ret;
}

/* -- destinations */

/* A reader of the file finds the old one or the new one. */
static int to_file(const char *path)
{
	char *new = strf("%s.new", path);
	FILE *out = fopen(new, "w");
	int ret;

	if (!out) {
		ret = -errno;
	} else {
		ret = print_all(out);
		if (fclose(out) && !ret)
			ret = -errno;
		if (!ret && chmod(new, 0644))
			ret = -errno;
		if (!ret && rename(new, path))
			ret = -errno;
		if (ret)
			unlink(new);
	}
	free(new);
	return ret;
}

/* The time limit for a client's request, and the maximum size of it */
#define REQUEST_MS	5000
#define REQUEST_BYTES	8192

/* Read the request without its body; false: there was none */
static bool read_request(char *to, size_t size)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t len = 0;

	while (len + 1 < size && poll(&in, 1, REQUEST_MS) > 0) {
		ssize_t n = read(STDIN_FILENO, to + len, size - len - 1);

		if (n <= 0)
			return false;
		len += (size_t)n;
		to[len] = 0;
		if (strstr(to, "\r\n\r\n") || strstr(to, "\n\n"))
			return true;
	}
	return false;
}

static void answer(const char *status, const char *type, const char *text, size_t size, bool body)
{
	printf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	       status, type, size);
	if (body)
		fwrite(text, 1, size, stdout);
}

static int http(void)
{
	static const char plain[] = "text/plain; charset=utf-8";
	static const char other[] = "softmr has /metrics\n";
	char request[REQUEST_BYTES] = "", *text = NULL;
	size_t size = 0;
	bool head;
	int ret;

	if (!read_request(request, sizeof(request)))
		return -EPROTO;
	head = !strncmp(request, "HEAD ", 5);
	if (!head && strncmp(request, "GET ", 4)) {
		answer("405 Method Not Allowed", plain, "", 0, true);
	} else if (strncmp(strchr(request, ' '), " /metrics ", 10) &&
		   strncmp(strchr(request, ' '), " /metrics?", 10)) {
		answer("404 Not Found", plain, other, sizeof(other) - 1, !head);
	} else {
		ret = in_memory(&text, &size);
		if (ret)
			answer("500 Internal Server Error", plain, "", 0, true);
		else
			answer("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8",
			       text, size, !head);
		free(ret ? NULL : text);
		if (ret)
			return ret;
	}
	return fflush(stdout) ? -errno : 0;
}

int cmd_metrics(int argc, char **argv)
{
	static const struct option names[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "http", no_argument, NULL, 'H' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	const char *path = NULL;
	bool good = true, listens = false;
	int c, ret;

	opterr = 0;
	optind = 1;
	while (good && (c = getopt_long(argc, argv, "o:Hh", names, NULL)) != -1) {
		switch (c) {
		case 'o':
			path = optarg;
			break;
		case 'H':
			listens = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_OK;
		default:
			good = false;
		}
	}
	if (!good || optind < argc || (path && listens)) {
		complain("metrics cannot make anything of '%s'; see: softmr metrics --help",
			 argv[good && optind < argc ? optind : optind - 1]);
		return EXIT_USAGE;
	}
	ret = listens ? http() : path ? to_file(path) : print_all(stdout);
	if (ret)
		complain("cannot write metrics: %s", strerror(-ret));
	return ret ? EXIT_PROBLEM : EXIT_OK;
}
