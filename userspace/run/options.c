// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netem.h"

static const char usage[] =
"Usage: softmr run [OPTION...] [--] COMMAND [ARG...]\n"
"Run COMMAND, a program of this machine, where there is an RDMA device: in a User-Mode Linux guest whose\n"
"root is this machine's file system. It takes no root, no kernel module, no KVM and no hardware. Status,\n"
"signals, terminal, input and output are COMMAND's. What it writes is lost, but for --rw.\n"
"\n"
"  --nodes N          so many machines on one Ethernet segment (1); COMMAND runs on the first, and starts\n"
"                     what it wants on the others by softmr-node(1) or, as mpirun does, by softmr-rsh(1)\n"
"  --each             COMMAND runs on every node; each line of output begins with its node\n"
"  --rw DIR           what is written to DIR is written to this machine's (may be repeated)\n"
"  --netem SPEC       the network loses, delays or damages packets: \"loss 1% delay 1ms\", as in tc-netem(8)\n"
"  --root             be root in the guest (nothing that this user may not do on this machine)\n"
"  --mem SIZE         memory of the guest, such as 2G (1G, or less where there is no room for it)\n"
"  --cpus N           processors of the guest (2)\n"
"  --timeout SECONDS  end it after so long\n"
"  --no-link          make no softmr link; the module is loaded\n"
"  --provider DIR     take libsoftmr-rdmav*.so, the provider for libibverbs, from there\n"
"  --no-provider      add no provider\n"
"  --runtime DIR      take the guest's kernel and modules from there, not from where it is installed\n"
"  --chdir DIR        run COMMAND in DIR, not in the directory of this process\n"
"  --cmdline ARGS     more arguments for the guest's kernel\n"
"  --log DIR          write there what the guest's kernel says: console.0 and dmesg.0\n"
"  --layer DIR        make the guest's root of such directories, lowest first, not of this machine's /\n"
"  --version, --help\n"
"\n"
"In the guest NODE, NODES and SOFTMR_DEVICE (softmr0 on the first node) are in the environment; eth0 has\n"
"10.0.0.<node> and fd00::<node>; the nodes are called node1, node2...\n"
"\n"
"Exit status: COMMAND's, or 128 and the number of the signal that ended it; with --each the first that is\n"
"not 0; or, with a message,\n"
"  125  the guest could not be started\n"
"  126  the guest died, or its kernel reported an error of its own\n"
"  127  COMMAND still ran after --timeout seconds\n"
"Without a message of softmr-run they are COMMAND's; a command that is not there has 127, as in a shell.\n";

