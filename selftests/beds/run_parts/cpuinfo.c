// SPDX-License-Identifier: GPL-2.0
/*
 * cpuinfo CPUS: the /proc/cpuinfo that a guest of softmr-run would have on
 * this machine, if it was asked for so many processors, and the host's has one
 * record of these lines. In a mount namespace of its own.
 */
#include "root.c"

int main(int argc, char **argv)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "cpus=%s%ccpuinfo=processor\t: 7\nmodel name\t: processor X\n"
			   "cpu MHz\t\t: 2000.000\nsiblings\t: 96\ncore id\t\t: 5\ncpu cores\t: 48\n", argv[1], 0);
	const struct job job = { text, len + 1 };

	if (argc != 2)
		return 2;
	show_cpuinfo(&job);
	execlp("cat", "cat", "/proc/cpuinfo", NULL);
	return 1;
}
