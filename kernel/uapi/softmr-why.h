/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Why softmr refuses a request: the reasons, and the interface that reports them.
 *
 * An id never changes its meaning, and is never given to another reason: programs print ids,
 * and completions carry them. The upper byte is the source of the refusal:
 *
 *	0x01..	verbs: memory regions
 *	0x02..	verbs: memory windows
 *	0x03..	verbs: queue pairs
 *	0x04..	verbs: completion queues and counters
 *	0x05..	verbs: receive queues
 *	0x06..	verbs: addresses
 *	0x07..	verbs: steering rules
 *	0x08..	verbs: multicast
 *	0x09..	verbs: device memory
 *	0x0e..	verbs: posting
 *	0x0f..	verbs: any
 *	0x10..	keys
 *	0x11..	work requests
 *	0x12..	the peer's answers
 *	0x13..	requests of the peer, and the receives for them
 */
#ifndef SOFTMR_WHY_H
#define SOFTMR_WHY_H

#include <linux/types.h>

/* Maximum numbers of a reason */
#define SMR_WHY_NUMBERS	8

/*
 * X(name, id, error, numbers, text, todo)
 *
 * error: the errno of the verb; 0: no verb, the status of the completion is the error
 * numbers: their names, in order. A colon is followed by the type; without one it is a decimal
 *	number: x (hexadecimal), access (enum ibv_access_flags), mtu (enum ibv_mtu), state
 *	(enum ibv_qp_state), attr (enum ibv_qp_attr_mask), opcode (enum ibv_wr_opcode), kind (of
 *	objects: 0 PD, 1 AH, 2 CQ, 3 SRQ, 4 QP, 5 MR, 6 MW, 7 XRC domain, 8 steering rule,
 *	9 multicast membership, 10 DMA handle, 11 completion counter, 15 device
 *	memory)
 * text: what was wrong; {NAME} is that number. Text in brackets is left out if the first number in
 *	it is 0
 * todo: what to do
 */

