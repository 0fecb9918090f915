// SPDX-License-Identifier: GPL-2.0
#include "cmd.h"

#include "util.h"

/* argp's own short option is -?. */
static error_t take_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == 'h')
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
	return ARGP_ERR_UNKNOWN;
}

void cmd_parse(const char *arguments, const char *help, const struct argp_option *options,
	       argp_parser_t take, int argc, char **argv, void *opt)
{
	static const struct argp_option common[] = { { NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, {} };
	static const struct argp child = { .options = common, .parser = take_help };
	const struct argp_child children[] = { { &child, 0, NULL, 0 }, {} };
	const struct argp argp = {
		.options = options, .parser = take, .args_doc = arguments, .doc = help, .children = children,
	};

	argp_err_exit_status = EXIT_USAGE;
	argv[0] = strf("softmr %s", argv[0]);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, opt);
}

uint32_t cmd_number(const char *text, uint32_t max, const struct argp_state *state)
{
	uint32_t number = 0;

	if (!parse_number(text, &number) || number > max)
		argp_error(state, "'%s' is not a number from 1 to %u", text, max);
	return number;
}

static error_t take_json(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*(bool *)state->input = true;
	return 0;
}

bool cmd_json(const char *help, int argc, char **argv)
{
	static const struct argp_option options[] = { OPTION_JSON, {} };
	bool json = false;

	cmd_parse("", help, options, take_json, argc, argv, &json);
	return json;
}
