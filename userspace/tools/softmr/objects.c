// SPDX-License-Identifier: GPL-2.0
#include "objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

#include "util.h"
#include "whys.h"
#include "why_text.h"

/* How the RDMA core describes a kind of object */
static const struct kind {
	const char *name;	/* in JSON */
	int command;		/* the netlink command */
	int table;
	int entry;		/* an object in the list */
	int id;
	int size;		/* its size, if it has one */
} kinds[OBJECT_KINDS] = {
	[OBJECT_QP] = { "qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
			RDMA_NLDEV_ATTR_RES_QP_ENTRY, RDMA_NLDEV_ATTR_RES_LQPN, 0 },
	[OBJECT_MR] = { "mr", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
			RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN,
			RDMA_NLDEV_ATTR_RES_MRLEN },
	[OBJECT_CQ] = { "cq", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
			RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN,
			RDMA_NLDEV_ATTR_RES_CQE },
};

/* An answer that is being read */
struct reading {
	struct objects *all;	/* the list that gets the objects */
	const struct rdma_dev *dev;
	enum object_kind kind;
};

static uint64_t number_of(struct nlattr *attr)
{
	if (!attr)
		return 0;
	switch (nla_len(attr)) {
	case 1:
		return nla_get_u8(attr);
	case 4:
		return nla_get_u32(attr);
	case 8:
		return nla_get_u64(attr);
	default:
		return 0;
	}
}

static struct detail *add_detail(struct object *object, const char *name)
{
	struct detail *d;

	object->details = one_more(object->details, object->nr, sizeof(*d));
	d = &object->details[object->nr++];
	*d = (struct detail){};
	strncpy(d->name, name, sizeof(d->name) - 1);
	return d;
}

/* A sequence of: a name, optionally a print type, and the value */
static void read_details(struct object *object, struct nlattr *driver)
{
	struct detail *d = NULL;
	struct nlattr *attr;
	int rest;

	nla_for_each_nested(attr, driver, rest) {
		int type = nla_type(attr);

		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING && !d) {
			d = add_detail(object, nla_get_string(attr));
			continue;
		}
		if (type == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE || !d)
			continue;
		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING)
			strncpy(d->text, nla_get_string(attr), sizeof(d->text) - 1);
		else
			d->number = number_of(attr);
		d = NULL;
	}
}

static void read_command(struct object *object, struct nlattr *module)
{
	char *comm = NULL;

	if (module)
		comm = copy(nla_get_string(module));
	else if (object->pid)
		comm = read_text("/proc/%u/comm", object->pid);
	if (comm)
		strncpy(object->comm, comm, sizeof(object->comm) - 1);
	free(comm);
}

static void read_object(struct reading *r, struct nlattr *entry)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX] = {};
	const struct kind *kind = &kinds[r->kind];
	struct object *to;

	if (nla_parse_nested(tb, RDMA_NLDEV_ATTR_MAX - 1, entry, NULL) < 0 || !tb[kind->id])
		return;
	r->all->list = one_more(r->all->list, r->all->nr, sizeof(*to));
	to = &r->all->list[r->all->nr++];
	*to = (struct object){
		.kind = r->kind,
		.dev = r->dev,
		.id = (uint32_t)number_of(tb[kind->id]),
		.peer = (uint32_t)number_of(tb[RDMA_NLDEV_ATTR_RES_RQPN]),
		.type = (uint8_t)number_of(tb[RDMA_NLDEV_ATTR_RES_TYPE]),
		.state = (uint8_t)number_of(tb[RDMA_NLDEV_ATTR_RES_STATE]),
		.size = kind->size ? number_of(tb[kind->size]) : 0,
		.pid = (uint32_t)number_of(tb[RDMA_NLDEV_ATTR_RES_PID]),
	};
	read_command(to, tb[RDMA_NLDEV_ATTR_RES_KERN_NAME]);
	if (tb[RDMA_NLDEV_ATTR_DRIVER])
		read_details(to, tb[RDMA_NLDEV_ATTR_DRIVER]);
}

static void take_table(struct nlattr **tb, void *arg)
{
	struct reading *r = arg;
	struct nlattr *table = tb[kinds[r->kind].table], *entry;
	int rest;

	if (!table)
		return;
	nla_for_each_nested(entry, table, rest)
		read_object(r, entry);
}

