/*
 * cli/check: `nod check`, what `nod serve` would do with a configuration.
 */
#include <stdio.h>

#include "cli/command.h"
#include "host/program.h"

static const char help[] =
    "usage: nod check [FILE] [OPTION...]\n\n"
    "Reads the configuration as nod serve would, with the options that follow as its command "
    "line,\n"
    "and prints what would be in force: each key with its value, and where that is from. FILE is\n"
    "the configuration; without it, it is the one that nod serve would find. Plugins are loaded,\n"
    "to check their sections and to say which tools they have: their code runs. No store and no\n"
    "address is opened, and no server is touched. Secrets are not printed.\n\n"
    "Exit codes: 0 all of it can be used, 1 something cannot (standard error says what), 2 wrong\n"
    "usage.\n";

int command_check(int argc, char **argv)
{
    const char *file = argc > 0 && argv[0][0] != '-' ? argv[0] : NULL;

    for (int i = 0; i < argc; i++) {
        if (str_eq(str_of(argv[i]), STR("--help")) || str_eq(str_of(argv[i]), STR("-h"))) {
            fputs(help, stdout);
            return COMMAND_FINE;
        }
    }
    /* The word in front of the options is not read. */
    return program_check(file, file ? argc : argc + 1, file ? argv : argv - 1);
}
