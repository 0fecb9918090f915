// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "run.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPUS_DEFAULT	2
#define CPUS_MAX	64

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

void list_add(char ***list, char *value)
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
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || *end || end == value || n < min || n > max)
		die(STATUS_USAGE, "--%s takes a number from %d to %d, not '%s'", option, min, max,
		    value);
	return n;
}

static char *directory(const char *option, const char *path)
{
	struct stat st;
	char *real = realpath(path, NULL);

	if (!real)
		die(STATUS_USAGE, "--%s: %s: %s", option, path, strerror(errno));
	if (stat(real, &st) || !S_ISDIR(st.st_mode))
		die(STATUS_USAGE, "--%s: %s is not a directory", option, path);
	return real;
}

/* -- the arguments of --rw and --at */

/* Check that a directory of the host can be mounted on this directory of the guest */
static void check_place(const char *option, const char *place)
{
	static const char * const own[] = { "/proc", "/sys", "/dev" };
	size_t i, len;

	if (!strcmp(place, "/"))
		die(STATUS_USAGE, "--%s /: the guest lays its own files on the root; name directories of it",
		    option);
	for (i = 0; i < 3; i++) {
		len = strlen(own[i]);
		if (!strncmp(place, own[i], len) && (place[len] == '/' || !place[len]))
			die(STATUS_USAGE, "--%s %s: the guest has a %s of its own", option, place,
			    own[i]);
	}
}

static void set_rw(struct options *o, char *value)
{
	char *host = directory("rw", value);

	list_add(&o->rw, host);
	list_add(&o->rw_at, host);
}

static void set_at(struct options *o, char *value)
{
	size_t n = strlen(value);
	char **last = o->rw_at;

	if (!last)
		die(STATUS_USAGE, "--at %s: there is no --rw before it", value);
	if (*value != '/' || strstr(value, "//") || strstr(value, "/./") || strstr(value, "/../") ||
	    (n > 1 && value[n - 1] == '/') || (n > 1 && !strcmp(value + n - 2, "/.")) ||
	    (n > 2 && !strcmp(value + n - 3, "/..")))
		die(STATUS_USAGE, "--at takes a plain absolute path such as /mnt/data, not '%s'", value);
	while (last[1])
		last++;
	*last = value;
}

/* -- values with a grammar of their own */

static void set_mem(struct options *o, char *value)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	int shift;

	errno = 0;
	o->mem = strtoull(value, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	shift = unit ? 10 * (unit - units + 1) : 0;
	if (errno || end == value || !unit || end[1] || value[0] == '-' || !o->mem ||
	    o->mem > ULLONG_MAX >> shift)
		die(STATUS_USAGE, "--mem takes a size such as 512M or 2G, not '%s'", value);
	o->mem <<= shift;
}

static void set_trace(struct options *o, char *value)
{
	char *name = strrchr(value, '/');

	o->trace = name ? name + 1 : value;
	o->trace_dir = directory("trace", name ? text("%.*s", (int)(name + 1 - value), value) : ".");
	if (!*o->trace)
		die(STATUS_USAGE, "--trace %s: that is no file", value);
}

static void show_version(struct options *o, char *value)
{
	(void)o;
	(void)value;
	puts("softmr-run " VERSION);
	exit(0);
}

/* -- the options; softmr.bash reads --help for completion */

enum kind {
	FLAG,		/* a bool */
	NUMBER,		/* an int, from min to max */
	TEXT,
	DIRECTORY,	/* an existing directory; its real path is stored */
	LIST,		/* a list of directories */
	OWN,		/* handled by set() */
};

#define AT(field)	.at = offsetof(struct options, field)

static const struct rule {
	const char *name;
	char letter;
	enum kind kind;
	size_t at;
	int min, max;
	void (*set)(struct options *o, char *value);
	const char *arg;	/* NULL: no argument */
	const char *help;
} rules[] = {
	{ "nodes", 'n', NUMBER, AT(nodes), 1, NODES_MAX, .arg = "N",
	  .help = "so many machines on one Ethernet segment (1); COMMAND runs on the first, and starts "
		  "what it wants on the others by softmr-node(1) or, as mpirun does, by softmr-rsh(1)" },
	{ "each", 0, FLAG, AT(each),
	  .help = "COMMAND runs on every node; each line of output begins with its node" },
	{ "rw", 0, OWN, .set = set_rw, .arg = "DIR",
	  .help = "what is written to DIR is written to this machine's (may be repeated)" },
	{ "at", 0, OWN, .set = set_at, .arg = "DIR",
	  .help = "the directory of the --rw before it is DIR in the guest" },
	{ "netem", 0, TEXT, AT(netem), .arg = "SPEC",
	  .help = "the network loses, delays or damages packets: \"loss 1% delay 1ms\"; takes tc(8) of this machine" },
	{ "trace", 0, OWN, .set = set_trace, .arg = "FILE",
	  .help = "write what happens on all links to FILE, a timeline for https://ui.perfetto.dev; takes "
		  "softmr trace, of this machine" },
	{ "root", 0, FLAG, AT(root),
	  .help = "be root in the guest (nothing that this user may not do on this machine)" },
	{ "mem", 0, OWN, .set = set_mem, .arg = "SIZE",
	  .help = "memory of the guest, such as 2G (1G, or less where there is no room for it)" },
	{ "cpus", 0, NUMBER, AT(cpus), 1, CPUS_MAX, .arg = "N",
	  .help = "processors of the guest (2)" },
	{ "timeout", 't', NUMBER, AT(timeout), 0, INT_MAX, .arg = "SECONDS",
	  .help = "end it after so long" },
	{ "no-link", 0, FLAG, AT(no_link),
	  .help = "make no softmr link; the module is loaded" },
	{ "provider", 0, DIRECTORY, AT(provider), .arg = "DIR",
	  .help = "take libsoftmr-rdmav*.so, the provider for libibverbs, from there" },
	{ "no-provider", 0, FLAG, AT(no_provider),
	  .help = "add no provider" },
	{ "with-verbs", 0, FLAG, AT(with_verbs),
	  .help = "add the runtime's own libibverbs and ibv_devinfo, ibv_rc_pingpong..., where this machine "
		  "has none" },
	{ "verbose", 'v', FLAG, AT(verbose),
	  .help = "say which libibverbs COMMAND has, and what was added for it" },
	{ "runtime", 0, DIRECTORY, AT(runtime), .arg = "DIR",
	  .help = "take the guest's kernel and modules from there, not from where it is installed" },
	{ "chdir", 0, TEXT, AT(chdir), .arg = "DIR",
	  .help = "run COMMAND in DIR, not in the directory of this process" },
	{ "cmdline", 0, TEXT, AT(cmdline), .arg = "ARGS",
	  .help = "more arguments for the guest's kernel" },
	{ "log", 0, DIRECTORY, AT(log), .arg = "DIR",
	  .help = "write there what the guest's kernel says: console.0 and dmesg.0" },
	{ "no-judge", 0, FLAG, AT(no_judge),
	  .help = "what the guest's kernel reports of itself (BUG, WARNING) is no failure" },
	{ "layer", 0, LIST, AT(layers), .arg = "DIR",
	  .help = "make the guest's root of such directories, lowest first, not of this machine's /" },
	{ "version", 'V', OWN, .set = show_version, .help = "show the version" },
};

