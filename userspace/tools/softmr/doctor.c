// SPDX-License-Identifier: GPL-2.0
/* What the checks of softmr doctor use. */
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

bool has_capability(unsigned int capability)
{
	char *text = read_text("/proc/self/status");
	const char *line = text ? strstr(text, "\nCapEff:") : NULL;
	unsigned long long mask = line ? strtoull(line + 8, NULL, 16) : 0;

	free(text);
	return mask >> capability & 1;
}
