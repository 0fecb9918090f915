/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What each reason of softmr-why.h means, and what to do. Included with a definition of
 *
 * REASON(name, numbers, text, todo)
 *
 * numbers: their names, in order. A colon is followed by the type; without one it is a decimal
 *	number: x (hexadecimal), access (enum ibv_access_flags), mtu (enum ibv_mtu), state
 *	(enum ibv_qp_state), attr (enum ibv_qp_attr_mask), opcode (enum ibv_wr_opcode), kind (of
 *	objects, see why_text.c)
 * text: what was wrong; {NAME} is that number. Text in brackets is left out if the first number in
 *	it is 0
 * todo: what to do
 */

REASON(MR_ACCESS, "access:access unknown:x",
       "the access flags {unknown} are not supported for a region",
       "leave them out")
REASON(MR_PERSISTENT, "access:access",
       "only memory of the process that is not paged on demand can be flushed to persistence",
       "leave IBV_ACCESS_FLUSH_PERSISTENT out, or register the mapping of a DAX file without IBV_ACCESS_ON_DEMAND")
REASON(MR_DM_ON_DEMAND, "access:access",
       "device memory is not paged on demand",
       "leave IBV_ACCESS_ON_DEMAND out")
REASON(MR_IMPLICIT, "access:access iova:x",
       "a region of the whole address space must be paged on demand, begin at iova 0 and not be of huge pages only; this one has iova {iova} and {access}",
       "register it with address 0, length SIZE_MAX and IBV_ACCESS_ON_DEMAND, without IBV_ACCESS_HUGETLB")
REASON(MR_WRAPS, "iova:x length",
       "{length} bytes at iova {iova} extend beyond the highest address",
       "choose an iova that is smaller by at least the length")
REASON(MR_NO_ATOMICS, "access:access",
       "the processor's atomic instructions do not work on this memory",
       "leave IBV_ACCESS_REMOTE_ATOMIC out")
REASON(MR_NOT_PERSISTENT, "start:x length",
       "the {length} bytes at {start} are not all persistent memory",
       "map a file of a DAX file system with MAP_SYNC, or leave IBV_ACCESS_FLUSH_PERSISTENT out")
REASON(MR_BUSY, "lkey:x windows first:x",
       "region {lkey} has {windows} memory windows bound to it, one of them {first}",
       "unbind or deallocate the windows; softmrdv_query_mr_windows() lists them")
REASON(MR_OTHER_PROCESS, "lkey:x was:access access:access",
       "region {lkey} is memory of another process, and only that process can make it writable",
       "call ibv_rereg_mr() in the process that has registered the region")
REASON(MR_FIXED, "lkey:x was:access access:access",
       "region {lkey} is a dma-buf or device memory, which can neither become paged on demand nor be flushed to persistence",
       "leave IBV_ACCESS_ON_DEMAND and IBV_ACCESS_FLUSH_PERSISTENT as they are")
REASON(MR_DMABUF_FD, "fd",
       "the file descriptor {fd} is not a dma-buf",
       "pass the descriptor that the exporter gave")
REASON(MR_UNMAPPED, "start:x length writable",
       "the {length} bytes at {start} are not all mapped; or the region is to be writable (1: {writable}), and they are not",
       "compare with /proc/PID/maps; for a read-only mapping, register a region without rights to write")
REASON(MR_MEMLOCK, "length locked limit",
       "{length} bytes, added to the {locked} that are locked already, exceed RLIMIT_MEMLOCK, {limit} bytes",
       "raise it (ulimit -l, LimitMEMLOCK=, --ulimit memlock=-1), or register with IBV_ACCESS_ON_DEMAND")
REASON(MR_DMABUF, "fd offset length",
       "{length} bytes at offset {offset} of the dma-buf {fd} cannot be registered: the buffer is smaller, or its exporter refuses",
       "compare with the size that lseek(fd, 0, SEEK_END) gives")
REASON(MR_DMABUF_ON_DEMAND, "access:access",
       "a dma-buf is not paged on demand",
       "leave IBV_ACCESS_ON_DEMAND out")
REASON(MR_ATTRS, "comp_mask:x",
       "the fields {comp_mask} of ibv_reg_mr_ex() describe neither memory nor a dma-buf",
       "for memory set ADDR and not FD_OFFSET; for a dma-buf set FD, FD_OFFSET and IOVA, and not ADDR")
REASON(MR_IO_MEMORY, "fd",
       "the dma-buf {fd} is device memory that the processor reaches only by I/O accesses, like that of most GPUs",
       "register memory of the host, and copy; ai.rst says more")
REASON(MR_START_WRAPS, "start:x length",
       "{length} bytes at address {start} extend beyond the end of the address space",
       "correct the address or the length")
