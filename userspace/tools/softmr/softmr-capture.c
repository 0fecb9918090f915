// SPDX-License-Identifier: GPL-2.0
/*
 * softmr capture: writes the packets of a link to a file for Wireshark (pcapng). A packet that
 * refuses a request, or that is dropped, has the reason as its comment. The module may log the
 * reason after the packet is captured, so packets are held for a moment.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/softmrdv.h>
#include <infiniband/verbs.h>

#include "cmd.h"
#include "util.h"
#include "why_text.h"
#include "whys.h"

static const char help[] =
	"Writes the RoCEv2 packets that LINK sends and receives to FILE (pcapng), until Ctrl-C. "
	"Messages between two queue pairs of this host are sent as packets meanwhile. A packet that "
	"refuses a request or is dropped says why in its comment. Without CAP_NET_RAW, only what the "
	"queue pairs of your own processes send and receive.";

static const struct argp_option options[] = {
	{ "write", 'w', "FILE", 0, "where to", 0 },
	{ "count", 'c', "N", 0, "end after N packets", 0 },
	{ "own", 'o', NULL, 0, "only packets of your own queue pairs", 0 },
	{},
};

struct options {
	const char *link;
	const char *path;
	uint32_t count;
	bool own;
};

/* The longest packet, with its head */
#define SLOT_BYTES	8192
/* The number of packets that are held, and for how long at most, ms */
#define HELD		256
#define HOLD_MS		50
/* How long to wait for a packet if none is held, before a look at whether the user has ended it */
#define WAIT_MS		200
/* The time between the capture of a dropped packet and the log of its reason, at most, ns */
#define NEAR_NS		20000000

/* pcapng, draft-ietf-opsawg-pcapng: types of blocks and options */
enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	OPTION_COMMENT = 1,
	OPTION_IF_NAME = 2,
	OPTION_IF_TSRESOL = 9,
	LINKTYPE_ETHERNET = 1,
};

/* RoCEv2: UDP's port; BTH and AETH, IBTA 9.2 */
enum {
	ROCE_PORT = 4791,
	BTH_BYTES = 12,
	OPCODE_ACK = 0x11,
	SYNDROME_NAK = 0x60,
};

/* A packet that is not written yet */
struct held {
	uint8_t *data;	/* the frame, in a slot */
	uint32_t len;
	uint64_t ns;	/* when it was captured, of CLOCK_REALTIME */
	uint32_t id;	/* the reason why no QP got it, or 0 */
	char *comment;	/* or NULL */
};

struct capture {
	struct ibv_context *context;
	int in;			/* the file of packets */
	uint64_t lost;		/* packets of that file that we were too slow for */
	FILE *out;		/* the file for Wireshark */
	struct nl_sock *whys;	/* the socket for reasons; NULL: not available */
	int family;
	uint64_t said;		/* the time of the last dropped packet that has its comment */
	uint8_t *buf;		/* HELD slots of SLOT_BYTES */
	struct held held[HELD];	/* @nr_held packets, the oldest first */
	uint32_t nr_held;
};

static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
	(void)signal;
	ended = 1;
}

/* -- the file */

