/*
 * cli/command: a command of the program `nod`.
 *
 * Each command is one file, and one row in the table of cli/nod.c. It gets the arguments after its
 * own words, and returns the exit code: 0 if it did what it was asked, 1 if it could not (the log
 * says why), 2 if its command line is wrong. `nod inbox` has more (cli/terminal.h).
 */
#ifndef NOD_CLI_COMMAND_H
#define NOD_CLI_COMMAND_H

enum { COMMAND_FINE = 0, COMMAND_FAILED = 1, COMMAND_WRONG_USAGE = 2 };

int command_inbox(int argc, char **argv);
int command_login(int argc, char **argv);
int command_store_end(int argc, char **argv);
int command_store_list(int argc, char **argv);
int command_store_reseal(int argc, char **argv);

#endif