REASON(MR_TYPE, "type",
       "a region of type {type} is not supported",
       "use IB_MR_TYPE_MEM_REG, the only one for kernel consumers")
REASON(MR_BLOCKS, "max_num_sg most",
       "a region for fast registration has from 1 to {most} blocks, not {max_num_sg}",
       "ask for at most max_fast_reg_page_list_len")
REASON(ADVICE, "advice",
       "softmr does not know the advice {advice}",
       "use IBV_ADVISE_MR_ADVICE_PREFETCH, _PREFETCH_WRITE or _PREFETCH_NO_FAULT")
REASON(ADVISE_NO_KEY, "sge lkey:x",
       "there is no region with the lkey {lkey} of entry {sge}",
       "use the lkey of a region that is registered now")
REASON(ADVISE_PD, "sge lkey:x",
       "the region {lkey} of entry {sge} belongs to another protection domain",
       "pass the protection domain that the region was registered with")
REASON(ADVISE_RIGHT, "sge lkey:x",
       "the region {lkey} of entry {sge} may not be written to",
       "register it with IBV_ACCESS_LOCAL_WRITE, or prefetch for reading")
REASON(ADVISE_WINDOW, "sge lkey:x",
       "the key {lkey} of entry {sge} is that of a memory window",
       "use the lkey of a region")
REASON(ADVISE_PINNED, "sge lkey:x",
       "the region {lkey} of entry {sge} is not paged on demand",
       "register it with IBV_ACCESS_ON_DEMAND, or do not prefetch")
REASON(ADVISE_RANGE, "sge lkey:x addr:x length start:x bytes",
       "{length} bytes at {addr}, of entry {sge}, are not inside the region {lkey}, which is {bytes} bytes at {start}",
       "correct the address or the length")
REASON(ADVISE_UNMAPPED, "entries",
       "the process has not mapped all of the {entries} ranges, or has mapped some without the right to that access",
       "compare the ranges with /proc/PID/maps")

REASON(MW_TYPE, "type",
       "a memory window of type {type} is not supported",
       "use IBV_MW_TYPE_1 or IBV_MW_TYPE_2")

REASON(QP_TYPE, "type",
       "a process cannot have a queue pair of type {type} on this link",
       "use RC, UC, UD or XRC; RAW_PACKET needs a netdev with Ethernet frames, and a module with CONFIG_INFINIBAND_SOFTMR_RAW")
REASON(QP_FLAGS, "flags:x unknown:x",
       "the creation flags {unknown} are not supported for this type of queue pair",
       "leave them out; UD has IBV_QP_CREATE_BLOCK_SELF_MCAST_LB")
REASON(QP_SEND_WR, "max_send_wr most",
       "max_send_wr is {max_send_wr}; a send queue has at most {most} work requests",
       "ask for at most what ibv_query_device() says in max_qp_wr")
REASON(QP_SEND_SGE, "max_send_sge most",
       "max_send_sge is {max_send_sge}; a work request has at most {most} entries",
       "ask for at most what ibv_query_device() says in max_sge")
REASON(QP_INLINE, "max_inline_data most",
       "max_inline_data is {max_inline_data}; a work request has at most {most} bytes of inline data",
       "ask for less")
REASON(QP_RECV_WR, "max_recv_wr most",
       "max_recv_wr is {max_recv_wr}; a receive queue has at most {most} work requests",
       "ask for at most what ibv_query_device() says in max_qp_wr")
REASON(QP_RECV_SGE, "max_recv_sge most",
       "max_recv_sge is {max_recv_sge}; a work request has at most {most} entries",
       "ask for at most what ibv_query_device() says in max_sge")
REASON(QP_NO_XRCD, "",
       "a queue pair that receives by XRC has no XRC domain",
       "set xrcd, and IBV_QP_INIT_ATTR_XRCD in comp_mask")
REASON(QP_NO_CQ, "send_cq recv_cq",
       "a queue pair lacks a completion queue (send_cq {send_cq}, recv_cq {recv_cq})",
       "set both send_cq and recv_cq")
REASON(QP_SEND_OPS, "type send_ops_flags:x",
       "a queue pair of type {type} does not support all of the operations {send_ops_flags}",
       "set in send_ops_flags only the operations that the table of ibv_wr_post(3) has for the type")
REASON(QP_CGROUP, "",
       "a BPF program that the cgroup of the process has for new sockets refuses the queue pair's",
       "bpftool cgroup tree shows the programs (sock_create); ask whoever manages the cgroup")
REASON(QP_ATTR, "mask:attr unknown:attr",
       "the attribute {unknown} of a queue pair is not supported",
       "take it out of attr_mask; there are no alternate paths")