/* Verbs */
#define SMR_WHYS_VERBS(X)						\
	X(MR_ACCESS, 0x0101, EOPNOTSUPP, "access:access unknown:x",	\
	  "the access flags {unknown} are not supported for a region", \
	  "leave them out")						\
	X(MR_PERSISTENT, 0x0102, EOPNOTSUPP, "access:access",		\
	  "only memory of the process that is not paged on demand can be flushed to persistence", \
	  "leave IBV_ACCESS_FLUSH_PERSISTENT out, or register the mapping of a DAX file without IBV_ACCESS_ON_DEMAND") \
	X(MR_DM_ON_DEMAND, 0x0103, EINVAL, "access:access",		\
	  "device memory is not paged on demand",			\
	  "leave IBV_ACCESS_ON_DEMAND out")				\
	X(MR_IMPLICIT, 0x0104, EINVAL, "access:access iova:x",		\
	  "a region of the whole address space must be paged on demand, begin at iova 0 and not be of huge pages only; this one has iova {iova} and {access}", \
	  "register it with address 0, length SIZE_MAX and IBV_ACCESS_ON_DEMAND, without IBV_ACCESS_HUGETLB") \
	X(MR_WRAPS, 0x0105, EINVAL, "iova:x length",			\
	  "{length} bytes at iova {iova} extend beyond the highest address", \
	  "choose an iova that is smaller by at least the length")	\
	X(MR_NO_ATOMICS, 0x0106, EOPNOTSUPP, "access:access",		\
	  "the processor's atomic instructions do not work on this memory", \
	  "leave IBV_ACCESS_REMOTE_ATOMIC out")				\
	X(MR_NOT_PERSISTENT, 0x0107, EINVAL, "start:x length",		\
	  "the {length} bytes at {start} are not all persistent memory", \
	  "map a file of a DAX file system with MAP_SYNC, or leave IBV_ACCESS_FLUSH_PERSISTENT out") \
	X(MR_BUSY, 0x0108, EBUSY, "lkey:x windows first:x",		\
	  "region {lkey} has {windows} memory windows bound to it, one of them {first}", \
	  "unbind or deallocate the windows; softmrdv_query_mr_windows() lists them") \
	X(MR_OTHER_PROCESS, 0x0109, EACCES, "lkey:x was:access access:access", \
	  "region {lkey} is memory of another process, and only that process can make it writable", \
	  "call ibv_rereg_mr() in the process that has registered the region") \
	X(MR_HINTS_ON_DEMAND, 0x010a, EOPNOTSUPP, "access:access",	\
	  "a region with a DMA handle cannot be paged on demand",	\
	  "leave either the DMA handle or IBV_ACCESS_ON_DEMAND out")	\
	X(MR_FIXED, 0x010b, EINVAL, "lkey:x was:access access:access",	\
	  "region {lkey} is a dma-buf or device memory, which can neither become paged on demand nor be flushed to persistence", \
	  "leave IBV_ACCESS_ON_DEMAND and IBV_ACCESS_FLUSH_PERSISTENT as they are") \
	X(MR_DMABUF_FD, 0x010c, EBADF, "fd",				\
	  "the file descriptor {fd} is not a dma-buf",			\
	  "pass the descriptor that the exporter gave")			\
	X(MR_UNMAPPED, 0x010d, EFAULT, "start:x length writable",	\
	  "the {length} bytes at {start} are not all mapped; or the region is to be writable (1: {writable}), and they are not", \
	  "compare with /proc/PID/maps; for a read-only mapping, register a region without rights to write") \
	X(MR_MEMLOCK, 0x010e, ENOMEM, "length locked limit",		\
	  "{length} bytes, added to the {locked} that are locked already, exceed RLIMIT_MEMLOCK, {limit} bytes", \
	  "raise it (ulimit -l, LimitMEMLOCK=, --ulimit memlock=-1), or register with IBV_ACCESS_ON_DEMAND") \
	X(MR_DMABUF, 0x010f, EINVAL, "fd offset length",		\
	  "{length} bytes at offset {offset} of the dma-buf {fd} cannot be registered: the buffer is smaller, or its exporter refuses", \
	  "compare with the size that lseek(fd, 0, SEEK_END) gives")	\
	X(MR_DMABUF_ON_DEMAND, 0x0110, EINVAL, "access:access",		\
	  "a dma-buf is not paged on demand",				\
	  "leave IBV_ACCESS_ON_DEMAND out")				\
	X(MR_ATTRS, 0x0111, EINVAL, "comp_mask:x",			\
	  "the fields {comp_mask} of ibv_reg_mr_ex() describe neither memory nor a dma-buf", \
	  "for memory set ADDR and not FD_OFFSET; for a dma-buf set FD, FD_OFFSET and IOVA, and not ADDR") \
	X(MR_IO_MEMORY, 0x0112, EOPNOTSUPP, "fd",			\
	  "the dma-buf {fd} is device memory that the processor reaches only by I/O accesses, like that of most GPUs", \
	  "register memory of the host, and copy; ai.rst says more")	\
	X(MR_START_WRAPS, 0x0113, EINVAL, "start:x length",		\
	  "{length} bytes at address {start} extend beyond the end of the address space", \
	  "correct the address or the length")					\
	X(MR_TYPE, 0x0114, EOPNOTSUPP, "type",				\
	  "a region of type {type} is not supported",			\
	  "use IB_MR_TYPE_MEM_REG, the only one for kernel consumers")			\
	X(MR_BLOCKS, 0x0115, EINVAL, "max_num_sg most",			\
	  "a region for fast registration has from 1 to {most} blocks, not {max_num_sg}", \
	  "ask for at most max_fast_reg_page_list_len")			\
									\
	X(ADVICE, 0x0181, EOPNOTSUPP, "advice",				\
	  "softmr does not know the advice {advice}",		\
	  "use IBV_ADVISE_MR_ADVICE_PREFETCH, _PREFETCH_WRITE or _PREFETCH_NO_FAULT") \
	X(ADVISE_NO_KEY, 0x0182, ENOENT, "sge lkey:x",			\
	  "there is no region with the lkey {lkey} of entry {sge}",	\
	  "use the lkey of a region that is registered now")		\
	X(ADVISE_PD, 0x0183, EPERM, "sge lkey:x",			\
	  "the region {lkey} of entry {sge} belongs to another protection domain", \
	  "pass the protection domain that the region was registered with") \
	X(ADVISE_RIGHT, 0x0184, EPERM, "sge lkey:x",			\
	  "the region {lkey} of entry {sge} may not be written to",	\
	  "register it with IBV_ACCESS_LOCAL_WRITE, or prefetch for reading") \
	X(ADVISE_WINDOW, 0x0185, EINVAL, "sge lkey:x",			\
	  "the key {lkey} of entry {sge} is that of a memory window",	\
	  "use the lkey of a region")					\
	X(ADVISE_PINNED, 0x0186, ENOENT, "sge lkey:x",			\
	  "the region {lkey} of entry {sge} is not paged on demand",	\
	  "register it with IBV_ACCESS_ON_DEMAND, or do not prefetch")	\
	X(ADVISE_RANGE, 0x0187, EFAULT, "sge lkey:x addr:x length start:x bytes", \
	  "{length} bytes at {addr}, of entry {sge}, are not inside the region {lkey}, which is {bytes} bytes at {start}", \
	  "correct the address or the length")					\
	X(ADVISE_UNMAPPED, 0x0188, EFAULT, "entries",			\
	  "the process has not mapped all of the {entries} ranges, or has mapped some without the right to that access", \
	  "compare the ranges with /proc/PID/maps")				\
									\
	X(MW_TYPE, 0x0201, EINVAL, "type",				\
	  "a memory window of type {type} is not supported",		\
	  "use IBV_MW_TYPE_1 or IBV_MW_TYPE_2")				\
									\
	X(QP_TYPE, 0x0301, EOPNOTSUPP, "type",				\
	  "a process cannot have a queue pair of type {type} on this link", \
	  "use RC, UC, UD or XRC; RAW_PACKET needs a netdev with Ethernet frames, and a module with CONFIG_INFINIBAND_SOFTMR_RAW") \
	X(QP_FLAGS, 0x0302, EOPNOTSUPP, "flags:x unknown:x",		\
	  "the creation flags {unknown} are not supported for this type of queue pair", \
	  "leave them out; UD has IBV_QP_CREATE_BLOCK_SELF_MCAST_LB")	\
	X(QP_SEND_WR, 0x0303, EINVAL, "max_send_wr most",		\
	  "max_send_wr is {max_send_wr}; a send queue has at most {most} work requests", \
	  "ask for at most what ibv_query_device() says in max_qp_wr")	\
	X(QP_SEND_SGE, 0x0304, EINVAL, "max_send_sge most",		\
	  "max_send_sge is {max_send_sge}; a work request has at most {most} entries", \
	  "ask for at most what ibv_query_device() says in max_sge")	\
	X(QP_INLINE, 0x0305, EINVAL, "max_inline_data most",		\
	  "max_inline_data is {max_inline_data}; a work request has at most {most} bytes of inline data", \
	  "ask for less")						\
	X(QP_RECV_WR, 0x0306, EINVAL, "max_recv_wr most",		\
	  "max_recv_wr is {max_recv_wr}; a receive queue has at most {most} work requests", \
	  "ask for at most what ibv_query_device() says in max_qp_wr")	\
	X(QP_RECV_SGE, 0x0307, EINVAL, "max_recv_sge most",		\
	  "max_recv_sge is {max_recv_sge}; a work request has at most {most} entries", \
	  "ask for at most what ibv_query_device() says in max_sge")	\
	X(QP_NO_XRCD, 0x0308, EINVAL, "",				\
	  "a queue pair that receives by XRC has no XRC domain",	\
	  "set xrcd, and IBV_QP_INIT_ATTR_XRCD in comp_mask")		\
	X(QP_NO_CQ, 0x0309, EINVAL, "send_cq recv_cq",			\
	  "a queue pair lacks a completion queue (send_cq {send_cq}, recv_cq {recv_cq})", \
	  "set both send_cq and recv_cq")				\
	X(QP_SEND_OPS, 0x030a, EOPNOTSUPP, "type send_ops_flags:x",	\
	  "a queue pair of type {type} does not support all of the operations {send_ops_flags}", \
	  "set in send_ops_flags only the operations that the table of ibv_wr_post(3) has for the type") \
	X(QP_CGROUP, 0x030c, EPERM, "",					\
	  "a BPF program that the cgroup of the process has for new sockets refuses the queue pair's", \
	  "bpftool cgroup tree shows the programs (sock_create); ask whoever manages the cgroup") \
									\
	X(QP_ATTR, 0x0311, EOPNOTSUPP, "mask:attr unknown:attr",	\
	  "the attribute {unknown} of a queue pair is not supported",		\
	  "take it out of attr_mask; there are no alternate paths")	\
	X(QP_ACCESS, 0x0312, EOPNOTSUPP, "access:access unknown:x",	\
	  "the access flags {unknown} of qp_access_flags are not supported", \
	  "leave them out")						\
	X(QP_VALUE, 0x0313, EINVAL, "attr:attr value least most",	\
	  "the attribute {attr} is {value}, and must be from {least} to {most}", \
	  "correct the value")						\
	X(QP_CUR_STATE, 0x0314, EINVAL, "cur_qp_state:state state:state", \
	  "cur_qp_state is {cur_qp_state}, but the queue pair is in {state}", \
	  "leave IBV_QP_CUR_STATE out; if the queue pair is in ERR, look for the error with ibv_poll_cq()") \
	X(QP_TRANSITION, 0x0315, EINVAL, "from:state to:state",		\
	  "a queue pair cannot go from {from} to {to}",			\
	  "go RESET, INIT, RTR, RTS, in this order; from ERR only to RESET") \
	X(QP_ATTR_MISSING, 0x0316, EINVAL, "from:state to:state missing:attr", \
	  "the step from {from} to {to} also needs the attributes {missing}", \
	  "set them, and their bits in attr_mask")			\
	X(QP_ATTR_EXCESS, 0x0317, EINVAL, "from:state to:state excess:attr", \
	  "the step from {from} to {to} cannot set the attributes {excess}",	\
	  "take their bits out of attr_mask, or set them in an earlier step") \
	X(QP_DRAINING, 0x0318, EINVAL, "to:state",			\
	  "the send queue is still draining, so the queue pair cannot go to {to}", \
	  "wait for IBV_EVENT_SQ_DRAINED")				\
	X(QP_PATH_MTU, 0x0319, EINVAL, "path_mtu:mtu most:mtu netdev_mtu", \
	  "path_mtu is {path_mtu}, but the netdev's MTU of {netdev_mtu} carries {most}", \
	  "use the active_mtu of ibv_query_port() on both sides, or raise the MTU of both netdevs: ip link set DEV mtu 4200") \
	X(QP_RATE_TYPE, 0x031a, EOPNOTSUPP, "rate_limit",		\
	  "only RAW_PACKET queue pairs have a rate limit",		\
	  "take IBV_QP_RATE_LIMIT out of attr_mask")			\
	X(QP_RATE_STATE, 0x031b, EINVAL, "from:state to:state",		\
	  "a rate limit can be set on the way to RTS, or in RTS, but not from {from} to {to}", \
	  "set it when the queue pair goes to RTS")			\
	X(QP_RATE_BURST, 0x031c, EINVAL, "max_burst_sz typical_pkt_sz",	\
	  "the size of bursts or packets is set, but no rate",		\
	  "set rate_limit, or leave max_burst_sz and typical_pkt_sz 0")	\
	X(QP_PEER_TAKEN, 0x031d, EPERM, "peer_qpn:x",			\
	  "a queue pair of another user is connected to the queue pair {peer_qpn} of this peer", \
	  "connect to the queue pair that the peer has made for this one; security.rst has the reason for this rule") \
	X(QP_ERROR_MEANWHILE, 0x031e, EINVAL, "from:state state:state",	\
	  "the queue pair went from {from} to {state} during the call",	\
	  "poll its completions: the first that is not status 5 says why") \
	X(QP_ECE, 0x031f, EINVAL, "comp_mask:x state:state",		\
	  "options can be set in RESET or INIT, with comp_mask 0, but not in {state} with {comp_mask}", \
	  "call ibv_set_ece() before the queue pair goes to RTR")	\
									\
	X(CQ_FLAGS, 0x0401, EOPNOTSUPP, "flags:x",			\
	  "not all of the flags {flags} of a completion queue are supported", \
	  "leave IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN out")		\
	X(CQ_CQE, 0x0402, EINVAL, "cqe most",				\
	  "a completion queue has from 1 to {most} entries, not {cqe}", \
	  "ask for at most what ibv_query_device() says in max_cqe")	\
	X(CQ_VECTOR, 0x0403, EINVAL, "comp_vector vectors",		\
	  "the completion vector {comp_vector} does not exist; there are {vectors}", \
	  "use one that is less than num_comp_vectors of the context")	\
	X(CQ_FULL, 0x0404, EINVAL, "cqe waiting",			\
	  "{waiting} completions wait in the queue, more than its new size, {cqe}", \
	  "poll them first, or ask for more")				\
	X(CQ_WC_FLAGS, 0x0405, EOPNOTSUPP, "wc_flags:x unknown:x",	\
	  "a completion has no field for the flags {unknown} of wc_flags", \
	  "leave them out")						\
	X(CQ_PARENT, 0x0406, EINVAL, "",				\
	  "parent_domain is not a parent domain",			\
	  "use what ibv_alloc_parent_domain() gave, or leave IBV_CQ_INIT_ATTR_MASK_PD out") \
	X(CQ_RESPONSE, 0x0407, EINVAL, "cqe",				\
	  "the command to resize the queue has no room for the description of the new ring", \
	  "update libsoftmr1, which is older than the module")	\
	X(CNTR_KIND, 0x0411, EOPNOTSUPP, "type",			\
	  "a completion counter of kind {type} is not supported",	\
	  "count work requests (0) or bytes (1)")			\
	X(CNTR_OPS, 0x0412, EOPNOTSUPP, "ops:x",			\
	  "not all of the operations {ops} can be counted",		\
	  "use the operations that the query of the counters' capabilities lists") \
	X(CNTR_STATE, 0x0413, EINVAL, "state:state",			\
	  "a counter can be attached in RESET or INIT, but not in {state}",	\
	  "attach it before the queue pair goes to RTR")		\
									\
	X(SRQ_TYPE, 0x0501, EOPNOTSUPP, "type",				\
	  "a shared receive queue of type {type} is not supported",	\
	  "use IBV_SRQT_BASIC or IBV_SRQT_XRC")				\
	X(SRQ_WR, 0x0502, EINVAL, "max_wr most",			\
	  "a shared receive queue has from 1 to {most} work requests, not {max_wr}", \
	  "ask for at most what ibv_query_device() says in max_srq_wr")	\
	X(SRQ_SGE, 0x0503, EINVAL, "max_sge most",			\
	  "max_sge is {max_sge}; a work request has at most {most} entries", \
	  "ask for at most what ibv_query_device() says in max_srq_sge") \
	X(SRQ_LIMIT, 0x0504, EINVAL, "srq_limit max_wr",		\
	  "srq_limit is {srq_limit}, more than the {max_wr} work requests of the queue", \
	  "choose a smaller limit")					\
	X(SRQ_FULL, 0x0505, EINVAL, "max_wr waiting",			\
	  "{waiting} work requests are posted, more than the queue's new size, {max_wr}", \
	  "ask for more, or wait until messages have taken some")	\
	X(SRQ_SIZE, 0x0506, EOPNOTSUPP, "max_wr",			\
	  "the command to change the queue's size has no room for the description of the new ring", \
	  "update libsoftmr1, which is older than the module")	\
	X(SRQ_ATTR, 0x0507, EINVAL, "mask:x",				\
	  "not all of the attributes {mask} of a shared receive queue are supported", \
	  "set max_wr and srq_limit only")				\
	X(SRQ_NO_NUMBER, 0x0508, EOPNOTSUPP, "type",			\
	  "a shared receive queue of type {type} has no number",	\
	  "make it with IBV_SRQT_XRC")					\
									\
	X(AH_NO_GRH, 0x0601, EINVAL, "is_global",			\
	  "the address has no GID; RoCE has no LIDs",			\
	  "set is_global to 1 and fill in grh")				\
	X(AH_PORT, 0x0602, EINVAL, "port_num",				\
	  "the port of the address is {port_num}; the device has port 1 only", \
	  "set port_num to 1")						\
	X(AH_GID_TYPE, 0x0603, EINVAL, "sgid_index",			\
	  "the GID of index {sgid_index} is not a RoCEv2 GID",		\
	  "choose an index that softmr status lists; see troubleshooting.rst, \"The GID index\"") \
	X(AH_NO_DGID, 0x0604, EINVAL, "sgid_index",			\
	  "the GID of the peer is all zeros",				\
	  "exchange the GIDs before the queue pairs go to RTR")		\
	X(AH_FAMILY, 0x0605, EINVAL, "sgid_index sgid_is_ipv4 dgid_is_ipv4", \
	  "one GID is an IPv4 address and the other an IPv6 address (index {sgid_index}: IPv4 {sgid_is_ipv4}, peer: IPv4 {dgid_is_ipv4})", \
	  "choose GID indices of the same IP version on both sides; softmr status lists them") \
	X(AH_NETDEV, 0x0606, EINVAL, "sgid_index",			\
	  "the netdev of the GID of index {sgid_index} is gone, or is in another network namespace", \
	  "choose another index; softmr status lists them")		\
	X(AH_SGID_INDEX, 0x0610, EINVAL, "sgid_index",			\
	  "the device has no GID of index {sgid_index}",		\
	  "choose an index that softmr status lists; see troubleshooting.rst, \"The GID index\"") \
	X(AH_UNREACHABLE, 0x0611, ETIMEDOUT, "sgid_index dgid_prefix:x dgid_interface:x", \
	  "from the address of index {sgid_index} there is no route, or no neighbour answers, to the peer's GID {dgid_prefix} {dgid_interface}", \
	  "ping the peer's address from this one; an IPv4 address is in the last 8 digits of its GID") \
									\
	X(FLOW_QP, 0x0701, EOPNOTSUPP, "type",				\
	  "a queue pair of type {type} has no steering rules",		\
	  "use one of type RAW_PACKET")					\
	X(FLOW_FLAGS, 0x0702, EOPNOTSUPP, "flags:x",			\
	  "not all of the flags {flags} of a rule are supported",	\
	  "use no flag but IBV_FLOW_ATTR_FLAGS_DONT_TRAP")		\
	X(FLOW_TYPE, 0x0703, EINVAL, "type",				\
	  "a rule of type {type} is not supported",			\
	  "use IBV_FLOW_ATTR_NORMAL, _ALL_DEFAULT, _MC_DEFAULT or _SNIFFER") \
	X(FLOW_DEFAULT, 0x0704, EINVAL, "type num_of_specs flags:x",	\
	  "a rule of type {type} takes all frames of its kind, so it has no specs and no flags; this one has {num_of_specs} specs and the flags {flags}", \
	  "set num_of_specs and flags to 0, or use IBV_FLOW_ATTR_NORMAL") \
	X(FLOW_SPEC, 0x0705, EOPNOTSUPP, "spec:x",			\
	  "a spec of type {spec} is not supported",			\
	  "use specs of outer headers (ETH, IPV4, IPV4_EXT, IPV6, TCP, UDP), and of the actions tag, drop and count") \
	X(FLOW_IP_FLAGS, 0x0706, EOPNOTSUPP, "mask:x",			\
	  "not all of the IPv4 flags {mask} in the mask can be compared", \
	  "compare 0x2 (do not fragment) and 0x4 (more fragments) only") \
	X(FLOW_TWICE, 0x0707, EINVAL, "spec:x",				\
	  "the rule has two specs of type {spec}, or of its layer",		\
	  "give one spec of each layer and of each action")		\
	X(FLOW_DROP, 0x0708, EINVAL, "",				\
	  "a rule that drops frames cannot also leave them to other rules",	\
	  "leave IBV_FLOW_ATTR_FLAGS_DONT_TRAP out")			\
	X(FLOW_MANY, 0x0709, ENOMEM, "most",				\
	  "the link already has {most} rules, the maximum", \
	  "destroy some rules")						\
	X(FLOW_NETDEV, 0x070a, ENODEV, "",				\
	  "the netdev of the link is being removed, or has left its network namespace", \
	  "add a link on another netdev")				\
	X(FLOW_RX_MODE, 0x070e, EOVERFLOW, "mode",			\
	  "the netdev cannot receive the frames of the rule: switching it to the mode {mode} failed (1: all multicast, 2: promiscuous)", \
	  "look for the netdev's error in the kernel's log")					\
									\
	X(MCAST_AGAIN, 0x0801, EINVAL, "",				\
	  "the queue pair is already in the group",			\
	  "attach it once")						\
	X(MCAST_QPS, 0x0802, ENOMEM, "most",				\
	  "the group already has {most} queue pairs of this link, the maximum",	\
	  "detach some queue pairs")						\
	X(MCAST_GROUPS, 0x0803, ENOMEM, "most",				\
	  "the link is already in {most} groups, the maximum",			\
	  "detach queue pairs from some groups")							\
	X(MCAST_NETDEV, 0x0804, ENODEV, "ipv4",				\
	  "the netdev cannot join the group: it lacks that IP version (IPv4: {ipv4}), or is being removed", \
	  "give it an MTU of at least 68 for IPv4 and 1280 for IPv6; look at net.ipv6.conf.*.disable_ipv6") \
									\
	X(DM_NO_LENGTH, 0x0901, EINVAL, "",				\
	  "the length of the device memory is 0",					\
	  "set the length")							\
	X(DM_ALIGN, 0x0902, EINVAL, "log_align_req most",		\
	  "an alignment of 2^{log_align_req} bytes is more than a page, 2^{most}", \
	  "ask for less: each allocation begins at a page")		\
	X(DM_FULL, 0x0903, ENOMEM, "length size",			\
	  "fewer than {length} of the {size} bytes of device memory are free",	\
	  "ask for less, or free some; memory that a process still maps is in use") \
	X(DM_UNALIGNED, 0x0904, EFAULT, "offset length",		\
	  "{length} bytes at offset {offset}: device memory is copied by multiples of 4 bytes", \
	  "make the offset and the length multiples of 4")							\
	X(DM_RANGE, 0x0905, EFAULT, "offset length size",		\
	  "{length} bytes at offset {offset} are not inside the {size} bytes of device memory", \
	  "correct the offset or the length")					\
									\
	X(POST_STATE, 0x0e01, EINVAL, "state:state",			\
	  "the queue pair is in {state}, in which such requests cannot be posted", \
	  "post receives from INIT on, sends from RTS on")		\
	X(POST_NO_QUEUE, 0x0e02, EINVAL, "type",			\
	  "this queue pair, of type {type}, has no queue for such requests", \
	  "post receives to its shared receive queue; XRC_TGT has no sends") \
	X(POST_OPCODE, 0x0e03, EINVAL, "opcode:opcode type",		\
	  "a queue pair of type {type} does not support {opcode}, or was not created for it",	\
	  "use an opcode that ibv_post_send(3) lists for this type; for ibv_wr_*() set it in send_ops_flags") \
	X(POST_FLAGS, 0x0e04, EINVAL, "send_flags:x unknown:x",		\
	  "the flags {unknown} of send_flags are not supported",	\
	  "leave them out")						\
	X(POST_INLINE, 0x0e05, EINVAL, "opcode:opcode",			\
	  "{opcode} has no data that could be inline",			\
	  "leave IBV_SEND_INLINE out")					\
	X(POST_INLINE_LENGTH, 0x0e06, EINVAL, "length most",		\
	  "the request has {length} bytes or more of inline data, but the queue pair has room for {most}", \
	  "ask for a larger max_inline_data when creating the queue pair") \
	X(POST_SGE, 0x0e07, EINVAL, "num_sge most",			\
	  "the request has {num_sge} entries, but a request of this queue has at most {most}", \
	  "ask for a larger max_send_sge or max_recv_sge when creating the queue") \
	X(POST_FULL, 0x0e08, ENOMEM, "max_wr",				\
	  "the queue is full: {max_wr} requests are posted and not complete", \
	  "poll the completion queue before posting more, or ask for a longer queue") \
	X(POST_NO_AH, 0x0e09, EINVAL, "",				\
	  "the datagram has no address handle",				\
	  "set wr.ud.ah, or call ibv_wr_set_ud_addr()")			\
	X(POST_NO_WINDOW, 0x0e0a, EINVAL, "",				\
	  "the bind has no window",					\
	  "set bind_mw.mw")						\
	X(POST_ZERO_BASED, 0x0e0b, EINVAL, "access:access",		\
	  "a window of type 1 cannot be addressed by offsets",		\
	  "leave IBV_ACCESS_ZERO_BASED out, or use a window of type 2")	\
	X(POST_ATOMIC_WRITE, 0x0e0c, EINVAL, "",			\
	  "a request of this queue pair has no room for the 8 bytes of an ATOMIC WRITE", \
	  "set max_send_sge to 1 or more when creating the queue pair")	\
									\
	X(LIMIT, 0x0f01, ENOMEM, "kind:kind most",			\
	  "there are already {most} objects of the kind {kind}, the limit of this user or link", \
	  "destroy some, or raise the module's max_user_objects or max_objects before the link is added") \
	X(NO_MEMORY, 0x0f02, ENOMEM, "",				\
	  "there is no memory, or the queues exceed what the user and RLIMIT_MEMLOCK allow", \
	  "see security.rst, \"What a process can make the kernel hold\"")	\
	X(SIGNAL, 0x0f03, EINTR, "",					\
	  "a signal ended the call",					\
	  "call again")							\
	X(FIELDS_UNKNOWN, 0x0f04, EOPNOTSUPP, "comp_mask:x unknown:x",	\
	  "the bits {unknown} of comp_mask are not supported",		\
	  "leave them out")						\
	X(FIELDS_INVALID, 0x0f05, EINVAL, "comp_mask:x unknown:x",	\
	  "the bits {unknown} of comp_mask are not supported",		\
	  "leave them out")						\
	X(PD_IN_USE, 0x0f06, EBUSY, "users",				\
	  "{users} parent domains or objects with allocators use the protection domain", \
	  "destroy them first")						\
	X(TD_IN_USE, 0x0f07, EBUSY, "users",				\
	  "{users} parent domains use the thread domain",		\
	  "destroy them first")						\
	X(PARENT_PD, 0x0f08, EINVAL, "",				\
	  "the protection domain of the new parent domain is a parent domain itself",		\
	  "pass a protection domain from ibv_alloc_pd()")		\
	X(PARENT_ALLOCATORS, 0x0f09, EINVAL, "",			\
	  "one of the two allocators is missing",				\
	  "set both alloc and free")					\
	X(CAPTURE_USER, 0x0f0a, EPERM, "",				\
	  "the process has privileges that its user lacks, so it may not read that user's packets", \
	  "capture without the privileges, or the whole link with CAP_NET_RAW")	\
	X(DEVICE_GOES, 0x0f0b, EIO, "",					\
	  "the link is being removed",					\
	  "close the device; after the event IBV_EVENT_DEVICE_FATAL nothing works") \
	X(INPUT_UNKNOWN, 0x0f0c, EOPNOTSUPP, "",			\
	  "the command has input for the driver that the module does not know", \
	  "update the module, which is older than the provider")	\
	X(NO_NUMBER, 0x0f0d, ENOSPC, "",					\
	  "nearly all keys or queue pair numbers are in use",		\
	  "deregister regions, free windows or destroy queue pairs")	\
	X(FILES, 0x0f0e, EMFILE, "",					\
	  "the process has no free file descriptor",			\
	  "close some, or raise ulimit -n")				\
	X(COMMAND_MEMORY, 0x0f0f, EFAULT, "",				\
	  "the input or the response of the command itself is not in mapped memory", \
	  "run the program with AddressSanitizer or valgrind: it seems to have overwritten memory of the provider")		\
	X(IN_USE, 0x0f10, EBUSY, "kind:kind",				\
	  "an object of the kind {kind} is in use: others that were made with it exist, or another thread uses it", \
	  "destroy the others first: queue pairs, then completion and receive queues, regions, protection domains")	\
	X(CNTR_ATTRS, 0x0f11, EOPNOTSUPP, "type flags:x",		\
	  "a completion counter of type {type} with the flags {flags} is not supported", \
	  "use IBV_COMP_CNTR_TYPE_WRS or IBV_COMP_CNTR_TYPE_BYTES, and no flags") \
	X(CNTR_MASK, 0x0f12, EOPNOTSUPP, "op_mask:x unknown:x",		\
	  "of the operations {op_mask}, a completion counter does not support {unknown}", \
	  "leave them out")						\
	X(OLD_MODULE, 0x0f13, EOPNOTSUPP, "",				\
	  "the module or the kernel is older than libsoftmr, and does not support the call", \
	  "update the module (softmr-dkms), and load it again")		\
	X(RING_UNKNOWN, 0x0f14, EPROTO, "",				\
	  "libsoftmr cannot map the new queue as the module describes it", \
	  "install the module and libsoftmr of the same version")	\
	X(UNSAID, 0x0fff, 0, "",					\
	  "no reason is kept for this error",				\
	  "look for the errno in the manual page of the call")

