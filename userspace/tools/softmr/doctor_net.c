// SPDX-License-Identifier: GPL-2.0
/* The network: port, firewall, namespaces, links. */
#include "doctor.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "udp_port.h"
#include "util.h"

/* A link whose netdev is in this network namespace, or NULL */
static const struct link *own_link(const struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->nr_links; i++)
		if (*d->links[i].dev.netdev)
			return &d->links[i];
	return NULL;
}

/* -- port 4791 */

static void found_port_of_kernel(struct doctor *d)
{
	if (own_link(d))
		found(d, LEVEL_OK, copy("softmr has UDP port 4791"), NULL);
	else if (exists("/sys/module/rdma_rxe"))
		found(d, LEVEL_PROBLEM,
		      copy("rdma_rxe has UDP port 4791 here, so softmr cannot make a link; of one network namespace only one of the two can have links"),
		      copy("rdma link del NAME (each of type rxe), then: modprobe -r rdma_rxe"));
	else
		found(d, LEVEL_PROBLEM,
		      copy("a driver has UDP port 4791 here, so softmr cannot make a link"),
		      copy("rdma link (and remove the one that is not of softmr)"));
}

void check_port(struct doctor *d)
{
	struct udp_port port;

	d->check = "port";
	udp_port_read(&port);
	switch (port.holder) {
	case HOLDER_NONE:
		found(d, LEVEL_OK, copy("UDP port 4791 is free"), NULL);
		break;
	case HOLDER_PROCESS:
		found(d, LEVEL_PROBLEM,
		      strf("process %d (%s) has UDP port 4791, so softmr cannot make a link",
			   port.pid, port.command ? port.command : "?"),
		      strf("systemctl status %d; then stop the service or the program that it shows",
			   port.pid));
		break;
	case HOLDER_HIDDEN:
		/* a process cannot hold the port while a link exists; rdma_rxe may be loaded without holding it */
		if (own_link(d))
			found_port_of_kernel(d);
		else
			found(d, LEVEL_PROBLEM,
			      strf("something has UDP port 4791, so softmr cannot make a link; only root may see what%s",
				   exists("/sys/module/rdma_rxe") ? " (it may be rdma_rxe, which is loaded)" : ""),
			      copy("sudo ss -ulpn 'sport = 4791'"));
		break;
	case HOLDER_KERNEL:
		found_port_of_kernel(d);
		break;
	}
	udp_port_free(&port);
}

/* -- firewall */

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

static void set(struct firewall *fw, enum door door, char *what, char *todo)
{
	fw->door = door;
	fw->what = what;
	fw->todo = todo;
}

/*
 * Does the text contain the port's number, and not as a part of another number?
 */
static bool names_port(const char *text)
{
	const char *at;

	for (at = text; (at = strstr(at, "4791")); at++)
		if ((at == text || !isdigit((unsigned char)at[-1])) &&
		    !isdigit((unsigned char)at[4]))
			return true;
	return false;
}

static void set_unseen(struct firewall *fw, char *what)
{
	set(fw, DOOR_UNSEEN, what, geteuid() ? copy("sudo softmr doctor") : NULL);
}

/* -- front ends, which can evaluate their rules */

/* A line with the verdict names the port, and not only for TCP. */
static bool has_rule(char *text, const char *verdict)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		if (names_port(line) && strstr(line, verdict) && !strstr(line, "tcp"))
			return true;
	return false;
}

static int run_firewalld(struct ran *ran, const char *zone, const char *ask)
{
	char *argv[] = { (char *)"firewall-cmd", (char *)ask, (char *)zone, NULL };

	run(ran, argv);
	return ran->status;
}

