// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries about the device
 */
#include "softmr.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "abi.h"

/* Does the program's struct of this size have the field? */
#define HAS_FIELD(size, field)                                                 \
	((size) >= offsetof(struct ibv_device_attr_ex, field) +                \
			   sizeof(((struct ibv_device_attr_ex *)NULL)->field))

/* Add the driver's part of the answer. */
static void add_driver_caps(struct ibv_device_attr_ex *attr, size_t attr_size,
			    const struct smr_query_device_resp *resp)
{
	struct ibv_packet_pacing_caps *pacing = &attr->packet_pacing_caps;

	if (!HAS_FIELD(attr_size, packet_pacing_caps))
		return;
	pacing->qp_rate_limit_min = resp->rate_limit_min;
	pacing->qp_rate_limit_max = resp->rate_limit_max;
	pacing->supported_qpts = resp->rate_limit_qpts;
}

int smr_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct usmr_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size,
				       &resp.ibv_resp, &resp_size);
	if (ret)
		return ret;
	add_driver_caps(attr, attr_size, &resp.drv_payload);

	version = resp.ibv_resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32) & 0xffff,
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);
	return 0;
}

int smr_query_port(struct ibv_context *context, uint8_t port,
		   struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = {};

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

/*
 * As on adapters: all of the time is in tv_nsec, which programs compare with
 * the timestamps of completions. The seconds are in tv_sec only where tv_nsec
 * is too short for that.
 */
static void read_raw_clock(struct timespec *raw)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (sizeof(raw->tv_nsec) < sizeof(uint64_t))
		*raw = now;
	else
		*raw = (struct timespec){
			.tv_nsec = now.tv_sec * 1000000000ULL + now.tv_nsec,
		};
}

int smr_query_rt_values(struct ibv_context *context,
			struct ibv_values_ex *values)
{
	const uint32_t known = IBV_VALUES_MASK_RAW_CLOCK;

	if (values->comp_mask & ~known)
		return smr_refuse(context, 0, FIELDS_INVALID,
				  values->comp_mask, values->comp_mask & ~known);
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK)
		read_raw_clock(&values->raw_clock);
	return 0;
}