static void put32(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static void put_padded(FILE *out, const void *data, size_t len)
{
	static const uint8_t zero[4];

	fwrite(data, 1, len, out);
	fwrite(zero, 1, -len & 3, out);
}

/* The size of an option with its head */
static size_t option_bytes(size_t len)
{
	return 4 + len + (-len & 3);
}

static void put_option(FILE *out, uint16_t code, const void *data, size_t len)
{
	put32(out, code | (uint32_t)len << 16);
	put_padded(out, data, len);
}

static void put_heads(FILE *out, const char *link)
{
	static const uint8_t nanoseconds = 9;
	uint32_t len = (uint32_t)(20 + option_bytes(strlen(link)) + option_bytes(1) + 4);

	put32(out, BLOCK_SECTION);
	put32(out, 28);
	put32(out, 0x1a2b3c4d);
	put32(out, 1);	/* version 1.0 */
	put32(out, UINT32_MAX);	/* the section's length: unknown, 64 bits */
	put32(out, UINT32_MAX);
	put32(out, 28);
	put32(out, BLOCK_INTERFACE);
	put32(out, len);
	put32(out, LINKTYPE_ETHERNET);
	put32(out, SLOT_BYTES);
	put_option(out, OPTION_IF_NAME, link, strlen(link));
	put_option(out, OPTION_IF_TSRESOL, &nanoseconds, 1);
	put32(out, 0);
	put32(out, len);
}

static void put_packet(FILE *out, const struct held *p)
{
	size_t option = p->comment ? option_bytes(strlen(p->comment)) + 4 : 0;
	uint32_t all = (uint32_t)(32 + p->len + (-p->len & 3) + option);

	put32(out, BLOCK_PACKET);
	put32(out, all);
	put32(out, 0);
	put32(out, (uint32_t)(p->ns >> 32));
	put32(out, (uint32_t)p->ns);
	put32(out, p->len);
	put32(out, p->len);
	put_padded(out, p->data, p->len);
	if (p->comment) {
		put_option(out, OPTION_COMMENT, p->comment, strlen(p->comment));
		put32(out, 0);
	}
	put32(out, all);
}

/* -- reasons */

static uint32_t be24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

/* The BTH of a RoCEv2 packet; NULL: it is none */
static const uint8_t *find_bth(const uint8_t *data, size_t len)
{
	size_t off = 14, ip;

	if (len < off + 20)
		return NULL;
	ip = off;
	if (data[12] == 0x08 && data[13] == 0x00 && data[ip + 9] == 17)
		off += (size_t)(data[ip] & 0xf) * 4;
	else if (data[12] == 0x86 && data[13] == 0xdd && data[ip + 6] == 17)
		off += 40;
	else
		return NULL;
	if (len < off + 8 + BTH_BYTES + 4 || (data[off + 2] << 8 | data[off + 3]) != ROCE_PORT)
		return NULL;
	return data + off + 8;
}

/* The refusal that a NAK reports; NULL: no NAK, or unknown */
static const struct refusal *nak_of(const uint8_t *bth, const struct refusal *list, size_t n)
{
	const struct refusal *found = NULL;
	uint32_t qpn = be24(bth + 5), psn = be24(bth + 9);
	size_t i;

	if ((bth[0] & 0x1f) != OPCODE_ACK || (bth[BTH_BYTES] & 0xe0) != SYNDROME_NAK)
		return NULL;
	/* the newest: that of the responder, which knows more, or else that of the requester */
	for (i = 0; i < n; i++)
		if (list[i].rec.psn == psn &&
		    (list[i].rec.peer_qpn == qpn || (list[i].rec.qpn == qpn && !found)))
			found = &list[i];
	return found;
}

static bool is_drop(const struct refusal *r)
{
	return r->rec.id >> 8 == SMR_WHY_DROP_STATE >> 8;
}

/* Has the packet the numbers that the reason names? */
static bool fits(const uint8_t *bth, const struct refusal *r)
{
	static const struct { const char *name; unsigned int at, bytes; } fields[] = {
		{ "opcode", 0, 1 }, { "pkey", 2, 2 }, { "psn", 9, 3 }, { "qkey", BTH_BYTES, 4 },
	};
	const struct smr_why_info *info = smr_why_info(r->rec.id);
	unsigned int i, k, byte;
	const char *name;
	size_t len;

	for (i = 0; info && (name = smr_why_number(info, i, &len)); i++) {
		for (k = 0; k < ARRAY_SIZE(fields); k++) {
			uint64_t value = 0;

			if (strlen(fields[k].name) != len || memcmp(name, fields[k].name, len))
				continue;
			for (byte = 0; byte < fields[k].bytes; byte++)
				value = value << 8 | bth[fields[k].at + byte];
			if (value != r->rec.num[i])
				return false;
		}
	}
	return info;
}

/* The held packet that was dropped for this reason: that of the nearest time; NULL: none */
static struct held *dropped(struct capture *c, const struct refusal *r)
{
	struct held *found = NULL;
	uint64_t least = NEAR_NS;
	uint32_t i;

	for (i = 0; i < c->nr_held; i++) {
		struct held *p = &c->held[i];
		const uint8_t *bth = find_bth(p->data, p->len);
		uint64_t apart = p->ns > r->rec.time ? p->ns - r->rec.time : r->rec.time - p->ns;

		if (bth && be24(bth + 5) == r->rec.qpn && apart < least && fits(bth, r)) {
			found = p;
			least = apart;
		}
	}
	return found;
}

static void add_comment(struct held *p, const struct refusal *r)
{
	char said[512];

	if (p->comment)
		return;
	smr_why_say(&r->rec, said, sizeof(said));
	p->comment = strf("softmr: %#06x %s: %s; try: %s", r->rec.id, smr_why_name(&r->rec), said,
			  smr_why_todo(&r->rec));
}

/* No QP got the packet, and its reason is not in the log: so many are dropped, or not ours to read. */
static void add_name(struct held *p)
{
	const struct smr_why_info *info = smr_why_info(p->id);

	if (p->comment || !p->id)
		return;
	p->comment = info ? strf("softmr: %#06x %s", p->id, info->name) :
			    strf("softmr: %#06x", p->id);
}

/* Give the held packets their comments */
static void add_comments(struct capture *c)
{
	const struct refusal *r;
	struct refusal *list = NULL;
	const uint8_t *bth;
	struct held *p;
	size_t n = 0;

	if (c->whys && whys_list(c->whys, c->family, &list, &n))
		n = 0;
	for (p = c->held; p < c->held + c->nr_held; p++) {
		bth = find_bth(p->data, p->len);
		r = bth ? nak_of(bth, list, n) : NULL;
		if (r)
			add_comment(p, r);
	}
	for (r = list; r < list + n; r++) {
		p = is_drop(r) && r->rec.time > c->said ? dropped(c, r) : NULL;
		if (!p)
			continue;
		add_comment(p, r);
		c->said = r->rec.time;
	}
	for (p = c->held; p < c->held + c->nr_held; p++)
		add_name(p);
	free(list);
}

/* -- packets */

static int fail(const char *what, int err)
{
	complain("%s: %s", what, strerror(err));
	return -1;
}

static struct ibv_context *open_link(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev;
	struct ibv_context *context = NULL;

	for (dev = list; dev && *dev; dev++)
		if (!strcmp(ibv_get_device_name(*dev), name))
			context = ibv_open_device(*dev);
	if (list)
		ibv_free_device_list(list);
	return context;
}

/* Say of which messages there will be no packets. */
static void warn(uint32_t unseen)
{
	const char *which = unseen == SOFTMRDV_CAPTURE_UNSEEN_V4 ? " by IPv4" :
			    unseen == SOFTMRDV_CAPTURE_UNSEEN_V6 ? " by IPv6" : "";

	if (unseen)
		fprintf(stderr,
			"messages between two queue pairs of this host%s are not seen: UDP packets to port 4791\n"
			"do not get through on lo; look at the firewall, and whether lo is up\n",
			which);
}

static int open_packets(struct capture *c, bool own)
{
	uint32_t unseen = 0;
	int ret;

	ret = softmrdv_capture_open(c->context, own ? 0 : SOFTMRDV_CAPTURE_ALL, &c->in, &unseen);
	if (ret == EPERM && !own) {
		fprintf(stderr, "only the packets of your own queue pairs: all of them take CAP_NET_RAW\n");
		ret = softmrdv_capture_open(c->context, 0, &c->in, &unseen);
	}
	if (ret == EOPNOTSUPP || ret == EPROTONOSUPPORT)
		return fail("the module is older than this program", ret);
	if (ret)
		return fail("cannot capture", ret);
	warn(unseen);
	return fcntl(c->in, F_SETFL, O_NONBLOCK) ? fail("cannot capture", errno) : 0;
}

static int capture_open(struct capture *c, const char *link, bool own)
{
	c->context = open_link(link);
	if (!c->context)
		return fail("cannot open the link", errno ? errno : ENODEV);
	c->buf = zalloc((size_t)HELD * SLOT_BYTES);
	return open_packets(c, own);
}

static void capture_close(struct capture *c)
{
	if (c->in >= 0)
		close(c->in);
	if (c->context)
		ibv_close_device(c->context);
	whys_close(c->whys);
	free(c->buf);
}

static void write_held(struct capture *c)
{
	struct held *p;

	add_comments(c);
	for (p = c->held; p < c->held + c->nr_held; p++) {
		put_packet(c->out, p);
		free(p->comment);
	}
	c->nr_held = 0;
}

/* Must the held packets be written now? */
static bool held_enough(const struct capture *c)
{
	struct timespec t;
	uint64_t now;

	if (!c->nr_held || c->nr_held == HELD)
		return c->nr_held;
	clock_gettime(CLOCK_REALTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return now - c->held[0].ns >= HOLD_MS * 1000000ull;
}

static void wait_for_packet(struct capture *c)
{
	struct pollfd in = { .fd = c->in, .events = POLLIN };

	fflush(c->out);
	poll(&in, 1, c->nr_held ? HOLD_MS : WAIT_MS);
}

/* Take a packet. Return: 1; 0: there is none now; -1: the end */
static int take(struct capture *c)
{
	uint8_t *slot = c->buf + (size_t)c->nr_held * SLOT_BYTES;
	struct softmrdv_packet packet;
	ssize_t n;

	n = read(c->in, slot, SLOT_BYTES);
	if (!n)
		return fail("the link has ended", EIO);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return fail("cannot receive", errno);
	if (n < 0) {
		wait_for_packet(c);
		return 0;
	}
	memcpy(&packet, slot, sizeof(packet));
	c->lost += packet.lost;
	c->held[c->nr_held++] = (struct held){
		.data = slot + sizeof(packet),
		.len = packet.length,
		.ns = packet.time,
		.id = packet.id,
	};
	return 1;
}

static int capture(struct capture *c, uint32_t count)
{
	uint32_t n = 0;
	int ret = 0;

	while (!ended && (!count || n < count) && !ferror(c->out)) {
		ret = take(c);
		if (ret < 0)
			break;
		n += (uint32_t)ret;
		if (held_enough(c))
			write_held(c);
	}
	poll(NULL, 0, HOLD_MS);
	write_held(c);
	if (ret < 0)
		return -1;
	fprintf(stderr, "%u packets\n", n);
	if (c->lost)
		fprintf(stderr, "%llu more were lost: this program was too slow for them\n",
			(unsigned long long)c->lost);
	return fflush(c->out) || ferror(c->out) ? fail("cannot write", errno) : 0;
}

static int run_capture(const struct options *opt)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct capture c = { .in = -1 };
	int ret;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	c.out = fopen(opt->path, "we");
	if (!c.out)
		return fail(opt->path, errno) ? EXIT_PROBLEM : EXIT_OK;
	/* a capture is useful even without reasons */
	if (whys_open(&c.whys, &c.family))
		c.whys = NULL;
	put_heads(c.out, opt->link);
	ret = capture_open(&c, opt->link, opt->own);
	if (!ret) {
		fprintf(stderr, "listening on %s\n", opt->link);
		ret = capture(&c, opt->count);
	}
	capture_close(&c);
	fclose(c.out);
	return ret ? EXIT_PROBLEM : EXIT_OK;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'w':
		opt->path = arg;
		return 0;
	case 'c':
		opt->count = cmd_number(arg, UINT32_MAX, state);
		return 0;
	case 'o':
		opt->own = true;
		return 0;
	case ARGP_KEY_ARG:
		if (opt->link)
			return ARGP_ERR_UNKNOWN;
		opt->link = arg;
		return 0;
	case ARGP_KEY_END:
		if (!opt->link || !opt->path)
			argp_error(state, "it needs a link and --write FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	char name[] = "capture";
	struct options opt = {};

	argv[0] = name;
	cmd_parse("LINK", help, options, take_option, argc, argv, &opt);
	return run_capture(&opt);
}
