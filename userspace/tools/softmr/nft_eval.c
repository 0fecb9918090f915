// SPDX-License-Identifier: GPL-2.0
#include "nft_eval.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "udp_port.h"
#include "util.h"

#define MAX_DEPTH	16	/* of jumps; nf_tables has this limit too */
/* Values as nft prints them where it knows no name */
#define IPPROTO_UDP_TEXT "17"
#define CT_STATE_NEW	"8"
/* No netdev has a name with a slash. */
#define UNKNOWN_NETDEV	"/"

enum match {
	MATCH_NO,
	MATCH_YES,
	MATCH_MAYBE,
};

/**
 * struct eval - a packet on its way through the rules
 * @rules: all there is: tables, chains, rules, sets
 * @family: of the chain under way
 * @table: likewise
 * @netdev: where the packet comes from or goes to, or UNKNOWN_NETDEV
 * @version: 4 or 6
 * @out: it is sent, not received
 */
struct eval {
	struct json_object *rules;
	const char *family;
	const char *table;
	const char *netdev;
	int version;
	bool out;
};

static struct json_object *get(struct json_object *obj, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(obj, json_type_object))
		json_object_object_get_ex(obj, key, &value);
	return value;
}

static const char *get_text(struct json_object *obj, const char *key)
{
	struct json_object *value = get(obj, key);

	return value ? json_object_get_string(value) : "";
}

static bool is(struct json_object *obj, const char *key, const char *text)
{
	return !strcmp(get_text(obj, key), text);
}

static size_t length(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ?
		       json_object_array_length(list) : 0;
}

static enum match not(enum match match)
{
	if (match == MATCH_MAYBE)
		return match;
	return match == MATCH_YES ? MATCH_NO : MATCH_YES;
}

static enum match yes_if(bool yes)
{
	return yes ? MATCH_YES : MATCH_NO;
}

/* -- the packet's side of a comparison */

/*
 * What the packet has: up to two spellings of one value. Neither: not known;
 * @none: the packet has no such header, so that the rule cannot match.
 */
struct value {
	const char *text;
	const char *other;
	bool none;
};

static struct value payload_value(const struct eval *eval, struct json_object *left)
{
	const char *protocol = get_text(left, "protocol");
	const char *field = get_text(left, "field");

	if (!strcmp(protocol, "udp") || !strcmp(protocol, "th"))
		return !strcmp(field, "dport") ?
			       (struct value){ .text = "4791" } : (struct value){};
	if (!strcmp(protocol, "ip"))
		return eval->version != 4 ? (struct value){ .none = true } :
		       !strcmp(field, "protocol") ?
			       (struct value){ "udp", IPPROTO_UDP_TEXT, false } :
			       (struct value){};
	if (!strcmp(protocol, "ip6"))
		return eval->version != 6 ? (struct value){ .none = true } :
		       !strcmp(field, "nexthdr") ?
			       (struct value){ "udp", IPPROTO_UDP_TEXT, false } :
			       (struct value){};
	if (!strcmp(protocol, "ether") || !strcmp(protocol, "vlan") || !*protocol)
		return (struct value){};
	/* tcp, icmp, arp and the like */
	return (struct value){ .none = true };
}

static struct value meta_value(const struct eval *eval, const char *key)
{
	bool in = !strcmp(key, "iifname") || !strcmp(key, "iif");
	bool out = !strcmp(key, "oifname") || !strcmp(key, "oif");

	if (!strcmp(key, "l4proto"))
		return (struct value){ "udp", IPPROTO_UDP_TEXT, false };
	if (!strcmp(key, "nfproto"))
		return (struct value){ .text = eval->version == 4 ? "ipv4" : "ipv6" };
	if (!strcmp(key, "protocol"))
		return (struct value){ .text = eval->version == 4 ? "ip" : "ip6" };
	if ((in && !eval->out) || (out && eval->out))
		return (struct value){ .text = eval->netdev };
	return (struct value){};
}

static struct value left_value(const struct eval *eval, struct json_object *left)
{
	if (get(left, "payload"))
		return payload_value(eval, get(left, "payload"));
	if (get(left, "meta"))
		return meta_value(eval, get_text(get(left, "meta"), "key"));
	if (get(left, "ct") && is(get(left, "ct"), "key", "state"))
		return (struct value){ "new", CT_STATE_NEW, false };
	return (struct value){};
}

/* -- the rule's side */

static struct json_object *find_set(const struct eval *eval, const char *name)
{
	size_t i;

	for (i = 0; i < length(eval->rules); i++) {
		struct json_object *item = json_object_array_get_idx(eval->rules, i);
		struct json_object *set = get(item, "set");

		if (!set)
			set = get(item, "map");
		if (set && is(set, "name", name) && is(set, "table", eval->table) &&
		    is(set, "family", eval->family))
			return get(set, "elem");
	}
	return NULL;
}

static enum match matches(const struct eval *eval, const struct value *value,
			  struct json_object *right);

