/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subcommands of softmr. Each is in a file of its own, cmd_NAME.c, and has an
 * entry in the table in main.c; nothing else knows of it.
 */
#ifndef SOFTMR_CMD_H
#define SOFTMR_CMD_H

/* What a subcommand returns, and what softmr exits with. */
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
 * @run: does it; argv[0] is @name. Prints why it fails. Returns an exit status
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
int cmd_metrics(int argc, char **argv);
int cmd_mr(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_why(int argc, char **argv);

/*
 * For subcommands whose only options are --json and --help. Returns 0, or -1
 * with the exit status in *status when there is nothing left to do.
 */
int parse_json_option(int argc, char **argv, const char *usage, int *json,
		      int *status);

#endif /* SOFTMR_CMD_H */