void say(const char *format, ...)
{
	va_list args;

	fputs("softmr-run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void die(int status, const char *format, ...)
{
	va_list args;

	fputs("softmr-run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

char *text(const char *format, ...)
{
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		die(STATUS_NO_BOOT, "out of memory");
	va_end(args);
	return s;
}

static void add(char ***list, char *value)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	*list = reallocarray(*list, n + 2, sizeof(**list));
	if (!*list)
		die(STATUS_NO_BOOT, "out of memory");
	(*list)[n] = value;
	(*list)[n + 1] = NULL;
}

static int number(const char *option, const char *value, int min, int max)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (*end || end == value || n < min || n > max)
		die(STATUS_USAGE, "%s takes a number from %d to %d, not '%s'", option, min, max,
		    value);
	return n;
}

static char *directory(const char *option, const char *path)
{
	struct stat st;
	char *real = realpath(path, NULL);

	if (!real)
		die(STATUS_USAGE, "%s: %s: %s", option, path, strerror(errno));
	if (stat(real, &st) || !S_ISDIR(st.st_mode))
		die(STATUS_USAGE, "%s: %s is not a directory", option, path);
	return real;
}

/* DIR, or for the test beds HOSTDIR:GUESTDIR. */
static char *writable(const char *value)
{
	static const char * const own[] = { "/proc", "/sys", "/dev" };
	const char *colon = strstr(value, ":/");
	size_t i, len;
	char *host;

	if (colon)
		return text("%s:%s", directory("--rw", strndupa(value, colon - value)), colon + 1);
	host = directory("--rw", value);
	if (!strcmp(host, "/"))
		die(STATUS_USAGE, "--rw /: the guest lays its own files on the root; name directories of it");
	for (i = 0; i < 3; i++) {
		len = strlen(own[i]);
		if (!strncmp(host, own[i], len) && (host[len] == '/' || !host[len]))
			die(STATUS_USAGE, "--rw %s: the guest has a %s of its own", value, own[i]);
	}
	if (access(host, W_OK))
		die(STATUS_USAGE, "--rw %s: this user cannot write there", value);
	/* a name that contains ":/" would be split there */
	return text("%s:%s", host, host);
}

static const char *mem_size(const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (end == value || n == 0 || !strchr("KMGkmg", *end) || !*end || end[1] ||
	    value[0] == '-')
		die(STATUS_USAGE, "--mem takes a size such as 512M or 2G, not '%s'", value);
	return value;
}

static const char *netem_spec(const char *value)
{
	struct netem n;
	const char *why = netem_parse(value, &n);

	if (why)
		die(STATUS_USAGE, "--netem '%s': %s", value, why);
	return value;
}

enum { OPT_NODES = 256, OPT_EACH, OPT_RW, OPT_NETEM, OPT_ROOT, OPT_MEM, OPT_CPUS, OPT_TIMEOUT,
       OPT_NO_LINK, OPT_PROVIDER, OPT_NO_PROVIDER, OPT_RUNTIME, OPT_CHDIR, OPT_CMDLINE, OPT_LOG,
       OPT_LAYER, OPT_VERSION };

static const struct option longs[] = {
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "each", no_argument, NULL, OPT_EACH },
	{ "rw", required_argument, NULL, OPT_RW },
	{ "netem", required_argument, NULL, OPT_NETEM },
	{ "root", no_argument, NULL, OPT_ROOT },
	{ "mem", required_argument, NULL, OPT_MEM },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "no-link", no_argument, NULL, OPT_NO_LINK },
	{ "provider", required_argument, NULL, OPT_PROVIDER },
	{ "no-provider", no_argument, NULL, OPT_NO_PROVIDER },
	{ "runtime", required_argument, NULL, OPT_RUNTIME },
	{ "chdir", required_argument, NULL, OPT_CHDIR },
	{ "cmdline", required_argument, NULL, OPT_CMDLINE },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "layer", required_argument, NULL, OPT_LAYER },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void option(struct options *o, int c)
{
	switch (c) {
	case OPT_NODES: o->nodes = number("--nodes", optarg, 1, NODES_MAX); break;
	case OPT_CPUS: o->cpus = number("--cpus", optarg, 1, 64); break;
	case OPT_TIMEOUT: o->timeout = number("--timeout", optarg, 0, INT_MAX); break;
	case OPT_EACH: o->each = true; break;
	case OPT_ROOT: o->root = true; break;
	case OPT_NO_LINK: o->no_link = true; break;
	case OPT_NO_PROVIDER: o->no_provider = true; break;
	case OPT_RW: add(&o->rw, writable(optarg)); break;
	case OPT_LAYER: add(&o->layers, directory("--layer", optarg)); break;
	case OPT_NETEM: o->netem = netem_spec(optarg); break;
	case OPT_MEM: o->mem = mem_size(optarg); break;
	case OPT_PROVIDER: o->provider = directory("--provider", optarg); break;
	case OPT_RUNTIME: o->runtime = directory("--runtime", optarg); break;
	case OPT_LOG: o->log = directory("--log", optarg); break;
	case OPT_CHDIR: o->chdir = optarg; break;
	case OPT_CMDLINE: o->cmdline = optarg; break;
	case OPT_VERSION:
		puts("softmr-run " VERSION);
		exit(0);
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs("Try softmr run --help.\n", stderr);
		exit(STATUS_USAGE);
	}
}

void options_parse(struct options *o, int argc, char **argv)
{
	int c;

	*o = (struct options){ .nodes = 1, .cpus = 2 };
	argv[0] = (char *)"softmr-run";
	while ((c = getopt_long(argc, argv, "+h", longs, NULL)) != -1)
		option(o, c);
	if (optind == argc)
		die(STATUS_USAGE, "there is no COMMAND to run (see softmr run --help)");
	o->command = argv + optind;
}
