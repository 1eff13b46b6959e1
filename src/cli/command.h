/*
 * cli/command: a command of the program `nod`.
 *
 * Each command is one file, and one row in the table of cli/nod.c. It gets the arguments after its
 * own words, and returns the exit code: 0 if it did what it was asked, 1 if it could not (the log
 * says why), 2 if its command line is wrong. `nod inbox` has more (cli/terminal.h).
 *
 * All command lines are read alike: `--name value` and `--name=value` mean the same, and an option
 * that is not known is an error.
 */
#ifndef NOD_CLI_COMMAND_H
#define NOD_CLI_COMMAND_H

#include <stdbool.h>

enum { COMMAND_FINE = 0, COMMAND_FAILED = 1, COMMAND_WRONG_USAGE = 2 };

/* An option sets a flag, or a value: to a text of its own, or to the text that is given. */
struct command_option {
    const char *name;
    bool *flag;
    const char **value;
    const char *text; /* NULL: it is given */
};

struct command_line {
    const char *command;                  /* "nod login" */
    const char *help;                     /* what --help prints */
    const struct command_option *options; /* the last has no name */
    /* Takes a word that is no option. False, after a word about it: it is wrong. NULL: none is
     * taken. */
    bool (*word)(void *data, char *arg);
    /* Is this a word although it begins with a dash? NULL: none is. */
    bool (*awaits)(const void *data, const char *arg);
    void *data;
};

/* False: the command ends with this exit code, since it was wrong, or --help was printed. */
bool command_read(const struct command_line *line, int argc, char **argv, int *code);
/* Says what is wrong with an argument. Always false. */
bool command_wrong(const char *command, const char *arg, const char *what);

int command_check(int argc, char **argv);
int command_inbox(int argc, char **argv);
int command_login(int argc, char **argv);
int command_new(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_store_end(int argc, char **argv);
int command_store_list(int argc, char **argv);
int command_store_reseal(int argc, char **argv);

#endif
