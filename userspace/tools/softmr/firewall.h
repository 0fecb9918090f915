/* SPDX-License-Identifier: GPL-2.0 */
/* Does a firewall on this machine block RoCEv2? */
#ifndef SOFTMR_FIREWALL_H
#define SOFTMR_FIREWALL_H

enum door {
	DOOR_OPEN,
	DOOR_MAYBE,	/* it cannot be decided here */
	DOOR_SHUT,
	DOOR_UNSEEN,	/* the rules cannot be read */
};

/* The effect of the rules on UDP port 4791 */
struct firewall {
	enum door door;
	char *what;	/* the verdict in words */
	char *todo;	/* the command that opens it, or NULL */
};

/* @netdev: that receives and sends the packets, or NULL */
void firewall_read(struct firewall *fw, const char *netdev);
void firewall_free(struct firewall *fw);

#endif /* SOFTMR_FIREWALL_H */
