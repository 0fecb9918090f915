// SPDX-License-Identifier: GPL-2.0
/*
 * Messages by TCP, one after the other: tcpbench PORT [ADDRESS SIZE N]
 *
 * Without ADDRESS it is the server, which accepts one connection, reads whole
 * messages, and answers the last one of a burst with a byte. The client sends a
 * burst, until TCP knows the path, then another one of N messages, and waits
 * for that byte. It prints the ns of CLOCK_MONOTONIC for the second burst.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP	500

struct order {
	uint32_t size, n;
};

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void put(int fd, const char *buf, size_t len)
{
	ssize_t n;

	for (; len; buf += n, len -= n) {
		n = send(fd, buf, len, 0);
		need(n > 0, "send");
	}
}

static void get(int fd, void *buf, size_t len)
{
	need(recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len, "recv");
}

static void serve(int fd, char *buf)
{
	struct order order;

	while (recv(fd, &order, sizeof(order), MSG_WAITALL) == sizeof(order)) {
		while (order.n--)
			get(fd, buf, order.size);
		put(fd, "", 1);
	}
}

static int64_t burst(int fd, char *buf, struct order order)
{
	int64_t start = now_ns();

	put(fd, (char *)&order, sizeof(order));
	while (order.n--)
		put(fd, buf, order.size);
	get(fd, buf, 1);
	return now_ns() - start;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd, one = 1, client = argc == 5;
	struct order order;
	char *buf;

	if (argc != 2 && !client) {
		fprintf(stderr, "usage: tcpbench PORT [ADDRESS SIZE N]\n");
		return 2;
	}
	order.size = client ? strtoul(argv[3], NULL, 0) : 1 << 20;
	order.n = client ? strtoul(argv[4], NULL, 0) : 0;
	addr.sin_port = htons(strtoul(argv[1], NULL, 0));
	if (client)
		inet_pton(AF_INET, argv[2], &addr.sin_addr);
	buf = calloc(1, order.size);
	need(buf != NULL, "memory");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	need(fd >= 0, "socket");
	if (client) {
		need(!connect(fd, (void *)&addr, sizeof(addr)), "connect");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		burst(fd, buf, (struct order){ order.size, WARM_UP });
		printf("%lld\n", (long long)burst(fd, buf, order));
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		need(!bind(fd, (void *)&addr, sizeof(addr)), "bind");
		need(!listen(fd, 1), "listen");
		fd = accept(fd, NULL, NULL);
		need(fd >= 0, "accept");
		serve(fd, buf);
	}
	return 0;
}