/* Returns false if it does not run. */
static bool ask_firewalld(struct firewall *fw, const char *netdev)
{
	char *of = strf("--get-zone-of-interface=%s", netdev ? netdev : "-"), *zone;
	struct ran ran;
	bool runs, open;

	runs = !run_firewalld(&ran, NULL, "--state");
	ran_free(&ran);
	if (!runs) {
		free(of);
		return false;
	}
	/* a netdev without a zone is in the default zone */
	zone = run_firewalld(&ran, NULL, of) ? NULL : strf("--zone=%s", ran_says(&ran));
	ran_free(&ran);
	open = !run_firewalld(&ran, zone, "--query-port=4791/udp");
	ran_free(&ran);
	if (!open && run_firewalld(&ran, zone, "--list-all"))
		set_unseen(fw, strf("firewalld does not show its rules: %s", ran_says(&ran)));
	else if (open || strstr(ran.out, "target: ACCEPT") || has_rule(ran.out, "accept"))
		set(fw, DOOR_OPEN, copy("firewalld lets UDP port 4791 in"), NULL);
	else
		set(fw, DOOR_SHUT, copy("firewalld drops UDP port 4791, which RoCEv2 uses in both directions"),
		    strf("firewall-cmd --permanent%s%s --add-port=4791/udp && firewall-cmd --reload",
			 zone ? " " : "", zone ? zone : ""));
	if (!open)
		ran_free(&ran);
	free(zone);
	free(of);
	return true;
}

/* Returns false if it is off. */
static bool ask_ufw(struct firewall *fw)
{
	char *argv[] = { (char *)"ufw", (char *)"status", (char *)"verbose", NULL };
	struct ran ran;
	bool on, open;

	if (!exists("/etc/ufw/ufw.conf"))
		return false;
	run(&ran, argv);
	on = ran.status != 127 && !strstr(ran.out, "Status: inactive");
	open = strstr(ran.out, "Default: allow (incoming)");
	if (on && ran.status)
		set_unseen(fw, strf("ufw does not show its rules: %s", ran_says(&ran)));
	else if (on && (open || has_rule(ran.out, "ALLOW")))
		set(fw, DOOR_OPEN, copy("ufw lets UDP port 4791 in"), NULL);
	else if (on)
		set(fw, DOOR_MAYBE, copy("ufw drops what none of its rules lets in, and none names UDP port 4791, which RoCEv2 uses"),
		    copy("ufw allow 4791/udp"));
	ran_free(&ran);
	return on;
}

/* -- nftables without a front end: the rules are read, not evaluated */

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

static bool same(struct json_object *a, struct json_object *b, const char *key)
{
	return !strcmp(get_text(a, key), get_text(b, key));
}

/* The verdicts of a rule, of nft and of iptables */
static bool drops(const char *rule)
{
	return strstr(rule, "\"drop\"") || strstr(rule, "\"reject\"") ||
	       strstr(rule, "\"DROP\"") || strstr(rule, "\"REJECT\"");
}

static bool names_netdev(const char *text, const char *netdev)
{
	char *quoted = strf("\"%s\"", netdev ? netdev : "");
	bool names = strstr(text, quoted);

	free(quoted);
	return names;
}

/* A rule that names a netdev other than ours does not apply to ours. */
static bool is_elsewhere(const char *rule, const char *netdev)
{
	return strstr(rule, "\"iif") && netdev && !names_netdev(rule, netdev);
}

/* The match is true of each RoCEv2 packet that the netdev receives or sends. */
static bool match_fits(struct json_object *match, const char *netdev)
{
	struct json_object *left = get(match, "left"), *payload = get(left, "payload");
	const char *protocol = get_text(payload, "protocol"), *field = get_text(payload, "field");
	const char *right = json_object_to_json_string(get(match, "right"));
	const char *key = get_text(get(left, "meta"), "key");

	if (strcmp(get_text(match, "op"), "=="))
		return false;
	if (!strcmp(field, "dport"))
		return names_port(right) && (!strcmp(protocol, "udp") || !strcmp(protocol, "th"));
	if (!strcmp(field, "protocol") || !strcmp(field, "nexthdr") || !strcmp(key, "l4proto"))
		return strstr(right, "\"udp\"");
	return (!strncmp(key, "iif", 3) || !strncmp(key, "oif", 3)) && names_netdev(right, netdev);
}

/* Does the statement let each of these packets go on to the rule's verdict? */
static bool statement_fits(struct json_object *statement, const char *netdev)
{
	static const char *const plain[] = { "counter", "log", "drop", "reject" };
	struct json_object *match = get(statement, "match");
	size_t i;

	if (match)
		return match_fits(match, netdev);
	for (i = 0; i < ARRAY_SIZE(plain); i++)
		if (json_object_object_get_ex(statement, plain[i], NULL))
			return true;
	return !strcmp(get_text(get(statement, "xt"), "type"), "target");
}