/* Requests, of a QP or of its peer */
#define SMR_WHYS_REQUESTS(X)						\
	X(KEY_UNKNOWN, 0x1001, 0, "key:x addr:x length near:x start:x bytes away", \
	  "no region and no window has the key {key} ({length} bytes at {addr} were asked for)[; the nearest region is {near}, {bytes} bytes at {start}: {away} bytes too far]", \
	  "use the key of a region that is registered now on this device; verbs take keys in host byte order") \
	X(KEY_STALE, 0x1002, 0, "key:x addr:x length now:x",		\
	  "the key {key} has been replaced by {now}: its window was bound again", \
	  "send the peer the rkey of the last bind")			\
	X(KEY_DEAD, 0x1003, 0, "key:x addr:x length",			\
	  "the key {key} opens nothing now: its window is not bound, or its region is being deregistered", \
	  "let the peer finish before the key is invalidated")		\
	X(KEY_PD, 0x1004, 0, "key:x addr:x length qpn:x",		\
	  "the key {key} belongs to another protection domain, or to a window that only queue pair {qpn} may use", \
	  "create the region and the queue pair with the same protection domain")	\
	X(KEY_ACCESS, 0x1005, 0, "key:x addr:x length needed:access granted:access window ms", \
	  "the key {key} grants {granted}, but {needed} is needed[; its region was registered {ms} ms before]", \
	  "register the region, or bind the window, with that access flag; a window's key is for peers only") \
	X(KEY_RANGE, 0x1006, 0, "key:x addr:x length start:x bytes off ms near:x", \
	  "{length} bytes at {addr} are not inside what the key {key} opens, {bytes} bytes at {start}[, registered {ms} ms before]: {off} bytes too far[; they are inside region {near}]", \
	  "correct the address or the length; with IBV_ACCESS_ZERO_BASED addresses are offsets") \
	X(KEY_ENDED, 0x1007, 0, "key:x addr:x length pid ms near:x start:x away", \
	  "the key {key} belonged to a region or window that process {pid} ended {ms} ms before ({length} bytes at {addr} were asked for)[; the nearest region now is {near}, which begins at {start}: {away} bytes too far]", \
	  "let the peer finish before the region is deregistered, or the window freed") \
									\
	X(WR_FLUSHED, 0x1100, 0, "",					\
	  "an earlier request has failed, and this one was not executed", \
	  "look for the first completion that is neither status 0 nor 5") \
	X(WR_OPCODE, 0x1101, 0, "opcode:opcode type",			\
	  "a queue pair of type {type} does not support {opcode}",		\
	  "use an opcode that ibv_post_send(3) lists for this type")		\
	X(WR_FLUSH, 0x1102, 0, "opcode",				\
	  "the FLUSH has no placement type, or an unknown one",	\
	  "set IBV_FLUSH_GLOBAL or IBV_FLUSH_PERSISTENT")		\
	X(WR_INLINE, 0x1103, 0, "opcode:opcode length most",		\
	  "the request has {length} bytes of inline data, but the queue pair has room for {most}, and only requests that send data may have any", \
	  "ask for a larger max_inline_data when creating the queue pair") \
	X(WR_SGE, 0x1104, 0, "num_sge most",				\
	  "the request has {num_sge} entries, but a request of this queue pair has at most {most}", \
	  "ask for a larger max_send_sge when creating the queue pair")	\
	X(WR_LENGTH, 0x1105, 0, "opcode:opcode length",			\
	  "the length is {length} bytes: too long for a message, or not the 8 of an atomic", \
	  "send at most 2 GiB in a message, at most the path MTU in a datagram, and 8 bytes in an atomic") \
	X(WR_NO_RD_ATOMIC, 0x1106, 0, "opcode:opcode",			\
	  "{opcode} needs max_rd_atomic, which is 0",			\
	  "set max_rd_atomic here, and max_dest_rd_atomic of the peer, in ibv_modify_qp()") \
	X(WR_PAGE, 0x1107, 0, "length",					\
	  "the keys of the request are valid, but a page of its {length} bytes cannot be brought in", \
	  "compare with /proc/PID/maps: the process has unmapped it, it is mapped read-only, or its file is shorter now") \
	X(WR_BIND, 0x1108, 0, "window:x region:x addr:x length access:access", \
	  "the bind of window {window} to region {region} ({length} bytes at {addr}, {access}) is refused because of the window", \
	  "check the window: it is unknown, of another protection domain, of the other type, or already bound (type 2); for rights to write, register the region with IBV_ACCESS_LOCAL_WRITE") \
	X(WR_INVALIDATE, 0x1109, 0, "rkey:x",				\
	  "this queue pair may not invalidate the key {rkey}",	\
	  "invalidate only a type 2 window that is bound, on the queue pair that it was bound on, or a fast-registered region") \
	X(WR_ADDRESS, 0x110a, 0, "qpn:x",				\
	  "the address handle of the datagram is destroyed or of another protection domain, or its queue pair number {qpn} has more than 24 bits", \
	  "destroy an address handle after the completions of its datagrams") \
	X(WR_NO_MEMORY, 0x110b, 0, "length",				\
	  "there was no memory to bring in pages of the request's {length} bytes", \
	  "free memory, or raise user_odp_kb (security.rst)")				\
	X(WR_FRAME, 0x110c, 0, "length least most",			\
	  "the frame has {length} bytes; the netdev sends from {least} to {most}, and 4 more with a VLAN tag", \
	  "begin the frame with its Ethernet header; raise the MTU of the netdev for longer ones") \
	X(SEND_RING, 0x110d, 0, "",					\
	  "the ring of the send queue is broken: its producer index claims more than fits", \
	  "look in the program for a write through a wild pointer: it has overwritten a ring that the provider has mapped") \
	X(CQ_OVERRUN, 0x110e, 0, "cqe",					\
	  "a completion is lost, and the queue pair has failed: its completion queue has {cqe} entries, and none was free", \
	  "poll before posting more, or ask for a longer completion queue") \
	X(WR_OTHER, 0x110f, 0, "status",				\
	  "the request has failed with status {status}",		\
	  "look for the status in ibv_poll_cq(3)")						\
									\
	X(PEER_INVALID, 0x1201, 0, "opcode:opcode length",		\
	  "the peer says that the request is invalid",			\
	  "run softmr why on the peer; usually its qp_access_flags lack the right, or its receive is too short") \
	X(PEER_ACCESS, 0x1202, 0, "rkey:x addr:x length",		\
	  "the peer refuses access to {length} bytes at {addr} by the key {rkey}", \
	  "run softmr why on the peer, which alone knows the reason")	\
	X(PEER_FAILED, 0x1203, 0, "opcode:opcode length",		\
	  "the peer could not execute the request",					\
	  "run softmr why on the peer; usually a key of its receive request is invalid") \
	X(PEER_NONSENSE, 0x1204, 0, "opcode:opcode",			\
	  "the peer's answer does not belong to this request",			\
	  "capture the packets (softmr capture): rq_psn of each side must be sq_psn of the other") \
	X(PEER_SILENT, 0x1205, 0, "retry_cnt timeout",			\
	  "the peer has not answered, after {retry_cnt} retries of timeout {timeout}", \
	  "check that the peer is in RTR, that its firewall lets UDP port 4791 in, and that the path carries the MTU; see debugging.rst, \"It hangs\"") \
	X(PEER_NOT_READY, 0x1206, 0, "rnr_retry",			\
	  "the peer had no receive request posted, in {rnr_retry} retries", \
	  "post more receives there, or set rnr_retry to 7 (for ever)")	\
									\
	X(REQ_OPCODE, 0x1301, 0, "opcode:x",				\
	  "a packet with the opcode {opcode} is not a request",		\
	  "capture the packets (softmr capture): the peer does not follow the protocol")						\
	X(REQ_SEQUENCE, 0x1302, 0, "opcode:x inside",			\
	  "a packet with the opcode {opcode} cannot follow the previous one (1: inside a message: {inside})", \
	  "capture the packets (softmr capture): the peer does not follow the protocol")						\
	X(REQ_FORBIDDEN, 0x1303, 0, "opcode:x granted:access resources", \
	  "qp_access_flags are {granted} and max_dest_rd_atomic is {resources}, which does not permit the opcode {opcode}", \
	  "set qp_access_flags, and for READs and atomics max_dest_rd_atomic, in ibv_modify_qp()") \
	X(REQ_PAYLOAD, 0x1304, 0, "opcode:x length mtu",		\
	  "{length} bytes do not fit a packet with the opcode {opcode}: the path MTU is {mtu}", \
	  "set the same path_mtu on both sides")			\
	X(REQ_WRITE_LENGTH, 0x1305, 0, "length left",			\
	  "a WRITE has a packet of {length} bytes, but only {left} are left of its length", \
	  "capture the packets (softmr capture): the peer does not follow the protocol")						\
	X(REQ_READ_LENGTH, 0x1306, 0, "length most",			\
	  "a READ asks for {length} bytes, and a message has at most {most}", \
	  "capture the packets (softmr capture): the peer does not follow the protocol")						\
	X(REQ_UNALIGNED, 0x1307, 0, "addr:x",				\
	  "an atomic has the address {addr}, which is not a multiple of 8",		\
	  "align the words that peers access by atomics to 8 bytes")				\
	X(REQ_XRC, 0x1308, 0, "srqn:x",					\
	  "the XRC domain has no shared receive queue {srqn}, or the message is for another one", \
	  "send the peer the number that ibv_get_srq_num() returns")	\
	X(REQ_INVALIDATE, 0x1309, 0, "rkey:x",				\
	  "the peer may not invalidate the key {rkey}",			\
	  "let the peer invalidate only a type 2 window that is bound on this queue pair, or a fast-registered region") \
	X(REQ_PAGE, 0x130a, 0, "rkey:x addr:x length",			\
	  "the key {rkey} is valid, but a page of the {length} bytes at {addr} cannot be brought in", \
	  "compare with /proc/PID/maps: the process has unmapped it, it is mapped read-only, or its file is shorter now") \
	X(REQ_NO_MEMORY, 0x130b, 0, "",					\
	  "there was no memory to bring in pages",			\
	  "free memory, or raise user_odp_kb (security.rst)")				\
	X(RECV_TOO_SHORT, 0x1311, 0, "room length",			\
	  "the receive request has room for {room} bytes, and the message has {length} or more", \
	  "post longer receives; for datagrams add the 40 bytes of the GRH") \
	X(RECV_SGE, 0x1312, 0, "most",					\
	  "the receive request has more entries than the {most} of its queue", \
	  "ask for a larger max_recv_sge")				\
	X(RECV_PAGE, 0x1313, 0, "length",				\
	  "the keys of the receive request are valid, but a page of its {length} bytes cannot be brought in", \
	  "compare with /proc/PID/maps: the process has unmapped it, or it is mapped read-only") \
	X(RECV_RING, 0x1314, 0, "",					\
	  "the ring of the receive queue is broken: its producer index claims more than fits", \
	  "look in the program for a write through a wild pointer: it has overwritten a ring that the provider has mapped")