#define RULES	(sizeof(rules) / sizeof(rules[0]))

static const char doc[] =
	"Run COMMAND, a program of this machine, where there is an RDMA device: in a User-Mode Linux guest whose root is this "
	"machine's file system. It takes no root, no kernel module, no KVM and no hardware. Status, signals, terminal, input "
	"and output are COMMAND's. What it writes is lost, but for --rw.\v"
	"In the guest NODE, NODES and SOFTMR_DEVICE (softmr0 on the first node) are in the environment; eth0 has "
	"10.0.0.<node> and fd00::<node>; the nodes are called node1, node2...\n\n"
	"Exit status: COMMAND's, or 128 and the number of the signal that ended it; with --each the first that is not 0; or, "
	"with a message, 123: the guest died, or its kernel reported an error of its own; 124: COMMAND still ran after "
	"--timeout seconds; 125: the guest could not be started. 126 and 127 are, as in a shell, a command that cannot be run, "
	"and one that is not there.";

static void apply(struct options *o, const struct rule *r, char *value)
{
	void *field = (char *)o + r->at;

	switch (r->kind) {
	case FLAG:
		*(bool *)field = true;
		break;
	case NUMBER:
		*(int *)field = number(r->name, value, r->min, r->max);
		break;
	case TEXT:
		*(const char **)field = value;
		break;
	case DIRECTORY:
		*(const char **)field = directory(r->name, value);
		break;
	case LIST:
		list_add(field, directory(r->name, value));
		break;
	case OWN:
		r->set(o, value);
		break;
	}
}

/* The key of an option is its letter, or 256 plus its place in the table. */
static error_t take(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;
	size_t i;

	if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	if (key == ARGP_KEY_ARGS) {
		o->command = state->argv + state->next;
		state->next = state->argc;
		return 0;
	}
	for (i = 0; key > 0 && i < RULES; i++) {
		if (key != 256 + (int)i && key != rules[i].letter)
			continue;
		apply(o, &rules[i], value);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* The directory in which the command runs */
static const char *working_dir(const char *chdir)
{
	char *cwd = getcwd(NULL, 0);

	if (chdir && *chdir == '/')
		return chdir;
	cwd = cwd ? cwd : text("/");
	return chdir ? text("%s/%s", cwd, chdir) : cwd;
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct argp_option table[RULES + 2] = { 0 };
	const struct argp argp = { .options = table, .parser = take, .args_doc = "COMMAND [ARG...]", .doc = doc };
	size_t i;

	*o = (struct options){ .nodes = 1 };
	for (i = 0; i < RULES; i++)
		table[i] = (struct argp_option){ rules[i].name, rules[i].letter ? rules[i].letter : 256 + (int)i,
						 rules[i].arg, 0, rules[i].help, 0 };
	table[i] = (struct argp_option){ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 };
	argp_err_exit_status = STATUS_USAGE;
	argv[0] = (char *)"softmr-run";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, o);
	if (!o->command)
		die(STATUS_USAGE, "there is no COMMAND to run (see softmr run --help)");
	if (o->trace) {
		list_add(&o->rw, (char *)o->trace_dir);
		list_add(&o->rw_at, (char *)GUEST_TRACE);
	}
	for (i = 0; o->rw_at && o->rw_at[i]; i++) {
		check_place(o->rw_at[i] == o->rw[i] ? "rw" : "at", o->rw_at[i]);
		if (access(o->rw[i], W_OK))
			die(STATUS_USAGE, "--rw %s: this user cannot write there", o->rw[i]);
	}
	o->dir = working_dir(o->chdir);
	o->cpus_asked = o->cpus;
	o->cpus = o->cpus ? o->cpus : CPUS_DEFAULT;
}
