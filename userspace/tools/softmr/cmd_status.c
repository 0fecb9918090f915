// SPDX-License-Identifier: GPL-2.0
/*
 * softmr status: versions, links, counters. It does not judge; softmr doctor
 * does.
 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "module.h"
#include "nldev.h"
#include "out.h"
#include "util.h"
#include "verbs.h"

static const char help[] =
	"Shows the module (loaded, and on the disk), the provider and the libibverbs that it has to fit, and each link: "
	"netdev, state, MTU, GIDs, and the counters that tell of trouble and are not 0.";

/* The data to show */
struct status {
	struct module module;
	struct verbs verbs;	/* provider and libibverbs */
	struct link *links;	/* @nr_links of them */
	size_t nr_links;
	int links_error;	/* why links cannot be listed: a positive errno, or 0 */
};

static int read_links(struct status *s)
{
	struct rdma_dev *devs = NULL;
	struct nl_sock *sk;
	size_t i, n = 0;
	int ret;

	ret = nldev_open(&sk);
	if (ret)
		return ret;
	ret = nldev_list_softmr(sk, &devs, &n);
	nldev_close(sk);
	if (ret)
		return ret;
	s->links = zalloc((n + 1) * sizeof(*s->links));
	for (i = 0; i < n; i++)
		link_read(&s->links[i], &devs[i]);
	s->nr_links = n;
	free(devs);
	return 0;
}

static const char *links_error(const struct status *s)
{
	/* without RDMA there is no link, which is not an error */
	if (!s->links_error)
		return NULL;
	return s->links_error == EPROTONOSUPPORT ?
		       "the kernel's RDMA core is not loaded" :
		       strerror(s->links_error);
}

/* -- JSON */

static struct json_object *module_json(const struct module *mod)
{
	struct json_object *obj = out_object();

	out_string(obj, "kernel", mod->release);
	out_bool(obj, "loaded", mod->loaded);
	out_string(obj, "version", mod->loaded_version);
	out_string(obj, "file", mod->file);
	out_string(obj, "file_version", mod->disk_version);
	out_string(obj, "file_signer", mod->signer);
	out_bool(obj, "differs", module_differs(mod));
	return obj;
}

static struct json_object *lib_json(const struct verbs *v)
{
	struct json_object *obj = out_object();

	out_string(obj, "file", v->lib);
	out_string(obj, "version", v->lib_version);
	out_string(obj, "error", v->lib_error);
	return obj;
}

static struct json_object *provider_json(const struct verbs *v)
{
	struct json_object *obj = out_object();

	out_string(obj, "file", v->provider);
	out_string(obj, "version", v->provider_version);
	out_string(obj, "config", v->config);
	out_bool(obj, "fits", v->fits);
	out_string(obj, "why", v->why);
	return obj;
}

static struct json_object *gids_json(const struct link *link)
{
	struct json_object *list = out_array();
	size_t i;

	for (i = 0; i < link->nr_gids; i++) {
		struct json_object *obj = out_object();

		out_number(obj, "index", link->gids[i].index);
		out_string(obj, "type", link->gids[i].type);
		out_string(obj, "address", link->gids[i].address);
		out_string(obj, "netdev", link->gids[i].netdev);
		json_object_array_add(list, obj);
	}
	return list;
}

static struct json_object *link_json(const struct link *link)
{
	struct json_object *obj = out_object(), *counters = out_object();
	const char *netdev = link->dev.netdev;
	size_t i;

	for (i = 0; i < link->nr_counters; i++)
		out_number(counters, link->counters[i].name, link->counters[i].value);
	out_string(obj, "name", link->dev.name);
	out_string(obj, "netdev", *netdev ? netdev : NULL);
	out_string(obj, "state", link_state(&link->dev));
	out_string(obj, "uverbs", link->uverbs);
	if (link->netdev_mtu)
		out_number(obj, "netdev_mtu", link->netdev_mtu);
	else
		out_add(obj, "netdev_mtu", NULL);
	if (link->mtu)
		out_number(obj, "mtu", link->mtu);
	else
		out_add(obj, "mtu", NULL);
	out_add(obj, "gids", gids_json(link));
	if (link->best)
		out_number(obj, "gid_index", link->best->index);
	else
		out_add(obj, "gid_index", NULL);
	out_add(obj, "counters", counters);
	return obj;
}