REASON(QP_ACCESS, "access:access unknown:x",
       "the access flags {unknown} of qp_access_flags are not supported",
       "leave them out")
REASON(QP_VALUE, "attr:attr value least most",
       "the attribute {attr} is {value}, and must be from {least} to {most}",
       "correct the value")
REASON(QP_CUR_STATE, "cur_qp_state:state state:state",
       "cur_qp_state is {cur_qp_state}, but the queue pair is in {state}",
       "leave IBV_QP_CUR_STATE out; if the queue pair is in ERR, look for the error with ibv_poll_cq()")
REASON(QP_TRANSITION, "from:state to:state",
       "a queue pair cannot go from {from} to {to}",
       "go RESET, INIT, RTR, RTS, in this order; from ERR only to RESET")
REASON(QP_ATTR_MISSING, "from:state to:state missing:attr",
       "the step from {from} to {to} also needs the attributes {missing}",
       "set them, and their bits in attr_mask")
REASON(QP_ATTR_EXCESS, "from:state to:state excess:attr",
       "the step from {from} to {to} cannot set the attributes {excess}",
       "take their bits out of attr_mask, or set them in an earlier step")
REASON(QP_DRAINING, "to:state",
       "the send queue is still draining, so the queue pair cannot go to {to}",
       "wait for IBV_EVENT_SQ_DRAINED")
REASON(QP_PATH_MTU, "path_mtu:mtu most:mtu netdev_mtu",
       "path_mtu is {path_mtu}, but the netdev's MTU of {netdev_mtu} carries {most}",
       "use the active_mtu of ibv_query_port() on both sides, or raise the MTU of both netdevs: ip link set DEV mtu 4200")
REASON(QP_RATE_TYPE, "rate_limit",
       "only RAW_PACKET queue pairs have a rate limit",
       "take IBV_QP_RATE_LIMIT out of attr_mask")
REASON(QP_RATE_STATE, "from:state to:state",
       "a rate limit can be set on the way to RTS, or in RTS, but not from {from} to {to}",
       "set it when the queue pair goes to RTS")
REASON(QP_RATE_BURST, "max_burst_sz typical_pkt_sz",
       "the size of bursts or packets is set, but no rate",
       "set rate_limit, or leave max_burst_sz and typical_pkt_sz 0")
REASON(QP_PEER_TAKEN, "peer_qpn:x",
       "a queue pair of another user is connected to the queue pair {peer_qpn} of this peer",
       "connect to the queue pair that the peer has made for this one; security.rst has the reason for this rule")
REASON(QP_ERROR_MEANWHILE, "from:state state:state",
       "the queue pair went from {from} to {state} during the call",
       "poll its completions: the first that is not status 5 says why")
REASON(QP_ECE, "comp_mask:x state:state",
       "options can be set in RESET or INIT, with comp_mask 0, but not in {state} with {comp_mask}",
       "call ibv_set_ece() before the queue pair goes to RTR")

REASON(CQ_FLAGS, "flags:x",
       "not all of the flags {flags} of a completion queue are supported",
       "leave IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN out")
REASON(CQ_CQE, "cqe most",
       "a completion queue has from 1 to {most} entries, not {cqe}",
       "ask for at most what ibv_query_device() says in max_cqe")
REASON(CQ_VECTOR, "comp_vector vectors",
       "the completion vector {comp_vector} does not exist; there are {vectors}",
       "use one that is less than num_comp_vectors of the context")
REASON(CQ_FULL, "cqe waiting",
       "{waiting} completions wait in the queue, more than its new size, {cqe}",
       "poll them first, or ask for more")
REASON(CQ_WC_FLAGS, "wc_flags:x unknown:x",
       "a completion has no field for the flags {unknown} of wc_flags",
       "leave them out")
REASON(CQ_PARENT, "",
       "parent_domain is not a parent domain",
       "use what ibv_alloc_parent_domain() gave, or leave IBV_CQ_INIT_ATTR_MASK_PD out")
REASON(CQ_RESPONSE, "cqe",
       "the command to resize the queue has no room for the description of the new ring",
       "update libsoftmr1, which is older than the module")

REASON(SRQ_TYPE, "type",
       "a shared receive queue of type {type} is not supported",
       "use IBV_SRQT_BASIC or IBV_SRQT_XRC")
REASON(SRQ_WR, "max_wr most",
       "a shared receive queue has from 1 to {most} work requests, not {max_wr}",
       "ask for at most what ibv_query_device() says in max_srq_wr")
REASON(SRQ_SGE, "max_sge most",
       "max_sge is {max_sge}; a work request has at most {most} entries",
       "ask for at most what ibv_query_device() says in max_srq_sge")
REASON(SRQ_LIMIT, "srq_limit max_wr",
       "srq_limit is {srq_limit}, more than the {max_wr} work requests of the queue",
       "choose a smaller limit")