static int read_all(struct objects *all, struct nl_sock *sk, const char *link)
{
	bool found = !link;
	struct reading r;
	size_t i;
	int ret;

	for (r.kind = 0; r.kind < OBJECT_KINDS; r.kind++) {
		for (i = 0; i < all->nr_devs; i++) {
			if (link && strcmp(link, all->devs[i].name))
				continue;
			found = true;
			r.all = all;
			r.dev = &all->devs[i];
			ret = nldev_resources(sk, r.dev->index, kinds[r.kind].command,
					      take_table, &r);
			/* the link was removed meanwhile */
			if (ret == -EINVAL || ret == -ENODEV)
				continue;
			if (ret)
				return ret;
		}
	}
	return found ? 0 : -ENODEV;
}

int objects_read(struct objects *all, const char *link)
{
	struct timespec now;
	struct nl_sock *sk;
	int ret;

	*all = (struct objects){};
	ret = nldev_open(&sk);
	if (ret)
		return ret;
	ret = nldev_list_softmr(sk, &all->devs, &all->nr_devs);
	clock_gettime(CLOCK_MONOTONIC, &now);
	all->time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (!ret)
		ret = read_all(all, sk, link);
	nldev_close(sk);
	if (!ret && all->nr)
		qsort(all->list, all->nr, sizeof(*all->list), object_compare);
	if (ret)
		objects_free(all);
	return ret;
}

void objects_complain(int err, const char *link)
{
	if (err == -ENODEV)
		complain("there is no link '%s'; see: softmr link list", link);
	else if (err == -EPROTONOSUPPORT)
		complain("the kernel's RDMA core is not loaded; see: softmr doctor");
	else
		complain("cannot ask the RDMA core: %s", strerror(-err));
}

void objects_free(struct objects *all)
{
	size_t i;

	for (i = 0; i < all->nr; i++)
		free(all->list[i].details);
	free(all->list);
	free(all->devs);
	*all = (struct objects){};
}

static struct detail *find(const struct object *object, const char *name)
{
	size_t i;

	for (i = 0; i < object->nr; i++)
		if (!strcmp(object->details[i].name, name))
			return &object->details[i];
	return NULL;
}

uint64_t object_number(const struct object *object, const char *name)
{
	const struct detail *d = find(object, name);

	return d ? d->number : 0;
}

const char *object_text(const struct object *object, const char *name)
{
	const struct detail *d = find(object, name);

	return d && *d->text ? d->text : NULL;
}

const char *object_type(const struct object *qp)
{
	/* enum ib_qp_type */
	static const char *const names[] = {
		[1] = "GSI", [2] = "RC", [3] = "UC", [4] = "UD",
		[8] = "RAW", [9] = "XRC_INI", [10] = "XRC_TGT",
	};

	return qp->type < ARRAY_SIZE(names) && names[qp->type] ? names[qp->type] : "?";
}

const char *object_state(const struct object *qp)
{
	/* enum ib_qp_state */
	static const char *const names[] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
	};

	return qp->state < ARRAY_SIZE(names) ? names[qp->state] : "?";
}

const char *object_kind_name(enum object_kind kind)
{
	return kinds[kind].name;
}

int object_compare(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->dev->index != y->dev->index)
		return x->dev->index < y->dev->index ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

const struct object *objects_find(const struct objects *all, const struct object *object)
{
	return all->nr ? bsearch(object, all->list, all->nr, sizeof(*object),
				 object_compare) : NULL;
}

/* The number of a destroyed QP may belong to another QP now, even of the same process. */
static struct object *refused_qp(struct objects *all, const struct refusal *r)
{
	size_t i;

	for (i = 0; i < all->nr && r->rec.qpn && !r->ended; i++)
		if (all->list[i].kind == OBJECT_QP && all->list[i].id == r->rec.qpn &&
		    all->list[i].dev->index == r->dev)
			return &all->list[i];
	return NULL;
}

static void add_reason(struct object *qp, const struct smr_why_info *info)
{
	struct detail *d = find(qp, "reason");

	if (!d)
		d = add_detail(qp, "reason");
	strncpy(d->text, info->name, sizeof(d->text) - 1);
}

void objects_add_reasons(struct objects *all)
{
	struct refusal *list = NULL;
	struct nl_sock *sk;
	size_t i, n = 0;
	int family;

	if (whys_open(&sk, &family))
		return;
	if (!whys_list(sk, family, &list, &n)) {
		for (i = 0; i < n; i++) {
			const struct smr_why_info *info = smr_why_info(list[i].rec.id);
			struct object *qp = refused_qp(all, &list[i]);

			if (qp && info)
				add_reason(qp, info);
		}
	}
	free(list);
	whys_close(sk);
}

void objects_watch(void)
{
	struct nl_sock *sk;
	int family;

	if (whys_open(&sk, &family))
		return;
	whys_watch(sk, family);
	whys_close(sk);
}