/* Is the rule for all of these packets, and not only for some peers or up to some rate? */
static bool fits(struct json_object *expr, const char *netdev)
{
	size_t i;

	for (i = 0; i < json_object_array_length(expr); i++)
		if (!statement_fits(json_object_array_get_idx(expr, i), netdev))
			return false;
	return true;
}

/* Findings about the rules of one chain and of its table */
struct survey {
	bool names;	/* a rule or a set of the table names the port */
	bool accepts;	/* a rule of the chain names it and accepts */
	/* a rule of the chain drops all RoCEv2 packets, and no rule before it accepts */
	bool drops;
	bool ends;	/* the chain's last rule drops everything that reaches it */
};

static void survey_rule(struct survey *s, struct json_object *rule, const char *netdev)
{
	struct json_object *expr = get(rule, "expr");
	const char *text = json_object_to_json_string(expr);

	s->ends = drops(text) && !strstr(text, "\"match\"") && !strstr(text, "\"limit\"");
	if (!names_port(text) || is_elsewhere(text, netdev))
		return;
	if (strstr(text, "\"accept\"") || strstr(text, "\"ACCEPT\""))
		s->accepts = true;
	else if (drops(text) && fits(expr, netdev) && !s->accepts)
		s->drops = true;
}

static void survey_chain(struct survey *s, struct json_object *all, struct json_object *chain,
			 const char *netdev)
{
	struct json_object *item, *rule;
	size_t i;

	*s = (struct survey){};
	for (i = 0; i < json_object_array_length(all); i++) {
		item = json_object_array_get_idx(all, i);
		rule = get(item, "rule");
		item = rule ? rule : get(item, "set") ? get(item, "set") : get(item, "map");
		if (!item || !same(item, chain, "family") || !same(item, chain, "table"))
			continue;
		/* a rule's handle may be any number */
		s->names |= names_port(json_object_to_json_string(get(item, rule ? "expr" : "elem")));
		if (rule && !strcmp(get_text(rule, "chain"), get_text(chain, "name")))
			survey_rule(s, rule, netdev);
	}
}

/* A base chain for packets from or to this machine itself */
static bool sees_own(struct json_object *chain)
{
	const char *hook = get_text(chain, "hook");

	return !strcmp(hook, "input") || !strcmp(hook, "output");
}

static void judge_nft(struct firewall *fw, struct json_object *ruleset, const char *netdev)
{
	struct json_object *all = get(ruleset, "nftables"), *chain;
	struct survey s;
	bool certain;
	size_t i;

	for (i = 0; all && i < json_object_array_length(all) && fw->door != DOOR_SHUT; i++) {
		chain = get(json_object_array_get_idx(all, i), "chain");
		if (!chain)
			continue;
		survey_chain(&s, all, chain, netdev);
		/* what is forwarded is for other machines */
		certain = s.drops && strcmp(get_text(chain, "hook"), "forward");
		if (!certain && (fw->what || s.names || !sees_own(chain) ||
				 !(s.ends || !strcmp(get_text(chain, "policy"), "drop"))))
			continue;
		free(fw->what);
		free(fw->todo);
		set(fw, certain ? DOOR_SHUT : DOOR_MAYBE,
		    strf("the nftables chain %s %s %s drops %sUDP port 4791, which RoCEv2 uses in both directions",
			 get_text(chain, "family"), get_text(chain, "table"), get_text(chain, "name"),
			 certain ? "" : "what no rule accepts, and no rule names "),
		    strf("nft insert rule %s %s %s udp dport 4791 accept", get_text(chain, "family"),
			 get_text(chain, "table"), get_text(chain, "name")));
	}
	if (!fw->what)
		set(fw, DOOR_OPEN, copy("no nftables rule is known to drop UDP port 4791"), NULL);
}