/* Packets that were dropped. Whether the peer sends them again depends on its transport */
#define SMR_WHYS_DROPS(X)						\
	X(DROP_STATE, 0x1401, 0, "opcode:x state:state",		\
	  "a packet with the opcode {opcode} was dropped: the queue pair is in the state {state}", \
	  "take the queue pair to RTR before the peer sends requests, and to RTS before it sends responses") \
	X(DROP_SOURCE, 0x1402, 0, "",					\
	  "a packet was dropped: it is not from the peer of this connection, by its addresses or, within this host, by its queue pair", \
	  "compare the address vectors and dest_qp_num of both sides: sgid_index here is the dgid there") \
	X(DROP_PKEY, 0x1403, 0, "pkey:x",				\
	  "a packet with the P_Key {pkey} was dropped",			\
	  "let the peer send with P_Key 0xffff, the only one of a RoCE port")			\
	X(DROP_QKEY, 0x1404, 0, "qkey:x needed:x",			\
	  "a datagram with the Q_Key {qkey} was dropped: the queue pair has {needed}", \
	  "let the peer send with the Q_Key of this queue pair")			\
	X(DROP_NO_RECV, 0x1405, 0, "length",				\
	  "a message of {length} bytes or more was dropped: no receive request is posted", \
	  "post more receives; on UC, UD and RAW_PACKET the message is not sent again") \
	X(DROP_HEADER, 0x1406, 0, "length",				\
	  "a packet of {length} bytes was dropped: its headers are not valid for this queue pair", \
	  "capture the packets (softmr capture): the peer does not follow the protocol")						\
	X(DROP_ICRC, 0x1407, 0, "opcode:x length",			\
	  "a packet with the opcode {opcode} and {length} bytes was dropped: its ICRC is wrong", \
	  "compare captures of both sides: something on the path changes packets, or the peer computes the ICRC differently") \
	X(DROP_QUEUE, 0x1408, 0, "bytes",				\
	  "a packet that takes {bytes} bytes of memory was dropped: the packets that wait for this queue pair have reached its limit, or its user's", \
	  "see whether the process is stopped or waits for a page; raise user_packet_kb (security.rst)") \
	X(DROP_PSN, 0x1409, 0, "psn:x expected:x",			\
	  "a request with the PSN {psn} was dropped: it is too far from {expected}, which is expected", \
	  "set rq_psn of this queue pair to the peer's sq_psn")	\
	X(DROP_SERVICE, 0x140a, 0, "opcode:x type",			\
	  "a packet with the opcode {opcode} was dropped: it is not for a queue pair of type {type}", \
	  "connect to a queue pair of the same type")			\
	X(DROP_NO_QP, 0x140b, 0, "opcode:x",				\
	  "a packet with the opcode {opcode} was dropped: no queue pair has its number", \
	  "compare with rdma resource show qp: the process has ended, or the peer uses an old number") \
	X(DROP_NOT_READY, 0x140c, 0, "opcode:x",			\
	  "a request with the opcode {opcode} was not executed: no receive request is posted, and the peer got an RNR NAK", \
	  "post more receives; the peer gives up after rnr_retry attempts, unless that is 7") \
	X(DROP_GAP, 0x140d, 0, "psn:x expected:x",			\
	  "a request with the PSN {psn} was dropped: {expected} is expected, so earlier packets were lost", \
	  "the peer sends them again; look for the loss: ethtool -S, nstat, debugging.rst") \
	X(DROP_NO_MEMORY, 0x140e, 0, "",				\
	  "a packet was dropped: there was no memory for this queue pair's copy of it", \
	  "free memory; a frame is not sent again")	\
	X(DROP_BUDGET, 0x140f, 0, "",					\
	  "a frame was dropped: more queue pairs take it than may get copies at once", \
	  "use fewer rules and sniffers that match the same frames")

