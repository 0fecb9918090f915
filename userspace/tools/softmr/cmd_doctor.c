// SPDX-License-Identifier: GPL-2.0
/* softmr doctor: problems that prevent softmr from working here, and what to do about them. */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "doctor.h"
#include "out.h"
#include "util.h"

static const char help[] =
	"Looks for what keeps softmr from working on this machine. For each thing it says whether it is ok, and if not, "
	"what is wrong and what to type. Root sees more.\v"
	"Exits with 0 if there is no problem (warnings may be there), 1 if there is one.";

static void (*const checks[])(struct doctor *d) = {
	check_kernel,
	check_module,
	check_headers,
	check_secure_boot,
	check_provider,
	check_devices,
	check_memlock,
	check_netns,
	check_port,
	check_firewall,
	check_links,
};

static const char *const levels[] = {
	[LEVEL_OK] = "ok",
	[LEVEL_WARNING] = "warning",
	[LEVEL_PROBLEM] = "problem",
};

/* -- the state that the checks inspect */

static void look(struct doctor *d)
{
	struct rdma_dev *devs = NULL;
	size_t n = 0, i;
	int ret;

	module_read(&d->module, "softmr");
	verbs_read(&d->verbs);
	ret = nldev_open(&d->sk);
	if (!ret)
		ret = nldev_list_softmr(d->sk, &devs, &n);
	d->sk_error = -ret;
	d->links = zalloc((n + 1) * sizeof(*d->links));
	for (i = 0; i < n; i++)
		link_read(&d->links[i], &devs[i]);
	d->nr_links = n;
	free(devs);
}

static void forget(struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->nr_findings; i++) {
		free(d->findings[i].what);
		free(d->findings[i].todo);
	}
	for (i = 0; i < d->nr_links; i++)
		link_free(&d->links[i]);
	free(d->findings);
	free(d->links);
	nldev_close(d->sk);
	verbs_free(&d->verbs);
	module_free(&d->module);
}

/* -- output */

static size_t count(const struct doctor *d, enum level level)
{
	size_t i, n = 0;

	for (i = 0; i < d->nr_findings; i++)
		n += d->findings[i].level == level;
	return n;
}

static int print_json(const struct doctor *d)
{
	struct json_object *obj = out_object(), *list = out_array();
	size_t i;

	for (i = 0; i < d->nr_findings; i++) {
		struct json_object *one = out_object();

		out_string(one, "check", d->findings[i].check);
		out_string(one, "level", levels[d->findings[i].level]);
		out_string(one, "what", d->findings[i].what);
		out_string(one, "todo", d->findings[i].todo);
		json_object_array_add(list, one);
	}
	out_string(obj, "version", SMR_TOOL_VERSION);
	out_number(obj, "problems", count(d, LEVEL_PROBLEM));
	out_number(obj, "warnings", count(d, LEVEL_WARNING));
	out_add(obj, "findings", list);
	return out_print(obj);
}

static int print_text(const struct doctor *d)
{
	size_t problems = count(d, LEVEL_PROBLEM), warnings = count(d, LEVEL_WARNING);
	size_t i;

	for (i = 0; i < d->nr_findings; i++) {
		const struct finding *f = &d->findings[i];

		printf("%-8s %-11s %s\n", levels[f->level], f->check, f->what);
		if (f->todo)
			printf("%20s do: %s\n", "", f->todo);
	}
	if (problems || warnings)
		printf("%zu problem%s, %zu warning%s\n", problems, problems == 1 ? "" : "s",
		       warnings, warnings == 1 ? "" : "s");
	else
		puts("all is well");
	return fflush(stdout) || ferror(stdout) ? -1 : 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor d = {};
	bool json = cmd_json(help, argc, argv);
	int status;
	size_t i;

	look(&d);
	for (i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&d);
	status = count(&d, LEVEL_PROBLEM) ? EXIT_PROBLEM : EXIT_OK;
	if (json ? print_json(&d) : print_text(&d))
		status = EXIT_PROBLEM;
	forget(&d);
	return status;
}
