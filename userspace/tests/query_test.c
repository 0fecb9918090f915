// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries about the device
 */
#include <errno.h>
#include <time.h>

#include "rig.h"

static uint64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The raw clock has the values that completions have, in tv_nsec if it is wide enough. */
static void raw_clock(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	const struct timespec *raw = &values.raw_clock;
	uint64_t before = realtime(), at;

	want(!smr_query_rt_values(fake_context(), &values));
	want(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK);
	at = raw->tv_sec * 1000000000ULL + raw->tv_nsec;
	want(at >= before && at <= realtime());
	want(sizeof(raw->tv_nsec) < 8 || !raw->tv_sec);

	values.comp_mask |= 1 << 1;
	want(smr_query_rt_values(fake_context(), &values) == EINVAL);
	values = (struct ibv_values_ex){};
	want(!smr_query_rt_values(fake_context(), &values));
	want(!values.comp_mask && !raw->tv_nsec);
}

static int query(struct ibv_device_attr_ex *attr, size_t size)
{
	memset(attr, 0xee, sizeof(*attr));
	return smr_query_device_ex(fake_context(), NULL, attr, size);
}

static bool untouched(const struct ibv_device_attr_ex *attr, size_t from)
{
	const uint8_t *bytes = (const void *)attr;

	while (from < sizeof(*attr) && bytes[from] == 0xee)
		from++;
	return from == sizeof(*attr);
}

static void device(void)
{
	const size_t before_pacing = offsetof(struct ibv_device_attr_ex, packet_pacing_caps);
	struct ibv_device_attr_ex attr;

	fake.fw_ver = 12ULL << 32 | 3 << 16 | 45;
	fake.caps = (struct smr_query_device_resp){
		.rate_limit_min = 1, .rate_limit_max = 1000,
		.rate_limit_qpts = 1 << IBV_QPT_RAW_PACKET,
	};
	want(!query(&attr, sizeof(attr)));
	want(!strcmp(attr.orig_attr.fw_ver, "12.3.45"));
	want(attr.packet_pacing_caps.qp_rate_limit_max == 1000);
	want(attr.packet_pacing_caps.supported_qpts == 1 << IBV_QPT_RAW_PACKET);

	/* a program of an older release has a shorter struct */
	want(!query(&attr, before_pacing) && untouched(&attr, before_pacing));
	want(!strcmp(attr.orig_attr.fw_ver, "12.3.45"));

	/* an older module reports nothing */
	fake.fw_ver = 0;
	fake.caps = (struct smr_query_device_resp){};
	want(!query(&attr, sizeof(attr)));
	want(!strcmp(attr.orig_attr.fw_ver, "0.0.0"));
	want(!attr.packet_pacing_caps.supported_qpts);

	fake.query_err = EIO;
	want(query(&attr, sizeof(attr)) == EIO);
	fake.query_err = 0;
}

const struct tap_test query_tests[] = {
	{ "the raw clock", raw_clock },
	{ "the device's attributes, and programs with a shorter struct", device },
	{},
};