#define SMR_WHYS(X) \
	SMR_WHYS_VERBS(X) SMR_WHYS_REQUESTS(X) SMR_WHYS_DROPS(X)

enum smr_why_id {
	SMR_WHY_NONE = 0,
#define SMR_WHY_ENUM(name, id, ...) SMR_WHY_##name = id,
	SMR_WHYS(SMR_WHY_ENUM)
#undef SMR_WHY_ENUM
};

/**
 * struct smr_abi_why - a refusal
 * @seq: counts the refusals of a context from 1 on
 * @time: time of the refusal, ns of CLOCK_REALTIME
 * @id: enum smr_why_id, or a newer one
 * @error: errno of the verb, or status of the completion: enum ibv_wc_status
 * @qpn: the queue pair concerned; 0: none
 * @peer_qpn: QP number of the peer, if @qpn is connected
 * @peer: the peer's GID, likewise
 * @wr_id: of the work request, if there is one
 * @psn: of the packet, if there is one
 * @opcode: of the work request: enum ibv_wr_opcode; of a packet: that of its BTH
 * @tid: the thread that has called the verb, in the namespace of its process; 0: no verb
 * @rsvd: 0
 * @num: the numbers of the reason
 */
struct smr_abi_why {
	__aligned_u64 seq;
	__aligned_u64 time;
	__u32 id;
	__u32 error;
	__u32 qpn;
	__u32 peer_qpn;
	__u8 peer[16];
	__aligned_u64 wr_id;
	__u32 psn;
	__u32 opcode;
	__u32 tid;
	__u32 rsvd;
	__aligned_u64 num[SMR_WHY_NUMBERS];
};