static enum match any_matches(const struct eval *eval, const struct value *value,
			      struct json_object *list)
{
	enum match best = MATCH_NO;
	size_t i;

	for (i = 0; i < length(list) && best != MATCH_YES; i++) {
		enum match match = matches(eval, value,
					   json_object_array_get_idx(list, i));

		if (match != MATCH_NO)
			best = match;
	}
	return best;
}

static enum match text_matches(const struct value *value, const char *text)
{
	size_t len = strlen(text);

	if (!strcmp(value->text, UNKNOWN_NETDEV))
		return strcmp(text, "lo") ? MATCH_MAYBE : MATCH_NO;
	/* a name may end in '*' */
	if (len && text[len - 1] == '*')
		return yes_if(!strncmp(value->text, text, len - 1));
	return yes_if(!strcmp(value->text, text) ||
		      (value->other && !strcmp(value->other, text)));
}

static enum match in_range(const struct value *value, struct json_object *range)
{
	int64_t number = strtoll(value->other ? value->other : value->text, NULL, 10);

	return length(range) != 2 ? MATCH_MAYBE :
	       yes_if(number >= json_object_get_int64(json_object_array_get_idx(range, 0)) &&
		      number <= json_object_get_int64(json_object_array_get_idx(range, 1)));
}

static enum match matches(const struct eval *eval, const struct value *value,
			  struct json_object *right)
{
	if (!value->text)
		return MATCH_MAYBE;
	if (json_object_is_type(right, json_type_array))
		return any_matches(eval, value, right);
	if (json_object_is_type(right, json_type_string) ||
	    json_object_is_type(right, json_type_int)) {
		const char *text = json_object_get_string(right);

		return *text == '@' ? any_matches(eval, value, find_set(eval, text + 1)) :
				      text_matches(value, text);
	}
	if (get(right, "set"))
		return matches(eval, value, get(right, "set"));
	if (get(right, "range"))
		return in_range(value, get(right, "range"));
	if (get(right, "elem"))
		return matches(eval, value, get(get(right, "elem"), "val"));
	return MATCH_MAYBE;
}

static enum match compares(const struct value *value, const char *op,
			   struct json_object *right)
{
	int64_t number = strtoll(value->other ? value->other : value->text, NULL, 10);
	int64_t bound = json_object_get_int64(right);

	if (!json_object_is_type(right, json_type_int))
		return MATCH_MAYBE;
	if (!strcmp(op, "<"))
		return yes_if(number < bound);
	if (!strcmp(op, "<="))
		return yes_if(number <= bound);
	if (!strcmp(op, ">"))
		return yes_if(number > bound);
	return yes_if(number >= bound);
}

static enum match match_expr(const struct eval *eval, struct json_object *expr)
{
	struct json_object *right = get(expr, "right");
	struct value value = left_value(eval, get(expr, "left"));
	const char *op = get_text(expr, "op");

	if (value.none)
		return MATCH_NO;
	if (!value.text)
		return MATCH_MAYBE;
	if (!strcmp(op, "!="))
		return not(matches(eval, &value, right));
	if (*op == '<' || *op == '>')
		return compares(&value, op, right);
	return matches(eval, &value, right);
}

/* -- rules and chains */

static unsigned int eval_chain(struct eval *eval, const char *name, int depth);

/*
 * The fates that a verdict may bring; 0: it is none, the rule goes on.
 * A jump brings those of the other chain, FATE_RETURN among them if its end may
 * be reached.
 */
static unsigned int verdict(struct eval *eval, struct json_object *expr, int depth)
{
	struct json_object *xt = get(expr, "xt");

	if (json_object_object_get_ex(expr, "accept", NULL))
		return FATE_ACCEPT;
	if (json_object_object_get_ex(expr, "drop", NULL) ||
	    json_object_object_get_ex(expr, "reject", NULL))
		return FATE_DROP;
	if (json_object_object_get_ex(expr, "return", NULL))
		return FATE_RETURN;
	if (get(expr, "jump"))
		return eval_chain(eval, get_text(get(expr, "jump"), "target"), depth + 1);
	if (get(expr, "goto"))
		return eval_chain(eval, get_text(get(expr, "goto"), "target"), depth + 1);
	/* iptables' targets, where they are not nft's own */
	if (xt && is(xt, "type", "target") &&
	    (is(xt, "name", "REJECT") || is(xt, "name", "DROP")))
		return FATE_DROP;
	return 0;
}

/* Does this verdict, when it returns, go on with the rules behind it? */
static bool comes_back(struct json_object *expr)
{
	return get(expr, "jump");
}

/*
 * A verdict map: the fates of all elements that may match. *match is whether
 * one of them does.
 */
static unsigned int eval_vmap(struct eval *eval, struct json_object *vmap, int depth,
			      enum match *match, bool *back)
{
	struct value value = left_value(eval, get(vmap, "key"));
	struct json_object *data = get(vmap, "data"), *list = get(data, "set");
	unsigned int fates = 0;
	size_t i;

