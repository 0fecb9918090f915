// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A WRITE, from the beginning: one process writes into the memory of another one. They exchange the numbers and
 * addresses of each other over a socket, here one between parent and child.
 *
 * write DEVICE GID_INDEX
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

static char memory[4096];

/* What one end sends to the other */
struct end {
	union ibv_gid gid;
	uint16_t lid;
	uint32_t qpn, rkey;
	uint64_t addr;
};

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	errx(1, "there is no device %s", name);
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	int error = ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);

	if (error)
		errx(1, "ibv_modify_qp: %s", strerror(error));
}

static void connect_to(struct ibv_qp *qp, const struct end *peer, enum ibv_mtu mtu, int gid_index)
{
	modify(qp, (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = peer->qpn, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, .ah_attr = { .port_num = 1, .dlid = peer->lid, .is_global = 1,
			.grh = { .dgid = peer->gid, .sgid_index = gid_index, .hop_limit = 64 } } },
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER);
	modify(qp, (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 },
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Send to the other end, and receive from it; neither end continues before the other one has called this */
static void exchange(int sock, const void *mine, void *theirs, size_t size)
{
	if (write(sock, mine, size) != (ssize_t)size || read(sock, theirs, size) != (ssize_t)size)
		errx(1, "the other process has ended");
}

static struct ibv_wc wait_for_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	if (wc.status)
		errx(1, "%s, vendor_err %#x", ibv_wc_status_str(wc.status), wc.vendor_err);
	return wc;
}

int main(int argc, char **argv)
{
	int sockets[2], gid_index = argc == 3 ? atoi(argv[2]) : 0;
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr send = {}, *bad_send;
	struct ibv_port_attr port;
	struct end me = {}, peer;

	if (argc != 3)
		errx(2, "usage: write DEVICE GID_INDEX");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		err(1, "socketpair");
	pid_t child = fork();
	int sock = sockets[!child];

	struct ibv_context *context = open_device(argv[1]);
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;
	struct ibv_qp *qp = cq && mr ? ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 } }) : NULL;

	if (!qp || ibv_query_port(context, 1, &port) || ibv_query_gid(context, 1, gid_index, &me.gid))
		err(1, "%s", argv[1]);
	modify(qp, (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE },
		IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	ibv_post_recv(qp, &recv, &bad_recv); /* no memory: it takes the immediate data only */

	me.lid = port.lid;
	me.qpn = qp->qp_num;
	me.rkey = mr->rkey;
	me.addr = (uintptr_t)memory;
	exchange(sock, &me, &peer, sizeof(me));
	connect_to(qp, &peer, port.active_mtu, gid_index);
	exchange(sock, "", &(char){ 0 }, 1); /* before this the peer might not be able to receive */

	if (child) { /* the target: it sleeps, or polls; its CPU takes no part in the WRITE */
		struct ibv_wc wc = wait_for_one(cq);

		wait(NULL);
		printf("target: immediate data %u, and in my memory: %s\n", ntohl(wc.imm_data), memory + 100);
		return 0;
	}
	strcpy(memory, "hello");
	send.sg_list = &(struct ibv_sge){ .addr = (uintptr_t)memory, .length = 6, .lkey = mr->lkey };
	send.num_sge = 1;
	send.opcode = IBV_WR_RDMA_WRITE;
	send.wr.rdma.remote_addr = peer.addr + 100;
	send.wr.rdma.rkey = peer.rkey;
	ibv_post_send(qp, &send, &bad_send);
	wait_for_one(cq);
	printf("writer: the WRITE is complete, and the target has not noticed\n");

	send.num_sge = 0;
	send.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	send.imm_data = htonl(42);
	ibv_post_send(qp, &send, &bad_send);
	wait_for_one(cq);
	printf("writer: the WRITE with immediate data is complete\n");
	return 0;
}