REASON(SRQ_FULL, "max_wr waiting",
       "{waiting} work requests are posted, more than the queue's new size, {max_wr}",
       "ask for more, or wait until messages have taken some")
REASON(SRQ_SIZE, "max_wr",
       "the command to change the queue's size has no room for the description of the new ring",
       "update libsoftmr1, which is older than the module")
REASON(SRQ_ATTR, "mask:x",
       "not all of the attributes {mask} of a shared receive queue are supported",
       "set max_wr and srq_limit only")
REASON(SRQ_NO_NUMBER, "type",
       "a shared receive queue of type {type} has no number",
       "make it with IBV_SRQT_XRC")

REASON(AH_NO_GRH, "is_global",
       "the address has no GID; RoCE has no LIDs",
       "set is_global to 1 and fill in grh")
REASON(AH_PORT, "port_num",
       "the port of the address is {port_num}; the device has port 1 only",
       "set port_num to 1")
REASON(AH_GID_TYPE, "sgid_index",
       "the GID of index {sgid_index} is not a RoCEv2 GID",
       "choose an index that softmr status lists; see troubleshooting.rst, \"The GID index\"")
REASON(AH_NO_DGID, "sgid_index",
       "the GID of the peer is all zeros",
       "exchange the GIDs before the queue pairs go to RTR")
REASON(AH_FAMILY, "sgid_index sgid_is_ipv4 dgid_is_ipv4",
       "one GID is an IPv4 address and the other an IPv6 address (index {sgid_index}: IPv4 {sgid_is_ipv4}, peer: IPv4 {dgid_is_ipv4})",
       "choose GID indices of the same IP version on both sides; softmr status lists them")
REASON(AH_NETDEV, "sgid_index",
       "the netdev of the GID of index {sgid_index} is gone, or is in another network namespace",
       "choose another index; softmr status lists them")
REASON(AH_SGID_INDEX, "sgid_index",
       "the device has no GID of index {sgid_index}",
       "choose an index that softmr status lists; see troubleshooting.rst, \"The GID index\"")
REASON(AH_UNREACHABLE, "sgid_index dgid_prefix:x dgid_interface:x",
       "from the address of index {sgid_index} there is no route, or no neighbour answers, to the peer's GID {dgid_prefix} {dgid_interface}",
       "ping the peer's address from this one; an IPv4 address is in the last 8 digits of its GID")

REASON(FLOW_QP, "type",
       "a queue pair of type {type} has no steering rules",
       "use one of type RAW_PACKET")
REASON(FLOW_FLAGS, "flags:x",
       "not all of the flags {flags} of a rule are supported",
       "use no flag but IBV_FLOW_ATTR_FLAGS_DONT_TRAP")
REASON(FLOW_TYPE, "type",
       "a rule of type {type} is not supported",
       "use IBV_FLOW_ATTR_NORMAL, _ALL_DEFAULT or _MC_DEFAULT")
REASON(FLOW_DEFAULT, "type num_of_specs flags:x",
       "a rule of type {type} takes all frames of its kind, so it has no specs and no flags; this one has {num_of_specs} specs and the flags {flags}",
       "set num_of_specs and flags to 0, or use IBV_FLOW_ATTR_NORMAL")
REASON(FLOW_SPEC, "spec:x",
       "a spec of type {spec} is not supported",
       "use specs of outer headers (ETH, IPV4, IPV4_EXT, IPV6, TCP, UDP), and of the actions tag, drop and count")
REASON(FLOW_IP_FLAGS, "mask:x",
       "not all of the IPv4 flags {mask} in the mask can be compared",
       "compare 0x2 (do not fragment) and 0x4 (more fragments) only")
REASON(FLOW_TWICE, "spec:x",
       "the rule has two specs of type {spec}, or of its layer",
       "give one spec of each layer and of each action")
REASON(FLOW_DROP, "",
       "a rule that drops frames cannot also leave them to other rules",
       "leave IBV_FLOW_ATTR_FLAGS_DONT_TRAP out")
REASON(FLOW_MANY, "most",
       "the link already has {most} rules, the maximum",
       "destroy some rules")
REASON(FLOW_NETDEV, "",
       "the netdev of the link is being removed, or has left its network namespace",
       "add a link on another netdev")
REASON(FLOW_RX_MODE, "mode",
       "the netdev cannot receive the frames of the rule: switching it to the mode {mode} failed (1: all multicast, 2: promiscuous)",
       "look for the netdev's error in the kernel's log")

REASON(MCAST_AGAIN, "",
       "the queue pair is already in the group",
       "attach it once")
REASON(MCAST_QPS, "most",
       "the group already has {most} queue pairs of this link, the maximum",
       "detach some queue pairs")
