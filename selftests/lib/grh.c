// SPDX-License-Identifier: GPL-2.0
#include "grh.h"

#include <arpa/inet.h>
#include <netinet/ip6.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/ip.h>

#include "paths.h"

/* UDP header, BTH, DETH and ICRC */
#define HEADERS	(8 + 12 + 8 + 4)

/**
 * vt_sges_skip() - copy a list without its first bytes
 * @out: as many parts as @sge
 */
void vt_sges_skip(struct ibv_sge *out, const struct ibv_sge *sge, int n,
		  size_t skip)
{
	size_t part;
	int i;

	for (i = 0; i < n; i++, skip -= part) {
		part = skip < sge[i].length ? skip : sge[i].length;
		out[i] = sge[i];
		out[i].addr += part;
		out[i].length -= part;
	}
}

/**
 * vt_sges_read() - copy the first @len bytes of a list
 */
void vt_sges_read(void *to, const struct ibv_sge *sge, int n, size_t len)
{
	uint8_t *p = to;
	size_t part;

	for (; n-- && len; sge++, p += part, len -= part) {
		part = len < sge->length ? len : sge->length;
		memcpy(p, (void *)(uintptr_t)sge->addr, part);
	}
}

static bool same(const char *field, uint32_t seen, uint32_t want)
{
	if (seen == want)
		return true;
	printf("# grh: %s is 0x%x, not 0x%x\n", field, seen, want);
	return false;
}

static bool same_addr(const char *field, const void *seen, const void *want,
		      size_t len)
{
	if (!memcmp(seen, want, len))
		return true;
	printf("# grh: the %s address is another one\n", field);
	return false;
}

static uint16_t checksum(const uint16_t *p, int words)
{
	uint32_t sum = 0;

	while (words--)
		sum += *p++;
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

static bool ip4_ok(const struct vt_pair *pair, const uint8_t *grh, uint32_t len)
{
	struct iphdr ip;
	bool ok;

	memcpy(&ip, grh + VT_GRH_LEN - sizeof(ip), sizeof(ip));
	ok = same("version", ip.version, 4);
	ok &= same("ihl", ip.ihl, 5);
	ok &= same("tos", ip.tos, VT_TRAFFIC_CLASS);
	ok &= same("tot_len", ntohs(ip.tot_len), len + sizeof(ip));
	ok &= same("ttl", ip.ttl, VT_HOP_LIMIT);
	ok &= same("protocol", ip.protocol, IPPROTO_UDP);
	ok &= same("checksum", checksum((void *)&ip, sizeof(ip) / 2), 0xffff);
	ok &= same_addr("source", &ip.saddr, pair->a.dev.gid.raw + 12, 4);
	return same_addr("destination", &ip.daddr, pair->b.dev.gid.raw + 12,
			 4) && ok;
}

static bool ip6_ok(const struct vt_pair *pair, const uint8_t *grh, uint32_t len)
{
	/* rdma_rxe sends no flow labels */
	uint32_t label = vt_on_path("from_rxe") ? 0 : VT_FLOW_LABEL;
	struct ip6_hdr ip;
	bool ok;

	memcpy(&ip, grh, sizeof(ip));
	ok = same("flow", ntohl(ip.ip6_flow),
		  6u << 28 | VT_TRAFFIC_CLASS << 20 | label);
	ok &= same("payload_len", ntohs(ip.ip6_plen), len);
	ok &= same("next_hdr", ip.ip6_nxt, IPPROTO_UDP);
	ok &= same("hop_limit", ip.ip6_hlim, VT_HOP_LIMIT);
	ok &= same_addr("source", &ip.ip6_src, pair->a.dev.gid.raw, 16);
	return same_addr("destination", &ip.ip6_dst, pair->b.dev.gid.raw, 16) &&
	       ok;
}

/**
 * vt_grh_ok() - does the header before a message match the packet?
 * @pair: a has sent the message to b
 * @sge: the receive's list
 * @n: its parts
 * @len: bytes of the message
 * @imm: the message has immediate data
 */
bool vt_grh_ok(const struct vt_pair *pair, const struct ibv_sge *sge, int n,
	       size_t len, bool imm)
{
	uint32_t packet = HEADERS + (imm ? 4 : 0) + (len + 3) / 4 * 4;
	uint8_t grh[VT_GRH_LEN];

	vt_sges_read(grh, sge, n, sizeof(grh));
	if (pair->a.conf.family == AF_INET)
		return ip4_ok(pair, grh, packet);
	return ip6_ok(pair, grh, packet);
}
