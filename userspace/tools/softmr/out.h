/* SPDX-License-Identifier: GPL-2.0 */
/* JSON output. Unknown values are null. */
#ifndef SOFTMR_OUT_H
#define SOFTMR_OUT_H

#include <stdbool.h>

#include <json-c/json.h>

struct json_object *out_object(void);
struct json_object *out_array(void);
void out_add(struct json_object *to, const char *key, struct json_object *value);
void out_string(struct json_object *to, const char *key, const char *text);
void out_number(struct json_object *to, const char *key, unsigned long long value);
void out_bool(struct json_object *to, const char *key, bool value);
/* Prints and frees it. Returns 0, or -1 with a message if stdout is full or closed. */
int out_print(struct json_object *value);

#endif /* SOFTMR_OUT_H */