/* Returns false if nft is not installed. */
static bool read_nft(struct firewall *fw, const char *netdev)
{
	char *argv[] = { (char *)"nft", (char *)"-j", (char *)"list", (char *)"ruleset",
			 NULL };
	struct json_object *rules = NULL;
	struct ran ran;

	run(&ran, argv);
	if (!ran.status)
		rules = json_tokener_parse(ran.out);
	if (rules)
		judge_nft(fw, rules, netdev);
	else if (strstr(ran.err, "Protocol not supported"))
		set(fw, DOOR_OPEN, copy("the kernel has no nftables"), NULL);
	else if (ran.status != 127)
		set_unseen(fw, strf("the nftables rules cannot be read: %s",
				    ran.status ? ran_says(&ran) : "nft prints no JSON"));
	json_object_put(rules);
	ran_free(&ran);
	return rules || fw->what;
}

/* -- iptables, if it is not a front end to nftables */

/*
 * Check only rules that name the port, and the policy: evaluating other rules
 * is too much work for a firewall that is hardly used any more.
 */
static void judge_iptables(struct firewall *fw, const char *program, char *text)
{
	static const char all[] = " -p udp -m udp --dport 4791 -j ";
	bool drops = false, accepts = false, policy = false;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		bool ours = strstr(line, "-p udp ") &&
			    (strstr(line, "--dport 4791 ") || strstr(line, "--dports 4791 "));
		/* a rule with other matches is for some peers only */
		bool whole = !strncmp(line, "-A ", 3) && strncmp(line, "-A FORWARD ", 11) &&
			     !strncmp(line + 3 + strcspn(line + 3, " "), all, strlen(all));

		if (!strncmp(line, ":INPUT DROP", 11))
			policy = true;
		if (ours && strstr(line, "-j ACCEPT"))
			accepts = true;
		else if (whole && !accepts &&
			 (strstr(line, "-j DROP") || strstr(line, "-j REJECT")))
			drops = true;
	}
	if (!drops && (!policy || accepts))
		return;
	free(fw->what);
	free(fw->todo);
	set(fw, drops ? DOOR_SHUT : DOOR_MAYBE,
	    strf("%s shows %s", program,
		 drops ? "a rule that drops UDP port 4791" :
			 "that packets are dropped by default, and no rule that accepts UDP port 4791"),
	    strf("%.*s -I INPUT -p udp --dport 4791 -j ACCEPT",
		 (int)(strlen(program) - strlen("-save")), program));
}

static bool read_iptables(struct firewall *fw, const char *program)
{
	char *argv[] = { (char *)program, NULL };
	struct ran ran;
	bool ok;

	run(&ran, argv);
	ok = !ran.status;
	if (ok)
		judge_iptables(fw, program, ran.out);
	ran_free(&ran);
	return ok;
}

/*
 * Running iptables-legacy-save on a machine that does not use it would load its
 * modules.
 */
static bool has_legacy(const char *names)
{
	char *text = read_text("/proc/net/%s", names);
	bool has = text && *text;

	free(text);
	return has;
}

static void firewall_read(struct firewall *fw, const char *netdev)
{
	bool seen;

	*fw = (struct firewall){ .door = DOOR_OPEN };
	if (ask_firewalld(fw, netdev) || ask_ufw(fw))
		return;
	seen = read_nft(fw, netdev);
	if (!seen && exists("/sys/module/nf_tables"))
		seen = read_iptables(fw, "iptables-save") &&
		       read_iptables(fw, "ip6tables-save");
	if (fw->door != DOOR_SHUT && has_legacy("ip_tables_names"))
		seen |= read_iptables(fw, "iptables-legacy-save");
	if (fw->door != DOOR_SHUT && has_legacy("ip6_tables_names"))
		seen |= read_iptables(fw, "ip6tables-legacy-save");
	if (fw->what)
		return;
	if (seen || !exists("/sys/module/nf_tables"))
		fw->what = copy("no firewall rule drops UDP port 4791");
	else
		set(fw, DOOR_UNSEEN,
		    copy("this kernel has nftables rules, perhaps, but neither nft nor iptables-save is here to list them"),
		    NULL);
}

static void firewall_free(struct firewall *fw)
{
	free(fw->what);
	free(fw->todo);
}

