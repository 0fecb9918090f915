// SPDX-License-Identifier: GPL-2.0
/*
 * softmr-run: run a program of this machine in a guest that has an RDMA device.
 */
#define _GNU_SOURCE
#include "run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * If the caller has closed one of the files 0 to 2, our own files must not get
 * that number.
 */
static void open_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd < 3);
	if (fd >= 0)
		close(fd);
}

/*
 * Without working seccomp filters, the kernel can use ptrace, on one processor.
 */
static bool lacks_seccomp(const struct guest *g, const struct result *r)
{
	char *console;
	bool lacks;

	if (r->outcome != RUN_NO_BOOT)
		return false;
	console = guest_console(g);
	lacks = strstr(console, "SECCOMP userspace requested but not functional");
	free(console);
	return lacks;
}

static void run_guest(struct guest *g, const struct options *o, const char *runtime,
		      struct result *r)
{
	struct wire_buf job = { 0 };
	struct terminal t;

	terminal_look(o, &t);
	job_write(&job, o, runtime, &t);
	guest_start(g, o, runtime);
	relay_run(g, o, &t, &job, r);
	free(job.data);
}

int main(int argc, char **argv)
{
	static struct options o;
	static struct result r;
	struct guest g;
	const char *runtime;

	open_standard_files();
	options_parse(&o, argc, argv);
	runtime = runtime_find(&o);
	relay_init();
	run_guest(&g, &o, runtime, &r);
	if (lacks_seccomp(&g, &r)) {
		if (o.cpus_asked > 1)
			say("seccomp filters may not be used here, so the guest has one processor, not %d",
			    o.cpus_asked);
		o.ptrace = true;
		o.cpus = 1;
		run_guest(&g, &o, runtime, &r);
	}
	return judge(&g, &o, runtime, &r);
}
