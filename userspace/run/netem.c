// SPDX-License-Identifier: GPL-2.0
#include "netem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32

struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {
	{ "us", 1e3 }, { "usec", 1e3 }, { "ms", 1e6 }, { "msec", 1e6 },
	{ "s", 1e9 }, { "sec", 1e9 }, { "ns", 1 }, { NULL, 0 },
};

/* In bytes per second */
static const struct unit rates[] = {
	{ "bit", 1 / 8.0 }, { "kbit", 1e3 / 8 }, { "mbit", 1e6 / 8 },
	{ "gbit", 1e9 / 8 }, { NULL, 0 },
};

static const struct unit chances[] = { { "%", UINT32_MAX / 100.0 }, { NULL, 0 } };
static const struct unit counts[] = { { "", 1 }, { NULL, 0 } };

static bool parse_number(const char *word, const struct unit *unit, double max,
			 double *value)
{
	char *end;
	double v;

	if (!word || !*word)
		return false;
	errno = 0;
	v = strtod(word, &end);
	if (errno || end == word || !(v >= 0))
		return false;
	for (; unit->name; unit++) {
		if (strcmp(end, unit->name))
			continue;
		*value = v * unit->factor;
		return *value <= max;
	}
	return false;
}

static const struct rule {
	const char *name, *example;
	const struct unit *units;
	double max;
} rules[] = {
	{ "loss", "1%", chances, UINT32_MAX },
	{ "duplicate", "1%", chances, UINT32_MAX },
	{ "corrupt", "0.1%", chances, UINT32_MAX },
	{ "reorder", "25%", chances, UINT32_MAX },
	{ "delay", "1ms", times, 3600e9 },
	{ "rate", "100mbit", rates, 1e15 },
	{ "limit", "1000", counts, INT32_MAX },
};

static void set(struct netem *n, const char *name, double v)
{
	if (!strcmp(name, "loss"))
		n->loss = v;
	else if (!strcmp(name, "duplicate"))
		n->duplicate = v;
	else if (!strcmp(name, "corrupt"))
		n->corrupt = v;
	else if (!strcmp(name, "reorder"))
		n->reorder = v;
	else if (!strcmp(name, "delay"))
		n->delay = v;
	else if (!strcmp(name, "rate"))
		n->rate = v;
	else
		n->limit = v;
}

static const struct rule *find_rule(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	return NULL;
}

const char *netem_parse(const char *spec, struct netem *n)
{
	static char why[160], copy[512];
	char *words[WORDS_MAX + 1] = { NULL }, *save, **w = words;
	const struct rule *rule;
	double v;
	int i;

	*n = (struct netem){ .limit = 1000 };
	if (snprintf(copy, sizeof(copy), "%s", spec) >= (int)sizeof(copy))
		return "it is too long";
	words[0] = strtok_r(copy, " \t\n", &save);
	for (i = 0; words[i] && i < WORDS_MAX - 1; i++)
		words[i + 1] = strtok_r(NULL, " \t\n", &save);
	if (!words[0])
		return "it is empty; an example: \"loss 1% delay 1ms\"";

	while (*w) {
		rule = find_rule(*w);
		if (!rule) {
			snprintf(why, sizeof(why), "it has '%.40s'; there are: "
				 "loss, duplicate, corrupt, reorder, delay, rate, limit",
				 *w);
			return why;
		}
		if (!parse_number(w[1], rule->units, rule->max, &v)) {
			snprintf(why, sizeof(why), "%s takes a value such as %s, not '%.40s'",
				 rule->name, rule->example, w[1] ? w[1] : "");
			return why;
		}
		set(n, rule->name, v);
		w += 2;
		/* by how much a delay varies */
		if (rule->units == times && parse_number(*w, times, n->delay, &v)) {
			n->jitter = v;
			w++;
		}
	}
	if (n->reorder && !n->delay)
		return "reorder needs a delay: packets overtake those that are delayed";
	return NULL;
}