REASON(MCAST_GROUPS, "most",
       "the link is already in {most} groups, the maximum",
       "detach queue pairs from some groups")
REASON(MCAST_NETDEV, "ipv4",
       "the netdev cannot join the group: it lacks that IP version (IPv4: {ipv4}), or is being removed",
       "give it an MTU of at least 68 for IPv4 and 1280 for IPv6; look at net.ipv6.conf.*.disable_ipv6")

REASON(DM_NO_LENGTH, "",
       "the length of the device memory is 0",
       "set the length")
REASON(DM_ALIGN, "log_align_req most",
       "an alignment of 2^{log_align_req} bytes is more than a page, 2^{most}",
       "ask for less: each allocation begins at a page")
REASON(DM_FULL, "length size",
       "fewer than {length} of the {size} bytes of device memory are free",
       "ask for less, or free some; memory that a process still maps is in use")
REASON(DM_UNALIGNED, "offset length",
       "{length} bytes at offset {offset}: device memory is copied by multiples of 4 bytes",
       "make the offset and the length multiples of 4")
REASON(DM_RANGE, "offset length size",
       "{length} bytes at offset {offset} are not inside the {size} bytes of device memory",
       "correct the offset or the length")

REASON(POST_STATE, "state:state",
       "the queue pair is in {state}, in which such requests cannot be posted",
       "post receives from INIT on, sends from RTS on")
REASON(POST_NO_QUEUE, "type",
       "this queue pair, of type {type}, has no queue for such requests",
       "post receives to its shared receive queue; XRC_TGT has no sends")
REASON(POST_OPCODE, "opcode:opcode type",
       "a queue pair of type {type} does not support {opcode}, or was not created for it",
       "use an opcode that ibv_post_send(3) lists for this type; for ibv_wr_*() set it in send_ops_flags")
REASON(POST_FLAGS, "send_flags:x unknown:x",
       "the flags {unknown} of send_flags are not supported",
       "leave them out")
REASON(POST_INLINE, "opcode:opcode",
       "{opcode} has no data that could be inline",
       "leave IBV_SEND_INLINE out")
REASON(POST_INLINE_LENGTH, "length most",
       "the request has {length} bytes or more of inline data, but the queue pair has room for {most}",
       "ask for a larger max_inline_data when creating the queue pair")
REASON(POST_SGE, "num_sge most",
       "the request has {num_sge} entries, but a request of this queue has at most {most}",
       "ask for a larger max_send_sge or max_recv_sge when creating the queue")
REASON(POST_FULL, "max_wr",
       "the queue is full: {max_wr} requests are posted and not complete",
       "poll the completion queue before posting more, or ask for a longer queue")
REASON(POST_NO_AH, "",
       "the datagram has no address handle",
       "set wr.ud.ah, or call ibv_wr_set_ud_addr()")
REASON(POST_NO_WINDOW, "",
       "the bind has no window",
       "set bind_mw.mw")
REASON(POST_ZERO_BASED, "access:access",
       "a window of type 1 cannot be addressed by offsets",
       "leave IBV_ACCESS_ZERO_BASED out, or use a window of type 2")
REASON(POST_ATOMIC_WRITE, "",
       "a request of this queue pair has no room for the 8 bytes of an ATOMIC WRITE",
       "set max_send_sge to 1 or more when creating the queue pair")

REASON(LIMIT, "kind:kind most",
       "there are already {most} objects of the kind {kind}, the limit of this user or link",
       "destroy some, or raise the module's max_user_objects or max_objects before the link is added")
REASON(NO_MEMORY, "",
       "there is no memory, or the queues exceed what the user and RLIMIT_MEMLOCK allow",
       "see security.rst, \"What a process can make the kernel hold\"")
REASON(SIGNAL, "",
       "a signal ended the call",
       "call again")
REASON(FIELDS_UNKNOWN, "comp_mask:x unknown:x",
       "the bits {unknown} of comp_mask are not supported",
       "leave them out")
REASON(FIELDS_INVALID, "comp_mask:x unknown:x",
       "the bits {unknown} of comp_mask are not supported",
       "leave them out")
REASON(PD_IN_USE, "users",
       "{users} parent domains or objects with allocators use the protection domain",
       "destroy them first")
REASON(TD_IN_USE, "users",
       "{users} parent domains use the thread domain",
       "destroy them first")
REASON(PARENT_PD, "",
       "the protection domain of the new parent domain is a parent domain itself",
       "pass a protection domain from ibv_alloc_pd()")
REASON(PARENT_ALLOCATORS, "",
       "one of the two allocators is missing",
       "set both alloc and free")