/*
 * A process reads the last refusals of its context: a driver method of the device object. The
 * array is filled as far as they fit, the oldest first.
 */
enum smr_device_methods {
	SMR_METHOD_WHY_READ = (1U << 12),
	/* (1U << 12) + 1 is SMR_METHOD_DOORBELL_OPEN */
	SMR_METHOD_WHY_NOTE = (1U << 12) + 2,
};

enum smr_why_read_attrs {
	/* __u64, optional: the seq of the last one that the caller has; absent: none */
	SMR_ATTR_WHY_FROM = (1U << 12),
	/* struct smr_abi_why[] */
	SMR_ATTR_WHY_ARRAY,
	/* __u32: bytes of an entry of the array; further bytes of a longer one are zero */
	SMR_ATTR_WHY_SIZE,
	/* __u32: number of entries in the array */
	SMR_ATTR_WHY_COUNT,
};

/**
 * struct smr_why_note - what the provider has refused without asking the kernel
 * @id: enum smr_why_id of a verb: less than 0x1000
 * @error: errno of the verb
 * @qpn: the queue pair that it is about; 0: none
 * @rsvd: 0
 * @num: the numbers of the reason
 *
 * It is logged with the context's other refusals, without verification.
 */
struct smr_why_note {
	__u32 id;
	__u32 error;
	__u32 qpn;
	__u32 rsvd;
	__aligned_u64 num[SMR_WHY_NUMBERS];
};

