// SPDX-License-Identifier: GPL-2.0
/*
 * Packets are received on one processor and consumed on another, and the user's limit of waiting
 * packets is low: none is lost, however long that goes on.
 *
 * beds: qemu-newest qemu-stable qemu-oldest qemu-rt
 * timeout: 90
 * paths: veth
 * params: user_packet_kb=100
 */
#include "steer.h"

#include <sched.h>

#include "system.h"

#define ROUNDS		800
#define PAYLOAD		1000
#define ROOM		2048
#define CPUMASK		"/sys/devices/virtual/workqueue/cpumask"

/**
 * @was: the processors that workqueues may use
 */
FIXTURE(cpus)
{
	struct vt_raw a, b;
	struct vt_frame frame;
	struct ibv_flow *flow;
	char was[256];
};

/*
 * Put this process, and so all that it sends, on the first processor, and workqueues on the second.
 */
static int processors_part(char *was, size_t size)
{
	FILE *f = fopen(CPUMASK, "r");
	cpu_set_t first;

	if (!f || !fgets(was, size, f))
		return -ENOENT;
	fclose(f);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof(first), &first))
		return -errno;
	return vt_write_file(CPUMASK, "2");
}

FIXTURE_SETUP(cpus)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "there is one processor");
	ASSERT_EQ(0, processors_part(self->was, sizeof(self->was)));
	VT_SETUP(vt_raw_open(&self->a, 0, VT_RAW_ODP));
	VT_SETUP(vt_raw_open(&self->b, 1, 0));
	self->frame = (struct vt_frame){
		.src = { 2, 1, 2, 3, 4, 5 }, .vlan = -1, .type = 0x0800,
		.ip4 = {
			.src = ntohl(inet_addr_of("SMR_PEER_ADDR", 0).sin_addr.s_addr),
			.dst = ntohl(inet_addr_of("SMR_ADDR", 0).sin_addr.s_addr),
			.ttl = 64,
		},
		.proto = 17, .sport = 4000, .dport = PORT, .payload = PAYLOAD,
	};
	ASSERT_EQ(0, mac_of_netdev(self->frame.dst));
	self->flow = rule_udp(&self->a, PORT, 0, 0);
	ASSERT_NE(NULL, self->flow);
}

FIXTURE_TEARDOWN(cpus)
{
	if (self->flow)
		ibv_destroy_flow(self->flow);
	vt_raw_close(&self->b);
	vt_raw_close(&self->a);
	if (self->was[0])
		vt_write_file(CPUMASK, self->was);
}

/* One frame, to a page that is present or not. Return: whether it arrived */
static bool one_frame(FIXTURE_DATA(cpus) *self, bool there)
{
	struct ibv_sge sge = vt_sge(&self->a.ep.buf, VT_GUARD, ROOM);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (!there && madvise(self->a.ep.buf.p + VT_GUARD, ROOM, MADV_DONTNEED))
		return false;
	if (ibv_post_recv(self->a.ep.qp, &wr, &bad) ||
	    vt_raw_send(&self->b, &self->frame) != IBV_WC_SUCCESS)
		return false;
	return vt_status(self->a.ep.rcq, 1) == IBV_WC_SUCCESS;
}

/*
 * A frame whose page is missing waits for a workqueue, which consumes it on the second processor.
 * Every second frame is consumed where it arrives.
 */
TEST_F(cpus, received_here_and_consumed_there)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		ASSERT_TRUE(one_frame(self, i % 2)) TH_LOG("frame %d", i);
}

VT_HARNESS_MAIN
