/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subcommands of softmr. Each has its own file, cmd_NAME.c, and an entry in the table in
 * main.c; no other code refers to it.
 */
#ifndef SOFTMR_CMD_H
#define SOFTMR_CMD_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* The return value of a subcommand, and the exit status of softmr. */
enum {
	EXIT_OK = 0,
	EXIT_PROBLEM = 1,	/* it failed, or it found a problem */
	EXIT_USAGE = 2,		/* the command line is wrong */
};

/* A subcommand */
struct command {
	const char *name;	/* the word on the command line */
	const char *args;	/* its arguments, for the list in --help */
	const char *summary;	/* what it does, in one line */
	/* runs it; argv[0] is @name. Prints why it fails. Returns an exit status */
	int (*run)(int argc, char **argv);
};

int cmd_capture(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_link(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_why(int argc, char **argv);

#define OPTION_JSON	{ "json", 'j', NULL, 0, "print JSON; softmr(8) describes the keys", 0 }

/* Parse the options of a subcommand, with --help among them. Does not return if they are wrong. */
void cmd_parse(const char *arguments, const char *help, const struct argp_option *options,
	       argp_parser_t take, int argc, char **argv, void *opt);
/* An option's argument: from 1 to @max */
uint32_t cmd_number(const char *text, uint32_t max, const struct argp_state *state);
/* For subcommands that have no option but --json */
bool cmd_json(const char *help, int argc, char **argv);

#endif /* SOFTMR_CMD_H */