REASON(CAPTURE_USER, "",
       "the process has privileges that its user lacks, so it may not read that user's packets",
       "capture without the privileges, or the whole link with CAP_NET_RAW")
REASON(DEVICE_GOES, "",
       "the link is being removed",
       "close the device; after the event IBV_EVENT_DEVICE_FATAL nothing works")
REASON(INPUT_UNKNOWN, "",
       "the command has input for the driver that the module does not know",
       "update the module, which is older than the provider")
REASON(NO_NUMBER, "",
       "nearly all keys or queue pair numbers are in use",
       "deregister regions, free windows or destroy queue pairs")
REASON(FILES, "",
       "the process has no free file descriptor",
       "close some, or raise ulimit -n")
REASON(COMMAND_MEMORY, "",
       "the input or the response of the command itself is not in mapped memory",
       "run the program with AddressSanitizer or valgrind: it seems to have overwritten memory of the provider")
REASON(IN_USE, "kind:kind",
       "an object of the kind {kind} is in use: others that were made with it exist, or another thread uses it",
       "destroy the others first: queue pairs, then completion and receive queues, regions, protection domains")
REASON(RING_UNKNOWN, "",
       "libsoftmr cannot map the new queue as the module describes it",
       "install the module and libsoftmr of the same version")
REASON(CAPTURE_ALL, "",
       "to capture all packets of a link takes CAP_NET_RAW in its network namespace",
       "capture the packets of your own queue pairs, or as root")
REASON(UNSAID, "",
       "no reason is kept for this error",
       "look for the errno in the manual page of the call")

REASON(KEY_UNKNOWN, "key:x addr:x length near:x start:x bytes away",
       "no region and no window has the key {key} ({length} bytes at {addr} were asked for)[; the nearest region is {near}, {bytes} bytes at {start}: {away} bytes too far]",
       "use the key of a region that is registered now on this device; verbs take keys in host byte order")
REASON(KEY_STALE, "key:x addr:x length now:x",
       "the key {key} has been replaced by {now}: its window was bound again",
       "send the peer the rkey of the last bind")
REASON(KEY_DEAD, "key:x addr:x length",
       "the key {key} opens nothing now: its window is not bound, or its region is being deregistered",
       "let the peer finish before the key is invalidated")
REASON(KEY_PD, "key:x addr:x length qpn:x",
       "the key {key} belongs to another protection domain, or to a window that only queue pair {qpn} may use",
       "create the region and the queue pair with the same protection domain")
REASON(KEY_ACCESS, "key:x addr:x length needed:access granted:access window ms",
       "the key {key} grants {granted}, but {needed} is needed[; its region was registered {ms} ms before]",
       "register the region, or bind the window, with that access flag; a window's key is for peers only")
REASON(KEY_RANGE, "key:x addr:x length start:x bytes off ms near:x",
       "{length} bytes at {addr} are not inside what the key {key} opens, {bytes} bytes at {start}[, registered {ms} ms before]: {off} bytes too far[; they are inside region {near}]",
       "correct the address or the length; with IBV_ACCESS_ZERO_BASED addresses are offsets")
REASON(KEY_ENDED, "key:x addr:x length pid ms near:x start:x away",
       "the key {key} belonged to a region or window that process {pid} ended {ms} ms before ({length} bytes at {addr} were asked for)[; the nearest region now is {near}, which begins at {start}: {away} bytes too far]",
       "let the peer finish before the region is deregistered, or the window freed")

REASON(WR_FLUSHED, "",
       "an earlier request has failed, and this one was not executed",
       "look for the first completion that is neither status 0 nor 5")
REASON(WR_OPCODE, "opcode:opcode type",
       "a queue pair of type {type} does not support {opcode}",
       "use an opcode that ibv_post_send(3) lists for this type")
REASON(WR_FLUSH, "opcode",
       "the FLUSH has no placement type, or an unknown one",
       "set IBV_FLUSH_GLOBAL or IBV_FLUSH_PERSISTENT")
REASON(WR_INLINE, "opcode:opcode length most",
       "the request has {length} bytes of inline data, but the queue pair has room for {most}, and only requests that send data may have any",
       "ask for a larger max_inline_data when creating the queue pair")
REASON(WR_SGE, "num_sge most",
       "the request has {num_sge} entries, but a request of this queue pair has at most {most}",
       "ask for a larger max_send_sge when creating the queue pair")
REASON(WR_LENGTH, "opcode:opcode length",
       "the length is {length} bytes: too long for a message, or not the 8 of an atomic",
       "send at most 2 GiB in a message, at most the path MTU in a datagram, and 8 bytes in an atomic")
REASON(WR_NO_RD_ATOMIC, "opcode:opcode",
       "{opcode} needs max_rd_atomic, which is 0",
       "set max_rd_atomic here, and max_dest_rd_atomic of the peer, in ibv_modify_qp()")
