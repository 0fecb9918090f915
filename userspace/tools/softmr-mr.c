// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shows which memory windows prevent the deregistration of a memory region, and
 * that all of this works on this machine.
 *
 * Functions that return int return 0, or -1 when the reason has been printed.
 */
#include "demo.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WINDOWS	4096	/* of each type */
#define MIN_PER_WINDOW	8	/* bytes, and what is written through it */

/**
 * struct options - the command line
 * @device: the device's name
 * @command: to run while the windows are bound, or NULL
 * @windows: how many windows of each type
 * @size: bytes of memory
 * @json: print JSON
 */
struct options {
	const char *device;
	const char *command;
	unsigned long windows;
	unsigned long size;
	int json;
};

/* -- the parts of the demonstration */

static int dereg_is_refused(struct demo *demo)
{
	int ret = ibv_dereg_mr(demo->mr);

	if (!ret) {
		demo->mr = NULL;
		return demo_fail("it succeeds though windows are bound", 0);
	}
	if (ret != EBUSY)
		return demo_fail("deregistration fails, but not with EBUSY", ret);
	demo_say(demo, "deregister: %s, since these are bound to it:\n", strerror(ret));
	return 0;
}

static int write_through(struct demo *demo, const struct window *win)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)&demo->out,
		.length = sizeof(demo->out),
		.lkey = demo->out_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma.remote_addr = (uintptr_t)win->addr,
		.wr.rdma.rkey = win->mw->rkey,
	};

	demo->out = 0x736f66746d720000 + win->mw->rkey;
	if (demo_post(demo, win->peer, &wr, "write through a window"))
		return -1;
	return demo_want(!memcmp(win->addr, &demo->out, sizeof(demo->out)),
			 "what was written through a window did not arrive");
}

static int windows_still_work(struct demo *demo)
{
	uint32_t i;

	for (i = 0; i < demo->nr_windows; i++)
		if (write_through(demo, &demo->windows[i]))
			return -1;
	demo_say(demo, "write through each of them: ok\n");
	return 0;
}

/*
 * Called before deregistration is tried: the core first removes a region from
 * the list of resources, and does not put it back if the driver refuses.
 */
static int run_command(struct demo *demo, const char *command)
{
	char value[16];

	if (!command)
		return 0;
	snprintf(value, sizeof(value), "0x%" PRIx32, demo->mr->lkey);
	setenv("SOFTMR_LKEY", value, 1);
	snprintf(value, sizeof(value), "%" PRIu32, demo->nr_windows);
	setenv("SOFTMR_WINDOWS", value, 1);
	fflush(stdout);
	return demo_want(!system(command), "the command failed");
}

static int dereg_works(struct demo *demo)
{
	int ret = ibv_dereg_mr(demo->mr);

	if (ret)
		return demo_fail("cannot deregister the region", ret);
	demo->mr = NULL;
	demo_say(demo, "unbind them, deregister: ok\n");
	return 0;
}

static int demonstrate(struct demo *demo, const struct options *opt)
{
	if (demo_open(demo, opt->device) ||
	    demo_register(demo, opt->size) || demo_make_qps(demo))
		return -1;
	demo_say(demo, "%s: %zu bytes at %p registered, lkey 0x%" PRIx32 "\n",
		 opt->device, demo->size, (void *)demo->buf, demo->mr->lkey);
	if (windows_count(demo, 0) ||
	    windows_bind(demo, (uint32_t)opt->windows) ||
	    run_command(demo, opt->command) || dereg_is_refused(demo) ||
	    windows_show(demo) || windows_still_work(demo) ||
	    windows_unbind(demo) || windows_count(demo, 0))
		return -1;
	return dereg_works(demo);
}

/* -- the command line */

static void usage(void)
{
	fputs("Usage: " ME " [OPTION...] DEVICE\n"
	      "\n"
	      "Registers memory with DEVICE, binds memory windows to it, and shows that the\n"
	      "region cannot be deregistered and which windows are in the way.\n"
	      "\n"
	      "  -n, --windows=N     bind N windows of each type (2)\n"
	      "  -s, --size=BYTES    register so much memory (65536)\n"
	      "  -x, --exec=COMMAND  while the windows are bound, have COMMAND run by sh, with\n"
	      "                      SOFTMR_LKEY and SOFTMR_WINDOWS in its environment\n"
	      "  -j, --json          print the table of windows as JSON, and nothing else\n"
	      "  -h, --help          show this\n"
	      "\n"
	      "Exits with 0 if all went as it should, 1 if anything did not, 2 if the command\n"
	      "line is wrong.\n", stdout);
}

static int bad_usage(const char *what)
{
	fprintf(stderr, ME ": %s (see " ME " --help)\n", what);
	return -1;
}

static int parse_number(const char *text, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 0);
	return errno || end == text || *end || *text == '-' ? -1 : 0;
}

static int check_options(const struct options *opt)
{
	if (!opt->windows || opt->windows > MAX_WINDOWS)
		return bad_usage("the number of windows must be from 1 to 4096");
	if (opt->size < 2 * opt->windows * MIN_PER_WINDOW)
		return bad_usage("the memory must have 8 bytes for each window");
	return 0;
}

static int parse_option(struct options *opt, int c)
{
	switch (c) {
	case 'n':
		return parse_number(optarg, &opt->windows) ?
			       bad_usage("-n needs a number") : 0;
	case 's':
		return parse_number(optarg, &opt->size) ?
			       bad_usage("-s needs a number of bytes") : 0;
	case 'x':
		opt->command = optarg;
		return 0;
	case 'j':
		opt->json = 1;
		return 0;
	case 'h':
		usage();
		exit(0);
	default:
		return bad_usage("unknown option, or it lacks its argument");
	}
}

static int parse(struct options *opt, int argc, char **argv)
{
	static const struct option names[] = {
		{ "windows", required_argument, NULL, 'n' },
		{ "size", required_argument, NULL, 's' },
		{ "exec", required_argument, NULL, 'x' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "n:s:x:jh", names, NULL)) != -1)
		if (parse_option(opt, c))
			return -1;
	if (argc - optind != 1)
		return bad_usage("name one device");
	opt->device = argv[optind];
	return check_options(opt);
}

int main(int argc, char **argv)
{
	struct options opt = { .windows = 2, .size = 65536 };
	struct demo demo = {};
	int ret;

	if (parse(&opt, argc, argv))
		return 2;
	demo.json = opt.json;
	ret = demonstrate(&demo, &opt);
	if (demo_clean_up(&demo))
		ret = -1;
	return ret ? 1 : 0;
}
