// SPDX-License-Identifier: GPL-2.0
/*
 * One answer completes many work requests: a softirq completes as many as its budget allows, and a
 * workqueue the rest. The test reads the tracepoints of completions and of softirqs.
 *
 * timeout: 120
 * paths: wire
 */
#include "harness.h"
#include "line.h"
#include "system.h"

#define TRACING	"/sys/kernel/tracing/"

/* The largest window, and the initial one, in packets */
#define MANY	1024
#define FIRST	128

/* The budget of a softirq is 256 KiB, and a request that completes counts as 512 bytes */
#define ALLOWED	512
#define SLACK	8

#define ACK	0x1f
#define LEN	64

FIXTURE(acks)
{
	struct vt_line line;
	uint32_t sent;
};

static int trace(const char *what, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), TRACING "%s", what);
	return vt_write_file(path, text);
}

static int trace_switch(const char *text)
{
	int ret = trace("events/irq/softirq_entry/enable", text);

	ret = ret ? ret : trace("events/irq/softirq_exit/enable", text);
	return ret ? ret : trace("events/softmr/smr_send_done/enable", text);
}

/* Opening the file clears the trace. */
static int trace_clear(void)
{
	return system(": >" TRACING "trace");
}

FIXTURE_SETUP(acks)
{
	struct vt_conf conf = vt_defaults;

	conf.timeout = 0;
	conf.depth = 2 * MANY;
	conf.sig_all = true;
	if (system("[ -d " TRACING "events ] || mount -t tracefs nodev " TRACING))
		SKIP(return, "no tracefs");
	VT_SETUP(vt_line_open(&self->line, &conf));
	ASSERT_EQ(0, trace("buffer_size_kb", "10000"));
	ASSERT_EQ(0, trace("tracing_on", "1"));
	ASSERT_EQ(0, trace_switch("1"));
}

FIXTURE_TEARDOWN(acks)
{
	trace_switch("0");
	vt_line_close(&self->line);
}

static int post(FIXTURE_DATA(acks) *self)
{
	struct ibv_sge sge = vt_sge(&self->line.ep.buf, VT_GUARD, LEN);
	struct ibv_send_wr wr = {
		.wr_id = self->sent, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
	};

	self->sent++;
	return vt_post(&self->line.ep, &wr);
}

/* Post @n SENDs of one packet each, and wait until the last one has left. */
static bool send_all(FIXTURE_DATA(acks) *self, uint32_t n)
{
	int64_t packets = vt_counter_now(self->line.ep.dev.ctx, "tx_packets") + n;
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;

	for (; n; n--)
		if (post(self))
			return false;
	while (vt_counter_now(self->line.ep.dev.ctx, "tx_packets") < packets)
		if (vt_now_ms() > end)
			return false;
	return true;
}

/* Acknowledge all requests. */
static int answer(FIXTURE_DATA(acks) *self)
{
	return vt_line_answer(&self->line, VT_OP_ACK, self->line.psn + self->sent - 1, ACK, NULL, 0);
}

static bool all_done(FIXTURE_DATA(acks) *self, uint32_t from)
{
	for (; from < self->sent; from++)
		if (vt_status(self->line.ep.scq, from) != IBV_WC_SUCCESS)
			return false;
	return true;
}

/* The window doubles with each window that is acknowledged. */
static bool widen(FIXTURE_DATA(acks) *self)
{
	uint32_t n, from;

	for (n = FIRST; n < MANY; n *= 2) {
		from = self->sent;
		if (!send_all(self, n) ||
		    answer(self) || !all_done(self, from))
			return false;
	}
	return true;
}

#define CPUS	64

/* How many requests the busiest softirq of the network has completed since @from */
static int most_in_a_softirq(int *all)
{
	int n[CPUS], most = 0, i;
	FILE *f = fopen(TRACING "trace", "r");
	char line[512], *cpu;

	*all = 0;
	for (i = 0; i < CPUS; i++)
		n[i] = -1;
	while (f && fgets(line, sizeof(line), f)) {
		cpu = strchr(line, '[');
		i = cpu ? atoi(cpu + 1) : CPUS;
		if (i < 0 || i >= CPUS)
			continue;
		if (strstr(line, "softirq_entry: vec=3")) {
			n[i] = 0;
		} else if (strstr(line, "softirq_exit: vec=3")) {
			n[i] = -1;
		} else if (strstr(line, "smr_send_done:")) {
			++*all;
			if (n[i] >= 0 && ++n[i] > most)
				most = n[i];
		}
	}
	if (f)
		fclose(f);
	printf("# the busiest softirq completed %d of %d\n", most, *all);
	return most;
}

static void expect_budget(struct __test_metadata *_metadata)
{
	int all, most;

	ASSERT_EQ(0, trace("tracing_on", "0"));
	most = most_in_a_softirq(&all);
	EXPECT_EQ(MANY, all);
	EXPECT_GE(ALLOWED + SLACK, most);
}

TEST_F(acks, of_all_at_once)
{
	uint32_t from;

	ASSERT_TRUE(widen(self));
	from = self->sent;
	ASSERT_TRUE(send_all(self, MANY));
	ASSERT_EQ(0, trace_clear());
	ASSERT_EQ(0, answer(self));
	EXPECT_TRUE(all_done(self, from));
	expect_budget(_metadata);
}

VT_HARNESS_MAIN