	*match = MATCH_NO;
	if (json_object_is_type(data, json_type_string))
		list = find_set(eval, json_object_get_string(data) + 1);
	for (i = 0; !value.none && i < length(list) && *match != MATCH_YES; i++) {
		struct json_object *pair = json_object_array_get_idx(list, i);
		struct json_object *then = json_object_array_get_idx(pair, 1);
		enum match one = matches(eval, &value,
					 json_object_array_get_idx(pair, 0));

		if (one == MATCH_NO)
			continue;
		*match = one;
		fates |= verdict(eval, then, depth);
		*back |= comes_back(then);
	}
	return fates;
}

/*
 * One rule. *match: whether its verdict is reached. Returns the verdict's
 * fates, 0 if it has none.
 */
static unsigned int eval_rule(struct eval *eval, struct json_object *rule, int depth,
			      enum match *match, bool *back)
{
	struct json_object *exprs = get(rule, "expr");
	size_t i;

	*match = MATCH_YES;
	for (i = 0; i < length(exprs); i++) {
		struct json_object *expr = json_object_array_get_idx(exprs, i);
		enum match one = MATCH_YES;
		unsigned int fates;

		if (get(expr, "match"))
			one = match_expr(eval, get(expr, "match"));
		else if (get(expr, "limit") || (get(expr, "xt") &&
						is(get(expr, "xt"), "type", "match")))
			one = MATCH_MAYBE;
		if (one == MATCH_NO) {
			*match = MATCH_NO;
			return 0;
		}
		if (one == MATCH_MAYBE)
			*match = MATCH_MAYBE;
		if (get(expr, "vmap")) {
			fates = eval_vmap(eval, get(expr, "vmap"), depth, &one, back);
			if (one == MATCH_NO)
				fates = 0;
			else if (one == MATCH_MAYBE)
				*match = MATCH_MAYBE;
		} else {
			fates = verdict(eval, expr, depth);
			*back = comes_back(expr);
		}
		if (fates)
			return fates;
	}
	return 0;
}

static unsigned int eval_chain(struct eval *eval, const char *name, int depth)
{
	unsigned int fates = 0;
	size_t i;

	if (depth > MAX_DEPTH)
		return FATE_ACCEPT | FATE_DROP;
	for (i = 0; i < length(eval->rules); i++) {
		struct json_object *item = json_object_array_get_idx(eval->rules, i);
		struct json_object *rule = get(item, "rule");
		bool back = false, returns;
		enum match match;
		unsigned int new;

		if (!rule || !is(rule, "chain", name) || !is(rule, "table", eval->table) ||
		    !is(rule, "family", eval->family))
			continue;
		new = eval_rule(eval, rule, depth, &match, &back);
		if (match == MATCH_NO || !new)
			continue;
		returns = back && new & FATE_RETURN;
		fates |= back ? new & ~(unsigned int)FATE_RETURN : new;
		if (match == MATCH_YES && !returns)
			return fates;
	}
	return fates | FATE_RETURN;
}

/* -- all chains that see the packet */

static bool sees(struct json_object *chain, int version)
{
	const char *family = get_text(chain, "family");

	if (!get(chain, "hook") || is(chain, "hook", "forward"))
		return false;
	return !strcmp(family, "inet") || !strcmp(family, "netdev") ||
	       !strcmp(family, version == 4 ? "ip" : "ip6");
}

static void eval_base(struct nft_answer *answer, struct eval *eval,
		      struct json_object *chain)
{
	const char *hook = get_text(chain, "hook");
	unsigned int fate;

	eval->family = get_text(chain, "family");
	eval->table = get_text(chain, "table");
	eval->out = !strcmp(hook, "output") || !strcmp(hook, "postrouting") ||
		    !strcmp(hook, "egress");
	fate = eval_chain(eval, get_text(chain, "name"), 0);
	if (fate & FATE_RETURN)
		fate = (fate & ~(unsigned int)FATE_RETURN) |
		       (is(chain, "policy", "drop") ? FATE_DROP : FATE_ACCEPT);
	if (!(fate & FATE_DROP))
		return;
	/* a rule that drops for certain is what users want to know */
	if (answer->family && (answer->fate == FATE_DROP || fate & FATE_ACCEPT))
		return;
	answer->fate = fate;
	answer->family = eval->family;
	answer->table = eval->table;
	answer->chain = get_text(chain, "name");
}

void nft_eval(struct nft_answer *answer, struct json_object *ruleset,
	      const char *netdev, int version)
{
	struct eval eval = {
		.rules = get(ruleset, "nftables"),
		.netdev = netdev ? netdev : UNKNOWN_NETDEV,
		.version = version,
	};
	size_t i;

	*answer = (struct nft_answer){ .fate = FATE_ACCEPT };
	for (i = 0; i < length(eval.rules); i++) {
		struct json_object *chain =
			get(json_object_array_get_idx(eval.rules, i), "chain");

		if (chain && sees(chain, version))
			eval_base(answer, &eval, chain);
	}
}