enum smr_why_note_attrs {
	/* struct smr_why_note */
	SMR_ATTR_WHY_NOTE = (1U << 12),
};

/*
 * Generic netlink: the last refusals of all contexts of a network namespace, and of closed
 * contexts. A process with CAP_NET_ADMIN there gets all, and others get those of their user.
 */
#define SMR_GENL_NAME		"softmr"
#define SMR_GENL_VERSION	1

enum smr_genl_commands {
	/* a dump; each message has the attributes below */
	SMR_GENL_WHY = 1,
	/*
	 * Count the bytes copied from and to regions for the next seconds. Without attributes;
	 * needs CAP_NET_ADMIN
	 */
	SMR_GENL_WATCH,
};

#define SMR_WHY_NO_DEV		0xffffffffu

enum smr_genl_why_attrs {
	/* struct smr_abi_why */
	SMR_GENL_WHY_RECORD = 1,
	/* __u32: the index of the RDMA device; SMR_WHY_NO_DEV: the refusal concerns none */
	SMR_GENL_WHY_DEV,
	/*
	 * __u32: the process that opened the context; 0: the kernel, or it is not in the reader's
	 * namespace
	 */
	SMR_GENL_WHY_PID,
	/* its command */
	SMR_GENL_WHY_COMM,
	/* u8: the context is closed; @seq then counts the refusals of all closed contexts */
	SMR_GENL_WHY_ENDED,
};

#endif /* SOFTMR_WHY_H */