REASON(WR_PAGE, "length",
       "the keys of the request are valid, but a page of its {length} bytes cannot be brought in",
       "compare with /proc/PID/maps: the process has unmapped it, it is mapped read-only, or its file is shorter now")
REASON(WR_BIND, "window:x region:x addr:x length access:access",
       "the bind of window {window} to region {region} ({length} bytes at {addr}, {access}) is refused because of the window",
       "check the window: it is unknown, of another protection domain, of the other type, or already bound (type 2); for rights to write, register the region with IBV_ACCESS_LOCAL_WRITE")
REASON(WR_INVALIDATE, "rkey:x",
       "this queue pair may not invalidate the key {rkey}",
       "invalidate only a type 2 window that is bound, on the queue pair that it was bound on, or a fast-registered region")
REASON(WR_ADDRESS, "qpn:x",
       "the address handle of the datagram is destroyed or of another protection domain, or its queue pair number {qpn} has more than 24 bits",
       "destroy an address handle after the completions of its datagrams")
REASON(WR_NO_MEMORY, "length",
       "there was no memory to bring in pages of the request's {length} bytes",
       "free memory, or raise user_odp_kb (security.rst)")
REASON(WR_FRAME, "length least most",
       "the frame has {length} bytes; the netdev sends from {least} to {most}, and 4 more with a VLAN tag",
       "begin the frame with its Ethernet header; raise the MTU of the netdev for longer ones")
REASON(SEND_RING, "",
       "the ring of the send queue is broken: its producer index claims more than fits",
       "look in the program for a write through a wild pointer: it has overwritten a ring that the provider has mapped")
REASON(CQ_OVERRUN, "cqe",
       "a completion is lost, and the queue pair has failed: its completion queue has {cqe} entries, and none was free",
       "poll before posting more, or ask for a longer completion queue")
REASON(WR_OTHER, "status",
       "the request has failed with status {status}",
       "look for the status in ibv_poll_cq(3)")

REASON(PEER_INVALID, "opcode:opcode length",
       "the peer says that the request is invalid",
       "run softmr why on the peer; usually its qp_access_flags lack the right, or its receive is too short")
REASON(PEER_ACCESS, "rkey:x addr:x length",
       "the peer refuses access to {length} bytes at {addr} by the key {rkey}",
       "run softmr why on the peer, which alone knows the reason")
REASON(PEER_FAILED, "opcode:opcode length",
       "the peer could not execute the request",
       "run softmr why on the peer; usually a key of its receive request is invalid")
REASON(PEER_NONSENSE, "opcode:opcode",
       "the peer's answer does not belong to this request",
       "capture the packets (softmr capture): rq_psn of each side must be sq_psn of the other")
REASON(PEER_SILENT, "retry_cnt timeout",
       "the peer has not answered, after {retry_cnt} retries of timeout {timeout}",
       "check that the peer is in RTR, that its firewall lets UDP port 4791 in, and that the path carries the MTU; see debugging.rst, \"It hangs\"")
REASON(PEER_NOT_READY, "rnr_retry",
       "the peer had no receive request posted, in {rnr_retry} retries",
       "post more receives there, or set rnr_retry to 7 (for ever)")

REASON(REQ_OPCODE, "opcode:x",
       "a packet with the opcode {opcode} is not a request",
       "capture the packets (softmr capture): the peer does not follow the protocol")
REASON(REQ_SEQUENCE, "opcode:x inside",
       "a packet with the opcode {opcode} cannot follow the previous one (1: inside a message: {inside})",
       "capture the packets (softmr capture): the peer does not follow the protocol")
REASON(REQ_FORBIDDEN, "opcode:x granted:access resources",
       "qp_access_flags are {granted} and max_dest_rd_atomic is {resources}, which does not permit the opcode {opcode}",
       "set qp_access_flags, and for READs and atomics max_dest_rd_atomic, in ibv_modify_qp()")
REASON(REQ_PAYLOAD, "opcode:x length mtu",
       "{length} bytes do not fit a packet with the opcode {opcode}: the path MTU is {mtu}",
       "set the same path_mtu on both sides")
REASON(REQ_WRITE_LENGTH, "length left",
       "a WRITE has a packet of {length} bytes, but only {left} are left of its length",
       "capture the packets (softmr capture): the peer does not follow the protocol")
REASON(REQ_READ_LENGTH, "length most",
       "a READ asks for {length} bytes, and a message has at most {most}",
       "capture the packets (softmr capture): the peer does not follow the protocol")
REASON(REQ_UNALIGNED, "addr:x",
       "an atomic has the address {addr}, which is not a multiple of 8",
       "align the words that peers access by atomics to 8 bytes")
