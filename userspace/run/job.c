// SPDX-License-Identifier: GPL-2.0
#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "line.h"

const char *job_next(const struct job *job, const char *name, const char *after)
{
	const char *p = after ? after + strlen(after) + 1 : job->text;
	size_t n = strlen(name);

	for (; p < job->text + job->len; p += strlen(p) + 1)
		if (!strncmp(p, name, n) && p[n] == '=')
			return p + n + 1;
	return NULL;
}

const char *job_get(const struct job *job, const char *name)
{
	return job_next(job, name, NULL);
}

int job_int(const struct job *job, const char *name)
{
	const char *value = job_get(job, name);

	return value ? atoi(value) : 0;
}

char **job_list(const struct job *job, const char *name)
{
	const char *value;
	char **list;
	size_t n = 0;

	for (value = NULL; (value = job_next(job, name, value)); )
		n++;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		fail("out of memory");
	n = 0;
	for (value = NULL; (value = job_next(job, name, value)); )
		list[n++] = (char *)value;
	return list;
}
