/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices over netlink (RDMA_NL_NLDEV), as rdma(8) makes, lists and
 * removes them.
 *
 * Functions that return int return 0 or a negative errno.
 */
#ifndef SOFTMR_NLDEV_H
#define SOFTMR_NLDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_sock;
struct nlattr;

#define LINK_TYPE	"softmr"
#define RDMA_NAME_SIZE	64	/* with the 0; IB_DEVICE_NAME_MAX of the kernel */

/* An RDMA device as the kernel describes it */
struct rdma_dev {
	uint32_t index;		/* the kernel's number for it */
	char name[RDMA_NAME_SIZE];
	bool driver_known;	/* @driver is valid: the kernel has ib_uverbs */
	uint32_t driver;	/* enum rdma_driver_id, or SMR_DRIVER_ID */
	char netdev[16];	/* of port 1; empty: none, or it is in another network namespace */
	uint32_t netdev_index;	/* likewise; 0: none */
	uint8_t state;		/* of port 1, enum ib_port_state; 0: not known */
};

/* -EPROTONOSUPPORT: the kernel has no RDMA core, or it is not loaded. */
int nldev_open(struct nl_sock **sk);
void nldev_close(struct nl_sock *sk);

/* All devices that are visible here. The caller frees *devs. */
int nldev_list(struct nl_sock *sk, struct rdma_dev **devs, size_t *n);
/* Only those of softmr. */
int nldev_list_softmr(struct nl_sock *sk, struct rdma_dev **devs, size_t *n);
/* A device of any driver; -ENODEV: there is none of this name. */
int nldev_find(struct nl_sock *sk, const char *name, struct rdma_dev *dev);
bool nldev_is_softmr(const struct rdma_dev *dev);

int nldev_newlink(struct nl_sock *sk, const char *name, const char *netdev);
int nldev_dellink(struct nl_sock *sk, uint32_t index);
/* The attributes of one message of an answer */
typedef void (*answer_fn)(struct nlattr **tb, void *arg);
/* A device's objects of one kind, with the driver's details: @command is RDMA_NLDEV_CMD_RES_... */
int nldev_resources(struct nl_sock *sk, uint32_t dev, int command, answer_fn answer, void *arg);
int nldev_rename(struct nl_sock *sk, uint32_t index, const char *name);
/* Are devices shared by all network namespaces, or does each have its own? */
int nldev_netns_shared(struct nl_sock *sk, bool *shared);

#endif /* SOFTMR_NLDEV_H */
