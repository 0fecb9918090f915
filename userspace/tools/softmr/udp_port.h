/* SPDX-License-Identifier: GPL-2.0 */
/* The holder of RoCEv2's UDP port in this network namespace. */
#ifndef SOFTMR_UDP_PORT_H
#define SOFTMR_UDP_PORT_H

#include <stdbool.h>

#define ROCE_PORT	4791

enum holder {
	HOLDER_NONE,
	HOLDER_PROCESS,		/* a process, which has a file descriptor for it */
	HOLDER_KERNEL,		/* no process has one, so it is a driver */
	HOLDER_HIDDEN,		/* this user may not see whether a process has one */
};

/* The holder of the port */
struct udp_port {
	enum holder holder;
	int pid;	/* of the process */
	char *command;
};

void udp_port_read(struct udp_port *port);
void udp_port_free(struct udp_port *port);

#endif /* SOFTMR_UDP_PORT_H */
