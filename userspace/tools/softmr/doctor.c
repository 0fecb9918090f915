// SPDX-License-Identifier: GPL-2.0
/* What the checks of softmr doctor share. */
#include "doctor.h"

#include <stdlib.h>
#include <string.h>

void found(struct doctor *d, enum level level, char *what, char *todo)
{
	d->findings = one_more(d->findings, d->nr_findings, sizeof(*d->findings));
	d->findings[d->nr_findings++] = (struct finding){
		.check = d->check,
		.level = level,
		.what = what,
		.todo = todo,
	};
}

/* ID and ID_LIKE in os-release name a distribution and those that it is made of. */
char *install_command(const char *deb, const char *rpm)
{
	char *text = read_text("/etc/os-release");
	bool red = text && (strstr(text, "fedora") || strstr(text, "rhel") ||
			    strstr(text, "centos"));
	bool suse = text && strstr(text, "suse");

	free(text);
	if (red)
		return strf("dnf install %s", rpm);
	if (suse)
		return strf("zypper install %s", rpm);
	return strf("apt-get install %s", deb);
}

bool has_capability(unsigned int capability)
{
	char *text = read_text("/proc/self/status");
	const char *line = text ? strstr(text, "\nCapEff:") : NULL;
	unsigned long long mask = line ? strtoull(line + 8, NULL, 16) : 0;

	free(text);
	return mask >> capability & 1;
}