static int print_json(const struct status *s)
{
	struct json_object *obj = out_object(), *links = out_array();
	size_t i;

	for (i = 0; i < s->nr_links; i++)
		json_object_array_add(links, link_json(&s->links[i]));
	out_string(obj, "version", SMR_TOOL_VERSION);
	out_add(obj, "module", module_json(&s->module));
	out_add(obj, "libibverbs", lib_json(&s->verbs));
	out_add(obj, "provider", provider_json(&s->verbs));
	out_add(obj, "links", links);
	out_string(obj, "links_error", links_error(s));
	return out_print(obj);
}

/* -- text */

static const char *version(const char *text)
{
	return text ? text : "(no version)";
}

static void print_module(const struct module *mod)
{
	if (mod->loaded)
		printf("module      %s, loaded", version(mod->loaded_version));
	else
		printf("module      not loaded");
	if (mod->file)
		printf("; for this kernel (%s) there is %s: %s%s\n", mod->release,
		       version(mod->disk_version), mod->file,
		       module_differs(mod) ? ", which is another one" : "");
	else
		printf("; for this kernel (%s) there is none (%s)\n", mod->release, mod->why_not);
}

static void print_verbs(const struct verbs *v)
{
	if (v->lib)
		printf("libibverbs  %s, provider interface %u: %s\n",
		       version(v->lib_version), v->abi, v->lib);
	else
		printf("libibverbs  cannot be loaded: %s\n", v->lib_error);
	if (!v->provider) {
		printf("provider    none: %s\n", v->why);
		return;
	}
	printf("provider    %s: %s\n", version(v->provider_version), v->provider);
	if (v->fits)
		printf("            it fits libibverbs\n");
	else
		printf("            it does not fit libibverbs: %s\n", v->why);
}

static void print_link(const struct link *link)
{
	const char *netdev = link->dev.netdev;
	size_t i;

	printf("link        %s on %s, %s", link->dev.name,
	       *netdev ? netdev : "a netdev of another namespace",
	       link_state(&link->dev));
	if (link->mtu)
		printf(", MTU %u (the netdev's: %u)", link->mtu, link->netdev_mtu);
	putchar('\n');
	for (i = 0; i < link->nr_gids; i++)
		printf("            GID %-3u %-10s  %s%s%s\n", link->gids[i].index,
		       link->gids[i].type, link->gids[i].address,
		       strcmp(link->gids[i].netdev, netdev) ? " on " : "",
		       strcmp(link->gids[i].netdev, netdev) ?
			       link->gids[i].netdev : "");
	for (i = 0; i < link->nr_counters; i++)
		printf("            %s %llu: %s\n", link->counters[i].name,
		       link->counters[i].value, link->counters[i].meaning);
}

static int print_text(const struct status *s)
{
	size_t i;

	print_module(&s->module);
	print_verbs(&s->verbs);
	for (i = 0; i < s->nr_links; i++)
		print_link(&s->links[i]);
	if (s->links_error)
		printf("link        none: %s\n", links_error(s));
	else if (!s->nr_links)
		printf("link        none; to make one: softmr link add softmr0 netdev NETDEV\n");
	return fflush(stdout) || ferror(stdout) ? -1 : 0;
}

int cmd_status(int argc, char **argv)
{
	struct status s = {};
	bool json = cmd_json(help, argc, argv);
	size_t i;
	int ret;

	module_read(&s.module, "softmr");
	verbs_read(&s.verbs);
	s.links_error = -read_links(&s);
	ret = json ? print_json(&s) : print_text(&s);
	for (i = 0; i < s.nr_links; i++)
		link_free(&s.links[i]);
	free(s.links);
	verbs_free(&s.verbs);
	module_free(&s.module);
	return ret ? EXIT_PROBLEM : EXIT_OK;
}
