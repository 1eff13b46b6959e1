/*
 * cli/command: a command of the program `nod`.
 *
 * One file a command, one row in the table of cli/nod.c. A command is given what stands behind its
 * words, and gives the exit code: 0 when it did what it was asked, 1 when it could not (the log
 * says why), 2 when its command line is wrong.
 */
#ifndef NOD_CLI_COMMAND_H
#define NOD_CLI_COMMAND_H

enum { COMMAND_FINE = 0, COMMAND_FAILED = 1, COMMAND_WRONG_USAGE = 2 };

int command_store_reseal(int argc, char **argv);

#endif