REASON(REQ_XRC, "srqn:x",
       "the XRC domain has no shared receive queue {srqn}, or the message is for another one",
       "send the peer the number that ibv_get_srq_num() returns")
REASON(REQ_INVALIDATE, "rkey:x",
       "the peer may not invalidate the key {rkey}",
       "let the peer invalidate only a type 2 window that is bound on this queue pair, or a fast-registered region")
REASON(REQ_PAGE, "rkey:x addr:x length",
       "the key {rkey} is valid, but a page of the {length} bytes at {addr} cannot be brought in",
       "compare with /proc/PID/maps: the process has unmapped it, it is mapped read-only, or its file is shorter now")
REASON(REQ_NO_MEMORY, "",
       "there was no memory to bring in pages",
       "free memory, or raise user_odp_kb (security.rst)")
REASON(RECV_TOO_SHORT, "room length",
       "the receive request has room for {room} bytes, and the message has {length} or more",
       "post longer receives; for datagrams add the 40 bytes of the GRH")
REASON(RECV_SGE, "most",
       "the receive request has more entries than the {most} of its queue",
       "ask for a larger max_recv_sge")
REASON(RECV_PAGE, "length",
       "the keys of the receive request are valid, but a page of its {length} bytes cannot be brought in",
       "compare with /proc/PID/maps: the process has unmapped it, or it is mapped read-only")
REASON(RECV_RING, "",
       "the ring of the receive queue is broken: its producer index claims more than fits",
       "look in the program for a write through a wild pointer: it has overwritten a ring that the provider has mapped")

REASON(DROP_STATE, "opcode:x state:state",
       "a packet with the opcode {opcode} was dropped: the queue pair is in the state {state}",
       "take the queue pair to RTR before the peer sends requests, and to RTS before it sends responses")
REASON(DROP_SOURCE, "",
       "a packet was dropped: it is not from the peer of this connection, by its addresses or, within this host, by its queue pair",
       "compare the address vectors and dest_qp_num of both sides: sgid_index here is the dgid there")
REASON(DROP_PKEY, "pkey:x",
       "a packet with the P_Key {pkey} was dropped",
       "let the peer send with P_Key 0xffff, the only one of a RoCE port")
REASON(DROP_QKEY, "qkey:x needed:x",
       "a datagram with the Q_Key {qkey} was dropped: the queue pair has {needed}",
       "let the peer send with the Q_Key of this queue pair")
REASON(DROP_NO_RECV, "length",
       "a message of {length} bytes or more was dropped: no receive request is posted",
       "post more receives; on UC, UD and RAW_PACKET the message is not sent again")
REASON(DROP_HEADER, "length",
       "a packet of {length} bytes was dropped: its headers are not valid for this queue pair",
       "capture the packets (softmr capture): the peer does not follow the protocol")
REASON(DROP_ICRC, "opcode:x length",
       "a packet with the opcode {opcode} and {length} bytes was dropped: its ICRC is wrong",
       "compare captures of both sides: something on the path changes packets, or the peer computes the ICRC differently")
REASON(DROP_QUEUE, "bytes",
       "a packet that takes {bytes} bytes of memory was dropped: the packets that wait for this queue pair have reached its limit, or its user's",
       "see whether the process is stopped or waits for a page; raise user_packet_kb (security.rst)")
REASON(DROP_PSN, "psn:x expected:x",
       "a request with the PSN {psn} was dropped: it is too far from {expected}, which is expected",
       "set rq_psn of this queue pair to the peer's sq_psn")
REASON(DROP_SERVICE, "opcode:x type",
       "a packet with the opcode {opcode} was dropped: it is not for a queue pair of type {type}",
       "connect to a queue pair of the same type")
REASON(DROP_NO_QP, "opcode:x",
       "a packet with the opcode {opcode} was dropped: no queue pair has its number",
       "compare with rdma resource show qp: the process has ended, or the peer uses an old number")
REASON(DROP_NOT_READY, "opcode:x",
       "a request with the opcode {opcode} was not executed: no receive request is posted, and the peer got an RNR NAK",
       "post more receives; the peer gives up after rnr_retry attempts, unless that is 7")
REASON(DROP_GAP, "psn:x expected:x",
       "a request with the PSN {psn} was dropped: {expected} is expected, so earlier packets were lost",
       "the peer sends them again; look for the loss: ethtool -S, nstat, debugging.rst")
REASON(DROP_NO_MEMORY, "",
       "a packet was dropped: there was no memory for this queue pair's copy of it",
       "free memory; a frame is not sent again")
REASON(DROP_BUDGET, "",
       "a frame was dropped: more queue pairs take it than may get copies at once",
       "use fewer rules that match the same frames")
