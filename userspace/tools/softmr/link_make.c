// SPDX-License-Identifier: GPL-2.0
/* Make or remove one link, and explain failures. */
#include "link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "nldev.h"
#include "udp_port.h"
#include "util.h"

#define FAILS	"cannot make link %s on %s: "

/* -- why it fails */

static void explain_exists(struct nl_sock *sk, const char *name, const char *netdev)
{
	struct rdma_dev *devs = NULL;
	size_t n = 0, i = 0;

	if (!nldev_list_softmr(sk, &devs, &n))
		while (i < n && strcmp(devs[i].netdev, netdev))
			i++;
	if (i < n)
		complain(FAILS "%s has the softmr link %s already; to remove it: softmr link del %s",
			 name, netdev, netdev, devs[i].name, devs[i].name);
	else
		complain(FAILS "the netdev has a softmr link, or the name is in use; see: rdma link",
			 name, netdev);
	free(devs);
}

static void explain_port(const char *name, const char *netdev)
{
	struct udp_port port;

	udp_port_read(&port);
	if (port.holder == HOLDER_PROCESS)
		complain(FAILS "process %d (%s) has UDP port %d, which RoCEv2 needs; end it first",
			 name, netdev, port.pid, port.command ? port.command : "?",
			 ROCE_PORT);
	else if (exists("/sys/module/rdma_rxe"))
		complain(FAILS "rdma_rxe has UDP port %d; remove its links, and: modprobe -r rdma_rxe",
			 name, netdev, ROCE_PORT);
	else
		complain(FAILS "another driver has UDP port %d, which RoCEv2 needs; see: softmr doctor",
			 name, netdev, ROCE_PORT);
	udp_port_free(&port);
}

static void explain(struct nl_sock *sk, const char *name, const char *netdev, int err)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{ EPERM, "only root may (CAP_NET_ADMIN in the first user namespace); use sudo" },
		{ ENODEV, "there is no netdev of that name here; see: ip link" },
		{ ENOTUNIQ, "an RDMA device has that name already; see: rdma dev" },
		{ ENETUNREACH, "the netdev is in a VRF, whose packets reach softmr only after: sysctl net.ipv4.udp_l3mdev_accept=1" },
		{ EMEDIUMTYPE, "the netdev carries neither Ethernet frames nor plain IP packets, so RoCEv2 cannot be spoken over it" },
		{ EBUSY, "the netdev is busy; try again" },
		{ ENOMEM, "the kernel has no memory for it" },
		{ EOPNOTSUPP, "the netdev is a VLAN; make the link on its lower netdev (the kernel log names it), which has the VLAN's addresses, too" },
		{ EPROTONOSUPPORT, "the kernel's RDMA core is not there (CONFIG_INFINIBAND); see: softmr doctor" },
	};
	size_t i;

	if (err == EEXIST)
		return explain_exists(sk, name, netdev);
	if (err == EADDRINUSE)
		return explain_port(name, netdev);
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			break;
	complain(FAILS "%s", name, netdev,
		 i < ARRAY_SIZE(reasons) ? reasons[i].why : strerror(err));
}

/*
 * The kernel loads the module by itself, and only returns EINVAL if that fails.
 * modprobe says why. Returns 0 if the module is loaded now.
 */
static int load_module(const char *name, const char *netdev)
{
	char *argv[] = { (char *)"modprobe", (char *)LINK_TYPE, NULL };
	struct ran ran;

	run(&ran, argv);
	if (ran.status == 127)
		complain(FAILS "the module is not loaded, and there is no modprobe; install the package kmod",
			 name, netdev);
	else if (ran.status)
		complain(FAILS "the module cannot be loaded (%s); see: softmr doctor",
			 name, netdev, ran_says(&ran));
	ran_free(&ran);
	return ran.status;
}

/* -- make and remove */

int link_make(const char *name, const char *netdev)
{
	struct nl_sock *sk;
	int ret;

	ret = nldev_open(&sk);
	if (!ret) {
		ret = nldev_newlink(sk, name, netdev);
		if (ret == -EINVAL && !exists("/sys/module/" LINK_TYPE)) {
			if (load_module(name, netdev)) {
				nldev_close(sk);
				return EXIT_PROBLEM;
			}
			ret = nldev_newlink(sk, name, netdev);
		}
	}
	if (ret)
		explain(sk, name, netdev, -ret);
	nldev_close(sk);
	return ret ? EXIT_PROBLEM : EXIT_OK;
}

/* Print the existing links: the user may have meant one of them. */
static void explain_missing(struct nl_sock *sk, const char *name)
{
	struct rdma_dev *devs = NULL;
	char *names = copy("");
	size_t n = 0, i;

	if (!nldev_list_softmr(sk, &devs, &n))
		for (i = 0; i < n; i++) {
			char *longer = strf("%s%s%s", names, i ? ", " : "", devs[i].name);

			free(names);
			names = longer;
		}
	if (n)
		complain("there is no link %s; there are: %s", name, names);
	else
		complain("there is no link %s, nor any other of softmr", name);
	free(names);
	free(devs);
}

static int remove_one(struct nl_sock *sk, const char *name)
{
	struct rdma_dev dev;
	int ret = nldev_find(sk, name, &dev);

	if (ret == -ENODEV) {
		explain_missing(sk, name);
		return EXIT_PROBLEM;
	}
	if (!ret && !nldev_is_softmr(&dev)) {
		complain("%s is not a link of softmr; to remove it: rdma link del %s",
			 name, name);
		return EXIT_PROBLEM;
	}
	if (!ret)
		ret = nldev_dellink(sk, dev.index);
	if (!ret)
		return EXIT_OK;
	complain("cannot remove link %s: %s%s", name, strerror(-ret),
		 ret == -EPERM ? "; only root may, use sudo" : "");
	return EXIT_PROBLEM;
}

int link_remove(const char *name)
{
	struct nl_sock *sk;
	int ret = nldev_open(&sk);

	if (ret) {
		complain(ret == -EPROTONOSUPPORT ? "there is no link %s: the kernel's RDMA core is not loaded" :
						   "cannot remove link %s: %s", name, strerror(-ret));
		return EXIT_PROBLEM;
	}
	ret = remove_one(sk, name);
	nldev_close(sk);
	return ret;
}
