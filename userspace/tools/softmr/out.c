// SPDX-License-Identifier: GPL-2.0
#include "out.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static struct json_object *must(struct json_object *value)
{
	if (!value) {
		complain("there is no memory");
		exit(1);
	}
	return value;
}

struct json_object *out_object(void)
{
	return must(json_object_new_object());
}

struct json_object *out_array(void)
{
	return must(json_object_new_array());
}

void out_add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

void out_string(struct json_object *to, const char *key, const char *text)
{
	out_add(to, key, text ? must(json_object_new_string(text)) : NULL);
}

void out_number(struct json_object *to, const char *key, unsigned long long value)
{
	out_add(to, key, must(json_object_new_int64((int64_t)value)));
}

void out_bool(struct json_object *to, const char *key, bool value)
{
	out_add(to, key, must(json_object_new_boolean(value)));
}

int out_print(struct json_object *value)
{
	int failed;

	puts(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PRETTY |
						   JSON_C_TO_STRING_SPACED |
						   JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(value);
	failed = fflush(stdout) || ferror(stdout);
	if (failed)
		complain("cannot write: %s", strerror(errno));
	return failed ? -1 : 0;
}
