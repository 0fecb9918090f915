/* SPDX-License-Identifier: GPL-2.0 */
/* Does a firewall on this machine keep RoCEv2 out? */
#ifndef SOFTMR_FIREWALL_H
#define SOFTMR_FIREWALL_H

enum door {
	DOOR_OPEN,
	DOOR_MAYBE,	/* it depends on what cannot be known here */
	DOOR_SHUT,
	DOOR_UNSEEN,	/* the rules cannot be read */
};

/**
 * struct firewall - what the rules do to UDP port 4791
 * @door: the verdict
 * @what: in words
 * @todo: the command that opens it, or NULL
 */
struct firewall {
	enum door door;
	char *what;
	char *todo;
};

/* @netdev: where packets come and go, or NULL */
void firewall_read(struct firewall *fw, const char *netdev);
void firewall_free(struct firewall *fw);

#endif /* SOFTMR_FIREWALL_H */
