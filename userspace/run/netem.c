// SPDX-License-Identifier: GPL-2.0
#include "netem.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 64

/* Units mean the same as in tc, and their case is ignored as in tc. */
struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {
	{ "", 1e3 }, { "us", 1e3 }, { "usec", 1e3 }, { "usecs", 1e3 },
	{ "ms", 1e6 }, { "msec", 1e6 }, { "msecs", 1e6 },
	{ "s", 1e9 }, { "sec", 1e9 }, { "secs", 1e9 },
	{ "ns", 1 }, { "nsec", 1 }, { "nsecs", 1 }, { NULL, 0 },
};

/* In bytes per second */
static const struct unit rates[] = {
	{ "", 1 / 8.0 }, { "bit", 1 / 8.0 },
	{ "kbit", 1e3 / 8 }, { "mbit", 1e6 / 8 }, { "gbit", 1e9 / 8 }, { "tbit", 1e12 / 8 },
	{ "kibit", 1024 / 8 }, { "mibit", 1048576 / 8 }, { "gibit", 1073741824 / 8 },
	{ "bps", 1 }, { "kbps", 1e3 }, { "mbps", 1e6 }, { "gbps", 1e9 }, { "tbps", 1e12 },
	{ "kibps", 1024 }, { "mibps", 1048576 }, { "gibps", 1073741824 }, { NULL, 0 },
};

/* Relative to 1 */
static const struct unit chances[] = { { "%", 0.01 }, { NULL, 0 } };
static const struct unit counts[] = { { "", 1 }, { NULL, 0 } };

static bool parse_number(const char *word, const struct unit *unit, double max, double *value)
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
		if (strcasecmp(end, unit->name))
			continue;
		*value = v * unit->factor;
		return *value <= max;
	}
	return false;
}

enum kind {
	CHANCE,		/* [random] CHANCE [CORRELATION] */
	DELAY,		/* TIME [JITTER [CORRELATION]] */
	RATE,
	COUNT,
	FLAG,
};

#define AT(field) offsetof(struct netem, field)

static const struct rule {
	const char *name, *example;
	enum kind kind;
	size_t at;
} rules[] = {
	{ "loss", "1%", CHANCE, AT(loss) },
	{ "drop", "1%", CHANCE, AT(loss) },
	{ "duplicate", "1%", CHANCE, AT(duplicate) },
	{ "corrupt", "0.1%", CHANCE, AT(corrupt) },
	{ "reorder", "25%", CHANCE, AT(reorder) },
	{ "gap", "5", COUNT, AT(gap) },
	{ "delay", "1ms", DELAY, AT(delay) },
	{ "latency", "1ms", DELAY, AT(delay) },
	{ "rate", "100mbit", RATE, AT(rate) },
	{ "limit", "1000", COUNT, AT(limit) },
	{ "ecn", "", FLAG, AT(ecn) },
};

#define TIME_MAX 3600e9

static bool parse_chance(const char *word, uint32_t *chance)
{
	double v;

	if (!parse_number(word, chances, 1, &v))
		return false;
	*chance = v * UINT32_MAX;
	return true;
}

/* Each function takes the words of a rule's value. Returns how many it took, 0 if they are wrong */
static int take_chance(char **w, const struct rule *rule, struct netem_chance *c)
{
	/* "random" is the only model of loss that is supported */
	int n = rule->at == AT(loss) && *w && !strcmp(*w, "random");

	if (!parse_chance(w[n], &c->chance))
		return 0;
	n++;
	return n + parse_chance(w[n], &c->correlation);
}

static int take_delay(char **w, struct netem *n)
{
	double v;

	if (!parse_number(w[0], times, TIME_MAX, &v))
		return 0;
	n->delay = v;
	/* the variation */
	if (!parse_number(w[1], times, TIME_MAX, &v))
		return 1;
	n->jitter = v;
	return 2 + parse_chance(w[2], &n->delay_correlation);
}

static int take_value(char **w, const struct rule *rule, struct netem *n)
{
	void *field = (char *)n + rule->at;
	double v;

	switch (rule->kind) {
	case CHANCE:
		return take_chance(w, rule, field);
	case DELAY:
		return take_delay(w, n);
	case RATE:
		if (!parse_number(*w, rates, 1e15, &v))
			return 0;
		*(uint64_t *)field = v;
		return 1;
	case COUNT:
		if (!parse_number(*w, counts, INT32_MAX, &v))
			return 0;
		*(uint32_t *)field = v;
		return 1;
	case FLAG:
		break;
	}
	return 0;
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
	static char why[192], copy[512];
	char *words[WORDS_MAX + 3] = { NULL }, *save, **w = words;
	const struct rule *rule;
	int i, taken;

	*n = (struct netem){ .limit = 1000 };
	if (snprintf(copy, sizeof(copy), "%s", spec) >= (int)sizeof(copy))
		return "it is too long";
	words[0] = strtok_r(copy, " \t\n", &save);
	for (i = 0; words[i] && i < WORDS_MAX; i++)
		words[i + 1] = strtok_r(NULL, " \t\n", &save);
	if (i == WORDS_MAX)
		return "it is too long";
	if (!words[0])
		return "it is empty; an example: \"loss 1% delay 1ms\"";

	while (*w) {
		rule = find_rule(*w++);
		if (!rule) {
			snprintf(why, sizeof(why), "it has '%.40s'; there are: loss, duplicate, corrupt, "
				 "reorder, gap, delay, rate, limit, ecn", w[-1]);
			return why;
		}
		if (rule->kind == FLAG) {
			n->ecn = true;
			continue;
		}
		taken = take_value(w, rule, n);
		if (!taken) {
			snprintf(why, sizeof(why), "%s takes a value such as %s, not '%.40s'",
				 rule->name, rule->example, *w ? *w : "");
			return why;
		}
		w += taken;
	}
	if (n->reorder.chance && !n->delay)
		return "reorder needs a delay: packets overtake those that are delayed";
	if (n->gap && !n->reorder.chance)
		return "gap needs reorder: it says which packets may overtake others";
	if (n->ecn && !n->loss.chance)
		return "ecn needs loss: packets are marked in place of being lost";
	return NULL;
}
