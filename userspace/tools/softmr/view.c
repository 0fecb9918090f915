// SPDX-License-Identifier: GPL-2.0
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"
#include "util.h"

/* The values that grow while an object works. The names are those of the module. */
static const struct { enum object_kind kind; const char *name; } growing[] = {
	{ OBJECT_QP, "sent" },
	{ OBJECT_QP, "sent_bytes" },
	{ OBJECT_QP, "served" },
	{ OBJECT_QP, "served_bytes" },
	{ OBJECT_MR, "bytes" },
	{ OBJECT_MR, "faults" },
};

bool view_has(const struct view *view, enum object_kind kind, const struct object *object)
{
	return object->kind == kind && (!view->pid || view->pid == object->pid);
}

static double seconds(const struct view *view)
{
	return (double)(view->now->time - view->before->time) / 1e9;
}

/* How much a value has grown, per second */
static double amount(const struct view *view, const struct object *object, const char *name)
{
	uint64_t now = object_number(object, name), then;
	const struct object *old = objects_find(view->before, object);

	then = old ? object_number(old, name) : 0;
	/* another object has got the number meanwhile */
	if (then > now)
		then = 0;
	return (double)(now - then) / seconds(view);
}

double view_bytes(const struct view *view, const struct object *object)
{
	return amount(view, object, "sent_bytes") + amount(view, object, "served_bytes") +
	       amount(view, object, "bytes");
}

/* 999, 9.9k, 99M: at most 5 characters */
static const char *human(double n, char *to, size_t size)
{
	static const char units[] = " kMGTPE";
	size_t i = 0;

	while (n >= 999.5 && i < sizeof(units) - 2) {
		n /= 1000;
		i++;
	}
	if (!i || n >= 9.95)
		snprintf(to, size, i ? "%.0f%c" : "%.0f", n, units[i]);
	else
		snprintf(to, size, "%.1f%c", n, units[i]);
	return to;
}

#define HUMAN(n)	human(n, (char[16]){}, 16)

/* The form in which ibv programs and logs print the numbers of QPs */
static const char *hex(uint32_t n, char *to, size_t size)
{
	if (n)
		snprintf(to, size, "%#x", n);
	else
		strncpy(to, "-", size);
	return to;
}

#define HEX(n)		hex(n, (char[16]){}, 16)

char *view_head(enum object_kind kind)
{
	switch (kind) {
	case OBJECT_QP:
		return strf("%-10s %-8s %-7s %-5s %-8s %6s %6s %6s %6s %5s %5s %5s %5s %5s %-12s %s",
			    "LINK", "QP", "TYPE", "STATE", "PEER", "SENT/s", "OUT/s", "SERV/s", "IN/s",
			    "WIND", "UNACK", "RETRY", "RNR", "FAULT", "WAITS FOR", "PROCESS");
	case OBJECT_MR:
		return strf("%-10s %-8s %-10s %6s %7s %7s %7s %7s %s", "LINK", "MR", "MEMORY", "LENGTH",
			    "USED/s", "FAULT/s", "PRESENT", "WINDOWS", "PROCESS");
	default:
		return strf("%-10s %-8s %6s %7s %5s %7s %s", "LINK", "CQ", "SIZE",
			    "WAITING", "ARMED", "OVERRUN", "PROCESS");
	}
}

static char *process(const struct object *o)
{
	return o->pid ? strf("%s[%u]", *o->comm ? o->comm : "?", o->pid) :
			strf("[%s]", *o->comm ? o->comm : "?");
}

/*
 * What a QP waits for: its send side, and after a comma the side that answers. For a QP in error:
 * the reason
 */
static char *waits(const struct object *qp)
{
	const char *send = object_text(qp, "sq_waits_for");
	const char *answer = object_text(qp, "rq_waits_for");
	const char *reason = object_text(qp, "reason");

	if (!strcmp(object_state(qp), "ERR") && reason)
		return copy(reason);
	if (answer)
		return strf("%s,%s", send ? send : "-", answer);
	return copy(send ? send : "-");
}

static char *qp_line(const struct view *view, const struct object *o, const char *who)
{
	double faults = (double)(object_number(o, "sq_faults") + object_number(o, "rq_faults"));
	double rnr = (double)(object_number(o, "rnr_rx") + object_number(o, "rnr_tx"));
	char *waiting = waits(o), *line;

	line = strf("%-10s %-8s %-7s %-5s %-8s %6s %6s %6s %6s %5s %5s %5s %5s %5s %-12s %s",
		    o->dev->name, HEX(o->id), object_type(o), object_state(o), HEX(o->peer),
		    HUMAN(amount(view, o, "sent")), HUMAN(amount(view, o, "sent_bytes")),
		    HUMAN(amount(view, o, "served")), HUMAN(amount(view, o, "served_bytes")),
		    HUMAN((double)object_number(o, "window")),
		    HUMAN((double)object_number(o, "unacked")),
		    HUMAN((double)object_number(o, "retransmits")), HUMAN(rnr), HUMAN(faults),
		    waiting, who);
	free(waiting);
	return line;
}

static char *mr_line(const struct view *view, const struct object *o, const char *who)
{
	const char *memory = object_text(o, "memory");

	return strf("%-10s %-8u %-10s %6s %7s %7s %7s %7s %s", o->dev->name, o->id,
		    memory ? memory : "-", HUMAN((double)o->size),
		    HUMAN(amount(view, o, "bytes")), HUMAN(amount(view, o, "faults")),
		    HUMAN((double)object_number(o, "present_bytes")),
		    HUMAN((double)object_number(o, "windows")), who);
}

static char *cq_line(const struct object *o, const char *who)
{
	return strf("%-10s %-8u %6s %7s %5s %7s %s", o->dev->name, o->id,
		    HUMAN((double)o->size), HUMAN((double)object_number(o, "pending")),
		    object_number(o, "armed") ? "yes" : "no",
		    object_number(o, "overrun") ? "yes" : "no", who);
}

char *view_line(const struct view *view, const struct object *object)
{
	char *who = process(object), *line;

	switch (object->kind) {
	case OBJECT_QP:
		line = qp_line(view, object, who);
		break;
	case OBJECT_MR:
		line = mr_line(view, object, who);
		break;
	default:
		line = cq_line(object, who);
	}
	free(who);
	return line;
}

static void add_rates(struct json_object *to, const struct view *view, const struct object *object)
{
	struct json_object *rates = out_object();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(growing); i++)
		if (growing[i].kind == object->kind)
			out_number(rates, growing[i].name,
				   (unsigned long long)amount(view, object, growing[i].name));
	out_add(to, "per_second", rates);
}

struct json_object *view_json(const struct view *view, const struct object *object)
{
	struct json_object *o = out_object();
	size_t i;

	out_string(o, "link", object->dev->name);
	out_number(o, object_kind_name(object->kind), object->id);
	if (object->kind == OBJECT_QP) {
		out_string(o, "type", object_type(object));
		out_string(o, "state", object_state(object));
		out_number(o, "peer_qp", object->peer);
	} else {
		out_number(o, object->kind == OBJECT_MR ? "length" : "cqe", object->size);
	}
	out_number(o, "pid", object->pid);
	out_string(o, "command", object->comm);
	for (i = 0; i < object->nr; i++) {
		const struct detail *d = &object->details[i];

		if (*d->text)
			out_string(o, d->name, d->text);
		else
			out_number(o, d->name, d->number);
	}
	add_rates(o, view, object);
	return o;
}
