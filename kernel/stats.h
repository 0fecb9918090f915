/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a device, shown by `rdma statistic show`. Counting costs one per-CPU increment,
 * and is allowed in any context.
 *
 * local64_t rather than this_cpu_add(): the generic this_cpu_add() disables interrupts, which
 * on User-Mode Linux takes two system calls.
 */
#ifndef SMR_STATS_H
#define SMR_STATS_H

#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include <asm/local64.h>

/* name for the code, name for the user */
#define SMR_COUNTERS(X)						\
	X(TX_PACKETS,		"tx_packets")			\
	X(TX_BYTES,		"tx_bytes")			\
	X(RX_PACKETS,		"rx_packets")			\
	X(RX_BYTES,		"rx_bytes")			\
	X(LOCAL_OPS,		"local_ops")			\
	X(LOCAL_BYTES,		"local_bytes")			\
	X(DOORBELLS,		"doorbells")			\
	X(ACKS_TX,		"acks_tx")			\
	X(ACKS_RX,		"acks_rx")			\
	X(NAKS_TX,		"naks_tx")			\
	X(NAKS_RX,		"naks_rx")			\
	X(RNR_TX,		"rnr_tx")			\
	X(RNR_RX,		"rnr_rx")			\
	X(DUPLICATES,		"duplicate_requests")		\
	X(OUT_OF_SEQ,		"out_of_sequence")		\
	X(RETRANSMITS,		"retransmits")			\
	X(EARLY,		"early_retransmits")		\
	X(TIMEOUTS,		"ack_timeouts")			\
	X(RETRY_EXC,		"retry_exceeded")		\
	X(RNR_EXC,		"rnr_retry_exceeded")		\
	X(RNR_AGAIN,		"rnr_nak_retry_err")		\
	X(REQ_ERROR,		"req_cqe_error")		\
	X(REQ_FLUSH,		"req_cqe_flush_error")		\
	X(REQ_ACCESS,		"req_remote_access_errors")	\
	X(REQ_INVALID,		"req_remote_invalid_request")	\
	X(RESP_ERROR,		"resp_cqe_error")		\
	X(RESP_FLUSH,		"resp_cqe_flush_error")		\
	X(RESP_LENGTH,		"resp_local_length_error")	\
	X(RESP_ACCESS,		"resp_remote_access_errors")	\
	X(BACKPRESSURE,		"tx_backpressure")		\
	X(ECN_MARKED,		"np_ecn_marked_roce_packets")	\
	X(CNP_SENT,		"np_cnp_sent")			\
	X(CNP_HANDLED,		"rp_cnp_handled")		\
	X(CNP_IGNORED,		"rp_cnp_ignored")		\
	X(BAD_ICRC,		"rx_bad_icrc")			\
	X(BAD_HEADER,		"rx_bad_header")		\
	X(BAD_SOURCE,		"rx_wrong_source")		\
	X(BAD_PSN,		"rx_wrong_psn")			\
	X(BAD_PKEY,		"rx_bad_pkey")			\
	X(BAD_QKEY,		"rx_bad_qkey")			\
	X(NO_RECV,		"rx_no_receive")		\
	X(DROPPED,		"rx_dropped")			\
	X(RX_WAITING,		"rx_waiting_bytes")		\
	X(UNKNOWN_QPN,		"rx_unknown_qpn")		\
	X(UDP_REFUSED,		"local_udp_refused")		\
	X(PEER_REFUSED,		"qp_peer_refused")		\
	X(BAD_WQE,		"bad_wqe")			\
	X(KEY_UNKNOWN,		"key_unknown")			\
	X(KEY_STALE,		"key_stale")			\
	X(KEY_DEAD,		"key_dead")			\
	X(KEY_PD,		"key_wrong_pd")			\
	X(KEY_ACCESS,		"key_no_right")			\
	X(KEY_RANGE,		"key_out_of_range")		\
	X(DEREG_BUSY,		"mr_dereg_refused")		\
	X(ODP_HITS,		"odp_hits")			\
	X(ODP_MISSES,		"odp_misses")			\
	X(ODP_FAULTS,		"odp_faulted_pages")		\
	X(ODP_PREFETCHES,	"odp_prefetched_pages")		\
	X(ODP_INVALIDATIONS,	"odp_invalidated_pages")	\
	X(ODP_CHUNKS,		"odp_chunks")			\
	X(CQ_OVERRUN,		"cq_overrun")			\
	X(LINK_DOWNED,		"link_downed")

/*
 * All count events, except ODP_CHUNKS, the current number of chunks; and RX_WAITING, the memory
 * of packets that are now queued for QPs. UNKNOWN_QPN and UDP_REFUSED are counted per
 * namespace, in struct smr_qptab and struct smr_antispoof, and not per device.
 */
enum smr_counter {
#define SMR_COUNTER_ENUM(id, name) SMR_CNT_##id,
	SMR_COUNTERS(SMR_COUNTER_ENUM)
#undef SMR_COUNTER_ENUM
	SMR_CNT_MAX,
};

/**
 * struct smr_stats_cpu - the counters of one CPU
 * @count: indexed by enum smr_counter
 */
struct smr_stats_cpu {
	local64_t count[SMR_CNT_MAX];
};

/**
 * struct smr_stats - the counters of one device
 * @cpu: a set for each CPU
 * @ref: one for the device, and one for each memory that uses these counters; a memory may
 *	outlive the device, see fault.h
 */
struct smr_stats {
	struct smr_stats_cpu __percpu *cpu;
	refcount_t ref;
};

struct smr_stats *smr_stats_create(void);
struct smr_stats *smr_stats_get(struct smr_stats *stats);
void smr_stats_put(struct smr_stats *stats);
u64 smr_stats_read(const struct smr_stats *stats, enum smr_counter id);

static inline void smr_stat_add(struct smr_stats *stats, enum smr_counter id,
				u64 n)
{
	local64_add(n, &get_cpu_ptr(stats->cpu)->count[id]);
	put_cpu_ptr(stats->cpu);
}

static inline void smr_stat_inc(struct smr_stats *stats, enum smr_counter id)
{
	smr_stat_add(stats, id, 1);
}

#endif /* SMR_STATS_H */
