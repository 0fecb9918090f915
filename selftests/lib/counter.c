// SPDX-License-Identifier: GPL-2.0
#include "counter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

#define PORT	1

/*
 * The core reads the driver's counters again after 10 ms; with HZ=100 that can
 * be two ticks.
 */
#define LIFESPAN_US	30000

/**
 * vt_counter() - read a counter of a device's port
 * @ctx: the device
 * @name: as in "rdma statistic show"
 *
 * Return: its value, or a negative errno; -ENOENT if the driver has no such
 * counter
 */
int64_t vt_counter(struct ibv_context *ctx, const char *name)
{
	unsigned long long value;
	char path[256];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/ports/%d/hw_counters/%s",
		 ctx->device->ibdev_path, PORT, name);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	n = fscanf(f, "%llu", &value);
	fclose(f);
	return n == 1 ? (int64_t)value : -EIO;
}

/**
 * vt_counter_now() - read a counter from the driver, not from the core's cache
 * @ctx: the device
 * @name: as for vt_counter()
 *
 * Return: as vt_counter()
 */
int64_t vt_counter_now(struct ibv_context *ctx, const char *name)
{
	usleep(LIFESPAN_US);
	return vt_counter(ctx, name);
}

/**
 * vt_counter_wait() - wait until a counter has reached a value
 * @ctx: the device
 * @name: as for vt_counter()
 * @want: the value
 *
 * The core reads counters from the driver only from time to time.
 *
 * Return: true if the counter is exactly @want now
 */
bool vt_counter_wait(struct ibv_context *ctx, const char *name, int64_t want)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;

	while (vt_counter(ctx, name) < want && vt_now_ms() < end)
		usleep(1000);
	return vt_counter_now(ctx, name) == want;
}

/**
 * vt_qp_shown() - what `rdma -dd resource show qp` shows this process about a QP
 * @qpn: its number, on the device of $SMR_DEV
 * @word: the word before a number, with spaces as it is printed. The driver's begin with "drv_"
 *
 * rdma prints a line for each QP, and more lines for the driver's part.
 *
 * Return: the number, or -1: there is none; -2: the QP is not shown
 */
long vt_qp_shown(uint32_t qpn, const char *word)
{
	char line[1024], want[32];
	long value = -2;
	bool ours = false;
	FILE *f;

	snprintf(line, sizeof(line), "rdma -dd resource show qp link %s/1", getenv("SMR_DEV"));
	snprintf(want, sizeof(want), " lqpn %u ", qpn);
	f = popen(line, "r");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, word);

		if (!strncmp(line, "link ", 5))
			ours = strstr(line, want);
		if (!ours)
			continue;
		if (at)
			value = strtol(at + strlen(word), NULL, 0);
		else if (value == -2)
			value = -1;
	}
	if (f)
		pclose(f);
	return value;
}
