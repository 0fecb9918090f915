/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subcommands of softmr. Each has its own file, cmd_NAME.c, and an entry in the table in
 * main.c; no other code refers to it.
 */
#ifndef SOFTMR_CMD_H
#define SOFTMR_CMD_H

/* The return value of a subcommand, and the exit status of softmr. */
enum {
	EXIT_OK = 0,
	EXIT_PROBLEM = 1,	/* it failed, or it found a problem */
	EXIT_USAGE = 2,		/* the command line is wrong */
};

/**
 * struct command - a subcommand
 * @name: the word on the command line
 * @args: its arguments, for the list in --help
 * @summary: what it does, in one line
 * @run: runs it; argv[0] is @name. Prints why it fails. Returns an exit status
 */
struct command {
	const char *name;
	const char *args;
	const char *summary;
	int (*run)(int argc, char **argv);
};

int cmd_capture(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_link(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_why(int argc, char **argv);

/*
 * For subcommands whose only options are --json and --help. Returns 0, or -1 with the exit status
 * in *status if there is nothing more to do.
 */
int parse_json_option(int argc, char **argv, const char *usage, int *json,
		      int *status);

#endif /* SOFTMR_CMD_H */
