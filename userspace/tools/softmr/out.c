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

/*
 * The length of the UTF-8 character that begins here, in bytes; 0: there is
 * none.
 */
static size_t utf8_length(const unsigned char *text)
{
	size_t len = *text < 0x80 ? 1 : *text < 0xc2 ? 0 : *text < 0xe0 ? 2 :
		     *text < 0xf0 ? 3 : *text < 0xf5 ? 4 : 0;
	size_t i;

	for (i = 1; i < len; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/*
 * JSON is UTF-8, but a netdev's name may have any byte: a byte that is not part
 * of a character becomes the character of that number. Caller frees it.
 */
static char *to_utf8(const char *text)
{
	char *utf8 = zalloc(2 * strlen(text) + 1), *to = utf8;

	while (*text) {
		size_t len = utf8_length((const unsigned char *)text);

		if (len) {
			memcpy(to, text, len);
		} else {
			to[0] = (char)(0xc0 | (unsigned char)*text >> 6);
			to[1] = (char)(0x80 | (*text & 0x3f));
		}
		to += len ? len : 2;
		text += len ? len : 1;
	}
	return utf8;
}

void out_string(struct json_object *to, const char *key, const char *text)
{
	struct json_object *value = NULL;

	if (text) {
		char *utf8 = to_utf8(text);

		value = must(json_object_new_string(utf8));
		free(utf8);
	}
	out_add(to, key, value);
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