void check_firewall(struct doctor *d)
{
	static const enum level levels[] = {
		[DOOR_OPEN] = LEVEL_OK,
		[DOOR_MAYBE] = LEVEL_WARNING,
		[DOOR_SHUT] = LEVEL_PROBLEM,
		[DOOR_UNSEEN] = LEVEL_WARNING,
	};
	const struct link *link = own_link(d);
	struct firewall fw;

	d->check = "firewall";
	firewall_read(&fw, link ? link->dev.netdev : NULL);
	found(d, levels[fw.door], copy(fw.what), fw.todo ? copy(fw.todo) : NULL);
	firewall_free(&fw);
}

/* -- namespaces */

void check_netns(struct doctor *d)
{
	bool shared;
	int ret;

	d->check = "netns";
	/* check_kernel() has reported it */
	if (!d->sk)
		return;
	ret = nldev_netns_shared(d->sk, &shared);
	if (ret)
		found(d, LEVEL_WARNING,
		      strf("the kernel does not say whether network namespaces share RDMA devices: %s",
			   strerror(-ret)), NULL);
	else if (shared)
		found(d, LEVEL_OK,
		      copy("links are visible in all network namespaces (mode shared)"), NULL);
	else if (d->nr_links)
		found(d, LEVEL_OK,
		      copy("links are visible only in their own network namespace (mode exclusive)"),
		      NULL);
	else
		found(d, LEVEL_WARNING,
		      copy("no link is visible here: each network namespace sees its own only (mode exclusive)"),
		      copy("rdma dev set LINK netns NAMESPACE (where the link is), or, while only the first namespace exists: rdma system set netns shared"));
}

/* -- links */

static void found_gid(struct doctor *d, const struct link *link)
{
	const struct gid *gid = link->best;

	if (!gid)
		found(d, LEVEL_PROBLEM,
		      strf("%s has no RoCE v2 GID, for %s has no address", link->dev.name,
			   link->dev.netdev),
		      strf("ip addr add ADDRESS/PREFIX dev %s", link->dev.netdev));
	else
		found(d, LEVEL_OK,
		      strf("%s: use GID index %u (%s): ibv_rc_pingpong -d %s -g %u, ib_write_bw -d %s -x %u",
			   link->dev.name, gid->index, gid->address, link->dev.name,
			   gid->index, link->dev.name, gid->index), NULL);
}

static void found_mtu(struct doctor *d, const struct link *link)
{
	if (link->mtu == 4096 || !link->mtu)
		return;
	found(d, LEVEL_OK,
	      strf("%s: packets carry %u bytes each, since %s has an MTU of %u; after ip link set %s mtu %u, if the network takes that, they carry 4096, which is faster",
		   link->dev.name, link->mtu, link->dev.netdev, link->netdev_mtu,
		   link->dev.netdev, NETDEV_MTU_4096), NULL);
}

static void found_counters(struct doctor *d, const struct link *link)
{
	size_t i;

	for (i = 0; i < link->nr_counters; i++)
		if (link->counters[i].serious)
			found(d, LEVEL_WARNING,
			      strf("%s: %s is %llu: %s", link->dev.name,
				   link->counters[i].name, link->counters[i].value,
				   link->counters[i].meaning), NULL);
}

void check_links(struct doctor *d)
{
	size_t i;

	d->check = "link";
	if (!d->nr_links)
		found(d, LEVEL_OK, copy("there is no link yet; softmr link add softmr0 netdev NETDEV makes one"),
		      NULL);
	for (i = 0; i < d->nr_links; i++) {
		const struct link *link = &d->links[i];

		if (!*link->dev.netdev) {
			found(d, LEVEL_OK,
			      strf("the netdev of %s is in another network namespace",
				   link->dev.name), NULL);
			continue;
		}
		if (link->dev.state != 4)
			found(d, LEVEL_PROBLEM,
			      strf("%s is %s, for %s is down or has no carrier",
				   link->dev.name, link_state(&link->dev),
				   link->dev.netdev),
			      strf("ip link set %s up", link->dev.netdev));
		found_gid(d, link);
		found_mtu(d, link);
		found_counters(d, link);
	}
}
