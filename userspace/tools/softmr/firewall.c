// SPDX-License-Identifier: GPL-2.0
#include "firewall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "nft_eval.h"
#include "util.h"

static void set(struct firewall *fw, enum door door, char *what, char *todo)
{
	fw->door = door;
	fw->what = what;
	fw->todo = todo;
}

/* -- nftables */

/* Front ends write rules of their own, and would not keep one of ours. */
static char *how_to_open(const struct nft_answer *answer)
{
	if (!strcmp(answer->table, "firewalld"))
		return copy("firewall-cmd --permanent --add-port=4791/udp && firewall-cmd --reload");
	if (exists("/etc/ufw/ufw.conf") && !strcmp(answer->table, "filter"))
		return copy("ufw allow 4791/udp");
	return strf("nft insert rule %s %s %s udp dport 4791 accept", answer->family,
		    answer->table, answer->chain);
}

static enum door door_of(const struct nft_answer *answer)
{
	if (!answer->family)
		return DOOR_OPEN;
	return answer->fate == FATE_DROP ? DOOR_SHUT : DOOR_MAYBE;
}

/* Where only one of IPv4 and IPv6 gets through, RoCEv2 works over that one. */
static void judge_nft(struct firewall *fw, struct json_object *rules, const char *netdev)
{
	struct nft_answer v4, v6, *answer = &v4;
	const char *over = "";

	nft_eval(&v4, rules, netdev, 4);
	nft_eval(&v6, rules, netdev, 6);
	if (!v4.family && !v6.family) {
		set(fw, DOOR_OPEN, copy("no nftables rule drops UDP port 4791"), NULL);
		return;
	}
	if (!v4.family) {
		answer = &v6;
		over = " over IPv6";
	} else if (!v6.family) {
		over = " over IPv4";
	} else if (door_of(&v6) != DOOR_SHUT) {
		/* the one that says less of a problem */
		answer = &v6;
	}
	set(fw, *over ? DOOR_MAYBE : door_of(answer),
	    strf("the nftables chain %s %s %s %s UDP port 4791%s, which RoCEv2 uses in both directions",
		 answer->family, answer->table, answer->chain,
		 door_of(answer) == DOOR_SHUT ? "drops" : "may drop", over),
	    how_to_open(answer));
}

/* Returns false where nft is not installed. */
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
		set(fw, DOOR_UNSEEN, strf("the nftables rules cannot be read: %s",
					  ran.status ? ran_says(&ran) :
						       "nft prints no JSON"),
		    geteuid() ? copy("sudo softmr doctor") : NULL);
	json_object_put(rules);
	ran_free(&ran);
	return rules || fw->what;
}

/* -- iptables, where it is not a front end to nftables */

/*
 * Only what names the port, and the policy: what else decides is too much to be
 * followed for what hardly anybody has any more.
 */
static void judge_iptables(struct firewall *fw, const char *program, char *text)
{
	bool drops = false, accepts = false, policy = false;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		bool ours = strstr(line, "--dport 4791 ") || strstr(line, "--dports 4791 ");

		if (!strncmp(line, ":INPUT DROP", 11))
			policy = true;
		if (ours && strstr(line, "-j ACCEPT"))
			accepts = true;
		else if (ours && !accepts &&
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

/* Running iptables-legacy-save where nobody uses it would load its modules. */
static bool has_legacy(const char *names)
{
	char *text = read_text("/proc/net/%s", names);
	bool has = text && *text;

	free(text);
	return has;
}

void firewall_read(struct firewall *fw, const char *netdev)
{
	bool seen;

	*fw = (struct firewall){ .door = DOOR_OPEN };
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

void firewall_free(struct firewall *fw)
{
	free(fw->what);
	free(fw->todo);
}
